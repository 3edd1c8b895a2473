import HKLog
import HKLogFormat
import HKLogTestSupport

/// Appending alone: digest, frame, write, and a sync now and then, as the store does it, but nothing decided and no
/// views.
enum AppendWorker {
    static func run(_ settings: WorkerSettings) throws -> Figures {
        let batches = settings.batches
        let layer = CountingFileLayer()
        var counts = CountingFileLayer.Counts()
        var meter = Meter(runs: settings.runs)
        try meter.measure(
            setUp: {
                let log = try BareLog(path: settings.path, layer: layer)
                layer.reset()
                return log
            },
            work: { log in
                for (index, batch) in batches.enumerated() {
                    try log.append(batch)
                    if settings.syncEvery > 0 && (index + 1) % settings.syncEvery == 0 {
                        try log.writer.synchronize()
                    }
                }
            },
            tearDown: { log in
                counts = layer.counts
                try log.writer.close()
            })
        meter.note("bytes", try Directory.byteCount(settings.path + "/log"))
        meter.note("writes", counts.writes)
        meter.note("syncs", counts.dataSyncs)
        meter.note("batches", batches.count)
        return meter.figures
    }

    /// The size of the log alone.
    static func size(_ settings: WorkerSettings) throws -> Figures {
        var maker = WorkloadBatches(
            sampleCount: settings.samples, seed: settings.seed, batchSize: settings.batchSize,
            wholeSeconds: settings.wholeSeconds)
        var log = try BareLog(path: settings.path, layer: SystemFiles())
        while let batch = maker.next() { try log.append(batch) }
        try log.writer.close()
        var figures = Figures()
        figures.append("bytes", try Directory.byteCount(settings.path + "/log"))
        return figures
    }
}

/// A log and its writer, with nothing above them.
struct BareLog {
    let writer: LogWriter
    private let layer: any FileLayer
    private var encoder = FrameEncoder()
    private var bytes: [UInt8] = []

    init(path: String, layer: any FileLayer) throws {
        self.layer = layer
        try Directory.remove(path)
        let files = LogFiles(layer: layer, store: path)
        let manifest = StoreManifest(
            storeID: RawUUID(first: try layer.randomWord(), second: try layer.randomWord()),
            created: "2026-03-01T00:00:00Z")
        try files.createStore(manifest)
        writer = try LogWriter(
            files, storeID: manifest.storeID, segmentByteCount: StoreManifest.segmentByteCountDefault)
    }

    mutating func append(_ batch: Batch) throws {
        var content = FrameContent()
        var entry = BatchEntry()
        entry.stream = Array(batch.stream.utf8)
        if let anchor = batch.anchor {
            entry.flags = BatchFlags.hasAnchor
            entry.anchor = Array(anchor.utf8)
        }
        entry.sequence = writer.nextAnchor + 1
        entry.addedCount = batch.rows.count
        entry.deletedCount = batch.deleted.count
        entry.nonce = try layer.randomWord() | 1
        content.rows = batch.rows
        content.deletions = batch.deleted.map { DeletionEntry(uuid: $0.uuid.raw) }
        entry.digest = contentDigest(
            of: entry, rows: content.rows, rowRange: 0..<content.rows.count, deletions: content.deletions[...]
        )
        content.batches = [entry]
        bytes.removeAll(keepingCapacity: true)
        try encoder.encode(
            content, storeTag: writer.storeTag, firstAnchor: writer.nextAnchor,
            previousNonce: writer.lastNonce,
            into: &bytes)
        _ = try writer.append(bytes.span, syncing: false)
    }
}
