import Foundation
import HKLog
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
