import Foundation
import HKLogFormat
import HKLogTestSupport
import Synchronization
import Testing

@testable import HKLog

/// How much longer than usual the slow tests run.
let testScale = max(1, Int(ProcessInfo.processInfo.environment["HKLOG_TEST_SCALE"] ?? "") ?? 1)

/// Like `#require`, for places that run thousands of times.
func require(_ isTrue: Bool, _ text: @autoclosure () -> String) throws(HKLogError) {
    guard isTrue else { throw HKLogError(.internalFault, "not true: \(text())") }
}

@Suite struct PowerLossTests {
    /// Collects every state after every call of a run, and what was acknowledged then.
    final class Recorder: Sendable {
        struct Moment: Sendable {
            var state: SimulatedFileLayer.State
            var acknowledged: UInt64
            var call: String
        }
        private let content = Mutex<(moments: [Moment], acknowledged: UInt64, isCreated: Bool)>(
            ([], 0, false))

        func acknowledge(_ anchor: UInt64) { content.withLock { $0.acknowledged = anchor } }

        func watch(_ layer: SimulatedFileLayer) {
            layer.observe { [self] state, call in
                content.withLock {
                    $0.moments.append(Moment(state: state, acknowledged: $0.acknowledged, call: call))
                }
            }
        }

        var moments: [Moment] { content.withLock { $0.moments } }
    }

