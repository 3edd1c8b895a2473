import Foundation
import HKLogFormat
import HKLogTestSupport
import Testing

@testable import HKLog

@Suite struct DamageTests {
    /// Three segments of two small frames each, and the last of one more.
    static func smallLog() throws -> SyntheticLog {
        let log = try SyntheticLog(segmentByteCount: 300)
        let writer = try log.writer()
        try log.append(7, to: writer, byteCount: 8)
        try writer.close()
        #expect(log.segmentNames.count == 4)
        return log
    }

    static func changed(_ log: SyntheticLog, _ path: String, _ change: (inout [UInt8]) -> Void) throws
        -> SyntheticLog
    {
        let copy = SyntheticLog(existing: log.layer.copy(), segmentByteCount: log.segmentByteCount)
        var bytes = try #require(copy.layer.bytes(at: path))
        change(&bytes)
        copy.layer.put(bytes, at: path)
        return copy
    }

    @Test func `a log cut at any length of its last segment keeps its whole frames, twice over`() throws {
        let log = try SyntheticLog(segmentByteCount: 100_000)
        let writer = try log.writer()
        try log.append(4, to: writer, byteCount: 40)
        try writer.close()
        let path = log.segmentPath(0)
        let size = try #require(log.layer.bytes(at: path)).count
        let frameByteCount = (size - SegmentHeader.byteCount) / 4
        for length in 0...size {
            let cut = try Self.changed(log, path) { $0.removeLast(size - length) }
            let whole = max(0, length - SegmentHeader.byteCount) / frameByteCount
            let isClean =
                length < SegmentHeader.byteCount || (length - SegmentHeader.byteCount) % frameByteCount == 0
            let read = try cut.readAll()
            #expect(read.anchors == Array(0..<UInt64(whole)))
            if case .end(let tornTail) = read.reading {
                #expect((tornTail == nil) == isClean)
            } else {
                Issue.record("cut at \(length): \(read.reading)")
            }
            for round in 0..<2 {
                let writer = try cut.writer()
                #expect(writer.nextAnchor == UInt64(whole + round))
                #expect(writer.warnings.isEmpty == (isClean || round == 1))
                try cut.append(1, to: writer)
                try writer.close()
                #expect(try cut.readAll().anchors == Array(0...UInt64(whole + round)))
            }
            // The cut bytes are kept.
            #expect(try cut.files.setAsideNames().count == (isClean ? 0 : 1))
        }
    }

