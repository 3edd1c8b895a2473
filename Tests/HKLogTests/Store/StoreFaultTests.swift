import HKLogTestSupport
import Testing

@testable import HKLog

/// Each call to the operating system fails at each of its occurrences, under a store with all that it does.
@Suite struct StoreFaultTests {
    static let calls: [StaticCallName] = [
        .open, .pread, .pwrite, .fdatasync, .fsync, .ftruncate, .fallocate, .rename, .unlink, .mkdir,
        .readdir,
        .fstat, .stat, .flock, .getrandom,
    ]

    static func faults(of call: StaticCallName) -> [SimulatedFileLayer.Fault] {
        var faults: [SimulatedFileLayer.Fault] = [.failure(ErrorNumber.inputOutput)]
        switch call {
        case .pwrite:
            faults += [
                .failure(ErrorNumber.noSpace), .failure(ErrorNumber.interrupted), .short,
                .tornFailure(ErrorNumber.inputOutput), .tornFailure(ErrorNumber.noSpace),
            ]
        case .pread: faults += [.failure(ErrorNumber.interrupted), .short]
        case .open, .fallocate, .mkdir, .rename: faults.append(.failure(ErrorNumber.noSpace))
        case .fdatasync, .fsync:
            faults += [.failure(ErrorNumber.noSpace), .failure(ErrorNumber.interrupted)]
        case .ftruncate: faults.append(.failure(ErrorNumber.interrupted))
        default: break
        }
        return faults
    }

    private static func requireClear(_ error: HKLogError) throws(HKLogError) {
        let codes: [HKLogError.Code] = [.inputOutput, .writerFinished, .cannotCreate]
        try require(
            codes.contains(error.code), "an error of the disk, not \(error.code.name): \(error.message)")
        try require(
            !error.message.contains("\n") && error.message.contains(StoreRehearsal.path),
            "one line that names the place: \(error.message)")
    }

    @Test(arguments: calls)
    func `each call fails at each of its occurrences, and the store keeps what it has promised`(
        call: StaticCallName
    ) throws {
        let whole = SimulatedFileLayer()
        let first = StoreRehearsalRun(whole, sync: .batch)
        first.run()
        #expect(first.failures.isEmpty)
        let count = whole.count(of: call)
        let step = max(1, count / (2 * testScale))
        var runs = 0
        var unfinished = 0
        for (number, fault) in Self.faults(of: call).enumerated() {
            for occurrence in stride(from: number % step, to: count, by: step) {
                runs += 1
                let layer = SimulatedFileLayer()
                layer.plan { made, number, _ in made == call && number == occurrence ? fault : nil }
                let run = StoreRehearsalRun(layer, sync: .batch)
                run.run()
                layer.plan(nil)
                do throws(HKLogError) {
                    try require(run.acknowledged == StoreRehearsalRun.total, "goes on to the end")
                    for failure in run.failures { try Self.requireClear(failure.error) }
                    switch fault {
                    case .short, .failure(ErrorNumber.interrupted):
                        try require(run.failures.isEmpty, "carried on with: \(run.failures)")
                    case .failure(ErrorNumber.noSpace) where call == .pwrite || call == .fallocate,
                        .tornFailure(ErrorNumber.noSpace):
                        try require(run.reopened == 0, "goes on when there is room: \(run.failures)")
                    default: if run.reopened > 0 { unfinished += 1 }
                    }
                    for state in layer.snapshot.crashStates(randomCount: 1, seed: UInt64(occurrence)).prefix(
                        2)
                    {
                        try StoreRehearsal.check(
                            state, acknowledged: run.acknowledged, attempted: run.attempted)
                    }
                } catch {
                    Issue.record("\(call.rawValue) \(occurrence) \(fault): \(error), after \(run.failures)")
                    return
                }
            }
        }
        print(
            "store faults: \(call.rawValue) \(count) times, \(runs) runs, \(unfinished) with a finished writer"
        )
    }

