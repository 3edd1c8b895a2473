import HKLogFormat
import HKLogTestSupport
import Testing

@testable import HKLog

/// A second thread decodes, computes and asks for memory: it must never show in an answer.
@Suite struct ReplayAheadTests {
    private let heartRate = "HKQuantityTypeIdentifierHeartRate"
    private let steps = "HKQuantityTypeIdentifierStepCount"
    private let day: Int64 = 86_400_000_000

    private func sample(_ number: Int, at start: Int64) -> Sample {
        Sample(
            uuid: SampleUUID(raw: RawUUID(first: UInt64(number), second: 9)),
            type: number % 2 == 0 ? heartRate : steps, start: Timestamp(microseconds: start),
            value: .quantity(Double(60 + number % 50)), unit: number % 2 == 0 ? "count/min" : "count",
            source: Source(name: number % 3 == 0 ? "Watch" : "Phone"))
    }

    /// A store of so many batches of one sample each, every tenth of which deletes an earlier one.
    private func store(batches: Int) throws -> TestStore {
        let test = try TestStore()
        for number in 0..<batches {
            var batch = Batch(
                stream: number % 7 == 0 ? "b" : "a", added: [sample(number, at: Int64(number) * day / 40)],
                anchor: "anchor-\(number)")
            if number % 10 == 9 {
                batch.deleted = [
                    Batch.Deletion(uuid: SampleUUID(raw: RawUUID(first: UInt64(number - 5), second: 9)))
                ]
            }
            _ = try test.store.append(batch)
        }
        return test
    }

    @Test func `a replay that decodes ahead ends where the appends did, at every bound`() throws {
        // 256 frames a stretch, and the second thread begins after four of them.
        let count = 1600
        let test = try store(batches: count)
        let digest = try test.digest()
        let whole = try test.store.replay(from: 0)
        #expect(whole.digest == digest && whole.batches == UInt64(count) && whole.deleted == 160)
        for end in [1, 255, 257, 1024, 1025, 1100, 1599] as [UInt64] {
            let part = try test.store.replay(from: 0, to: end)
            let other = try store(batches: Int(end))
            #expect(part.to == end && part.batches == end)
            #expect(try part.digest == other.digest())
        }
        let counted = try test.store.replay(from: 1000)
        #expect(counted.batches == 600 && counted.digest == digest)
    }

    @Test func `damage that the second thread meets stops the replay before it`() throws {
        let test = try store(batches: 1600)
        var segments = try test.layer.names(in: "\(TestStore.path)/log").filter { $0.hasSuffix(".seg") }
        segments.sort()
        let victim = segments[segments.count - 2]
        let path = "\(TestStore.path)/log/\(victim)"
        try test.store.close()
        let file = try test.layer.open(path, .writing)
        let half = try file.status().byteCount / 2
        let zeros = [UInt8](repeating: 0x55, count: 64)
        try file.writeFully(zeros.span, at: half)
        let store = try Store.open(at: TestStore.path, access: .dryRun(StoreOptions()), layer: test.layer)
        let report = try store.replay(from: 0)
        #expect(report.to > 1100 && report.to < 1600)
        #expect(store.damage?.code == .damaged)
        let other = try self.store(batches: Int(report.to))
        #expect(try report.digest == other.digest())
    }

    @Test func `many days computed by two threads are the days computed one by one`() throws {
        let test = try TestStore()
        var digests: [String] = []
        for part in 0..<6 {
            let rows = (0..<1000).map { sample(part * 1000 + $0, at: Int64(part * 1000 + $0) * day) }
            _ = try test.store.append(Batch(stream: "a", added: rows))
            // Asking brings the days of this part alone up to date.
            digests.append(try test.digest())
        }
        let whole = try test.store.replay(from: 0)
        #expect(whole.buckets == 6000 && whole.digest == digests.last)
        let rows = try test.store.statistics(StatisticsQuery()).rows
        #expect(rows.count == 6000 && rows.allSatisfy { $0.count == 1 })
        var days: [String: [Int32]] = [:]
        try test.store.forEachDay { type, bucket in
            days[type, default: []].append(bucket.dayNumber)
            #expect(bucket.count == 1 && (type == steps) == bucket.average.isNaN)
        }
        #expect(days[heartRate] == (0..<3000).map { Int32($0 * 2) })
        #expect(days[steps] == (0..<3000).map { Int32($0 * 2 + 1) })
    }

    @Test func `asking for memory ahead changes nothing in it`() throws {
        var table = RowTable(seed: (1, 2))
        let count = 300_000
        table.reserveMore(count)
        let population = try MemoryPopulation(of: table)
        for row in 0..<count {
            _ = table.append(
                uuid: RawUUID(first: UInt64(row), second: 3), start: Int64(row), duration: 0,
                value: UInt64(row), shape: 0, extra: 0, batch: 7, flags: 0)
        }
        withExtendedLifetime(population) {}
        var wrong = 0
        for row in 0..<count where table.starts[row] != Int64(row) || table.batches[row] != 7 { wrong += 1 }
        #expect(wrong == 0)
        var probe = 0
        let last = RawUUID(first: UInt64(count - 1), second: 3)
        #expect(table.next(last, hash: RowTable.hash(last, table.seed), probe: &probe) == count - 1)
    }
}