    @Test func `an earlier segment cut at any length is damage, and repair keeps everything else`() throws {
        let log = try Self.smallLog()
        let path = log.segmentPath(1)
        let size = try #require(log.layer.bytes(at: path)).count
        for length in stride(from: 0, to: size, by: testScale > 1 ? 1 : 9) {
            let cut = try Self.changed(log, path) { $0.removeLast(size - length) }
            let isHeaderCut = length < SegmentHeader.byteCount
            let lost: UInt64 = length < SegmentHeader.byteCount + 128 ? 2 : 1
            // What headers show bars writing at once; the rest is met by who replays before writing.
            if isHeaderCut { #expect(throws: HKLogError.self) { try cut.writer() } }
            let names = try cut.layer.names(in: "/store/log").sorted()
            let read = try cut.readAll()
            guard case .damaged(let finding) = read.reading else {
                Issue.record("cut at \(length): \(read.reading)")
                continue
            }
            #expect(read.end == 4 - lost)
            #expect(finding.file == "log/00000000000000000002.seg")
            if !isHeaderCut { #expect(finding.firstAnchor == 4 - lost && finding.endAnchor == 4) }
            // Nothing was touched.
            #expect(try cut.layer.names(in: "/store/log").sorted() == names)
            do throws(HKLogError) {
                try Self.repair(cut, gap: 4 - lost..<4, end: 7)
            } catch {
                Issue.record("cut at \(length): \(error)")
                return
            }
        }
    }

    static func repair(_ log: SyntheticLog, gap: Range<UInt64>?, end: UInt64) throws(HKLogError) {
        for round in 0..<2 {
            let report = try log.files.repair { _ throws(HKLogError) in
                throw HKLogError(.internalFault, "the settings are there")
            }
            #expect(report.endAnchor == end + UInt64(round))
            #expect(report.gaps == (round == 0 ? gap.map { [$0] } ?? [] : []))
            let verified = try log.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }
            #expect(verified.findings == [])
            #expect(verified.gaps == (gap.map { [$0] } ?? []))
            let writer = try log.writer()
            #expect(writer.nextAnchor == end + UInt64(round))
            try log.append(1, to: writer, byteCount: 8)
            try writer.close()
            let read = try log.readAll()
            #expect(read.reading == .end(tornTail: nil))
            #expect(read.gaps == (gap.map { [$0] } ?? []))
            #expect(read.anchors == (0...end + UInt64(round)).filter { gap?.contains($0) != true })
        }
    }

    @Test func `no flipped bit is believed`() throws {
        let log = try SyntheticLog(segmentByteCount: 200)
        let writer = try log.writer()
        try log.append(3, to: writer, byteCount: 8)
        try writer.close()
        #expect(log.segmentNames.count == 3)
        let whole = try log.readAll()
        var flips = 0
        var harmless = 0
        for segment in 0..<log.segmentNames.count {
            let path = log.segmentPath(segment)
            let original = try #require(log.layer.bytes(at: path))
            // Each bit in the long run; a different bit of every byte in the short one.
            for place in original.indices {
                for bit in 0..<8 where testScale > 1 || bit == (place &* 5 &+ segment) % 8 {
                    flips += 1
                    let copy = try Self.changed(log, path) { $0[place] ^= 1 << UInt8(bit) }
                    let verified = try copy.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in
                        true
                    }
                    var read = SyntheticLog.Outcome()
                    var isRefused = false
                    do throws(HKLogError) {
                        read = try copy.readAll()
                    } catch { isRefused = true }
                    if verified.isSound {
                        harmless += 1
                        #expect(!isRefused && read == whole)
                    } else {
                        #expect(isRefused || read.reading != .end(tornTail: nil))
                        #expect(read.anchors == Array(0..<UInt64(read.anchors.count)))
                    }
                    // A writer refuses, or what it cut was the last frame alone, and is kept.
                    do throws(HKLogError) {
                        let writer = try copy.writer()
                        #expect(writer.nextAnchor >= 2)
                        if writer.nextAnchor < 3 {
                            let kept = try copy.files.setAsideNames()
                            #expect(!writer.warnings.isEmpty && !kept.isEmpty)
                        }
                    } catch {
                        #expect(error.code == .damaged)
                        #expect(copy.layer.bytes(at: path)?.count == original.count)
                    }
                }
            }
        }
        print("bit flips: \(flips), harmless \(harmless)")
        #expect(harmless == 0)
    }

    @Test func `repair after any flipped byte loses at most the frame it is in`() throws {
        let log = try Self.smallLog()
        for segment in 0..<3 {
            let path = log.segmentPath(segment)
            let original = try #require(log.layer.bytes(at: path))
            for place in stride(from: segment, to: original.count, by: testScale > 1 ? 1 : 11) {
                let copy = try Self.changed(log, path) { $0[place] ^= 0x10 }
                let frame = max(0, place - SegmentHeader.byteCount) / 128
                let anchor = UInt64(segment * 2 + frame)
                try Self.repair(
                    copy, gap: place < SegmentHeader.byteCount ? nil : anchor..<anchor + 1, end: 7)
            }
        }
    }

    @Test func `zeros before a frame are damage, zeros up to the end are room`() throws {
        let log = try Self.smallLog()
        let last = log.segmentPath(3)
        for count in [1, 95, 96, 97, 5000] {
            let copy = try Self.changed(log, last) { $0 += [UInt8](repeating: 0, count: count) }
            #expect(try copy.readAll().reading == .end(tornTail: nil))
            #expect(try copy.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }.isSound)
            let writer = try copy.writer()
            #expect(writer.warnings.isEmpty && writer.nextAnchor == 7)
        }
        let zeroed = try Self.changed(log, log.segmentPath(1)) { bytes in
            for index in 128..<148 { bytes[index] = 0 }
        }
        guard case .damaged(let finding) = try zeroed.readAll().reading else {
            Issue.record("zeros were skipped")
            return
        }
        #expect(finding.byteOffset == 128 && finding.byteCount == 128)
        #expect(finding.firstAnchor == 2 && finding.endAnchor == 3)
    }

