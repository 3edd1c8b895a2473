import Foundation
import HKLog
import HKLogFormat
import HKLogTestSupport
import Testing

/// A store in memory that can be closed, opened, copied and damaged.
struct TestStore {
    static let path = "/store"
    let layer: SimulatedFileLayer
    var store: Store

    init(zone: String = "UTC", layer: SimulatedFileLayer = SimulatedFileLayer()) throws {
        self.layer = layer
        let options = StoreOptions(timeZone: zone, segmentByteCount: 16 << 10)
        store = try Store.open(at: TestStore.path, access: .writeOrCreate(options), layer: layer)
    }

    init(layer: SimulatedFileLayer, store: Store) {
        self.layer = layer
        self.store = store
    }

    /// A batch with an anchor and one sample of steps, both named by the number.
    static func batch(_ number: UInt64, deleting: UInt64? = nil) -> Batch {
        let steps = "HKQuantityTypeIdentifierStepCount"
        var batch = Batch(
            stream: steps,
            added: [
                Sample(
                    uuid: SampleUUID(raw: RawUUID(first: number, second: 7)), type: steps,
                    start: Timestamp(microseconds: Int64(number) * 60_000_000), value: .quantity(1),
                    unit: "count")
            ], anchor: "a\(number)")
        if let deleting {
            batch.deleted = [Batch.Deletion(uuid: SampleUUID(raw: RawUUID(first: deleting, second: 7)))]
        }
        return batch
    }

    mutating func reopen() throws {
        try store.close()
        store = try Store.open(at: TestStore.path, access: .write, layer: layer)
    }

    var checkpointNames: [String] {
        ((try? layer.names(in: "\(TestStore.path)/views")) ?? []).filter { $0.hasSuffix(".ckp") }
    }

    mutating func reopenWithoutCheckpoints() throws {
        try store.close()
        for name in try layer.names(in: "\(TestStore.path)/views") {
            try layer.unlink("\(TestStore.path)/views/\(name)")
        }
        store = try Store.open(at: TestStore.path, access: .write, layer: layer)
    }

    /// Every batch of the log.
    func batches() throws -> [Batch] {
        let reader = try store.changes(since: 0)
        var batches: [Batch] = []
        while let change = try reader.next() {
            guard case .batch(let batch, _) = change else { continue }
            batches.append(batch)
        }
        return batches
    }

    func digest() throws -> String { try store.info().digest }
}

/// How many times as many seeds to run: 1, or what `HKLOG_TEST_SCALE` says.
let viewsTestScale = max(1, Int(ProcessInfo.processInfo.environment["HKLOG_TEST_SCALE"] ?? "") ?? 1)
