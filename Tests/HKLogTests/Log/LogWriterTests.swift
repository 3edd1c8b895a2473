import HKLogFormat
import HKLogTestSupport
import Testing

@testable import HKLog

/// Puts frames of several batches in the place of the frames of each run.
struct MergingTransform: LogTransform {
    var limit: UInt64 = 3
    private var first: UInt64?
    private var end: UInt64 = 0

    init(limit: UInt64 = 3) { self.limit = limit }

    mutating func transform(_ run: FrameRun, into output: inout SegmentOutput) throws(HKLogError) {
        for entry in run.entries {
            switch entry.record {
            case .gap(let gap):
                try finish(into: &output)
                try output.append(gap)
            case .frame(let header):
                if first == nil { first = header.firstAnchor }
                end = header.endAnchor
                if end - (first ?? 0) >= limit { try finish(into: &output) }
            }
        }
    }

    mutating func finish(into output: inout SegmentOutput) throws(HKLogError) {
        guard let first else { return }
        let frame = SyntheticLog.frame(
            at: first, previousNonce: output.lastNonce, batchCount: UInt32(end - first), byteCount: 4)
        try output.append(frame.span)
        self.first = nil
    }
}

@Suite struct LogWriterTests {
    @Test func `what is appended is read, across segments and openings`() throws {
        let log = try SyntheticLog()
        for round in 0..<3 {
            let writer = try log.writer()
            #expect(writer.nextAnchor == UInt64(round * 10))
            #expect(writer.warnings.isEmpty)
            try log.append(10, to: writer)
            try writer.close()
        }
        let outcome = try log.readAll()
        #expect(outcome.anchors == Array(0..<30))
        #expect(outcome.reading == .end(tornTail: nil))
        #expect(log.segmentNames.count == 8)
        for anchor in 0...30 as ClosedRange<UInt64> {
            #expect(try log.readAll(from: anchor).anchors == Array(anchor..<30))
        }
        let error = #expect(throws: HKLogError.self) { try log.readAll(from: 31) }
        #expect(error?.code == .anchorBeyondEnd)
    }

    @Test func `a frame of many batches is found by any of their anchors`() throws {
        let log = try SyntheticLog()
        let writer = try log.writer()
        try log.append(10, to: writer, batchCount: 5)
        try writer.close()
        for anchor in 0..<50 as Range<UInt64> {
            let reader = try log.reader(from: anchor)
            #expect(reader.position.anchor == anchor / 5 * 5)
            #expect(reader.position.nonce == SyntheticLog.nonce(at: anchor / 5 * 5))
            #expect(try reader.totalCounts().batches == 50 - anchor / 5 * 5)
        }
    }

    @Test func `a frame may be larger than a segment and than the reader's buffer`() throws {
        let log = try SyntheticLog()
        let writer = try log.writer()
        try log.append(1, to: writer, byteCount: 10)
        try log.append(1, to: writer, byteCount: 100_000)
        try log.append(2, to: writer, byteCount: 10)
        try writer.close()
        let reader = try LogReader(log.files, storeID: log.storeID, runByteCount: 300)
        #expect(try SyntheticLog.drain(reader).anchors == [0, 1, 2, 3])
        #expect(log.segmentNames.count == 2)
    }

    @Test func `a hint is believed when it fits, and only then`() throws {
        let log = try SyntheticLog()
        let writer = try log.writer()
        var hints: [LogPosition] = [writer.position]
        for _ in 0..<20 {
            try log.append(1, to: writer)
            hints.append(writer.position)
        }
        try writer.close()
        for hint in hints {
            let before = log.layer.count(of: .pread)
            let reader = try log.reader(from: hint.anchor, hint: hint)
            // One look at each segment's header, and one at the frame before the place.
            #expect(log.layer.count(of: .pread) - before <= log.segmentNames.count + 1)
            #expect(reader.position == hint)
            #expect(try SyntheticLog.drain(reader).anchors == Array(hint.anchor..<20))
            var wrong = hint
            wrong.nonce ^= 1
            #expect(try log.reader(from: hint.anchor, hint: wrong).position.nonce == hint.nonce)
            wrong = hint
            wrong.byteOffset += 1
            wrong.lastFrameByteOffset -= 7
            #expect(try log.reader(from: hint.anchor, hint: wrong).position.anchor == hint.anchor)
            wrong = hint
            wrong.segment += 1
            #expect(try log.reader(from: hint.anchor, hint: wrong).position.nonce == hint.nonce)
            #expect(try log.writer(hint: hint).nextAnchor == 20)
        }
        // A checkpoint that is newer than the log.
        let newer = LogPosition(anchor: 99, nonce: 1, segment: 16, byteOffset: 500, lastFrameByteOffset: 128)
        #expect(try log.writer(hint: newer).nextAnchor == 20)
    }

