internal import HKLog

/// `info`: the store at a glance.
enum InfoCommand {
    static let spec = CommandSpec(
        "info",
        "the store at a glance: size, batches, samples, segments, bytes per sample, views and their anchors",
        options: [], run: run)

    private static let columns: [Column<StoreInfo>] = [
        Column("store", heading: "store") { .text($0.store) },
        Column("formatVersion", heading: "format version") { .unsigned($0.formatVersion) },
        Column("timeZone", heading: "time zone") { .text($0.timeZone) },
        Column("logAnchor", heading: "log anchor") { .anchor($0.logAnchor) },
        Column("batches", heading: "batches") { .unsigned($0.batches) },
        Column("samples", heading: "samples") { .unsigned($0.samples) },
        Column("tombstones", heading: "tombstones") { .unsigned($0.tombstones) },
        Column("streams", heading: "streams") { .unsigned($0.streams) },
        Column("segments", heading: "segments") { .unsigned($0.segments) },
        Column("logBytes", heading: "log size") {
            .forPeople(NumberText.bytes($0.logBytes), .unsigned($0.logBytes))
        },
        Column("bytesPerSample", heading: "bytes per sample") { .number($0.bytesPerSample) },
        Column("viewsAnchor", heading: "views up to") { .anchor($0.viewsAnchor) },
        Column("digest", heading: "digest") { .text($0.digest) },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let store = try session.openForReading()
        try session.print(try store.info(), columns: columns)
        return try session.finish(with: store)
    }
}