    /// Opens for writing, checks, appends, and does all of it once more.
    static func check(
        _ state: SimulatedFileLayer.State, acknowledged: UInt64, attempted: UInt64, mayBeMissing: Bool = false
    ) throws(HKLogError) {
        let layer = SimulatedFileLayer(state)
        let log = SyntheticLog(existing: layer)
        var expected: [UInt64]?
        for round in 0..<2 {
            if mayBeMissing, log.isMissing { return }
            // A reader, before any writer has put things right: no damage, all acknowledged.
            let read = try log.readAll()
            guard case .end = read.reading else {
                throw HKLogError(.internalFault, "a reader sees \(read.reading)")
            }
            try require(read.end >= acknowledged, "read.end >= acknowledged")
            let writer = try log.writer()
            try require(writer.nextAnchor >= acknowledged, "writer.nextAnchor >= acknowledged")
            try require(
                writer.nextAnchor <= attempted + UInt64(round),
                "writer.nextAnchor <= attempted + UInt64(round)")
            if let expected { try require(writer.nextAnchor == UInt64(expected.count), "same anchor again") }
            try log.append(1, to: writer)
            try writer.close()
            let outcome = try log.readAll()
            try require(outcome.reading == .end(tornTail: nil), "nothing torn: \(outcome.reading)")
            try require(
                outcome.anchors == Array(0..<outcome.end), "outcome.anchors == Array(0..<outcome.end)")
            let report = try log.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }
            try require(report.findings == [], "sound: \(report.findings)")
            try require(report.endAnchor == outcome.end, "report.endAnchor == outcome.end")
            expected = outcome.anchors
        }
    }

    @Test func `no state after a loss of power loses an acknowledged batch`() throws {
        let layer = SimulatedFileLayer()
        let recorder = Recorder()
        recorder.watch(layer)
        let log = try SyntheticLog(layer, segmentByteCount: 700)
        for _ in 0..<2 {
            let writer = try log.writer()
            for _ in 0..<5 {
                try log.append(1, to: writer)
                recorder.acknowledge(writer.nextAnchor)
            }
            try writer.close()
        }
        layer.observe(nil)
        let count = try Self.checkAll(recorder.moments) { state, moment throws(HKLogError) in
            try Self.check(
                state, acknowledged: moment.acknowledged, attempted: moment.acknowledged + 1,
                mayBeMissing: moment.acknowledged == 0)
        }
        #expect(count > 300)
    }

    /// The store holds batches up to `end` (but for `gap`), whichever way it is opened.
    static func checkWhole(_ state: SimulatedFileLayer.State, end: UInt64, gap: Range<UInt64>?)
        throws(HKLogError)
    {
        let log = SyntheticLog(existing: SimulatedFileLayer(state), segmentByteCount: 700)
        for _ in 0..<2 {
            let read = try log.readAll()
            try require(read.end == end && read.reading == .end(tornTail: nil), "reads \(read)")
            try require(read.gaps == (gap.map { [$0] } ?? []), "gaps \(read.gaps)")
            let report = try log.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }
            try require(report.isSound && report.endAnchor == end, "sound: \(report.findings)")
            let writer = try log.writer()
            try require(writer.nextAnchor == end, "the writer goes on at the end")
            try writer.close()
            let left: [String]
            do throws(SystemError) {
                left = try log.layer.names(in: "/store/log").filter { $0.contains(".new-") || $0 == "switch" }
            } catch { throw .system(error, "list", path: "/store/log") }
            try require(left.isEmpty, "nothing is left over: \(left)")
        }
    }

    @Test func `no state after a loss of power shows half a rewrite`() throws {
        let layer = SimulatedFileLayer()
        let log = try SyntheticLog(layer, segmentByteCount: 700)
        let writer = try log.writer()
        try log.append(10, to: writer)
        let recorder = Recorder()
        recorder.watch(layer)
        var transform = MergingTransform()
        try writer.rewrite(&transform)
        try writer.close()
        layer.observe(nil)
        let count = try Self.checkAll(recorder.moments) { state, _ throws(HKLogError) in
            try Self.checkWhole(state, end: 10, gap: nil)
        }
        #expect(count > 30)
    }

    @Test func `a repair may lose power at any point and be done again`() throws {
        let whole = try SyntheticLog(segmentByteCount: 700)
        let writer = try whole.writer()
        try whole.append(10, to: writer)
        try writer.close()
        for kind in 0..<3 {
            let layer = whole.layer.copy()
            let log = SyntheticLog(existing: layer, segmentByteCount: 700)
            let path = log.segmentPath(1)
            var bytes = try #require(layer.bytes(at: path))
            let gap: Range<UInt64>?
            switch kind {
            case 0:
                bytes[500] ^= 1
                layer.put(bytes, at: path)
                gap = 4..<5
            case 1:
                bytes[20] ^= 1
                layer.put(bytes, at: path)
                gap = nil
            default:
                try layer.unlink(path)
                try layer.synchronizeDirectory("/store/log")
                gap = 3..<6
            }
            let durable = SyntheticLog(existing: layer.copy(), segmentByteCount: 700)
            let recorder = Recorder()
            recorder.watch(durable.layer)
            let manifest = try durable.files.readManifest()
            _ = try durable.files.repair { _ throws(HKLogError) in manifest }
            durable.layer.observe(nil)
            let count = try Self.checkAll(recorder.moments) { state, _ throws(HKLogError) in
                let again = SyntheticLog(existing: SimulatedFileLayer(state), segmentByteCount: 700)
                for _ in 0..<2 {
                    let report = try again.files.repair { _ throws(HKLogError) in manifest }
                    try require(report.endAnchor == 10, "ends at 10")
                }
                try Self.checkWhole(again.layer.snapshot.afterProcessEnd(), end: 10, gap: gap)
            }
            #expect(count > 10)
        }
    }

    /// Checks all different states after all moments; answers how many there were.
    static func checkAll(
        _ moments: [Recorder.Moment],
        _ check: (SimulatedFileLayer.State, Recorder.Moment) throws(HKLogError) -> Void
    ) throws -> Int {
        var seen: Set<[Int]> = []
        var count = 0
        for (number, moment) in moments.enumerated() {
            for state in moment.state.crashStates(randomCount: 4 * testScale, seed: UInt64(number)) {
                count += 1
                guard seen.insert([state.contentHash, Int(moment.acknowledged)]).inserted else { continue }
                do throws(HKLogError) {
                    try check(state, moment)
                } catch {
                    Issue.record("moment \(number) after \(moment.call), state \(count): \(error)")
                    return count
                }
            }
        }
        print("power loss: \(moments.count) moments, \(count) states, \(seen.count) different")
        return seen.count
    }
}
