package import HKLog
package import HKLogFormat

#if canImport(Darwin)
    private import Darwin
#else
    private import Glibc
#endif

/// A made-up health history, the same for the same seed and size on every machine.
///
/// Samples of twenty types and five sources over five years, at random microseconds, and deletions of one in a
/// hundred.
///
/// Every run and every peer gets this data, so that their figures can be compared.
package struct Workload {
    /// One sample or one deletion, in the order of the log.
    package struct Record {
        package var uuid: RawUUID
        package var start: Int64 = 0
        package var end: Int64 = 0
        package var value: Double = 0
        package var type = 0
        package var source = 0
        package var isDeletion = false
    }

    /// The sources that samples come from, the most frequent first.
    package static let sources: [Source] = [
        Source(
            name: "Simon’s Apple\u{A0}Watch", bundleIdentifier: "com.apple.health.0AF1", version: "11.2",
            productType: "Watch7,1", operatingSystemVersion: "11.2"),
        Source(
            name: "Simon’s iPhone", bundleIdentifier: "com.apple.health.3CC2", version: "18.2",
            productType: "iPhone16,1", operatingSystemVersion: "18.2"),
        Source(
            name: "Oura", bundleIdentifier: "com.ouraring.oura", version: "5.1", productType: "iPhone16,1"),
        Source(
            name: "Withings", bundleIdentifier: "com.withings.wiScaleNG", version: "7.0",
            productType: "iPhone16,1"),
        Source(
            name: "AutoSleep", bundleIdentifier: "com.tantsissa.AutoSleep", version: "6",
            productType: "iPhone16,1"),
    ]

    /// The one stream that all batches are of.
    package static let stream = "benchmark"

    package let sampleCount: Int
    private var random: WorkloadRandom
    private let meanGap: Double
    private let weightSums: [Int]
    private let weightTotal: UInt64
    private var time: Int64 = Workload.firstDay
    private var lastEnds: [Int64]
    private var heartRate = 68.0
    private var uuids: [RawUUID] = []
    private var isDeleted: [Bool] = []

    /// 2019-01-01T00:00:00Z.
    package static let firstDay: Int64 = 1_546_300_800_000_000
    package static let years = 5

    package init(sampleCount: Int, seed: UInt64) {
        self.sampleCount = sampleCount
        random = WorkloadRandom(seed: seed)
        meanGap = Double(Workload.years) * 365.25 * 86400e6 / Double(max(1, sampleCount))
        var sums: [Int] = []
        var sum = 0
        for type in WorkloadType.all {
            sum += type.weight
            sums.append(sum)
        }
        weightSums = sums
        weightTotal = UInt64(sum)
        lastEnds = [Int64](repeating: Workload.firstDay, count: WorkloadType.all.count)
        uuids.reserveCapacity(sampleCount)
        isDeleted.reserveCapacity(sampleCount)
    }

    /// The next records: up to `size` samples, then one deletion of an earlier sample for every hundred of them.
    ///
    /// Empty at the end.
    package mutating func nextRecords(size: Int) -> [Record] {
        let count = min(size, sampleCount - uuids.count)
        guard count > 0 else { return [] }
        var records: [Record] = []
        records.reserveCapacity(count + count / 100)
        for _ in 0..<count { records.append(nextSample()) }
        let deletions = size >= 100 ? count / 100 : (uuids.count / 100 - (uuids.count - count) / 100)
        for _ in 0..<deletions {
            var index = random.number(below: UInt64(uuids.count))
            while isDeleted[index] { index = random.number(below: UInt64(uuids.count)) }
            isDeleted[index] = true
            records.append(Record(uuid: uuids[index], isDeletion: true))
        }
        return records
    }

    private mutating func nextSample() -> Record {
        var record = Record(uuid: nextUUID())
        uuids.append(record.uuid)
        isDeleted.append(false)
        time += Int64(-log(1 - random.fraction()) * meanGap) + 1
        let share = random.number(below: weightTotal)
        record.type = weightSums.firstIndex { share < $0 } ?? 0
        let type = WorkloadType.all[record.type]
        record.end = time
        record.start = time
        if type.isCumulative {
            let duration = Int64(30e6 + random.fraction() * 600e6)
            record.start = min(max(time - duration, lastEnds[record.type]), time)
            lastEnds[record.type] = time
        } else if type.hasDuration {
            record.start = time - Int64(random.number(below: 300_000_000))
        }
        record.value = nextValue(type.values)
        let share100 = random.number(below: 100)
        record.source = share100 < 82 ? 0 : share100 < 95 ? 1 : share100 < 97 ? 2 : share100 < 99 ? 3 : 4
        return record
    }

    /// A version 4 UUID.
    private mutating func nextUUID() -> RawUUID {
        let first = random.word()
        let second = random.word()
        return RawUUID(
            first: first & 0xFF0F_FFFF_FFFF_FFFF | 0x0040_0000_0000_0000,
            second: second & 0xFFFF_FFFF_FFFF_FF3F | 0x80)
    }

    private mutating func nextValue(_ values: WorkloadType.Values) -> Double {
        func rounded(_ value: Double, _ scale: Double) -> Double { (value * scale).rounded() / scale }
        switch values {
        case .heartRate:
            heartRate += (random.fraction() - 0.5) * 14 + (68 - heartRate) * 0.08
            heartRate = min(max(heartRate, 42), 188)
            return heartRate.rounded()
        case .resting: return (48 + random.fraction() * 12).rounded()
        case .activeEnergy: return rounded(random.fraction() * random.fraction() * 12, 1000)
        case .steps: return 1 + (random.fraction() * random.fraction() * 400).rounded(.down)
        case .distance: return rounded(random.fraction() * random.fraction() * 0.4, 100_000)
        case .basalEnergy: return rounded(10 + random.fraction() * 12, 1000)
        case .breathing: return rounded(11 + random.fraction() * 8, 2)
        case .saturation: return rounded(0.92 + random.fraction() * 0.08, 100)
        case .decibels: return 30 + random.fraction() * 70
        case .smallCount: return Double(1 + random.number(below: 5))
        case .one: return 1
        case .hundredths: return rounded(3 + random.fraction() * 3, 100)
        case .centimetres: return rounded(55 + random.fraction() * 25, 1)
        case .percent: return rounded(0.2 + random.fraction() * 0.15, 1000)
        }
    }
}
