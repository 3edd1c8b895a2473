import Foundation
import HKLogTestSupport
import Testing

@testable import HKLog

/// Faults that other log stores have had, where no other suite has them: see the table in `docs/durability.md`.
struct LessonTests {
    @Test func `a segment that is cut under a reader is an error or an end, never a signal`() throws {
        for isCutToNothing in [true, false] {
            let path = FileManager.default.temporaryDirectory.appending(path: "hklog-\(UUID().uuidString)")
                .path
            defer { try? FileManager.default.removeItem(atPath: path) }
            let options = StoreOptions(timeZone: "UTC", segmentByteCount: 1 << 20)
            let store = try Store.open(at: path, access: .writeOrCreate(options))
            for index in 0..<40 { try store.append(StoreRehearsal.batch(index)) }
            try store.close()
            let reader = try Store.open(at: path, access: .read).changes(since: 0)
            #expect(try reader.next() != nil)
            let segment = "\(path)/log/\(LogFiles.segmentName(firstAnchor: 0))"
            let file = try SystemFiles().open(segment, .writing)
            try file.truncate(to: isCutToNothing ? 0 : 3000)
            // What it has read ahead may still come; then it says what is wrong, or that nothing follows.
            var count = 1
            do throws(HKLogError) {
                while try reader.next() != nil { count += 1 }
            } catch {
                #expect(error.code == .damaged, "\(error)")
            }
            #expect(count <= 40)
            let fresh = try Store.open(at: path, access: .read)
            #expect(try fresh.info().logAnchor < 40)
            try fresh.close()
        }
    }

    @Test func `a follower that meets damage goes on after the repair, and does not spin`() throws {
        let log = try SyntheticLog(segmentByteCount: 700)
        let writer = try log.writer()
        try log.append(20, to: writer)
        try writer.close()
        let follower = try log.reader()
        let path = log.segmentPath(2)
        var bytes = try #require(log.layer.bytes(at: path))
        bytes[bytes.count / 2] ^= 1
        log.layer.put(bytes, at: path)
        let before = try SyntheticLog.drain(follower)
        guard case .damaged(let finding) = before.reading else {
            Issue.record("the damage was not met: \(before)")
            return
        }
        // As often as it asks it is told the same.
        for _ in 0..<3 { #expect(try SyntheticLog.drain(follower).reading == .damaged(finding)) }
        let report = try log.files.repair { id throws(HKLogError) in
            StoreManifest(storeID: id, created: "2026-03-01T00:00:00Z")
        }
        #expect(report.gaps.count == 1)
        let calls = log.layer.snapshot.calls.count
        let after = try SyntheticLog.drain(follower)
        #expect(log.layer.snapshot.calls.count - calls < 1000)
        #expect(after.gaps == report.gaps)
        #expect(after.end == 20 && after.reading == .end(tornTail: nil))
        #expect(after.anchors == (before.end..<20).filter { !report.gaps[0].contains($0) })
    }

    @Test func `anchors follow the order of arrival, whatever the clocks of the samples say`() throws {
        let layer = SimulatedFileLayer()
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
        for (place, index) in [9, 3, 7, 1].enumerated() {
            #expect(try store.append(StoreRehearsal.batch(index)).logAnchor == UInt64(place + 1))
        }
        try store.close()
        let reader = try StoreRehearsal.open(layer, .read).changes(since: 0)
        var names: [String?] = []
        while case .batch(let batch, _)? = try reader.next() { names.append(batch.anchor) }
        #expect(names == ["a9", "a3", "a7", "a1"])
    }

    @Test func `an anchor that the log has never given is an error, whoever asks from there`() throws {
        let layer = SimulatedFileLayer()
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
        for index in 0..<6 { try store.append(StoreRehearsal.batch(index)) }
        // Compaction keeps every anchor as a place to go on from.
        _ = try store.compact()
        for anchor in 0...6 as ClosedRange<UInt64> {
            let reader = try store.changes(since: anchor)
            var count: UInt64 = 0
            while try reader.next() != nil { count += 1 }
            #expect(count == 6 - anchor)
        }
        let error = #expect(throws: HKLogError.self) { try store.changes(since: 7) }
        #expect(error?.code == .anchorBeyondEnd)
        try store.close()
    }
}