    @Test func `stale and foreign frames behind the end belong to the torn tail`() throws {
        let log = try Self.smallLog()
        let last = log.segmentPath(3)
        let stale = SyntheticLog.frame(at: 3, previousNonce: SyntheticLog.nonce(at: 3), byteCount: 8)
        let foreign = SyntheticLog.frame(
            at: 9, previousNonce: 4, byteCount: 8, storeID: RawUUID(first: 5, second: 5))
        for tail in [stale, foreign, [1, 2, 3] + stale, [7] + foreign + stale] {
            let copy = try Self.changed(log, last) { $0 += tail }
            guard case .end(let tornTail?) = try copy.readAll().reading else {
                Issue.record("not a torn tail")
                continue
            }
            #expect(tornTail.byteCount == tail.count)
            let writer = try copy.writer()
            #expect(writer.nextAnchor == 7 && writer.warnings.count == 1)
            #expect(copy.layer.bytes(at: last) == log.layer.bytes(at: last))
            let kept = try #require(try copy.files.setAsideNames().first)
            #expect(copy.layer.bytes(at: "/store/log/\(kept)") == tail)
        }
        // One with an anchor above is proof of damage.
        let later = SyntheticLog.frame(at: 8, previousNonce: SyntheticLog.nonce(at: 8), byteCount: 8)
        let copy = try Self.changed(log, last) { $0 += [9, 9, 9] + later }
        #expect(throws: HKLogError.self) { try copy.writer() }
        try Self.repair(copy, gap: 7..<8, end: 9)
    }

    @Test func `a frame whose checksum is zero is a frame`() throws {
        let log = try SyntheticLog()
        let writer = try log.writer()
        // CRC32C of 32 zero bytes' complement trick: search a stored part that sums to zero by its last four bytes.
        var frame = SyntheticLog.frame(at: 0, previousNonce: 0, byteCount: 8)
        let stored = Array(frame[96...].dropLast(4))
        let ending = Self.bytesToReachZero(after: checksum(of: stored.span))
        let whole = stored + ending
        #expect(checksum(of: whole.span) == 0)
        guard case .valid(var header) = FrameHeader.read(frame.span) else {
            Issue.record("no header")
            return
        }
        header.storedChecksum = 0
        frame = []
        header.encode(into: &frame)
        frame += whole
        try writer.append(frame.span, syncing: true)
        try log.append(1, to: writer)
        try writer.close()
        #expect(try log.readAll().anchors == [0, 1])
    }

