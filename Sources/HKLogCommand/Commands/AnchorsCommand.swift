internal import HKLog

/// `anchors`: how far each stream has come.
enum AnchorsCommand {
    static let spec = CommandSpec(
        "anchors", "each stream's source anchor, and (for people) the log's", options: [], run: run)

    private static let columns: [Column<StreamSummary>] = [
        Column("stream") { .text($0.stream) },
        Column("anchor") { .text($0.anchor) },
        Column("epoch", isNumeric: true) { .anchor($0.epoch) },
        Column("completeEpoch", heading: "complete", isNumeric: true) { .anchor($0.completeEpoch) },
        Column("seq", isNumeric: true) { .anchor($0.sequence) },
        Column("batches", isNumeric: true) { .unsigned($0.batches) },
        Column("logAnchor", heading: "log anchor", isNumeric: true) { .anchor($0.logAnchor) },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let store = try session.openForReading()
        try session.print(try store.streams(), columns: columns, empty: "no streams yet")
        if session.isForPeople { try session.output.write("log anchor: \(store.logAnchor)\n") }
        return try session.finish(with: store)
    }
}
