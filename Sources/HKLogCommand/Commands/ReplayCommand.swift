internal import HKLog

/// `replay`: builds the views anew from the log.
enum ReplayCommand {
    static let spec = CommandSpec(
        "replay", "rebuilds the views by replaying the log and saves them",
        details: [
            "From 0 the views are built from nothing. From a later anchor the batches from there on are applied"
                + " again, and the views end as they were. With --to it answers and saves nothing."
                + " It needs no lock: a writer may go on beside it."
        ],
        options: [
            OptionSpec(.from, "ANCHOR", "where to begin; 0: from nothing", isRequired: true),
            OptionSpec(.to, "ANCHOR", "where to end; the end of the log by default"),
        ],
        run: run)

    private static let columns: [Column<ReplayReport>] = [
        Column("from", heading: "from") { .anchor($0.from) },
        Column("to", heading: "to") { .anchor($0.to) },
        Column("batches", heading: "batches") { .unsigned($0.batches) },
        Column("added", heading: "added") { .unsigned($0.added) },
        Column("deleted", heading: "deleted") { .unsigned($0.deleted) },
        Column("suppressed", heading: "suppressed") { .unsigned($0.suppressed) },
        Column("samples", heading: "samples shown") { .unsigned($0.samples) },
        Column("buckets", heading: "day buckets") { .unsigned($0.buckets) },
        Column("digest", heading: "digest") { .text($0.digest) },
        Column("seconds", heading: "seconds") { .number($0.seconds) },
        Column("samplesPerSecond", heading: "samples per second") { .number($0.samplesPerSecond) },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let from = try session.arguments.number(.from) ?? 0
        let to = try session.arguments.number(.to)
        if let to, to < from {
            throw HKLogError(.invalidArgument, "--to \(to) is before --from \(from)")
        }
        let store = try session.openForReading()
        let report = try store.replay(
            from: from, to: to, progress: session.progress("replaying", unit: .batches))
        session.messages.endProgress()
        try session.print(report, columns: columns)
        return try session.finish(with: store)
    }
}
