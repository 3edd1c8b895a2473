import HKLog
import Testing

private let minute: Int64 = 60_000_000
private let hour: Int64 = 60 * minute
private let day: Int64 = 24 * hour

@Suite struct `Cumulative buckets` {
    private func bucket(_ samples: [KernelSample], _ range: Range<Int64>) -> CumulativeBucket? {
        var kernel = StatisticsKernel()
        return kernel.cumulativeBucket(of: samples.span, in: range)
    }

    private func sum(_ samples: [KernelSample], _ range: Range<Int64> = 0..<day) -> Double? {
        bucket(samples, range)?.sum
    }

    private func sample(_ value: Double, _ start: Int64, _ end: Int64, rank: Int32 = 0) -> KernelSample {
        KernelSample(start: start, end: end, value: value, rank: rank)
    }

    // MARK: known answers

    @Test func `a sample over midnight is split by time`() {
        let steps = [sample(100, day - 3 * minute, day + 2 * minute)]
        #expect(bucket(steps, 0..<day) == CumulativeBucket(sum: 60, count: 1))
        #expect(bucket(steps, day..<2 * day) == CumulativeBucket(sum: 40, count: 1))
        let even = [sample(120, day - 10 * minute, day + 10 * minute)]
        #expect(sum(even) == 60)
        #expect(sum(even, day..<2 * day) == 60)
    }

    @Test func `a day of 23 hours takes 23 of 25 parts`() {
        // New York, 9 to 11 March 2024: the 10th has 23 hours.
        let tenth = 24 * hour..<47 * hour
        let energy = [sample(250, 23 * hour, 48 * hour)]
        #expect(sum(energy, 0..<tenth.lowerBound) == 10)
        #expect(sum(energy, tenth) == 230)
        #expect(sum(energy, tenth.upperBound..<tenth.upperBound + day) == 10)
    }

    @Test func `a point at midnight belongs to the day that begins`() {
        let point = [sample(7, day, day)]
        #expect(bucket(point, 0..<day) == nil)
        #expect(bucket(point, day..<2 * day) == CumulativeBucket(sum: 7, count: 1))
    }

    @Test func `samples of one source add even where they overlap`() {
        #expect(sum([sample(100, 0, 10 * minute), sample(100, 5 * minute, 15 * minute)]) == 200)
    }

    @Test func `a source of higher priority covers the others`() {
        func total(watch: Int32, phone: Int32) -> Double? {
            sum([
                sample(120, 0, 60 * minute, rank: watch), sample(30, 10 * minute, 20 * minute, rank: phone),
                sample(40, 60 * minute, 80 * minute, rank: phone),
            ])
        }
        #expect(total(watch: 0, phone: 1) == 160)
        #expect(total(watch: 1, phone: 0) == 170)
        for ranks in [(0, 1), (1, 0)] as [(Int32, Int32)] {
            let overlap = [
                sample(100, 0, 10 * minute, rank: ranks.0),
                sample(100, 5 * minute, 15 * minute, rank: ranks.1),
            ]
            #expect(sum(overlap) == 150)
        }
    }

    @Test func `watch and phone of half an hour in common count it once`() {
        let watch = sample(600, 8 * hour, 9 * hour, rank: 0)
        let phone = sample(600, 8 * hour + 30 * minute, 9 * hour + 30 * minute, rank: 1)
        #expect(bucket([watch, phone], 0..<day) == CumulativeBucket(sum: 900, count: 2))
        #expect(bucket([phone, watch], 8 * hour..<9 * hour) == CumulativeBucket(sum: 600, count: 2))
        #expect(bucket([phone, watch], 9 * hour..<10 * hour) == CumulativeBucket(sum: 300, count: 1))
        // Deleting the watch's sample brings the phone's back.
        #expect(sum([phone]) == 600)
    }

    @Test func `the same interval from two sources counts once, a manual entry hides the watch`() {
        #expect(sum([sample(500, hour, 2 * hour, rank: 0), sample(500, hour, 2 * hour, rank: 1)]) == 500)
        #expect(sum([sample(500, hour, 2 * hour, rank: 1), sample(800, hour, 2 * hour, rank: 0)]) == 800)
    }

