import HKLog
import HKLogTestSupport

/// Reading: replay, opening, asking.
enum ReadingWorker {
    static func replay(_ settings: WorkerSettings) throws -> Figures {
        var meter = Meter(runs: settings.runs)
        var report: ReplayReport?
        try meter.measure {
            // A dry run leaves no checkpoint behind, so each run does the same.
            let store = try Store.open(at: settings.path, access: .dryRun(StoreOptions()))
            report = try store.replay(from: 0)
        }
        if let report {
            meter.note("live", report.samples)
            meter.note("buckets", report.buckets)
            meter.note("added", Int(report.added))
        }
        meter.note("bytes", try Directory.byteCount(settings.path + "/log"))
        return meter.figures
    }

    /// From opening a store that has a checkpoint to the daily statistics of all types.
    static func open(_ settings: WorkerSettings) throws -> Figures {
        var meter = Meter(runs: settings.runs)
        var rows = 0
        try meter.measure(
            setUp: { if settings.evicting { try Directory.evict(settings.path) } },
            work: { _ in
                let store = try Store.open(at: settings.path, access: .read)
                rows = try store.statistics(StatisticsQuery()).rows.count
            },
            tearDown: { _ in })
        meter.note("rows", rows)
        return meter.figures
    }

    static func daily(_ settings: WorkerSettings) throws -> Figures {
        let store = try Store.open(at: settings.path, access: .read)
        var all = Meter(runs: settings.runs * 5)
        var rows = 0
        try all.measure { rows = try store.statistics(StatisticsQuery()).rows.count }
        all.note("rows", rows)
        var query = StatisticsQuery(type: WorkloadType.all[1].identifier)
        query.start = Timestamp(microseconds: 1_609_459_200_000_000)
        query.end = Timestamp(microseconds: 1_640_995_200_000_000)
        var year = Meter(runs: settings.runs * 20)
        var yearRows = 0
        try year.measure { yearRows = try store.statistics(query).rows.count }
        all.note("yearRows", yearRows)
        var figures = all.figures
        figures.append("yearSeconds", year.figures["seconds"])
        return figures
    }
}
