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

    /// From opening a store that has a checkpoint to the statistics of all days of all types.
    static func open(_ settings: WorkerSettings) throws -> Figures {
        var meter = Meter(runs: settings.runs)
        var days = Days()
        try meter.measure(
            setUp: { if settings.evicting { try Directory.evict(settings.path) } },
            work: { _ in
                let store = try Store.open(at: settings.path, access: .read)
                days = try Days(store)
            },
            tearDown: { _ in })
        meter.note("days", days.count)
        return meter.figures
    }

    /// What a chart of everything would take from each day.
    private struct Days {
        var count = 0
        var sum = 0.0

        init() {}

        init(_ store: Store) throws {
            var own = Days()
            try store.forEachDay { _, day in
                own.count += 1
                own.sum += day.sum.isNaN ? day.average : day.sum
            }
            self = own
        }
    }

    static func daily(_ settings: WorkerSettings) throws -> Figures {
        let store = try Store.open(at: settings.path, access: .read)
        var all = Meter(runs: settings.runs * 5)
        var days = Days()
        try all.measure { days = try Days(store) }
        all.note("days", days.count)
        all.note("sum", days.sum)
        var rows = Meter(runs: settings.runs * 5)
        var rowCount = 0
        try rows.measure { rowCount = try store.statistics(StatisticsQuery()).rows.count }
        all.note("rows", rowCount)
        var query = StatisticsQuery(type: WorkloadType.all[1].identifier)
        query.start = Timestamp(microseconds: 1_609_459_200_000_000)
        query.end = Timestamp(microseconds: 1_640_995_200_000_000)
        var year = Meter(runs: settings.runs * 20)
        var yearRows = 0
        try year.measure { yearRows = try store.statistics(query).rows.count }
        all.note("yearRows", yearRows)
        var figures = all.figures
        figures.append("yearSeconds", year.figures["seconds"])
        figures.append("rowsSeconds", rows.figures["seconds"])
        return figures
    }
}