    /// The four bytes that bring a CRC32C from `checksum` to zero.
    static func bytesToReachZero(after checksum: UInt32) -> [UInt8] {
        // The register must end as all ones; run the division backwards over four bytes.
        var register: UInt32 = 0xFFFF_FFFF
        for _ in 0..<32 {
            register = register & 0x8000_0000 != 0 ? (register ^ 0x82F6_3B78) << 1 | 1 : register << 1
        }
        let word = register ^ ~checksum
        return (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) }
    }

    @Test func `lengths are bounded by the file before anything is allocated`() throws {
        let log = try Self.smallLog()
        for count in [UInt64(1) << 30, 1 << 31, .max, .max - 95] {
            var header = FrameHeader()
            header.storeTag = log.storeID.first
            header.firstAnchor = 7
            header.batchCount = 1
            header.previousNonce = SyntheticLog.nonce(at: 7)
            header.storedByteCount = count
            header.plainByteCount = 24
            header.rawByteCount = count &- 24
            var bytes: [UInt8] = []
            header.encode(into: &bytes)
            let copy = try Self.changed(log, log.segmentPath(3)) { $0 += bytes + [1, 2, 3] }
            let read = try copy.readAll()
            #expect(read.end == 7)
            #expect(read.reading != .end(tornTail: nil))
            #expect(try copy.writer().nextAnchor == 7)
        }
    }

    @Test func `many seeming frames inside each other do not make the search quadratic`() throws {
        let log = try Self.smallLog()
        var tail: [UInt8] = [1]
        let count = 4000
        for index in 0..<count {
            var header = FrameHeader()
            header.storeTag = log.storeID.first
            header.firstAnchor = 50
            header.batchCount = 1
            header.storedByteCount = UInt64((count - index - 1) * 96 + 34)
            header.plainByteCount = 24
            header.rawByteCount = header.storedByteCount - 24
            header.storedChecksum = 1
            header.encode(into: &tail)
        }
        let copy = try Self.changed(log, log.segmentPath(3)) { $0 += tail + [UInt8](repeating: 7, count: 34) }
        // It is not decided whether anything real follows, so nothing is cut.
        #expect(throws: HKLogError.self) { try copy.writer() }
    }

    @Test func `a frame of a newer version is no torn tail`() throws {
        let log = try Self.smallLog()
        var frame = SyntheticLog.frame(at: 7, previousNonce: SyntheticLog.nonce(at: 7), byteCount: 8)
        frame[4] = 2
        let covered = Array(frame[..<8]) + frame[12..<96]
        let sum = checksum(of: covered.span)
        for index in 0..<4 { frame[8 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
        let copy = try Self.changed(log, log.segmentPath(3)) { $0 += frame }
        guard case .damaged(let finding) = try copy.readAll().reading else {
            Issue.record("a newer frame was taken for something else")
            return
        }
        #expect(finding.kind == .newerVersion)
        #expect(throws: HKLogError.self) { try copy.writer() }
        let before = copy.layer.bytes(at: copy.segmentPath(3))
        #expect(throws: HKLogError.self) {
            try copy.files.repair { _ throws(HKLogError) in throw HKLogError(.internalFault, "") }
        }
        #expect(copy.layer.bytes(at: copy.segmentPath(3)) == before)
    }

    // MARK: Segments as files

    @Test func `a missing segment is named with its batches, and becomes a gap`() throws {
        let log = try Self.smallLog()
        for index in 0..<3 {
            let copy = SyntheticLog(existing: log.layer.copy(), segmentByteCount: 300)
            try copy.layer.unlink(copy.segmentPath(index))
            let first = UInt64(index * 2)
            let report = try copy.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }
            #expect(report.findings.map(\.kind) == [.missingSegment])
            #expect(
                report.findings.first?.firstAnchor == first && report.findings.first?.endAnchor == first + 2)
            #expect(throws: HKLogError.self) { try copy.writer() }
            if index > 0 {
                let read = try copy.readAll()
                #expect(read.end == first)
                guard case .damaged = read.reading else {
                    Issue.record("\(read.reading)")
                    continue
                }
            }
            try Self.repair(copy, gap: first..<first + 2, end: 7)
        }
    }

    @Test func `a store that has lost all its segments is not taken for a new one`() throws {
        let log = try Self.smallLog()
        for index in (0..<4).reversed() { try log.layer.unlink(log.segmentPath(index)) }
        #expect(throws: HKLogError.self) { try log.writer() }
        #expect(try log.readAll().reading != .end(tornTail: nil))
        #expect(try !log.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }.isSound)
        #expect(throws: HKLogError.self) { try log.files.createStore(try log.files.readManifest()) }
    }

    @Test func `two missing segments become one gap`() throws {
        let log = try Self.smallLog()
        let (second, third) = (log.segmentPath(1), log.segmentPath(2))
        try log.layer.unlink(second)
        try log.layer.unlink(third)
        try Self.repair(log, gap: 2..<6, end: 7)
    }

    @Test func `foreign, renamed and doubled segments are found at open and mended by repair`() throws {
        let log = try Self.smallLog()
        let other = SyntheticLog.frame(at: 0, previousNonce: 0, storeID: RawUUID(first: 9, second: 9))
        var foreign: [UInt8] = []
        SegmentHeader(
            storeID: RawUUID(first: 9, second: 9), firstAnchor: 2, previousFirstAnchor: 0,
            previousLastNonce: 1
        ).encode(into: &foreign)

        let swapped = SyntheticLog(existing: log.layer.copy(), segmentByteCount: 300)
        swapped.layer.put(foreign + other, at: swapped.segmentPath(1))
        #expect(throws: HKLogError.self) { try swapped.writer() }
        #expect(try swapped.readAll().end == 2)
        try Self.repair(swapped, gap: 2..<4, end: 7)
        #expect(try swapped.files.setAsideNames() == ["00000000000000000002.seg.foreign"])

        let renamed = SyntheticLog(existing: log.layer.copy(), segmentByteCount: 300)
        try renamed.layer.rename(renamed.segmentPath(1), to: "/store/log/00000000000000000003.seg")
        #expect(throws: HKLogError.self) { try renamed.writer() }
        try Self.repair(renamed, gap: nil, end: 7)

        for name in ["00000000000000000009.seg", "copy.seg"] {
            let doubled = SyntheticLog(existing: log.layer.copy(), segmentByteCount: 300)
            doubled.layer.put(
                try #require(doubled.layer.bytes(at: doubled.segmentPath(1))), at: "/store/log/\(name)")
            let report = try doubled.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }
            #expect(report.findings.map(\.kind) == [.duplicateSegment])
            #expect(throws: HKLogError.self) { try doubled.writer() }
            #expect(try doubled.readAll().anchors == Array(0..<7))
            try Self.repair(doubled, gap: nil, end: 7)
        }
    }

    @Test func `two swapped segments of one store are damage`() throws {
        let log = try Self.smallLog()
        let (first, second) = (log.segmentPath(1), log.segmentPath(2))
        let bytes = (try #require(log.layer.bytes(at: first)), try #require(log.layer.bytes(at: second)))
        log.layer.put(bytes.1, at: first)
        log.layer.put(bytes.0, at: second)
        #expect(throws: HKLogError.self) { try log.writer() }
        try Self.repair(log, gap: nil, end: 7)
    }

    @Test(arguments: [0, 1, 64, 127])
    func `a newest segment without its header is ignored by readers and removed by a writer`(count: Int)
        throws
    {
        let log = try Self.smallLog()
        log.layer.put([UInt8](repeating: 3, count: count), at: "/store/log/00000000000000000007.seg")
        #expect(try log.readAll().anchors == Array(0..<7))
        #expect(try log.readAll().reading == .end(tornTail: nil))
        for round in 0..<2 {
            let writer = try log.writer()
            #expect(writer.nextAnchor == UInt64(7 + round))
            try log.append(1, to: writer)
            try writer.close()
        }
        #expect(try log.readAll().anchors == Array(0..<9))
    }

    @Test func `a newest segment's name proves that the one before was longer`() throws {
        let log = try Self.smallLog()
        log.layer.put([], at: "/store/log/00000000000000000009.seg")
        guard case .damaged(let finding) = try log.readAll().reading else {
            Issue.record("nothing was noticed")
            return
        }
        #expect(finding.firstAnchor == 7 && finding.endAnchor == 9)
        #expect(throws: HKLogError.self) { try log.writer() }
        try Self.repair(log, gap: 7..<9, end: 9)
    }

    @Test func `verify reports every damaged place, not only the first`() throws {
        let log = try Self.smallLog()
        let one = try Self.changed(log, log.segmentPath(0)) { $0[140] ^= 1 }
        let two = try Self.changed(one, log.segmentPath(2)) { $0[300] ^= 1 }
        let report = try two.files.verify(storeID: log.storeID) { header, _ throws(HKLogError) in
            header.firstAnchor != 6
        }
        #expect(report.findings.map(\.kind) == [.damaged, .damaged, .undecodable])
        #expect(report.findings.map(\.firstAnchor) == [0, 5, 6])
        #expect(report.frames == 5)
        let mended = try two.files.repair { _ throws(HKLogError) in throw HKLogError(.internalFault, "") }
        #expect(mended.gaps == [0..<1, 5..<6])
        #expect(try two.readAll().anchors == [1, 2, 3, 4, 6])
    }

    // MARK: store.json

    @Test func `a changed byte of store json is found, and repair rebuilds it`() throws {
        let log = try Self.smallLog()
        let path = "/store/store.json"
        let original = try #require(log.layer.bytes(at: path))
        let manifest = try log.files.readManifest()
        for place in original.indices {
            let copy = try Self.changed(log, path) { $0[place] ^= 1 }
            #expect(throws: HKLogError.self) { try copy.files.readManifest() }
        }
        for damage in [nil, [], Array("{}".utf8), Array(original.dropLast())] as [[UInt8]?] {
            let copy = SyntheticLog(existing: log.layer.copy(), segmentByteCount: 300)
            if let damage { copy.layer.put(damage, at: path) } else { try copy.layer.unlink(path) }
            #expect(!copy.isMissing)
            let report = try copy.files.repair { id throws(HKLogError) in
                StoreManifest(storeID: id, created: manifest.created, segmentByteCount: 300)
            }
            #expect(report.rebuiltManifest)
            #expect(copy.layer.bytes(at: path) == original)
            #expect(try copy.readAll().anchors == Array(0..<7))
        }
    }

    @Test func `a store of a newer version is refused by name`() throws {
        let log = try Self.smallLog()
        var text = String(decoding: try log.files.readManifest().encoded(), as: UTF8.self)
        text = text.replacing("\"formatVersion\":1", with: "\"formatVersion\":2")
        let start = try #require(text.range(of: "\"checksum\""))
        var bytes = Array(text[..<start.lowerBound].utf8)
        let sum = String(checksum(of: bytes.span), radix: 16)
        bytes += Array("\"checksum\":\"\(String(repeating: "0", count: 8 - sum.count))\(sum)\"\n}\n".utf8)
        log.layer.put(bytes, at: "/store/store.json")
        let error = #expect(throws: HKLogError.self) { try log.files.readManifest() }
        #expect(error?.message.contains("format version 2") == true)
    }

    @Test func `settings are kept to the byte`() throws {
        let log = try SyntheticLog()
        var manifest = try log.files.readManifest()
        manifest.settings = Array(#"{"zone":"Asia/Tokyo","n":"a\"b,\n","x":{"checksum":"00"}}"#.utf8)
        try log.files.writeManifest(manifest)
        #expect(try log.files.readManifest() == manifest)
    }
}
