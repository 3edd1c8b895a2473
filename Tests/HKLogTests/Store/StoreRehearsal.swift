import HKLogTestSupport
import Synchronization
import Testing

@testable import HKLog

/// The history that durability tests go through, and what any store that has gone through a part of it must be.
enum StoreRehearsal {
    static let path = "/store"
    static let segmentByteCount: UInt64 = 1500
    static let streams = ["HKQuantityTypeIdentifierStepCount", "phone"]
    static let heartRate = "HKQuantityTypeIdentifierHeartRate"

    /// The batch whose anchor in the log is `index + 1`: two samples, and now and then a deletion of an earlier one.
    static func batch(_ index: Int) -> Batch {
        var random = SeededGenerator(seed: UInt64(index) + 77)
        let samples = (0..<2).map { number in
            var sample = Sample(
                uuid: HistoryMaker.uuid(&random), type: number == 0 ? streams[0] : heartRate,
                start: Timestamp(
                    microseconds: 1_772_323_200_000_000 + Int64(index * 2 + number) * 3_600_000_000))
            sample.unit = number == 0 ? "count" : "count/min"
            sample.value = .quantity(Double(index * 2 + number + 40))
            sample.source = Source(name: "Watch \(index % 3)", bundleIdentifier: "com.example.\(index % 3)")
            return sample
        }
        var batch = Batch(stream: streams[index % 2], added: samples, anchor: "a\(index)")
        if index % 5 == 4 {
            var random = SeededGenerator(seed: UInt64(index - 2) + 77)
            batch.deleted.append(Batch.Deletion(uuid: HistoryMaker.uuid(&random)))
        }
        return batch
    }

    static func open(
        _ layer: SimulatedFileLayer, _ access: StoreAccess = .write, sync: SyncPolicy = .batch
    ) throws(HKLogError) -> Store {
        try Store.open(at: path, access: access, sync: sync, layer: layer)
    }

    static var creating: StoreAccess {
        .writeOrCreate(StoreOptions(timeZone: "UTC", segmentByteCount: segmentByteCount))
    }

    /// Whether no store was made yet.
    static func isMissing(_ layer: SimulatedFileLayer) -> Bool {
        ((try? layer.exists("\(path)/store.json")) ?? false) == false
    }

    /// The log's batches by anchor, each checked against the one that belongs there, and the lost ones.
    static func contents(_ store: Store) throws(HKLogError) -> (
        batches: Set<UInt64>, gaps: Set<UInt64>, end: UInt64
    ) {
        let reader = try store.changes(since: 0)
        var batches: Set<UInt64> = []
        var gaps: Set<UInt64> = []
        var end: UInt64 = 0
        while let change = try reader.next() {
            switch change {
            case .gap(let range):
                try require(range.lowerBound == end + 1, "a gap follows what is before it")
                gaps.formUnion(range)
                end = range.upperBound
            case .batch(let batch, let anchor):
                try require(anchor == end + 1, "anchor \(anchor) follows \(end)")
                let expected = StoreRehearsal.batch(Int(anchor) - 1)
                try require(batch.anchor == expected.anchor, "anchor \(anchor) is \(batch.anchor ?? "none")")
                try require(batch.stream == expected.stream, "the stream of \(anchor)")
                try require(batch.deleted == expected.deleted, "the deletions of \(anchor)")
                let whole = expected.added.map(\.uuid)
                let present = batch.added.map(\.uuid)
                try require(
                    batch.digest == nil ? present == whole : present.allSatisfy { whole.contains($0) },
                    "the samples of \(anchor)")
                batches.insert(anchor)
                end = anchor
            }
        }
        return (batches, gaps, end)
    }

    /// Throws unless what the store says is what a replay of its log says.
    static func requireReplayAgrees(_ store: Store) throws(HKLogError) {
        let info = try store.info()
        let fresh = try store.replay(from: 0, to: info.logAnchor)
        try require(
            fresh.digest == info.digest, "the digest \(info.digest) at \(info.logAnchor) is a replay's")
    }

