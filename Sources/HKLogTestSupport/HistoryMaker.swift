package import HKLog

/// A repeatable source of random numbers (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    package mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    package mutating func pick<Item>(_ items: [Item]) -> Item {
        items[Int.random(in: 0..<items.count, using: &self)]
    }
}

/// Makes the next batch of a random history: mostly ones that fit a log, some that repeat, contradict or come late.
///
/// It looks at the model to make batches that fit; what becomes of a batch is for the model and the store to say.
package struct HistoryMaker {
    package var random: SeededGenerator
    /// Where most samples lie: a change of clocks, say.
    private let centre: Int64
    private let pool: [SampleUUID]
    private var anchorCount = 0
    private var sent: [Batch] = []

    package static let streams = [
        "HKQuantityTypeIdentifierStepCount", "phone", "caf\u{E9}", "cafe\u{301}", "watch",
    ]

    package init(seed: UInt64, centre: Int64, poolSize: Int = 90) {
        random = SeededGenerator(seed: seed)
        self.centre = centre
        var random = random
        pool = (0..<poolSize).map { _ in HistoryMaker.uuid(&random) }
        self.random = random
    }

    package static func uuid(_ random: inout SeededGenerator) -> SampleUUID {
        func byte(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (index * 8)) }
        let (a, b) = (random.next(), random.next())
        return SampleUUID(
            bytes: (
                byte(a, 0), byte(a, 1), byte(a, 2), byte(a, 3), byte(a, 4), byte(a, 5), byte(a, 6),
                byte(a, 7),
                byte(b, 0), byte(b, 1), byte(b, 2), byte(b, 3), byte(b, 4), byte(b, 5), byte(b, 6), byte(b, 7)
            ))
    }

    // MARK: Batches

    package mutating func batch(for model: SlowModel) -> Batch {
        if !sent.isEmpty && random.chance(8) { return random.pick(sent) }
        let stream = random.pick(HistoryMaker.streams)
        let entries = model.entries(of: stream)
        let present = model.epoch(of: stream)
        let anchor = model.sourceAnchor(of: stream)
        var batch = Batch(stream: stream, added: samples(upTo: 7))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<6: batch.snapshot = .whole
        case 6..<14: batch.snapshot = .begin
        case 14..<20: batch.snapshot = .end
        case 20..<40 where model.snapshotIsOpen(of: stream): batch.snapshot = .end
        default: break
        }
        if batch.snapshot != nil && random.chance(70) {
            // A listing names most of what there is.
            let live = model.cells.filter { $0.key.stream == SlowModel.Name(stream) && !$0.value.isDead }
            var seen = Set(batch.added.map(\.uuid))
            let more = live.sorted { $0.key.uuid < $1.key.uuid }.compactMap { cell -> Sample? in
                random.chance(80) && seen.insert(cell.key.uuid).inserted ? cell.value.sample : nil
            }
            batch = Batch(stream: stream, added: batch.added + more).with(snapshot: batch.snapshot)
        }
        for _ in 0..<(random.chance(40) ? Int.random(in: 1...4, using: &random) : 0) {
            let metadata = random.chance(20) ? text(#"{"HKMetadataKeySyncIdentifier":"s1"}"#) : nil
            batch.deleted.append(Batch.Deletion(uuid: random.pick(pool), metadata: metadata))
        }
        if random.chance(8), let sample = batch.added.first {
            batch.deleted.append(Batch.Deletion(uuid: sample.uuid))
        }
        if random.chance(4) { batch = Batch(stream: stream).with(snapshot: batch.snapshot) }
        if random.chance(75) {
            anchorCount += 1
            batch.anchor = random.chance(5) ? anchor : "anchor-\(anchorCount)"
        }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<12: break
        case 12..<18: batch.previousAnchor = anchor.map { .anchor($0) } ?? Batch.PreviousAnchor.none
        case 18: batch.previousAnchor = .none
        default: batch.previousAnchor = .anchor("elsewhere")
        }
        number(&batch, entries, present: present)
        batch.confirmDeletions = random.chance(60)
        batch.kept = random.chance(3)
        sent.append(batch)
        return batch
    }

    private mutating func number(_ batch: inout Batch, _ entries: [SlowModel.Entry], present: UInt64) {
        let fellows = entries.filter { $0.epoch == present }
        let wasNumbered = fellows.last.map { $0.batch.numbering != nil } ?? random.chance(50)
        let isNumbered = batch.isOpener || random.chance(4) ? random.chance(50) : wasNumbered
        guard isNumbered else { return }
        var epoch = batch.isOpener && !entries.isEmpty ? present + 1 : present
        if random.chance(4) { epoch += UInt64(random.pick([1, 2])) }
        if random.chance(4) && epoch > 1 { epoch -= 1 }
        let last = fellows.map(\.sequence).max() ?? 0
        var sequence = epoch == present ? last + random.pick([1, 1, 1, 2, 4]) : 1
        if random.chance(20) { sequence = UInt64.random(in: 1...max(last, 1), using: &random) }
        batch.numbering = Batch.Numbering(epoch: epoch, sequence: sequence)
    }

    // MARK: Samples

    private mutating func samples(upTo limit: Int) -> [Sample] {
        var seen = Set<SampleUUID>()
        return (0..<Int.random(in: 0...limit, using: &random)).compactMap { _ in
            let uuid = random.pick(pool)
            return seen.insert(uuid).inserted ? sample(uuid) : nil
        }
    }

    package static let types = [
        "HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierDistanceWalkingRunning",
        "HKQuantityTypeIdentifierHeartRate", "HKQuantityTypeIdentifierBodyMass",
        "HKQuantityTypeIdentifierEnvironmentalAudioExposure", "HKCategoryTypeIdentifierSleepAnalysis",
        "HKCategoryTypeIdentifierAppleStandHour", "HKQuantityTypeIdentifierOfTheFuture",
        "HKWorkoutTypeIdentifier",
    ]

    private static let units: [String: [String]] = [
        types[0]: ["count", "count", "count", "kg"], types[1]: ["km", "m", "mi", "count"],
        types[2]: ["count/min", "count/s"], types[3]: ["kg", "lb", "m"], types[4]: ["dBASPL"],
        types[7]: ["furlong"],
    ]

    private static let origins: [(Source?, Device?)] = [
        (Source(name: "Anna's Watch", bundleIdentifier: "com.apple.health.1", productType: "Watch7,1"), nil),
        (Source(name: "Anna's Watch", bundleIdentifier: "com.apple.health.2", productType: "Watch6,1"), nil),
        (Source(name: "iPhone", bundleIdentifier: "com.apple.health.3", productType: "iPhone17,1"), nil),
        (
            Source(
                name: "iPhone", bundleIdentifier: "com.apple.health.3", version: "26.1",
                productType: "iPhone17,1"), nil
        ),
        (Source(name: "Ring", bundleIdentifier: "com.example.ring", productType: "iPhone17,1"), nil),
        (Source(name: "Ring", bundleIdentifier: "com.example.ring"), Device(name: "Ring Watch")),
        (Source(name: "Caf\u{E9}"), nil), (Source(name: "Cafe\u{301}"), nil),
        (Source(bundleIdentifier: "com.example.nameless"), Device(model: "iPad")),
        (nil, Device(hardwareVersion: "Watch5,1")), (nil, nil), (Source(version: "3"), nil),
    ]

    private mutating func sample(_ uuid: SampleUUID) -> Sample {
        let type = random.pick(HistoryMaker.types)
        let start = startInstant()
        let duration = self.duration(type)
        var sample = Sample(uuid: uuid, type: type, start: Timestamp(microseconds: start))
        if duration > 0 || random.chance(30) { sample.end = Timestamp(microseconds: start + duration) }
        if let units = HistoryMaker.units[type] {
            sample.unit = random.pick(units)
            sample.value = .quantity(random.pick([1, 62.5, 100, 0.1, 73, 3, -4, 1e-3]))
        } else if type.hasPrefix("HKCategory") {
            sample.value = .category(random.pick([0, 0, 1, 3, 4, 5]))
        } else {
            sample.payload = text(#"{"activity":"running"}"#)
        }
        (sample.source, sample.device) = random.pick(HistoryMaker.origins)
        sample.metadata = metadata()
        if HistoryMaker.units[type] != nil && random.chance(10) { sample.count = random.pick([2, 5, 60]) }
        return sample
    }

    private mutating func startInstant() -> Int64 {
        let minute: Int64 = 60_000_000
        // Coarse steps, so that ends meet and instants repeat.
        let minutes = random.pick([7, 15, 30, 60, 60, 1440]) as Int64
        let steps = 6 * 1440 / minutes
        return centre + Int64.random(in: -steps...steps, using: &random) * minutes * minute
    }

    private mutating func duration(_ type: String) -> Int64 {
        let minute: Int64 = 60_000_000
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<8: return 0
        case 8..<20: return Int64.random(in: 1...90, using: &random) * minute
        case 20..<30: return Int64.random(in: 1...12, using: &random) * 60 * minute
        case 30..<34: return Int64.random(in: 20...60, using: &random) * 60 * minute
        case 34: return 31 * 1440 * minute
        case 35: return 31 * 1440 * minute + 1
        case 36: return Int64.random(in: 32...70, using: &random) * 1440 * minute
        case 37: return 366 * 1440 * minute + (random.chance(50) ? 1 : 0)
        case 38: return 1
        default: return 1440 * minute
        }
    }

    private mutating func metadata() -> JSONText? {
        if random.chance(55) { return nil }
        var members: [String] = []
        if random.chance(50) {
            let prefix = random.pick(["HK", "HKMetadataKey"])
            members.append("\"\(prefix)SyncIdentifier\":\"s\(Int.random(in: 1...2, using: &random))\"")
            let version = random.pick(["1", "2", "2.0", "\"3\"", "10", "\"abc\"", ""])
            if !version.isEmpty {
                members.append("\"\(random.pick(["HK", "HKMetadataKey"]))SyncVersion\":\(version)")
            }
        }
        if random.chance(30) {
            let value = random.pick(["true", "1", "\"1\"", "false", "0"])
            members.append("\"\(random.pick(["HK", "HKMetadataKey"]))WasUserEntered\":\(value)")
        }
        if random.chance(20) { members.append("\"note\":\"\(random.next())\"") }
        return members.isEmpty ? nil : text("{" + members.joined(separator: ",") + "}")
    }

    private func text(_ json: String) -> JSONText? { try? JSONText(parsing: json) }
}

extension Batch {
    /// The same batch as a part of a snapshot.
    package func with(snapshot: Snapshot?) -> Batch {
        var batch = self
        batch.snapshot = snapshot
        return batch
    }
}
