import HKLogFormat
import HKLogTestSupport
import Testing

@testable import HKLog

/// What those see who read, copy or lose a part of a log that was compacted or cut.
@Suite struct CompactedLogTests {
    private func anchors(_ reader: ChangeReader) throws -> [UInt64] {
        var found: [UInt64] = []
        while let change = try reader.next() {
            if case .batch(_, let anchor) = change { found.append(anchor) }
        }
        return found
    }

    @Test func `a follower sees each batch once, also when it stands within a rewritten frame`() throws {
        let test = try TestStore()
        for number in 1...10 as ClosedRange<UInt64> { _ = try test.store.append(TestStore.batch(number)) }
        let follower = try test.store.changes(since: 0)
        #expect(try anchors(follower) == Array(1...10))
        for number in 11...14 as ClosedRange<UInt64> { _ = try test.store.append(TestStore.batch(number)) }
        _ = try test.store.compact()
        for number in 15...16 as ClosedRange<UInt64> { _ = try test.store.append(TestStore.batch(number)) }
        #expect(try anchors(follower) == Array(11...16))
        let late = try test.store.changes(since: 5)
        #expect(try anchors(late) == Array(6...16))
        #expect(try late.position().logCheck == follower.position().logCheck)
    }

    @Test func `a copy of a compacted store has its digest, batches that were emptied included`() throws {
        let test = try TestStore()
        var first = TestStore.batch(1)
        first.anchor = nil
        _ = try test.store.append(first)
        var whole = TestStore.batch(2)
        whole.snapshot = .whole
        _ = try test.store.append(whole)
        _ = try test.store.compact()
        let copy = try TestStore()
        for batch in try test.batches() {
            let result = try copy.store.append(batch)
            #expect(!result.duplicate)
        }
        #expect(try copy.store.info().digest == test.store.info().digest)
        #expect(try copy.store.streams() == test.store.streams())
    }

    @Test
    func `a loss that a checkpoint proves is named, recorded by repair, and its anchors are not given again`()
        throws
    {
        var test = try TestStore()
        for number in 1...3 as ClosedRange<UInt64> { _ = try test.store.append(TestStore.batch(number)) }
        try test.store.checkpoint()
        try test.store.close()
        let path = "/store/log/00000000000000000000.seg"
        let bytes = try #require(test.layer.bytes(at: path))
        test.layer.put(Array(bytes.dropLast(10)), at: path)

        let reader = try Store.open(at: TestStore.path, access: .read, layer: test.layer)
        #expect(try reader.info().logAnchor == 2)
        #expect(reader.takeWarnings().contains { $0.contains("batches 3 to 3 are lost") })
        #expect(test.checkpointNames.count == 1)

        let report = try Store.repair(LogFiles(layer: test.layer, store: TestStore.path))
        #expect(report.gaps == [3...3])
        #expect(report.setAside.contains { $0.hasPrefix("views/") })
        let verified = try Store.verify(LogFiles(layer: test.layer, store: TestStore.path))
        #expect(verified.sound)
        #expect(verified.gaps == [3...3])
        test.store = try Store.open(at: TestStore.path, access: .write, layer: test.layer)
        #expect(try test.store.append(TestStore.batch(4)).logAnchor == 4)
        try test.store.close()
    }
}
