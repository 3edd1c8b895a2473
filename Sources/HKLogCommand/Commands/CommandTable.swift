/// All commands, in the order of the help.
extension CommandSpec {
    static let all: [CommandSpec] = [
        InitCommand.spec,
        AppendCommand.spec,
        ImportCommand.spec,
        ReplayCommand.spec,
        StatsCommand.spec,
        ExplainCommand.spec,
        SamplesCommand.spec,
        ChangesCommand.spec,
        TypesCommand.spec,
        SourcesCommand.spec,
        ConfigCommand.spec,
        AnchorsCommand.spec,
        InfoCommand.spec,
        VerifyCommand.spec,
        RepairCommand.spec,
        CompactCommand.spec,
        BackupCommand.spec,
        ChartCommand.spec,
        GenerateCommand.spec,
    ]
}
