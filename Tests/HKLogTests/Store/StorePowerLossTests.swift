import HKLogTestSupport
import Synchronization
import Testing

@testable import HKLog

/// A store may lose power at any point of everything that it does.
@Suite struct StorePowerLossTests {
    /// The files after each call of a run, with what had been promised then.
    final class Recorder: Sendable {
        struct Moment: Sendable {
            var state: SimulatedFileLayer.State
            var attempted: Int
            var acknowledged: Int
            var handedOut: [Int: String]
            var call: String
        }

        private struct Content {
            var moments: [Moment] = []
            var attempted = 0
            var acknowledged = 0
            var handedOut: [Int: String] = [:]
            var isFollowing = false
            var calls = 0
        }

        private let content = Mutex(Content())

        func promise(attempted: Int, acknowledged: Int) {
            content.withLock {
                $0.attempted = attempted
                $0.acknowledged = acknowledged
            }
        }

        /// Records every moment; `follows` lets a reader ask for the position in between, as a process beside would.
        func watch(_ layer: SimulatedFileLayer, follows: Bool) {
            layer.observe { [self, weak layer] state, call in
                let mayFollow = content.withLock { content -> Bool in
                    content.moments.append(
                        Moment(
                            state: state, attempted: content.attempted, acknowledged: content.acknowledged,
                            handedOut: content.handedOut, call: call))
                    content.calls += 1
                    guard follows, !content.isFollowing, content.calls % 4 == 0 else { return false }
                    content.isFollowing = true
                    return true
                }
                guard mayFollow, let layer else { return }
                let position = try? Self.position(layer)
                content.withLock {
                    $0.isFollowing = false
                    if let position { $0.handedOut[Int(position.logAnchor)] = position.logCheck }
                }
            }
        }

        private static func position(_ layer: SimulatedFileLayer) throws(HKLogError) -> (
            logAnchor: UInt64, logCheck: String
        ) {
            let reader = try StoreRehearsal.open(layer, .read).changes(since: 0)
            while try reader.next() != nil {}
            return try reader.position()
        }

        var moments: [Moment] { content.withLock { $0.moments } }
        var handedOutCount: Int { content.withLock { $0.handedOut.count } }
    }

    /// Checks states after the moments of a run: all of them at a higher scale, else every so many.
    static func checkStates(
        _ moments: [Recorder.Moment], about wanted: Int,
        _ check: (SimulatedFileLayer.State, Recorder.Moment) throws(HKLogError) -> Void
    ) -> (states: Int, checked: Int) {
        var seen: Set<[Int]> = []
        var states: [(Int, SimulatedFileLayer.State)] = []
        for (number, moment) in moments.enumerated() {
            for state in moment.state.crashStates(randomCount: 4 * testScale, seed: UInt64(number))
            where seen.insert([state.contentHash, moment.acknowledged, moment.handedOut.count]).inserted {
                states.append((number, state))
            }
        }
        let step = max(1, states.count / (wanted * testScale))
        var checked = 0
        for index in stride(from: 0, to: states.count, by: step) {
            let (number, state) = states[index]
            checked += 1
            do throws(HKLogError) {
                try check(state, moments[number])
            } catch {
                Issue.record("moment \(number) after \(moments[number].call), state \(index): \(error)")
                if checked > 20 { break }
            }
        }
        return (states.count, checked)
    }

    @Test(arguments: [SyncPolicy.batch, .group], [false, true])
    func `no state after a loss of power loses what a store has promised`(sync: SyncPolicy, follows: Bool) {
        let layer = SimulatedFileLayer()
        let recorder = Recorder()
        recorder.watch(layer, follows: follows)
        let run = StoreRehearsalRun(layer, sync: sync)
        run.report = { recorder.promise(attempted: $0, acknowledged: $1) }
        run.run()
        layer.observe(nil)
        #expect(run.failures.isEmpty, "\(run.failures)")
        #expect(run.acknowledged == StoreRehearsalRun.total)
        #expect(follows == (recorder.handedOutCount > 5))
        let count = Self.checkStates(recorder.moments, about: 40) { state, moment throws(HKLogError) in
            try StoreRehearsal.check(
                state, acknowledged: moment.acknowledged, attempted: moment.attempted,
                handedOut: moment.handedOut)
        }
        print(
            "store power loss, \(sync), follower \(follows): \(recorder.moments.count) moments, "
                + "\(count.states) different states, \(count.checked) checked")
        #expect(count.states > 500)
    }

    @Test
    func `a store that loses power while it is repaired agrees with its replay, and can be repaired again`()
        throws
    {
        let whole = try StoreDamage.filled(withCheckpoint: true)
        let files = LogFiles(layer: whole, store: StoreRehearsal.path)
        let name = try #require(StoreDamage.segments(of: whole).dropFirst().first)
        let path = files.path(name)
        var bytes = try #require(whole.bytes(at: path))
        bytes[bytes.count / 2] ^= 1
        whole.put(bytes, at: path)
        let recorder = Recorder()
        recorder.watch(whole, follows: false)
        let report = try Store.repair(files)
        whole.observe(nil)
        #expect(!report.gaps.isEmpty)
        let lost = Set(report.gaps.flatMap { Array($0) })
        let count = Self.checkStates(recorder.moments, about: 40) { state, _ throws(HKLogError) in
            let layer = SimulatedFileLayer(state)
            let files = LogFiles(layer: layer, store: StoreRehearsal.path)
            let half = try StoreRehearsal.open(layer, .read)
            do throws(HKLogError) {
                // Where the log is whole again the answers are those of the log.
                _ = try StoreRehearsal.contents(half)
                try StoreRehearsal.requireReplayAgrees(half)
            } catch {
                guard error.code == .damaged else { throw error }
            }
            try half.close()
            for _ in 0..<2 {
                _ = try Store.repair(files)
                let verified = try Store.verify(files, secondLookAfter: 0)
                try require(verified.sound, "sound: \(verified.problems)")
                let store = try StoreRehearsal.open(layer)
                let contents = try StoreRehearsal.contents(store)
                try require(contents.gaps == lost, "the same batches are lost: \(contents.gaps)")
                try StoreRehearsal.requireReplayAgrees(store)
                try store.close()
            }
        }
        print(
            "store power loss, repair: \(recorder.moments.count) moments, \(count.states) different states, "
                + "\(count.checked) checked")
    }
}