    @Test(arguments: calls)
    func `a checkpoint that fails is no obstacle`(call: StaticCallName) throws {
        let layer = SimulatedFileLayer()
        layer.plan { made, _, path in
            made == call && path.hasPrefix("\(StoreRehearsal.path)/views")
                ? .failure(ErrorNumber.inputOutput) : nil
        }
        let run = StoreRehearsalRun(layer, sync: .group)
        run.run()
        layer.plan(nil)
        #expect(run.acknowledged == StoreRehearsalRun.total)
        #expect(run.reopened == 0)
        // Only who asks for a checkpoint is told, and a compaction, whose promise one is.
        #expect(run.failures.allSatisfy { ["checkpoint", "compact"].contains($0.step) }, "\(run.failures)")
        try StoreRehearsal.check(
            layer.snapshot.afterProcessEnd(), acknowledged: run.acknowledged, attempted: run.attempted)
    }

    @Test(arguments: calls)
    func `a repair that fails can be done again`(call: StaticCallName) throws {
        let damaged = try StoreDamage.filled(withCheckpoint: true)
        let name = try #require(StoreDamage.segments(of: damaged).dropFirst().first)
        let path = "\(StoreRehearsal.path)/log/\(name)"
        var bytes = try #require(damaged.bytes(at: path))
        bytes[bytes.count / 2] ^= 1
        damaged.put(bytes, at: path)
        let whole = damaged.copy()
        let expected = try Store.repair(LogFiles(layer: whole, store: StoreRehearsal.path)).gaps
        #expect(!expected.isEmpty)
        let count = whole.count(of: call)
        for (number, fault) in Self.faults(of: call).enumerated() {
            let step = max(1, count / (2 * testScale))
            for occurrence in stride(from: number % step, to: count, by: step) {
                let layer = damaged.copy()
                let files = LogFiles(layer: layer, store: StoreRehearsal.path)
                layer.plan { made, number, _ in made == call && number == occurrence ? fault : nil }
                do throws(HKLogError) {
                    do throws(HKLogError) {
                        _ = try Store.repair(files)
                    } catch {
                        try Self.requireClear(error)
                    }
                    layer.plan(nil)
                    _ = try Store.repair(files)
                    let report = try Store.verify(files, secondLookAfter: 0)
                    try require(report.sound && report.gaps == expected, "\(report)")
                    let store = try StoreRehearsal.open(layer)
                    _ = try StoreRehearsal.contents(store)
                    try StoreRehearsal.requireReplayAgrees(store)
                    try store.close()
                } catch {
                    Issue.record("\(call.rawValue) \(occurrence) \(fault): \(error)")
                    return
                }
            }
        }
    }

    @Test func `a batch appended beside a group that waits stands behind it`() throws {
        let layer = SimulatedFileLayer()
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
        for index in 0..<2 {
            #expect(try store.enqueue(StoreRehearsal.batch(index)).logAnchor == UInt64(index) + 1)
        }
        #expect(try store.append(StoreRehearsal.batch(2)).logAnchor == 3)
        #expect(try StoreRehearsal.contents(store).batches == [1, 2, 3])
        try store.close()
    }

    @Test func `what a failed commit did not write may be sent again, in a group or alone`() throws {
        let layer = SimulatedFileLayer()
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
        try store.append(StoreRehearsal.batch(0))
        for index in 1..<3 { try store.enqueue(StoreRehearsal.batch(index)) }
        layer.plan { call, _, _ in call == .pwrite ? .failure(ErrorNumber.noSpace) : nil }
        #expect(throws: HKLogError.self) { try store.commit() }
        layer.plan(nil)
        #expect(try store.info().logAnchor == 1)
        for index in 1..<3 {
            let result = try store.enqueue(StoreRehearsal.batch(index))
            #expect(!result.duplicate && result.logAnchor == UInt64(index) + 1)
        }
        try store.commit()
        #expect(try StoreRehearsal.contents(store).batches == [1, 2, 3])
        try StoreRehearsal.requireReplayAgrees(store)
        try store.close()
    }
}