    @Test func `sources that are never present at once add`() {
        #expect(
            sum([
                sample(1000, 7 * hour, 8 * hour, rank: 0), sample(3000, 12 * hour, 13 * hour, rank: 1),
            ]) == 4000)
    }

    @Test func `a ring's sample of a whole day hides all below it`() {
        let ring = sample(3000, 0, day - minute, rank: 0)
        let phone = (0..<23).map { sample(350, Int64($0) * hour, Int64($0 + 1) * hour, rank: 1) }
        #expect(bucket([ring] + phone, 0..<day) == CumulativeBucket(sum: 3000, count: 24))
    }

    @Test func `a point counts wholly or not at all`() {
        let cover = sample(600, 8 * hour, 9 * hour, rank: 0)
        func point(_ instant: Int64, rank: Int32 = 1) -> KernelSample {
            sample(5, instant, instant, rank: rank)
        }
        #expect(sum([cover, point(8 * hour + minute)]) == 600)
        #expect(sum([cover, point(8 * hour)]) == 600)
        #expect(sum([point(8 * hour), cover]) == 600)
        #expect(sum([cover, point(9 * hour)]) == 605)
        #expect(sum([cover, point(8 * hour - 1)]) == 605)
        #expect(sum([cover, point(8 * hour + minute, rank: 0)]) == 605)
        // Points cover nothing, not even another point.
        #expect(sum([point(hour, rank: 0), point(hour, rank: 1)]) == 10)
        #expect(sum([point(8 * hour, rank: 0), sample(60, 8 * hour, 9 * hour, rank: 1)]) == 65)
        // A coverer that ends where the bucket begins does not reach into it.
        #expect(sum([cover, point(9 * hour)], 9 * hour..<10 * hour) == 5)
    }

    @Test func `three sources in every order of priority`() {
        let expected: [[Int32]: Double] = [
            [0, 1, 2]: 120 + 60 + 15, [0, 2, 1]: 120 + 0 + 45, [1, 0, 2]: 60 + 120 + 15,
            [2, 0, 1]: 60 + 120 + 15, [1, 2, 0]: 90 + 0 + 60, [2, 1, 0]: 60 + 30 + 60,
        ]
        for (ranks, total) in expected {
            // 120 in [0, 60) min, 120 in [30, 90), 60 in [45, 105).
            let samples = [
                sample(120, 0, 60 * minute, rank: ranks[0]),
                sample(120, 30 * minute, 90 * minute, rank: ranks[1]),
                sample(60, 45 * minute, 105 * minute, rank: ranks[2]),
            ]
            #expect(sum(samples) == total, "\(ranks)")
        }
    }

    @Test func `more than 366 days is a point that covers nothing`() {
        let limit = 366 * day
        let long = sample(1000, hour, hour + limit + 1, rank: 0)
        let phone = sample(10, 2 * hour, 3 * hour, rank: 1)
        #expect(bucket([long, phone], 0..<day) == CumulativeBucket(sum: 1010, count: 2))
        #expect(bucket([long], day..<2 * day) == nil)
        #expect(long.isCumulativePoint)
        let split = sample(366 * 24, hour, hour + limit, rank: 0)
        #expect(sum([split, phone], 0..<day) == 23)
        #expect(sum([split], day..<2 * day) == 24)
        #expect(sum([sample(5, hour, hour, rank: 1), split]) == 23)
    }

    @Test func `nothing is not zero, and a bucket without extent holds nothing`() {
        #expect(bucket([], 0..<day) == nil)
        #expect(bucket([sample(0, 0, hour)], 0..<day) == CumulativeBucket(sum: 0, count: 1))
        #expect(bucket([sample(1, 0, 2 * hour)], hour..<hour) == nil)
        #expect(bucket([sample(1, hour, hour)], hour..<hour) == nil)
        #expect(bucket([sample(1, 0, hour), sample(1, 2 * hour, 3 * hour)], hour..<2 * hour) == nil)
    }

    @Test func `an end before the start counts as the start`() {
        #expect(bucket([sample(3, 2 * hour, hour)], 0..<day) == CumulativeBucket(sum: 3, count: 1))
    }

    @Test func `extreme instants and values do not trap`() {
        let wild = [
            sample(1, .min, .max, rank: 0), sample(2, .min, .min, rank: 1), sample(3, .max, .max, rank: .max),
            sample(4, .max, .min, rank: .min), sample(.greatestFiniteMagnitude, 0, 2 * hour, rank: 3),
            sample(.greatestFiniteMagnitude, hour, 2 * hour, rank: 3), sample(-0.0, 0, 0, rank: 2),
        ]
        #expect(sum(wild, 0..<hour) == .greatestFiniteMagnitude / 2)
        #expect(sum(wild, 0..<day) == .infinity)
        #expect(bucket(wild, Int64.min..<Int64.max)?.count == 3)
        var kernel = StatisticsKernel()
        #expect(kernel.cumulativeContributions(of: wild.span, in: Int64.min..<Int64.max).count == 3)
        #expect(kernel.cumulativeBucketsBySource(of: wild.span, in: Int64.min..<Int64.max).count == 2)
    }

    @Test func `a part is one rounded expression`() {
        let total: UInt64 = 300_000_000
        #expect(StatisticsKernel.part(of: 0.1, microseconds: total, outOf: total) == 0.1)
        #expect(StatisticsKernel.part(of: 100, microseconds: 120_000_000, outOf: total) == 40)
        let huge = StatisticsKernel.part(of: 1e308, microseconds: 150_000_000, outOf: total)
        #expect(huge == 5e307)
    }

    @Test func `each source has its own sum beside`() {
        let samples = [
            sample(600, 8 * hour + 30 * minute, 9 * hour + 30 * minute, rank: 4),
            sample(600, 8 * hour, 9 * hour, rank: 1), sample(1, 0, 0, rank: -3),
            sample(9, 2 * day, 2 * day, rank: 0), sample(50, 8 * hour, 9 * hour, rank: 4),
        ]
        var kernel = StatisticsKernel()
        let own = kernel.cumulativeBucketsBySource(of: samples.span, in: 0..<day)
        #expect(own.map(\.rank) == [-3, 1, 4])
        #expect(own.map(\.bucket.sum) == [1, 600, 650])
        #expect(own.map(\.bucket.count) == [1, 1, 2])
    }

    @Test func `explain says what each sample counts and who covers it`() {
        let samples = [
            sample(600, 8 * hour + 30 * minute, 9 * hour + 30 * minute, rank: 2),
            sample(600, 8 * hour, 9 * hour, rank: 0), sample(7, 8 * hour, 8 * hour, rank: 3),
            sample(40, 9 * hour, 9 * hour + 10 * minute, rank: 1), sample(1, 3 * day, 3 * day, rank: 0),
        ]
        var kernel = StatisticsKernel()
        let rows = kernel.cumulativeContributions(of: samples.span, in: 0..<day)
        #expect(rows.map(\.index) == [0, 1, 2, 3])
        #expect(rows.map(\.counted) == [200, 600, 0, 40])
        #expect(rows.map(\.isPoint) == [false, false, true, false])
        #expect(rows.map(\.microseconds) == [60, 60, 0, 10].map { $0 * UInt64(minute) })
        #expect(rows.map(\.uncoveredMicroseconds) == [20, 60, 0, 10].map { $0 * UInt64(minute) })
        #expect(rows.map(\.coveredBy) == [[0, 1], [], [0], []])
        #expect(kernel.cumulativeBucket(of: samples.span, in: 0..<day)?.sum == 840)
    }

    // MARK: properties

    private enum Shape: CaseIterable {
        /// Few instants, so that bounds coincide; whole values.
        case coarse
        /// Any microsecond, any value.
        case fine
        /// Every sample in its place in line, source after source.
        case bySource
        /// Hardly any overlap.
        case sparse
    }

    private func randomSamples(_ shape: Shape, count: Int, _ random: inout StatisticsRandom) -> [KernelSample]
    {
        let sourceCount = Int32([1, 2, 3, 5, 8, 9, 100].randomElement(using: &random) ?? 1)
        var samples: [KernelSample] = []
        for index in 0..<count {
            let rank = Int32.random(in: 0..<sourceCount, using: &random) * 3 - 1
            switch shape {
            case .coarse:
                let start = Int64.random(in: -6...30, using: &random) * hour
                let length = Int64.random(in: 0...4, using: &random) * hour
                let value = Double(Int64.random(in: 0...50, using: &random) * 12)
                samples.append(sample(value, start, start + length, rank: rank))
            case .fine, .bySource:
                let start = Int64.random(in: -hour...day + hour, using: &random)
                var length = Int64.random(in: 0...3 * hour, using: &random)
                if random.next() % 20 == 0 { length = 366 * day + Int64.random(in: 0...1, using: &random) }
                if random.next() % 5 == 0 { length = 0 }
                samples.append(
                    sample(Double.random(in: 0...300, using: &random), start, start + length, rank: rank))
            case .sparse:
                let start = Int64(index) * hour
                let length = Int64.random(in: 0...hour + minute / 2, using: &random)
                samples.append(
                    sample(Double.random(in: 0...300, using: &random), start, start + length, rank: rank))
            }
        }
        if shape == .bySource {
            samples.sort { ($0.rank, $0.start) < ($1.rank, $1.start) }
        }
        return samples
    }

    @Test(arguments: 0..<100 * statisticsTestScale)
    func `sums agree with exact rational arithmetic`(seed: Int) throws {
        var random = StatisticsRandom(seed: seed)
        var kernel = StatisticsKernel()
        let shape = Shape.allCases[seed % 4]
        let samples = randomSamples(shape, count: Int.random(in: 1...22, using: &random), &random)
        let range = seed % 3 == 0 ? 0..<day : 7 * hour..<Int64.random(in: 8...30, using: &random) * hour
        let expected = StatisticsOracle.cumulativeParts(of: samples, in: range)
        let count = expected.count { $0.touches }
        let result = kernel.cumulativeBucket(of: samples.span, in: range)
        guard count > 0 else {
            #expect(result == nil)
            return
        }
        let bucket = try #require(result)
        #expect(bucket.count == UInt64(count), "seed \(seed)")
        let total = expected.map(\.part).reduce(BigRational(0 as Int64), +)
        #expect(total.agrees(with: bucket.sum), "seed \(seed)")
        if shape == .coarse {
            // Twelve divides by every number of hours up to four: all parts are whole.
            #expect(total == BigRational(bucket.sum), "seed \(seed)")
        }
        let rows = kernel.cumulativeContributions(of: samples.span, in: range)
        #expect(rows.map(\.index) == expected.indices.filter { expected[$0].touches })
        var explained = ExactSum()
        for row in rows {
            #expect(expected[row.index].part.agrees(with: row.counted), "seed \(seed)")
            explained.add(row.counted)
        }
        #expect(explained.value.bitPattern == bucket.sum.bitPattern, "seed \(seed)")
    }

    @Test(arguments: 0..<60 * statisticsTestScale)
    func `no order of the samples shows in the last bit`(seed: Int) {
        var random = StatisticsRandom(seed: seed)
        var kernel = StatisticsKernel()
        let count = [3, 30, 200, 400].randomElement(using: &random) ?? 3
        let samples = randomSamples(Shape.allCases[seed % 4], count: count, &random)
        let first = kernel.cumulativeBucket(of: samples.span, in: 0..<day)
        let own = kernel.cumulativeBucketsBySource(of: samples.span, in: 0..<day)
        for turn in 0..<4 {
            var other = samples.shuffled(using: &random)
            if turn == 3 {
                other.sort { $0.start < $1.start }
            }
            let again = kernel.cumulativeBucket(of: other.span, in: 0..<day)
            #expect(again?.sum.bitPattern == first?.sum.bitPattern, "seed \(seed)")
            #expect(again?.count == first?.count)
            #expect(kernel.cumulativeBucketsBySource(of: other.span, in: 0..<day) == own, "seed \(seed)")
        }
    }

    @Test func `many sources and many samples agree with the plain rule`() {
        var random = StatisticsRandom(seed: 5)
        var kernel = StatisticsKernel()
        // One sample a source: a sample is covered by all those of lower rank.
        for sourceCount in [64, 65, 300, 5000] {
            let samples = (0..<sourceCount).map { rank in
                let start = Int64.random(in: 0..<day, using: &random)
                return sample(1, start, start + hour, rank: Int32(rank))
            }
            var isTaken = [Bool](repeating: false, count: 25 * 60 + 1)
            var coarse: [KernelSample] = []
            var minutes = 0
            for var own in samples {
                own.start -= own.start % minute
                own.end = own.start + hour
                own.value = 60
                coarse.append(own)
                for slot in Int(own.start / minute)..<Int(own.end / minute) where !isTaken[slot] {
                    isTaken[slot] = true
                    minutes += slot < 24 * 60 ? 1 : 0
                }
            }
            coarse.shuffle(using: &random)
            let sum = kernel.cumulativeBucket(of: coarse.span, in: 0..<day)?.sum
            #expect(sum == Double(minutes), "\(sourceCount) sources")
        }
    }

    @Test func `buckets side by side add up to the whole`() {
        var random = StatisticsRandom(seed: 9)
        let samples = randomSamples(.coarse, count: 60, &random)
        let whole = sum(samples, -6 * hour..<36 * hour)
        let hours = (-6..<36).compactMap { sum(samples, Int64($0) * hour..<Int64($0 + 1) * hour) }
        #expect(hours.reduce(0, +) == whole)
    }
}
