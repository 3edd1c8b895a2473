import HKLogFormat
import HKLogTestSupport

@testable import HKLog

/// A store with frames whose headers are right and whose content is made up.
struct SyntheticLog {
    let layer: SimulatedFileLayer
    let files: LogFiles
    static let storeID = RawUUID(first: 0x1122_3344_5566_7788, second: 0x99AA_BBCC_DDEE_FF00)
    var storeID: RawUUID { Self.storeID }
    let segmentByteCount: Int

    /// Makes the store.
    init(_ layer: SimulatedFileLayer = SimulatedFileLayer(), segmentByteCount: Int = 1000) throws {
        self.init(existing: layer, segmentByteCount: segmentByteCount)
        try files.createStore(
            StoreManifest(
                storeID: Self.storeID, created: "2026-03-01T00:00:00Z", segmentByteCount: segmentByteCount))
    }

    /// A store that is there already.
    init(existing layer: SimulatedFileLayer, segmentByteCount: Int = 1000) {
        self.layer = layer
        self.segmentByteCount = segmentByteCount
        files = LogFiles(layer: layer, store: "/store")
    }

    func writer(hint: LogPosition? = nil) throws(HKLogError) -> LogWriter {
        try LogWriter(files, storeID: storeID, segmentByteCount: segmentByteCount, hint: hint)
    }

    func reader(from anchor: UInt64 = 0, hint: LogPosition? = nil) throws(HKLogError) -> LogReader {
        try LogReader(files, storeID: storeID, from: anchor, hint: hint)
    }

    /// Whether there is no store (which is not the same as a damaged one).
    var isMissing: Bool {
        do throws(HKLogError) {
            _ = try files.readManifest()
            return false
        } catch {
            return error.code == .notFound
        }
    }

    /// Appends frames of `batchCount` batches, each synced.
    func append(_ count: Int, to writer: LogWriter, batchCount: UInt32 = 1, byteCount: Int = 150)
        throws(HKLogError)
    {
        for _ in 0..<count {
            let frame = Self.frame(
                at: writer.nextAnchor, previousNonce: writer.lastNonce, batchCount: batchCount,
                byteCount: byteCount)
            try writer.append(frame.span, syncing: true)
        }
    }

    /// The nonce of the last batch before `anchor`: 0 at the beginning, else made from the anchor.
    static func nonce(at anchor: UInt64) -> UInt64 {
        anchor == 0 ? 0 : (anchor &* 0x9E37_79B9_7F4A_7C15) | 1
    }

    /// A frame with stored bytes made from its anchor; `byteCount` is that of the part that is not plain.
    static func frame(
        at anchor: UInt64, previousNonce: UInt64, batchCount: UInt32 = 1, byteCount: Int = 150,
        storeID: RawUUID = storeID, salt: UInt8 = 0
    ) -> [UInt8] {
        let plain = 24 * Int(batchCount)
        var stored: [UInt8] = []
        var word = anchor &* 0xD129_0F5A_3C5B_7E6B &+ UInt64(salt)
        for _ in 0..<plain + byteCount {
            word = word &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            stored.append(UInt8(truncatingIfNeeded: word >> 56) | 1)
        }
        var header = FrameHeader()
        header.storeTag = storeID.first
        header.firstAnchor = anchor
        header.batchCount = batchCount
        header.previousNonce = previousNonce
        header.lastNonce = nonce(at: anchor + UInt64(batchCount)) &+ UInt64(salt) << 1
        header.storedByteCount = UInt64(stored.count)
        header.plainByteCount = UInt64(plain)
        header.rawByteCount = UInt64(byteCount)
        header.storedChecksum = checksum(of: stored.span)
        var bytes: [UInt8] = []
        header.encode(into: &bytes)
        return bytes + stored
    }

    /// Everything that a reader gives from an anchor on.
    struct Outcome: Equatable {
        /// First anchors of the frames.
        var anchors: [UInt64] = []
        var gaps: [Range<UInt64>] = []
        var end: UInt64 = 0
        var reading: LogReading = .frames
    }

    func readAll(from anchor: UInt64 = 0, hint: LogPosition? = nil) throws(HKLogError) -> Outcome {
        try Self.drain(try reader(from: anchor, hint: hint))
    }

    static func drain(_ reader: LogReader) throws(HKLogError) -> Outcome {
        var outcome = Outcome()
        var run = FrameRun()
        while true {
            outcome.reading = try reader.read(into: &run)
            guard outcome.reading == .frames else { break }
            for entry in run.entries {
                switch entry.record {
                case .frame(let header):
                    outcome.anchors.append(header.firstAnchor)
                    if checksum(of: run.storedBytes(of: entry)) != header.storedChecksum {
                        throw HKLogError(.internalFault, "the run's bytes are not the frame's")
                    }
                case .gap(let gap): outcome.gaps.append(gap.firstAnchor..<gap.endAnchor)
                }
            }
        }
        outcome.end = reader.position.anchor
        return outcome
    }

    var segmentNames: [String] {
        ((try? layer.names(in: files.log)) ?? []).filter { $0.hasSuffix(".seg") }.sorted()
    }

    func segmentPath(_ index: Int) -> String { "/store/log/\(segmentNames[index])" }
}
