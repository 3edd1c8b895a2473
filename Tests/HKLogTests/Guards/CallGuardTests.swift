import Foundation
import HKLog
import HKLogTestSupport
import Testing

/// What an append asks of the operating system is counted, not timed.
struct CallGuardTests {
    private func temporaryStore() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent("hklog-guard-\(UUID().uuidString)").path
    }

    private func batches(_ count: Int) -> [Batch] {
        var maker = WorkloadBatches(sampleCount: count * 100, seed: 7, batchSize: 100)
        return maker.all()
    }

    private let access = StoreAccess.writeOrCreate(StoreOptions(timeZone: "UTC"))

    @Test func `an append is one write and one sync`() throws {
        let path = temporaryStore()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let layer = CountingFileLayer()
        let store = try Store.open(at: path, access: access, layer: layer)
        let batches = batches(20)
        // The first one loads the views.
        try store.append(batches[0])
        for batch in batches.dropFirst() {
            layer.reset()
            try store.append(batch)
            let counts = layer.counts
            #expect(counts.writes == 1)
            #expect(counts.dataSyncs == 1)
            #expect(counts.syncs == 0)
            #expect(counts.opens == 0)
            #expect(counts.reads == 0)
        }
        try store.close()
    }

    @Test func `a group is one write and one sync`() throws {
        let path = temporaryStore()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let layer = CountingFileLayer()
        let store = try Store.open(at: path, access: access, sync: .group, layer: layer)
        let batches = batches(30)
        for _ in 0..<3 {
            layer.reset()
            for batch in batches.prefix(10) { try store.enqueue(changed(batch)) }
            #expect(layer.counts.writes + layer.counts.dataSyncs == 0)
            try store.commit()
            #expect(layer.counts.writes == 1)
            #expect(layer.counts.dataSyncs == 1)
        }
        try store.close()
    }

    @Test func `with the policy none nothing is synced`() throws {
        let path = temporaryStore()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let layer = CountingFileLayer()
        let store = try Store.open(at: path, access: access, sync: .none, layer: layer)
        layer.reset()
        for batch in batches(10) { try store.enqueue(batch) }
        try store.commit()
        #expect(layer.counts.writes == 10)
        #expect(layer.counts.dataSyncs + layer.counts.syncs == 0)
        try store.close()
    }

    @Test func `a repeat writes nothing`() throws {
        let path = temporaryStore()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let layer = CountingFileLayer()
        let store = try Store.open(at: path, access: access, layer: layer)
        let batches = batches(5)
        for batch in batches { try store.append(batch) }
        layer.reset()
        for batch in batches { #expect(try store.append(batch).duplicate) }
        #expect(layer.counts.writes + layer.counts.dataSyncs == 0)
        try store.close()
    }

    @Test func `no file stays open`() throws {
        let path = temporaryStore()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let layer = CountingFileLayer()
        for batch in batches(10) {
            let store = try Store.open(at: path, access: access, layer: layer)
            try store.append(batch)
            _ = try store.statistics(StatisticsQuery())
            try store.checkpoint()
            try store.close()
            let reader = try Store.open(at: path, access: .read, layer: layer)
            _ = try reader.statistics(StatisticsQuery())
        }
        #expect(layer.counts.openFiles == 0)
    }

    @Test func `opening with a checkpoint reads as many times for a long log as for a short one`() throws {
        let path = temporaryStore()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let layer = CountingFileLayer()
        let batches = batches(60)
        var reads: [Int] = []
        for part in [batches[..<10], batches[10...]] {
            let store = try Store.open(at: path, access: access, sync: .none, layer: layer)
            for batch in part { try store.enqueue(batch) }
            try store.checkpoint()
            try store.close()
            layer.reset()
            let reader = try Store.open(at: path, access: .read, layer: layer)
            _ = try reader.statistics(StatisticsQuery())
            reads.append(layer.counts.reads)
        }
        #expect(reads[1] <= reads[0] + 8)
    }

    /// The same samples under an anchor of their own: another batch, not a repeat.
    private func changed(_ batch: Batch) -> Batch {
        var copy = batch
        copy.anchor = UUID().uuidString
        return copy
    }
}
