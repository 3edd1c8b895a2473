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
        private let content = Mutex<(moments: [Moment], acknowledged: UInt64, isCreated: Bool)>(([], 0, false))

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
            try require(writer.nextAnchor <= attempted + UInt64(round), "writer.nextAnchor <= attempted + UInt64(round)")
            if let expected { try require(writer.nextAnchor == UInt64(expected.count), "same anchor again") }
            try log.append(1, to: writer)
            try writer.close()
            let outcome = try log.readAll()
            try require(outcome.reading == .end(tornTail: nil), "nothing torn: \(outcome.reading)")
            try require(outcome.anchors == Array(0..<outcome.end), "outcome.anchors == Array(0..<outcome.end)")
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
        var count = 0
        for moment in recorder.moments {
            for state in moment.state.crashStates(randomCount: 4 * testScale, seed: UInt64(count)) {
                count += 1
                do {
                    try Self.check(
                        state, acknowledged: moment.acknowledged, attempted: moment.acknowledged + 1,
                        mayBeMissing: moment.acknowledged == 0)
                } catch {
                    Issue.record("after \(moment.call), state \(count): \(error)")
                    return
                }
            }
        }
        #expect(count > 1000)
        print("power loss: \(recorder.moments.count) moments, \(count) states")
    }
}
