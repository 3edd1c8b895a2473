import Foundation
import HKLog
import Testing

private let minute: Int64 = 60_000_000
private let hour: Int64 = 60 * minute
private let day: Int64 = 24 * hour

@Suite struct `Discrete buckets` {
    private func bucket(
        _ samples: [KernelSample], _ range: Range<Int64> = 0..<day, mean: DiscreteMean = .arithmetic
    ) -> DiscreteBucket? {
        var kernel = StatisticsKernel()
        return kernel.discreteBucket(of: samples.span, in: range, mean: mean)
    }

    private func point(_ value: Double, at instant: Int64, rank: Int32 = 0) -> KernelSample {
        KernelSample(start: instant, end: instant, value: value, rank: rank)
    }

    @Test func `minimum, maximum, mean and the most recent`() {
        let samples = [point(60, at: hour), point(110, at: 3 * hour), point(70, at: 2 * hour)]
        #expect(
            bucket(samples)
                == DiscreteBucket(count: 3, minimum: 60, maximum: 110, average: 80, mostRecent: 110))
    }

    @Test func `a temporally weighted type has the arithmetic mean too`() {
        let heart = [point(60, at: 0), point(70, at: 10 * minute), point(110, at: 60 * minute)]
        #expect(bucket(heart, 0..<2 * hour)?.average == 80)
    }

    @Test func `a sample belongs to the bucket of its start`() {
        let late = KernelSample(start: day - 1, end: day + hour, value: 5)
        #expect(bucket([late])?.count == 1)
        #expect(bucket([late], day..<2 * day) == nil)
        #expect(bucket([point(5, at: day)]) == nil)
        #expect(bucket([]) == nil)
    }

    @Test func `a series counts once in the mean and wholly in the count`() {
        var series = point(100, at: hour)
        series.measurementCount = 9
        var odd = point(50, at: hour)
        odd.measurementCount = 0
        #expect(bucket([series, odd])?.average == 75)
        #expect(bucket([series, odd])?.count == 10)
        series.measurementCount = .max
        #expect(bucket([series, odd])?.count == .max)
    }

    @Test func `the most recent has the latest end, then start, then the highest uuid`() {
        func sample(_ value: Double, _ start: Int64, _ end: Int64, _ high: UInt64 = 0, _ low: UInt64 = 0)
            -> KernelSample
        {
            KernelSample(start: start, end: end, value: value, uuidHigh: high, uuidLow: low)
        }
        func latest(_ samples: [KernelSample]) -> Double? {
            let first = bucket(samples)?.mostRecent
            return bucket(samples.reversed())?.mostRecent == first ? first : nil
        }
        #expect(latest([sample(1, 5, 20), sample(2, 9, 10)]) == 1)
        #expect(latest([sample(1, 5, 20), sample(2, 9, 20)]) == 2)
        #expect(latest([sample(1, 5, 20, 2, 0), sample(2, 5, 20, 1, 9)]) == 1)
        #expect(latest([sample(1, 5, 20, 1, .max), sample(2, 5, 20, 1, 9)]) == 1)
        #expect(latest([sample(1, 5, 20, 1 << 63), sample(2, 5, 20, 1)]) == 1)
        // An end before the start counts as the start.
        #expect(latest([sample(1, 5, 6), sample(2, 9, 2)]) == 2)
    }

    @Test func `zeros of both signs have their order`() {
        for samples in [[point(0, at: 1), point(-0.0, at: 2)], [point(-0.0, at: 2), point(0, at: 1)]] {
            let result = bucket(samples)
            #expect(result?.minimum.sign == .minus)
            #expect(result?.maximum.sign == .plus)
            #expect(result?.average.bitPattern == 0)
        }
        #expect(bucket([point(-3, at: 0), point(-7, at: 0), point(2, at: 0)])?.minimum == -7)
        #expect(bucket([point(-3, at: 0), point(-7, at: 0)])?.maximum == -3)
    }

    @Test func `the mean of equal values is that value`() {
        for count in [3, 7, 10, 41, 97] {
            for value in [0.1, 97.3, 36.6, 1e-30, 1.7e308] {
                let samples = (0..<count).map { point(value, at: Int64($0)) }
                #expect(bucket(samples)?.average == value)
                #expect(bucket(samples, mean: .equivalentContinuousLevel)?.average == value)
            }
        }
    }

    @Test func `equivalent continuous level weighs energy by time`() throws {
        func level(_ parts: [(Double, Int64)]) throws -> Double {
            var start: Int64 = 0
            var samples: [KernelSample] = []
            for (value, length) in parts {
                samples.append(KernelSample(start: start, end: start + length, value: value))
                start += length
            }
            return try #require(bucket(samples, mean: .equivalentContinuousLevel)).average
        }
        #expect(abs(try level([(60, hour), (80, hour)]) - 77.032914) < 1e-6)
        #expect(abs(try level([(80, 10 * minute), (50, 110 * minute)]) - 69.255699) < 1e-6)
        // Equal weights when there are no durations; none for a point beside an interval.
        #expect(abs(try level([(60, 0), (80, 0)]) - 77.032914) < 1e-6)
        #expect(try level([(60, hour), (120, 0)]) == 60)
        #expect(try level([(120, 0), (60, hour)]) == 60)
        #expect(try level([(5000, hour), (0, hour)]).isFinite)
        #expect(try level([(-40, hour)]) == -40)
    }

    @Test(arguments: 0..<40 * statisticsTestScale)
    func `no order shows, and a plain computation agrees`(seed: Int) throws {
        var random = StatisticsRandom(seed: seed)
        let samples = (0..<Int.random(in: 1...80, using: &random)).map { _ in
            let start = Int64.random(in: 0..<day, using: &random)
            let length = seed % 5 == 0 ? 0 : Int64.random(in: 0...hour, using: &random)
            return KernelSample(
                start: start, end: start + length, value: Double.random(in: 30...110, using: &random),
                measurementCount: UInt64.random(in: 1...3, using: &random),
                rank: Int32.random(in: 0...2, using: &random), uuidHigh: random.next(), uuidLow: random.next()
            )
        }
        let mean = try #require(bucket(samples))
        let level = try #require(bucket(samples, mean: .equivalentContinuousLevel))
        let shuffled = samples.shuffled(using: &random)
        #expect(bucket(shuffled) == mean, "seed \(seed)")
        #expect(bucket(shuffled, mean: .equivalentContinuousLevel) == level, "seed \(seed)")

        let exact = samples.map { BigRational($0.value) }.reduce(BigRational(0 as Int64), +)
        #expect(exact.divided(by: UInt64(samples.count)).rounds(to: mean.average), "seed \(seed)")
        #expect(mean.minimum == samples.map(\.value).min())
        #expect(mean.maximum == samples.map(\.value).max())
        #expect(mean.count == samples.map(\.measurementCount).reduce(0, +))
        let hasDurations = samples.contains { $0.end > $0.start }
        var energy = 0.0
        var time = 0.0
        for sample in samples {
            let weight = hasDurations ? Double(sample.end - sample.start) / 1e6 : 1
            energy += weight * exp(sample.value / 10 * log(10))
            time += weight
        }
        let expected = 10 * log10(energy / time)
        #expect(abs(level.average - expected) <= 1e-9 * abs(expected), "seed \(seed)")
    }

    @Test func `each source alone`() {
        let samples = [
            point(50, at: 1, rank: 7), point(70, at: 2, rank: 7), point(10, at: 3, rank: 2),
            point(99, at: 2 * day, rank: 1),
        ]
        var kernel = StatisticsKernel()
        let own = kernel.discreteBucketsBySource(of: samples.span, in: 0..<day, mean: .arithmetic)
        #expect(own.map(\.rank) == [2, 7])
        #expect(own.map(\.bucket.average) == [10, 60])
        #expect(own.map(\.bucket.mostRecent) == [10, 70])
    }
}
