import HKLogFormat
import HKLogTestSupport
import Synchronization
import Testing

@testable import HKLog

@Suite struct FaultTests {
    /// What a run acknowledged, and how far it got.
    struct Progress {
        var acknowledged: UInt64 = 0
        var failures: [HKLogError] = []
    }

    /// Makes a store, appends over two openings and several segments, goes on after failures where one may.
    static func run(_ layer: SimulatedFileLayer) -> Progress {
        var progress = Progress()
        let log = SyntheticLog(existing: layer, segmentByteCount: 700)
        for _ in 0..<3 {
            do throws(HKLogError) {
                if log.isMissing {
                    try log.files.createStore(
                        StoreManifest(storeID: log.storeID, created: "now", segmentByteCount: 700))
                }
                let writer = try log.writer()
                for _ in 0..<3 {
                    do throws(HKLogError) {
                        try log.append(1, to: writer)
                    } catch {
                        progress.failures.append(error)
                        // Where there is no room, the same writer goes on.
                        try log.append(1, to: writer)
                    }
                    progress.acknowledged = max(progress.acknowledged, writer.nextAnchor)
                }
                try writer.close()
            } catch {
                progress.failures.append(error)
            }
        }
        return progress
    }

    static let calls: [StaticCallName] = [
        .open, .pread, .pwrite, .fdatasync, .fsync, .ftruncate, .fallocate, .rename, .unlink, .mkdir,
        .readdir,
        .fstat, .stat, .flock,
    ]

    @Test(arguments: calls)
    func `each call fails at each of its occurrences, and nothing acknowledged is lost`(call: StaticCallName)
        throws
    {
        let whole = SimulatedFileLayer()
        #expect(Self.run(whole).acknowledged == 9)
        let count = whole.count(of: call)
        var faults: [SimulatedFileLayer.Fault] = [
            .failure(ErrorNumber.inputOutput), .failure(ErrorNumber.noSpace),
        ]
        let mayBeInterrupted: Set<StaticCallName> = [.open, .pread, .pwrite, .fdatasync, .fsync, .ftruncate]
        if mayBeInterrupted.contains(call) { faults.append(.failure(ErrorNumber.interrupted)) }
        if call == .pwrite {
            faults += [.short, .tornFailure(ErrorNumber.inputOutput), .tornFailure(ErrorNumber.noSpace)]
        }
        if call == .pread { faults.append(.short) }
        var runs = 0
        let step = testScale > 1 || count < 20 ? 1 : 3
        for fault in faults {
            for occurrence in stride(from: 0, to: count, by: step) {
                runs += 1
                let layer = SimulatedFileLayer()
                layer.plan { made, number, _ in made == call && number == occurrence ? fault : nil }
                let progress = Self.run(layer)
                layer.plan(nil)
                if fault == .short || fault == .failure(ErrorNumber.interrupted) {
                    #expect(progress.failures.isEmpty && progress.acknowledged == 9)
                }
                do throws(HKLogError) {
                    // The machine goes down afterwards, with everything or with nothing that was not synced.
                    for state in layer.snapshot.crashStates(randomCount: 1, seed: UInt64(occurrence)).prefix(
                        3)
                    {
                        try PowerLossTests.check(
                            state, acknowledged: progress.acknowledged,
                            attempted: progress.acknowledged + 1, mayBeMissing: progress.acknowledged == 0)
                    }
                } catch {
                    Issue.record(
                        "\(call.rawValue) \(occurrence) \(fault): \(error), after \(progress.failures)")
                    return
                }
            }
        }
        print("faults: \(call.rawValue) \(count) times, \(runs) runs")
    }

    @Test func `after a failed sync the writer is finished, and reopening writes the bytes once more`() throws
    {
        let log = try SyntheticLog(segmentByteCount: 100_000)
        let writer = try log.writer()
        try log.append(2, to: writer)
        log.layer.plan { call, number, _ in
            call == .fdatasync && number == 0 ? .failure(ErrorNumber.inputOutput) : nil
        }
        let failure = #expect(throws: HKLogError.self) { try log.append(1, to: writer) }
        #expect(failure?.code == .inputOutput)
        let second = #expect(throws: HKLogError.self) { try log.append(1, to: writer) }
        #expect(second?.code == .writerFinished)
        #expect(throws: HKLogError.self) { try writer.synchronize() }
        // No sync was tried again on that descriptor.
        #expect(log.layer.count(of: .fdatasync) == 1)
        log.layer.plan(nil)
        let unsynced = SyntheticLog(existing: SimulatedFileLayer(log.layer.snapshot.afterProcessEnd()))
        let next = try unsynced.writer()
        #expect(next.nextAnchor == 3)
        try unsynced.append(1, to: next)
        // What is acknowledged now stands on the frame whose sync had failed: no loss of power may take it.
        for state in unsynced.layer.snapshot.crashStates(randomCount: 10, seed: 1) {
            try PowerLossTests.check(state, acknowledged: 4, attempted: 4)
        }
    }

