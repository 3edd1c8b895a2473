import HKLog
import Testing

private let minute: Int64 = 60_000_000
private let hour: Int64 = 60 * minute
private let day: Int64 = 24 * hour

@Suite struct `Category buckets` {
    private func rows(
        _ samples: [KernelCategorySample], _ range: Range<Int64> = 0..<day, layers: CategoryLayers = .one
    ) -> [CategoryRow] {
        var kernel = StatisticsKernel()
        return kernel.categoryBucket(of: samples.span, in: range, layers: layers)
    }

    private func row(_ value: Int64, count: UInt64, minutes: Int64) -> CategoryRow {
        CategoryRow(value: value, count: count, microseconds: UInt64(minutes * minute))
    }

    private func sample(_ value: Int64, _ start: Int64, _ end: Int64, rank: Int32 = 0) -> KernelCategorySample
    {
        KernelCategorySample(start: start, end: end, value: value, rank: rank)
    }

    @Test func `three hours stood and two idle`() {
        let samples = [0, 1, 0, 0, 1].enumerated().map { (hourIndex: Int, value: Int64) in
            sample(value, Int64(hourIndex) * hour, Int64(hourIndex + 1) * hour)
        }
        #expect(rows(samples) == [row(0, count: 3, minutes: 180), row(1, count: 2, minutes: 120)])
        #expect(rows(samples).map(\.seconds) == [10_800, 7_200])
    }

    @Test func `overlaps of one source and value count once, those of two values both`() {
        #expect(
            rows([sample(1, 0, hour), sample(1, 30 * minute, 90 * minute)])
                == [row(1, count: 2, minutes: 90)])
        #expect(
            rows([sample(1, 0, hour), sample(2, 30 * minute, 90 * minute)])
                == [row(1, count: 1, minutes: 60), row(2, count: 1, minutes: 60)])
    }

    @Test func `a night of watch and phone is not twice as long`() {
        // In bed by the phone 23-07, stages by the watch 23:10-06:50, asleep by an app 23-07.
        let night = 23 * hour
        let samples = [
            sample(0, night, night + 8 * hour, rank: 1),
            sample(3, night + 10 * minute, night + 4 * hour, rank: 0),
            sample(4, night + 4 * hour, night + 7 * hour + 50 * minute, rank: 0),
            sample(1, night, night + 8 * hour, rank: 2),
        ]
        #expect(
            rows(samples, 0..<2 * day, layers: .sleepAnalysis)
                == [
                    row(0, count: 1, minutes: 480), row(1, count: 1, minutes: 20),
                    row(3, count: 1, minutes: 230), row(4, count: 1, minutes: 230),
                ])
        // In one layer, the phone's time in bed would hide the app.
        #expect(
            rows(samples, 0..<2 * day).map(\.microseconds).reduce(0, +) == UInt64(480 * minute))
    }

    @Test func `in bed never hides sleep, and hides in bed`() {
        let samples = [
            sample(0, 0, 4 * hour, rank: 0), sample(3, hour, 2 * hour, rank: 1),
            sample(0, 3 * hour, 5 * hour, rank: 1),
        ]
        #expect(
            rows(samples, layers: .sleepAnalysis)
                == [row(0, count: 2, minutes: 300), row(3, count: 1, minutes: 60)])
    }

    @Test func `the start's bucket counts the sample, each bucket its time`() {
        let samples = [sample(1, day - hour, day + 2 * hour)]
        #expect(rows(samples) == [row(1, count: 1, minutes: 60)])
        #expect(rows(samples, day..<2 * day) == [row(1, count: 0, minutes: 120)])
        #expect(rows(samples, 2 * day..<3 * day) == [])
    }

    @Test func `a row needs a start or some time`() {
        let covered = [sample(1, -hour, hour, rank: 1), sample(2, -hour, 2 * hour, rank: 0)]
        #expect(rows(covered) == [row(2, count: 0, minutes: 120)])
        #expect(rows([sample(5, hour, hour)]) == [row(5, count: 1, minutes: 0)])
        #expect(rows([sample(5, hour, 0)]) == [row(5, count: 1, minutes: 0)])
        #expect(rows([]) == [])
        #expect(rows([sample(1, 0, hour)], minute..<minute) == [])
    }

    @Test func `a category of any length takes its time`() {
        let samples = [sample(1, 0, 400 * day, rank: 0), sample(2, day, day + hour, rank: 1)]
        #expect(
            rows(samples, day..<2 * day) == [row(1, count: 0, minutes: 1440), row(2, count: 1, minutes: 0)])
    }

    @Test func `each source alone, with nothing covered`() {
        let samples = [
            sample(1, 0, hour, rank: 4), sample(1, 0, 2 * hour, rank: 0), sample(2, 0, hour, rank: 4),
            sample(1, 30 * minute, 3 * hour, rank: 4),
        ]
        var kernel = StatisticsKernel()
        let own = kernel.categoryBucketBySource(of: samples.span, in: 0..<day, layers: .one)
        #expect(own.map(\.rank) == [0, 4, 4])
        #expect(
            own.map(\.row)
                == [
                    row(1, count: 1, minutes: 120), row(1, count: 2, minutes: 180),
                    row(2, count: 1, minutes: 60),
                ])
    }

    @Test func `extreme instants do not trap`() {
        let samples = [sample(.min, .min, .max, rank: .max), sample(.max, .max, .min, rank: .min)]
        #expect(rows(samples) == [CategoryRow(value: .min, count: 0, microseconds: UInt64(day))])
        #expect(rows(samples, Int64.min..<Int64.max).count == 1)
    }

    @Test(arguments: 0..<100 * statisticsTestScale)
    func `rows agree with the plain rule, in any order`(seed: Int) {
        var random = StatisticsRandom(seed: seed)
        let sourceCount = Int32([1, 2, 3, 80].randomElement(using: &random) ?? 1)
        var samples = (0..<Int.random(in: 1...25, using: &random)).map { _ in
            let start =
                seed % 2 == 0
                ? Int64.random(in: -4...25, using: &random) * hour
                : Int64.random(in: -4 * hour...25 * hour, using: &random)
            return sample(
                Int64.random(in: 0...3, using: &random), start,
                start + Int64.random(in: 0...5, using: &random) * hour,
                rank: Int32.random(in: 0..<sourceCount, using: &random))
        }
        for (layers, isSleep) in [(CategoryLayers.one, false), (.sleepAnalysis, true)] {
            let expected = StatisticsOracle.categoryRows(of: samples, in: 0..<day, isSleep: isSleep)
            #expect(rows(samples, layers: layers) == expected, "seed \(seed)")
            samples.shuffle(using: &random)
            #expect(rows(samples, layers: layers) == expected, "seed \(seed)")
        }
    }
}