    @Test func `a follower sees whole frames, all of them, in order`() throws {
        let log = try SyntheticLog(segmentByteCount: 700)
        let reader = try log.reader()
        var run = FrameRun()
        #expect(try reader.read(into: &run) == .end(tornTail: nil))
        let writer = try log.writer()
        var seen: [UInt64] = []
        for round in 0..<30 {
            try log.append(round % 4, to: writer)
            while try reader.read(into: &run) == .frames { seen += run.entries.map(\.record.firstAnchor) }
            #expect(seen == Array(0..<writer.nextAnchor))
            // Half a frame at the end is no frame.
            let path = log.segmentPath(log.segmentNames.count - 1)
            let half = SyntheticLog.frame(at: writer.nextAnchor, previousNonce: writer.lastNonce).dropLast(50)
            let file = try log.layer.open(path, .writing)
            try file.writeFully(Array(half).span, at: writer.position.byteOffset)
            guard case .end(let torn?) = try reader.read(into: &run) else {
                Issue.record("half a frame was read")
                return
            }
            #expect(torn.byteCount >= half.count && torn.firstAnchor == writer.nextAnchor)
            try reader.syncForHandout()
        }
    }

    @Test func `what a reader hands out is on stable storage`() throws {
        let log = try SyntheticLog(segmentByteCount: 100_000)
        let writer = try log.writer()
        let frame = SyntheticLog.frame(at: 0, previousNonce: 0)
        try writer.append(frame.span, syncing: false)
        #expect(!writer.isSynchronized)
        let reader = try log.reader()
        var run = FrameRun()
        #expect(try reader.read(into: &run) == .frames)
        try reader.syncForHandout()
        for state in log.layer.snapshot.crashStates(randomCount: 4, seed: 1) {
            try PowerLossTests.check(state, acknowledged: 1, attempted: 1)
        }
        let syncs = log.layer.count(of: .fdatasync)
        try reader.syncForHandout()
        #expect(log.layer.count(of: .fdatasync) == syncs)
    }

    // MARK: Rewriting

    @Test func `a rewrite keeps anchors, chain and what a reader has begun to read`() throws {
        let log = try SyntheticLog(segmentByteCount: 700)
        let writer = try log.writer()
        try log.append(25, to: writer)
        let hint = writer.position
        var readers: [(LogReader, [UInt64])] = []
        for start in [0, 4, 9, 17, 25] as [UInt64] {
            let reader = try LogReader(log.files, storeID: log.storeID, from: start, runByteCount: 300)
            var run = FrameRun()
            let seen = try reader.read(into: &run) == .frames ? run.entries.map(\.record.endAnchor) : []
            readers.append((reader, seen))
        }
        var transform = MergingTransform()
        try writer.rewrite(&transform)
        #expect(writer.nextAnchor == 25)
        try log.append(3, to: writer)
        let outcome = try log.readAll()
        #expect(outcome.end == 28 && outcome.reading == .end(tornTail: nil))
        #expect(outcome.anchors.prefix(3) == [0, 3, 6])
        #expect(try log.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }.isSound)
        for (reader, seen) in readers {
            var reached = seen.last ?? 25
            var run = FrameRun()
            while try reader.read(into: &run) == .frames {
                for entry in run.entries {
                    // A frame may begin before what was read, but never behind it.
                    #expect(entry.record.firstAnchor <= reached && entry.record.endAnchor > reached)
                    reached = entry.record.endAnchor
                }
            }
            #expect(reached == 28)
        }
        // A checkpoint's hint from before is not believed where frames have moved.
        #expect(try log.reader(from: 25, hint: hint).position.nonce == SyntheticLog.nonce(at: 25))
        try writer.close()
        for anchor in 0...28 as ClosedRange<UInt64> {
            let reader = try log.reader(from: anchor)
            #expect(reader.position.anchor <= anchor)
        }
        #expect(try log.writer().nextAnchor == 28)
    }

