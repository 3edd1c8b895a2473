import HKLog
import Testing

@Suite struct `Exact sums` {
    /// Doubles of the kinds that decide where a value goes: small, huge, subnormal, dyadic, health-like.
    private func randomValue(_ random: inout StatisticsRandom) -> Double {
        switch random.next() % 8 {
        case 0: Double(Int64.random(in: -1_000_000...1_000_000, using: &random)) / 1000
        case 1: Double(Int64.random(in: 0...20_000, using: &random))
        case 2: Double(bitPattern: random.next() & 0x800f_ffff_ffff_ffff)
        case 3: Double.random(in: -1...1, using: &random) * 0x1p-30
        case 4: Double.random(in: -1...1, using: &random) * 0x1p50
        case 5: Double(sign: .plus, exponent: Int.random(in: -1074...1023, using: &random), significand: 1)
        case 6: randomBits(&random)
        default: Double(Int64.random(in: -9...9, using: &random)) * 0x1p-76
        }
    }

    private func randomBits(_ random: inout StatisticsRandom) -> Double {
        let value = Double(bitPattern: random.next())
        return value.isFinite ? value : 1
    }

    private func exactSum(_ values: [Double]) -> BigRational {
        values.map { BigRational($0) }.reduce(BigRational(0 as Int64), +)
    }

    @Test(arguments: 0..<60 * statisticsTestScale)
    func `the sum is the nearest double to the true one`(seed: Int) {
        var random = StatisticsRandom(seed: seed)
        let values = (0..<Int.random(in: 1...14, using: &random)).map { _ in randomValue(&random) }
        var sum = ExactSum()
        for value in values {
            sum.add(value)
        }
        #expect(exactSum(values).rounds(to: sum.value), "seed \(seed)")
    }

    @Test(arguments: 0..<60 * statisticsTestScale)
    func `the mean is the nearest double to the true one`(seed: Int) throws {
        var random = StatisticsRandom(seed: seed)
        let values = (0..<Int.random(in: 1...9, using: &random)).map { _ in randomValue(&random) }
        let count = seed % 2 == 0 ? UInt64(values.count) : random.next() >> (random.next() % 64)
        var sum = ExactSum()
        for value in values {
            sum.add(value)
        }
        guard count > 0 else {
            #expect(sum.mean(of: count) == nil)
            return
        }
        let mean = try #require(sum.mean(of: count))
        #expect(exactSum(values).divided(by: count).rounds(to: mean), "seed \(seed)")
    }

