/// The options of all commands.
///
/// One name means the same wherever it stands.
enum Option: String, CaseIterable, Sendable {
    case store
    case format
    case quiet
    case verbose
    case noColor = "no-color"
    case help

    case timeZone = "time-zone"
    case segmentBytes = "segment-bytes"
    case sync
    case reject
    case maxLine = "max-line"
    case dryRun = "dry-run"
    case stream
    case keepMissing = "keep-missing"
    case allowDeletions = "allow-deletions"
    case report
    case from
    case to
    case type
    case every
    case start
    case end
    case options
    case separateBySource = "separate-by-source"
    case unit
    case fill
    case day
    case source
    case limit
    case order
    case since
    case expect
    case follow
    case all
    case prefer
    case style
    case purge
    case svg
    case samples
    case days
    case batch
    case seed
    case deletes
    case output
    case export
}

/// An option as one command takes it.
struct OptionSpec: Sendable {
    let option: Option
    /// The name of its value in the help; `nil` for a switch.
    let valueName: String?
    /// One line for the help.
    let help: String
    /// Whether it must be there.
    let isRequired: Bool

    init(_ option: Option, _ valueName: String?, _ help: String, isRequired: Bool = false) {
        self.option = option
        self.valueName = valueName
        self.help = help
        self.isRequired = isRequired
    }

    /// `--name VALUE`.
    var spelling: String { "--" + option.rawValue + (valueName.map { " " + $0 } ?? "") }

    /// What every command takes.
    static let common: [OptionSpec] = [
        OptionSpec(.store, "DIR", "the store; else $HKLOG_STORE; else ./health.hklog"),
        OptionSpec(.format, "FORMAT", "table, csv, json or jsonl; table unless asked otherwise"),
        OptionSpec(.quiet, nil, "no notices and no progress"),
        OptionSpec(.verbose, nil, "say more on standard error"),
        OptionSpec(.noColor, nil, "no colours (NO_COLOR in the environment does the same)"),
        OptionSpec(.help, nil, "show this help (also -h)"),
    ]
}
