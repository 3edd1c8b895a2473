internal import HKLog
internal import HKLogJSONLines
internal import HKLogSynthesis

/// `generate`: a synthetic history.
enum GenerateCommand {
    static let spec = CommandSpec(
        "generate", "a synthetic, realistic history as batches: the same bytes for the same options",
        details: [
            "Always JSON Lines, one stream a type, numbered and chained by anchors; with --export the same person as"
                + " an Apple Health export. The default end is a fixed day, so that a history does not depend on"
                + " when it is made."
        ],
        options: [
            OptionSpec(.samples, "N", "how many samples; 100000 by default"),
            OptionSpec(.days, "N", "how many days they lie in; 365 by default"),
            OptionSpec(.batch, "N", "how many samples a batch adds at most; 1000 by default"),
            OptionSpec(.end, "D", "the last day; \(HistoryGenerator.Options.defaultEndDay) by default"),
            OptionSpec(.seed, "N", "which history; 1 by default"),
            OptionSpec(.deletes, "N", "how many of the samples are deleted again; none by default"),
            OptionSpec(.output, "FILE", "write to this file instead of standard output"),
            OptionSpec(
                .export, "FILE", "write an Apple Health export instead: an XML file, or a zip by its name"),
        ],
        run: run)

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let options = try options(of: session.arguments)
        if let path = session.arguments.value(.export) {
            try export(to: path, options, session)
        } else {
            try writeBatches(options, session)
        }
        return ExitStatus.done
    }

    private static func writeBatches(
        _ options: HistoryGenerator.Options, _ session: Session
    ) throws(HKLogError) {
        var generator = try HistoryGenerator(options: options)
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
    }

    // MARK: An export

    private static func export(
        to path: String, _ options: HistoryGenerator.Options, _ session: Session
    ) throws(HKLogError) {
        for other in [Option.batch, .deletes, .output] where session.arguments.has(other) {
            throw .usage("--export and --\(other.rawValue) do not go together")
        }
        let name = path.lowercased()
        let generator = try ExportGenerator(options: options)
        System.catchInterruptions()
        if name.hasSuffix(".xml") {
            try write(generator, to: path, session)
        } else if name.hasSuffix(".zip") {
            // Made first, so that what cannot be written is known at once, and so that nobody else may read it.
            try OutputFile(path).close()
            let document = "\(path).\(System.processIdentifier).tmp"
            defer { System.remove(document) }
            try write(generator, to: document, session)
            try pack(document, into: path, session)
        } else {
            throw .usage("--export: expected a name that ends in .xml or .zip")
        }
    }

    private static func write(
        _ generator: ExportGenerator, to path: String, _ session: Session
    ) throws(HKLogError) {
        let file = try OutputFile(path)
        var byteCount: UInt64 = 0
        try generator.write { (bytes: [UInt8]) throws(HKLogError) in
            if System.interruption != nil { throw .interrupted }
            try file.writer.write(bytes)
            byteCount += UInt64(bytes.count)
            session.messages.progress("generating", done: byteCount, total: nil, unit: .bytes)
        }
        session.messages.endProgress()
        try file.close()
    }

    private static func pack(_ document: String, into path: String, _ session: Session) throws(HKLogError) {
        let descriptor = try System.openForReading(document)
        let byteCount = System.fileSize(descriptor) ?? 0
        System.close(descriptor)
        let messages = session.messages
        let isPacked = try ExportArchive.pack(document, into: path) { share in
            messages.progress(
                "packing", done: UInt64(max(0, min(share, 1)) * Double(byteCount)), total: byteCount,
                unit: .bytes)
            return System.interruption == nil
        }
        messages.endProgress()
        guard isPacked else { throw .interrupted }
    }

    // MARK: Options

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