    @Test(arguments: 0..<50 * statisticsTestScale)
    func `no order, path or detour shows`(seed: Int) {
        var random = StatisticsRandom(seed: seed)
        let values = (0..<200).map { _ in randomValue(&random) }
        var forward = ExactSum()
        for value in values {
            forward.add(value)
        }
        var merged = ExactSum()
        var detours: [Double] = []
        for chunk in stride(from: 0, to: values.count, by: 37) {
            var part = ExactSum()
            for value in values[chunk..<min(chunk + 37, values.count)].shuffled(using: &random) {
                let detour = randomValue(&random)
                part.add(detour)
                part.add(value)
                detours.append(detour)
            }
            merged.merge(part)
        }
        for detour in detours.shuffled(using: &random) {
            merged.subtract(detour)
        }
        #expect(merged.value.bitPattern == forward.value.bitPattern, "seed \(seed)")
        #expect(
            merged.mean(of: 7).map(\.bitPattern) == forward.mean(of: 7).map(\.bitPattern), "seed \(seed)")
    }

    @Test func `what a plain sum loses is kept`() {
        var sum = ExactSum()
        for value in [1e100, 1, -1e100, 1e-300, -1, 0.5, -1e-300] {
            sum.add(value)
        }
        #expect(sum.value == 0.5)
        var tenths = ExactSum()
        for _ in 0..<10 {
            tenths.add(0.1)
        }
        #expect(tenths.value == 1)
    }

    @Test func `halves go to the even neighbour, and a bit far below decides`() {
        var sum = ExactSum()
        sum.add(0x1p53)
        sum.add(1)
        #expect(sum.value == 0x1p53)
        sum.add(0x1p-1074)
        #expect(sum.value == 0x1p53 + 2)
        sum.subtract(0x1p-1073)
        #expect(sum.value == 0x1p53)
        sum.add(2)
        #expect(sum.value == 0x1p53 + 2)
    }

    @Test func `a sum beyond the largest double is infinite until it comes back`() {
        var sum = ExactSum()
        sum.add(.greatestFiniteMagnitude)
        sum.add(.greatestFiniteMagnitude)
        #expect(sum.value == .infinity)
        #expect(sum.mean(of: 2) == .greatestFiniteMagnitude)
        sum.subtract(.greatestFiniteMagnitude)
        #expect(sum.value == .greatestFiniteMagnitude)
        sum.add(0x1p969)
        #expect(sum.value == .greatestFiniteMagnitude)
        sum.add(0x1p969)
        #expect(sum.value == .infinity)
    }

    @Test func `a mean below the least double rounds to even`() {
        var sum = ExactSum()
        sum.add(0x1p-1074)
        #expect(sum.mean(of: 2) == 0)
        #expect(sum.mean(of: 3) == 0)
        sum.add(0x1p-1073)
        #expect(sum.mean(of: 2) == 0x1p-1073)
        #expect(sum.mean(of: .max) == 0)
        #expect(sum.value == 3 * 0x1p-1074)
    }

    @Test func `infinities and NaN act as in addition and can be taken back`() {
        var sum = ExactSum()
        sum.add(1)
        sum.add(.infinity)
        #expect(sum.value == .infinity)
        sum.add(-.infinity)
        #expect(sum.value.isNaN)
        sum.subtract(.infinity)
        #expect(sum.value == -.infinity)
        sum.subtract(-.infinity)
        sum.add(.nan)
        #expect(sum.value.isNaN)
        sum.subtract(.nan)
        #expect(sum.value == 1)
    }

    @Test func `zeros of either sign sum to plus zero`() {
        var sum = ExactSum()
        #expect(sum.value.bitPattern == 0)
        sum.add(-0.0)
        #expect(sum.value.bitPattern == 0)
        sum.add(1e300)
        sum.subtract(1e300)
        #expect(sum.value.bitPattern == 0)
        sum.removeAll()
        sum.add(2)
        #expect(sum.value == 2)
    }

    @Test(arguments: 0..<50 * statisticsTestScale)
    func `a fixed sum agrees bit for bit while it is exact`(seed: Int) {
        var random = StatisticsRandom(seed: seed)
        var fixed = FixedSum()
        var exact = ExactSum()
        for _ in 0..<100 {
            let value = Double(Int64.random(in: -100_000...100_000, using: &random)) / 1000
            fixed.add(value)
            exact.add(value)
        }
        #expect(fixed.isExact)
        #expect(fixed.value?.bitPattern == exact.value.bitPattern)
        #expect(fixed.mean(of: 100)?.bitPattern == exact.mean(of: 100)?.bitPattern)
        var other = FixedSum()
        other.add(0.25)
        fixed.merge(other)
        exact.merge(ExactSum(other) ?? ExactSum())
        fixed.subtract(12.7)
        exact.subtract(12.7)
        #expect(fixed.value?.bitPattern == exact.value.bitPattern)
    }

    @Test(arguments: [1e-10, 0x1p51, 0x1p-77, 1e300, .infinity, .nan, .leastNonzeroMagnitude] as [Double])
    func `a fixed sum says for good that a value did not fit`(value: Double) {
        for number in [value, -value] {
            var sum = FixedSum()
            sum.add(1)
            sum.add(number)
            #expect(!sum.isExact)
            #expect(sum.value == nil)
            sum.add(0)
            sum.add(1)
            sum.subtract(1)
            sum.merge(FixedSum())
            #expect(!sum.isExact)
            #expect(ExactSum(sum) == nil)
        }
    }

    @Test func `the ends of a fixed sum`() {
        for sign in [1.0, -1] {
            var sum = FixedSum()
            sum.add(sign * 0x1p-76)
            sum.add(sign * (0x1p49 - 0x1p-4))
            #expect(sum.isExact)
            #expect(sum.value == sign * (0x1p49 - 0x1p-4))
            for _ in 0..<3 {
                sum.add(sign * 0x1p48)
            }
            sum.add(sign * 0x1p48)
            #expect(sum.isExact)
            for _ in 0..<4 {
                sum.add(sign * 0x1p49 - sign * 0x1p-4)
            }
            #expect(!sum.isExact)
        }
        #expect(MemoryLayout<FixedSum>.size == 16)
    }
}
