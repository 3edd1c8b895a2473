import HKLogFormat
import HKLogTestSupport
import Synchronization
import Testing

@testable import HKLog

/// What a reader finds at any moment of a compaction, whether its process goes on or has been killed there.
@Suite struct CompactionReaderTests {
    private final class States: Sendable {
        private let content = Mutex<[SimulatedFileLayer.State]>([])

        func watch(_ layer: SimulatedFileLayer) {
            layer.observe { [self] state, _ in content.withLock { $0.append(state) } }
        }

        var all: [SimulatedFileLayer.State] { content.withLock { $0 } }
    }

    private func open(_ layer: SimulatedFileLayer, _ access: StoreAccess) throws -> Store {
        try Store.open(at: TestStore.path, access: access, layer: layer)
    }

    /// Every state of the files while a store of small segments is appended to.
    private func appending(_ count: UInt64) throws -> [SimulatedFileLayer.State] {
        let layer = SimulatedFileLayer()
        let states = States()
        let options = StoreOptions(timeZone: "UTC", segmentByteCount: 1)
        let store = try open(layer, .writeOrCreate(options))
        states.watch(layer)
        for number in 1...count {
            _ = try store.append(TestStore.batch(number, deleting: number > 2 ? number - 2 : nil))
        }
        layer.observe(nil)
        return states.all
    }

    @Test
    func `a reader finds the whole log at every moment of a compaction, an empty last segment included`()
        throws
    {
        var emptyCount = 0
        var readCount = 0
        for before in try appending(4) {
            let layer = SimulatedFileLayer(before.afterProcessEnd())
            let segments = try layer.names(in: "\(TestStore.path)/log").filter { $0.hasSuffix(".seg") }
            guard let last = segments.max(),
                layer.bytes(at: "\(TestStore.path)/log/\(last)")?.count == SegmentHeader.byteCount
            else { continue }
            emptyCount += 1
            let store = try open(layer, .write)
            let (digest, anchor) = (try store.info().digest, store.logAnchor)
            let states = States()
            states.watch(layer)
            _ = try store.compact()
            layer.observe(nil)
            for state in states.all {
                let reader = try open(SimulatedFileLayer(state.afterProcessEnd()), .read)
                #expect(try reader.info().digest == digest && reader.logAnchor == anchor)
                readCount += 1
                // Without a checkpoint, and as a writer that takes the log over.
                let bare = SimulatedFileLayer(state.afterProcessEnd())
                for name in (try? bare.names(in: "\(TestStore.path)/views")) ?? [] {
                    try bare.unlink("\(TestStore.path)/views/\(name)")
                }
                #expect(try open(bare, .read).info().digest == digest)
            }
        }
        #expect(emptyCount >= 3 && readCount > 30)
    }
}
