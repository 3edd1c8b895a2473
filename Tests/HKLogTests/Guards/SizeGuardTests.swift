import HKLog
import HKLogFormat
import HKLogTestSupport
import Testing

/// Bytes do not flicker, so what a sample may cost on disk is held here, on the benchmark's workload.
struct SizeGuardTests {
    @Test(arguments: [(false, 1000, 24.6), (true, 1000, 21.3), (false, 100, 31.9), (false, 1, 300.0)])
    func `a sample takes no more bytes of the log than its bound`(
        wholeSeconds: Bool, batchSize: Int, bound: Double
    ) throws {
        // The first batches of a million samples: how close times lie together is part of their size.
        var maker = WorkloadBatches(
            sampleCount: 1_000_000, seed: 42, batchSize: batchSize, wholeSeconds: wholeSeconds)
        var encoder = FrameEncoder()
        var bytes: [UInt8] = []
        var anchor: UInt64 = 0
        var samples = 0
        while samples < 20 * min(batchSize, 1000), let batch = maker.next() {
            try encoder.encode(
                content(of: batch, anchor: anchor), storeTag: 1, firstAnchor: anchor,
                previousNonce: anchor, into: &bytes)
            anchor += 1
            samples += batch.addedCount
        }
        #expect(Double(bytes.count) / Double(samples) <= bound)
    }

    private func content(of batch: Batch, anchor: UInt64) -> FrameContent {
        var entry = BatchEntry()
        entry.stream = Array(batch.stream.utf8)
        entry.anchor = Array((batch.anchor ?? "").utf8)
        entry.flags = BatchFlags.hasAnchor
        entry.sequence = anchor + 1
        entry.nonce = anchor + 1
        entry.digest = RawDigest(low: anchor &* 0x9E37_79B9_7F4A_7C15, high: ~anchor)
        entry.addedCount = batch.rows.count
        entry.deletedCount = batch.deleted.count
        var content = FrameContent()
        content.batches = [entry]
        content.rows = batch.rows
        content.deletions = batch.deleted.map { DeletionEntry(uuid: $0.uuid.raw) }
        return content
    }
}
