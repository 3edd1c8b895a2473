internal import HKLog

/// `init`: makes a store, or says what stands there.
enum InitCommand {
    static let spec = CommandSpec(
        "init", "makes a store (append and import make one too when none is there)",
        details: [
            "On a store that exists it changes nothing; settings are changed with 'hklog config'."
        ],
        options: [
            OptionSpec(.timeZone, "ID", "the IANA zone that days are cut in; else the system's"),
            OptionSpec(
                .segmentBytes, "N", "the size at which a segment of the log is sealed; 64 MiB by default"),
        ],
        run: run)

    private struct Outcome {
        let store: Store
    }

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let zone = session.arguments.value(.timeZone)
        let segmentByteCount = try session.arguments.number(.segmentBytes, least: 1)
        let isThere = Store.exists(at: session.storePath)
        let options = StoreOptions(timeZone: zone, segmentByteCount: segmentByteCount)
        // A store that exists is only looked at: a writer beside is no obstacle.
        let store = try session.open(isThere ? .read : .writeOrCreate(options))
        // Links such as UTC and Etc/UTC are one zone.
        if isThere, let zone, try TimeZoneRules(identifier: zone).checksum != store.timeZoneRules.checksum {
            throw HKLogError(
                .invalidArgument,
                "\(store.path) is a store already, with days of \(store.settings.timeZone);"
                    + " 'hklog config --time-zone \(SafeText.line(zone))' changes the zone")
        }
        if session.isForPeople {
            let settings = store.settings
            try session.output.write(
                isThere
                    ? "\(SafeText.line(store.path)) is a store already (time zone \(settings.timeZone));"
                        + " nothing was changed\n"
                    : "made the store \(SafeText.line(store.path)), with days of the time zone \(settings.timeZone)\n"
            )
        } else {
            try session.print(
                Outcome(store: store),
                columns: [
                    Column("store") { .text($0.store.path) },
                    Column("created") { .boolean($0.store.wasCreated) },
                    Column("timeZone") { .text($0.store.settings.timeZone) },
                    Column("segmentBytes", isNumeric: true) { .unsigned($0.store.settings.segmentByteCount) },
                ])
        }
        let status = try session.finish(with: store)
        if !isThere { try store.close() }
        return status
    }
}
