internal import HKLog
internal import HKLogJSONLines

/// `generate`: a synthetic history.
enum GenerateCommand {
    static let spec = CommandSpec(
        "generate", "a synthetic, realistic history as batches: the same bytes for the same options",
        details: [
            "Always JSON Lines, one stream a type, numbered and chained by anchors. The default end is a fixed day,"
                + " so that a history does not depend on when it is made."
        ],
        options: [
            OptionSpec(.samples, "N", "how many samples; 100000 by default"),
            OptionSpec(.days, "N", "how many days they lie in; 365 by default"),
            OptionSpec(.batch, "N", "how many samples a batch adds at most; 1000 by default"),
            OptionSpec(.end, "D", "the last day; \(HistoryGenerator.Options.defaultEndDay) by default"),
            OptionSpec(.seed, "N", "which history; 1 by default"),
            OptionSpec(.deletes, "N", "how many of the samples are deleted again; none by default"),
            OptionSpec(.output, "FILE", "write to this file instead of standard output"),
        ],
        run: run)

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        var generator = try HistoryGenerator(options: try options(of: session.arguments))
        var file: OutputFile?
        if let path = session.arguments.value(.output), path != "-" { file = try OutputFile(path) }
        let output = file?.writer ?? session.output
        var writer = BatchWriter()
        var bytes: [UInt8] = []
        var sampleCount: UInt64 = 0
        while let batch = generator.next() {
            bytes.removeAll(keepingCapacity: true)
            writer.append(batch, to: &bytes)
            try output.write(bytes)
            sampleCount += UInt64(batch.addedCount)
            if file != nil {
                session.messages.progress(
                    "generating", done: sampleCount, total: UInt64(generator.options.samples), unit: .samples)
            }
        }
        session.messages.endProgress()
        try file?.close()
        return ExitStatus.done
    }

    private static func options(of arguments: ParsedArguments) throws(HKLogError) -> HistoryGenerator.Options
    {
        var options = HistoryGenerator.Options()
        options.samples = try arguments.count(.samples) ?? options.samples
        options.days = try arguments.count(.days) ?? options.days
        options.batchSize = try arguments.count(.batch) ?? options.batchSize
        options.seed = try arguments.number(.seed) ?? options.seed
        options.deletes = try arguments.count(.deletes) ?? options.deletes
        if let text = arguments.value(.end) {
            switch try DateOption(text, now: System.now, calendar: options.calendar) {
            case .day(let date): options.endDay = date
            case .instant(let instant):
                options.endDay = options.calendar.date(containing: instant.microseconds)
            }
        }
        return options
    }
}
