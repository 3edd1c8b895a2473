import HKLog
import HKLogTestSupport

/// Writing through a store, with views.
enum StoreWorker {
    static let access = StoreAccess.writeOrCreate(StoreOptions(timeZone: "UTC"))

    static func run(_ settings: WorkerSettings) throws -> Figures {
        let batches = settings.batches
        let layer = CountingFileLayer()
        var counts = CountingFileLayer.Counts()
        let policy: SyncPolicy = settings.syncEvery == 0 ? .none : settings.syncEvery == 1 ? .batch : .group
        var meter = Meter(runs: settings.runs)
        try meter.measure(
            setUp: {
                try Directory.remove(settings.path)
                let store = try Store.open(at: settings.path, access: access, sync: policy, layer: layer)
                layer.reset()
                return store
            },
            work: { store in
                if settings.syncEvery == 1 {
                    for batch in batches { try store.append(batch) }
                } else {
                    for (index, batch) in batches.enumerated() {
                        try store.enqueue(batch)
                        if (index + 1) % max(100, settings.syncEvery) == 0 { try store.commit() }
                    }
                    try store.commit()
                }
                // Any question brings the day buckets up to date: that belongs to the work.
                _ = try store.streams()
            },
            tearDown: { store in
                counts = layer.counts
                try store.close()
            })
        meter.note("bytes", try Directory.byteCount(settings.path + "/log"))
        meter.note("writes", counts.writes)
        meter.note("syncs", counts.dataSyncs)
        meter.note("batches", batches.count)
        return meter.figures
    }

    /// Makes a store and its checkpoint.
    static func make(_ settings: WorkerSettings) throws -> Figures {
        try Directory.remove(settings.path)
        var maker = WorkloadBatches(
            sampleCount: max(settings.samples, settings.history), seed: settings.seed,
            batchSize: settings.batchSize)
        let store = try Store.open(at: settings.path, access: access, sync: .none)
        var figures = Figures()
        let clock = ContinuousClock()
        let began = clock.now
        var count = 0
        var samples = 0
        while samples < settings.samples, let batch = maker.next() {
            try store.enqueue(batch)
            samples += batch.addedCount
            count += 1
            if count % 1000 == 0 { try store.commit() }
        }
        try store.commit()
        figures.append("makeSeconds", (clock.now - began).inSeconds)
        let checkpointBegan = clock.now
        try store.checkpoint()
        figures.append("checkpointSeconds", (clock.now - checkpointBegan).inSeconds)
        try store.close()
        figures.append("bytes", try Directory.byteCount(settings.path + "/log"))
        figures.append("allBytes", try Directory.byteCount(settings.path))
        return figures
    }

    /// One batch of a thousand onto a store of any size: open, append with a sync, close.
    static func appendOne(_ settings: WorkerSettings) throws -> Figures {
        var maker = WorkloadBatches(sampleCount: 1000 * (settings.runs + 1), seed: settings.seed &+ 1)
        let batches = maker.all()
        var next = 0
        var meter = Meter(runs: settings.runs)
        try meter.measure {
            let store = try Store.open(at: settings.path, access: .write)
            try store.append(batches[next])
            try store.close()
            next += 1
        }
        return meter.figures
    }

    /// Compacts a store, once: it is another one afterwards.
    static func compact(_ settings: WorkerSettings) throws -> Figures {
        var figures = Figures()
        let store = try Store.open(at: settings.path, access: .write)
        let before = ProcessFigures.beginPeak()
        let processor = ProcessFigures.processorSeconds()
        let clock = ContinuousClock()
        let began = clock.now
        let report = try store.compact()
        figures.append("seconds", (clock.now - began).inSeconds)
        figures.append("processorSeconds", ProcessFigures.processorSeconds() - processor)
        figures.append("memoryKilobytes", ProcessFigures.peakKilobytes() - before)
        figures.append("bytes", Int(report.bytesAfter))
        try store.close()
        return figures
    }
}