    @Test func `a full disk is an error, the log stays as it was, and appending goes on when there is room`()
        throws
    {
        let full = try SyntheticLog(segmentByteCount: 700)
        let writer = try full.writer()
        try full.append(3, to: writer)
        let used = full.layer.usedByteCount
        var failures = 0
        for room in stride(from: 0, through: 800, by: testScale > 1 ? 1 : 5) {
            let log = SyntheticLog(existing: full.layer.copy(), segmentByteCount: 700)
            log.layer.limitRoom(to: used + room)
            let writer = try log.writer()
            var appended: UInt64 = 3
            for _ in 0..<3 {
                do throws(HKLogError) {
                    try log.append(1, to: writer)
                    appended += 1
                } catch {
                    #expect(error.code == .inputOutput)
                    failures += 1
                    break
                }
            }
            #expect(writer.nextAnchor == appended)
            #expect(try log.readAll().reading == .end(tornTail: nil))
            log.layer.limitRoom(to: nil)
            try log.append(2, to: writer)
            try writer.close()
            let outcome = try log.readAll()
            #expect(outcome.anchors == Array(0..<appended + 2))
            #expect(outcome.reading == .end(tornTail: nil))
        }
        #expect(failures > 100)
        _ = writer
    }

    @Test func `a second writer is refused at once, also without the lock file`() throws {
        let log = try SyntheticLog()
        var writer: LogWriter? = try log.writer()
        let refused = #expect(throws: HKLogError.self) { try log.writer() }
        #expect(refused?.code == .locked)
        #expect(refused?.message.contains("\(Platform.processID)") == true)
        try log.layer.unlink("/store/lock")
        #expect(throws: HKLogError.self) { try log.writer() }
        #expect(throws: HKLogError.self) {
            try log.files.repair { _ throws(HKLogError) in throw HKLogError(.internalFault, "") }
        }
        // Readers are not held up.
        #expect(try log.readAll().end == 0)
        if let writer { try log.append(1, to: writer) }
        writer = nil
        #expect(try log.writer().nextAnchor == 1)
    }

    @Test func `the number of open files does not grow with the segments`() throws {
        let log = try SyntheticLog(segmentByteCount: 200)
        let writer = try log.writer()
        try log.append(200, to: writer, byteCount: 8)
        try writer.close()
        #expect(log.segmentNames.count == 200)
        #expect(try log.readAll().anchors.count == 200)
        #expect(log.layer.highestHandleCount <= 6)
    }

    @Test func `reading changes nothing and needs no right to write`() throws {
        let log = try DamageTests.smallLog()
        log.layer.makeReadOnly(true)
        #expect(try log.readAll().anchors == Array(0..<7))
        #expect(try log.files.verify(storeID: log.storeID) { _, _ throws(HKLogError) in true }.isSound)
        let reader = try log.reader()
        var run = FrameRun()
        #expect(try reader.read(into: &run) == .frames)
        try reader.syncForHandout()
        #expect(throws: HKLogError.self) { try log.writer() }
    }

    @Test func `a frame that a reader would not take is never written`() throws {
        let log = try SyntheticLog()
        let writer = try log.writer()
        let good = SyntheticLog.frame(at: 0, previousNonce: 0)
        var flipped = good
        flipped[200] ^= 1
        for frame in [
            Array(good.dropLast()), good + [0], flipped, SyntheticLog.frame(at: 1, previousNonce: 0),
            SyntheticLog.frame(at: 0, previousNonce: 5), [],
        ] {
            #expect(throws: HKLogError.self) { try writer.append(frame.span, syncing: true) }
        }
        #expect(writer.nextAnchor == 0)
        try writer.append(good.span, syncing: true)
        #expect(writer.nextAnchor == 1)
    }

    @Test func `room asked for in advance is trimmed, and its failure is no error`() throws {
        for failing in [false, true] {
            let log = try SyntheticLog(segmentByteCount: 64 << 20)
            let writer = try log.writer()
            if failing {
                log.layer.plan { call, _, _ in call == .fallocate ? .failure(ErrorNumber.notSupported) : nil }
            }
            try log.append(10, to: writer)
            let end = writer.position.byteOffset
            let size = try #require(log.layer.bytes(at: log.segmentPath(0))).count
            #expect(failing ? size == end : size > end && size <= end + 4 << 20)
            #expect(try log.readAll().reading == .end(tornTail: nil))
            // Killed here: the next writer sees room, not damage.
            let next = try SyntheticLog(existing: log.layer.copy()).writer()
            #expect(next.nextAnchor == 10 && next.warnings.isEmpty)
            try writer.close()
            #expect(log.layer.bytes(at: log.segmentPath(0))?.count == end)
        }
    }
}
