internal import HKLog
internal import HKLogJSONLines

/// `samples`: the shown samples one by one.
enum SamplesCommand {
    static let spec = CommandSpec(
        "samples", "shown samples, newest 200 by default (by start, end, uuid)",
        options: [
            OptionSpec(.type, "T", "only this type (full identifier or short name)"),
            DateOptions.start, DateOptions.end,
            OptionSpec(
                .source, "S", "only this source: its name, 'name (bundle identifier)', manual or '(none)'"),
            OptionSpec(.stream, "S", "only samples of this stream"),
            OptionSpec(.limit, "N", "at most so many; 200 by default"),
            OptionSpec(.order, "ORDER", "newest or oldest first; newest by default"),
        ],
        run: run)

    private enum Order: String, CaseIterable {
        case newest
        case oldest
    }

    private static let columns: [Column<StoredSample>] = [
        Column("uuid") { .text($0.sample.uuid.description) },
        Column("type") { .text($0.sample.type) },
        Column("start") { .text($0.sample.start.description) },
        Column("end") { .text(($0.sample.end ?? $0.sample.start).description) },
        Column("value", isNumeric: true) { stored in
            switch stored.sample.value {
            case nil: .absent
            case .quantity(let value): .number(value)
            case .category(let value): CategoryNames.cell(type: stored.sample.type, value: value)
            }
        },
        Column("unit") { .text($0.sample.unit) },
        Column("source") { .text($0.sourceName) },
        Column("device") { .text($0.sample.device.flatMap { $0.name ?? $0.model ?? $0.hardwareVersion }) },
        Column("stream") { .text($0.stream) },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let arguments = session.arguments
        let store = try session.openForReading()
        var query = SampleQuery()
        if let type = arguments.value(.type) { query.types = [try store.resolveType(type)] }
        (query.start, query.end) = try DateOptions.range(of: arguments, in: store)
        // `\\,` writes a comma here as in `--prefer`.
        query.source = arguments.value(.source).map {
            $0.split(separator: "\\,", omittingEmptySubsequences: false).joined(separator: ",")
        }
        query.stream = arguments.value(.stream)
        query.limit = try arguments.count(.limit) ?? 200
        query.order = try arguments.choice(.order, of: Order.self) == .oldest ? .oldest : .newest
        let samples = try store.samples(query)
        var writer = BatchWriter()
        try session.print(
            samples, columns: columns, empty: "no samples",
            object: { stored in
                var line: [UInt8] = []
                writer.append(stored.sample, stream: stored.stream, to: &line)
                // The printer ends the line.
                line.removeLast()
                return line
            })
        return try session.finish(with: store)
    }
}