    /// Opens what is there, for reading, for writing and once more, and appends the next batch.
    static func check(
        _ state: SimulatedFileLayer.State, acknowledged: Int, attempted: Int,
        handedOut: [Int: String] = [:]
    ) throws(HKLogError) {
        let layer = SimulatedFileLayer(state)
        if acknowledged == 0, isMissing(layer) { return }
        let reader = try open(layer, .read)
        let seen = try contents(reader)
        try require(reader.damage == nil, "a reader meets \(reader.damage?.message ?? "")")
        try require(seen.end >= acknowledged, "\(seen.end) batches, \(acknowledged) acknowledged")
        try require(seen.end <= attempted, "\(seen.end) batches, \(attempted) attempted")
        try require(seen.gaps.isEmpty, "no gaps")
        try requireReplayAgrees(reader)
        for (anchor, check) in handedOut {
            _ = try reader.changes(since: UInt64(anchor), expecting: check)
        }
        try reader.close()

        let writer = try open(layer)
        try require(try contents(writer).end == seen.end, "a writer sees what a reader saw")
        try writer.append(batch(Int(seen.end)))
        try requireReplayAgrees(writer)
        let digest = try writer.info().digest
        try writer.checkpoint()
        try writer.close()

        let again = try open(layer)
        try require(try contents(again).end == seen.end + 1, "once more: the batch that was appended")
        try require(try again.info().digest == digest, "once more: the same digest")
        try again.close()
        let report = try Store.verify(LogFiles(layer: layer, store: path), secondLookAfter: 0)
        try require(report.sound, "sound: \(report.problems)")
    }
}

/// One store that goes through the history step by step, and on after failures where that may be.
final class StoreRehearsalRun {
    let layer: SimulatedFileLayer
    let sync: SyncPolicy
    private var store: Store?
    private(set) var attempted = 0
    private(set) var acknowledged = 0
    private(set) var failures: [(step: String, error: HKLogError)] = []
    /// How often a writer was finished and the store had to be opened anew.
    private(set) var reopened = 0
    /// Told after each change of either number.
    var report: (_ attempted: Int, _ acknowledged: Int) -> Void = { _, _ in }

    init(_ layer: SimulatedFileLayer, sync: SyncPolicy) {
        self.layer = layer
        self.sync = sync
    }

    static let total = 17

    func run() {
        for _ in 0..<3 { append(1) }
        append(3)
        step("checkpoint") { store throws(HKLogError) in try store.checkpoint() }
        append(1)
        step("set") { store throws(HKLogError) in try store.set(timeZone: "Europe/Berlin") }
        append(1)
        append(2)
        step("checkpoint") { store throws(HKLogError) in try store.checkpoint() }
        step("compact") { store throws(HKLogError) in _ = try store.compact() }
        append(1)
        append(2)
        step("checkpoint") { store throws(HKLogError) in try store.checkpoint() }
        append(1)
        close()
        append(2)
        step("set") { store throws(HKLogError) in
            try store.set(styles: ["HKQuantityTypeIdentifierHeartRate": .cumulative])
        }
        append(1)
        close()
    }

    private func opened() throws(HKLogError) -> Store {
        if let store { return store }
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating, sync: sync)
        self.store = store
        return store
    }

    private func append(_ count: Int) {
        let range = attempted..<attempted + count
        attempted += count
        report(attempted, acknowledged)
        let isDone = step("append") { store throws(HKLogError) in
            if count == 1 {
                try store.append(StoreRehearsal.batch(range.lowerBound))
            } else {
                for index in range { try store.enqueue(StoreRehearsal.batch(index)) }
                try store.commit()
            }
        }
        guard isDone else { return }
        acknowledged = attempted
        report(attempted, acknowledged)
    }

    private func close() {
        step("close") { store throws(HKLogError) in try store.close() }
        store = nil
    }

    /// Tries a step, and once more after a failure: with the same writer where it goes on, else with a new one.
    @discardableResult
    private func step(_ name: String, _ body: (Store) throws(HKLogError) -> Void) -> Bool {
        for _ in 0..<3 {
            do throws(HKLogError) {
                try body(try opened())
                return true
            } catch {
                failures.append((name, error))
                if error.code == .writerFinished {
                    reopened += 1
                    // What it waited with is not acknowledged.
                    try? store?.close()
                    store = nil
                }
            }
        }
        return false
    }
}