    @Test func `a failed rewrite leaves the log as it was, and the writer goes on`() throws {
        struct Failing: LogTransform {
            mutating func transform(_ run: FrameRun, into output: inout SegmentOutput) throws(HKLogError) {
                let frame = SyntheticLog.frame(at: 0, previousNonce: 0)
                try output.append(frame.span)
            }
            mutating func finish(into output: inout SegmentOutput) throws(HKLogError) {}
        }
        let log = try SyntheticLog(segmentByteCount: 700)
        let writer = try log.writer()
        try log.append(8, to: writer)
        let names = try log.layer.names(in: "/store/log").sorted()
        var failing = Failing()
        #expect(throws: HKLogError.self) { try writer.rewrite(&failing) }
        log.layer.limitRoom(to: log.layer.usedByteCount + 300)
        var merging = MergingTransform(limit: 1)
        #expect(throws: HKLogError.self) { try writer.rewrite(&merging) }
        log.layer.limitRoom(to: nil)
        #expect(try log.layer.names(in: "/store/log").sorted() == names)
        try log.append(1, to: writer)
        try writer.close()
        #expect(try log.readAll().anchors == Array(0..<9))
    }

    // MARK: Backup

    @Test func `a backup is a whole store of the same id, and needs an empty place`() throws {
        let log = try DamageTests.smallLog()
        let manifest = try log.files.readManifest()
        let target = LogFiles(layer: log.layer, store: "/copy")
        let writer = try log.writer()
        #expect(try log.files.backup(to: target, manifest: manifest) == 7)
        try log.append(1, to: writer)
        #expect(try target.readManifest() == manifest)
        let report = try target.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }
        #expect(report.isSound && report.endAnchor == 7 && report.segments == 4)
        #expect(throws: HKLogError.self) { try log.files.backup(to: target, manifest: manifest) }
        let copy = try LogWriter(target, storeID: log.storeID, segmentByteCount: 300)
        #expect(copy.nextAnchor == 7)
        // All of it was synced: no loss of power takes anything.
        for state in log.layer.snapshot.crashStates(randomCount: 5, seed: 3) {
            let layer = SimulatedFileLayer(state)
            let files = LogFiles(layer: layer, store: "/copy")
            #expect(try files.readManifest() == manifest)
            #expect(try files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }.endAnchor == 7)
        }
    }

    @Test func `a backup of an empty log, of one with a gap, and of a damaged one`() throws {
        let empty = try SyntheticLog()
        let emptyCopy = LogFiles(layer: empty.layer, store: "/copy")
        #expect(try empty.files.backup(to: emptyCopy, manifest: try empty.files.readManifest()) == 0)
        #expect(try LogWriter(emptyCopy, storeID: empty.storeID, segmentByteCount: 9).nextAnchor == 0)

        let log = try DamageTests.smallLog()
        let damaged = try DamageTests.changed(log, log.segmentPath(1)) { $0[140] ^= 1 }
        let target = LogFiles(layer: damaged.layer, store: "/copy")
        let manifest = try log.files.readManifest()
        #expect(throws: HKLogError.self) { try damaged.files.backup(to: target, manifest: manifest) }
        #expect(try !damaged.layer.exists("/copy"))
        _ = try damaged.files.repair { _ throws(HKLogError) in manifest }
        #expect(try damaged.files.backup(to: target, manifest: manifest) == 7)
        let report = try target.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }
        #expect(report.isSound && report.gaps == [2..<3])
    }
}
