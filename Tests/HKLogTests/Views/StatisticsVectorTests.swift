import HKLog
import HKLogTestSupport
import Testing

/// Known answers of statistics, asked of a store: observed of HealthKit, or stated in `docs/statistics.md`.
@Suite struct `Known statistics` {
    private static let steps = "HKQuantityTypeIdentifierStepCount"
    private static let watch = Source(name: "Watch", productType: "Watch7,1")
    private static let phone = Source(name: "iPhone", productType: "iPhone17,1")

    private struct Given {
        var value: Double
        var start: String
        var end: String
        var source: Source? = `Known statistics`.phone
        var count: UInt64?
    }

    private func store(
        _ given: [Given], type: String = steps, unit: String = "count", zone: String = "UTC",
        preferring: [String]? = nil
    ) throws -> Store {
        var random = SeededGenerator(seed: 3)
        let samples = try given.map { one in
            Sample(
                uuid: HistoryMaker.uuid(&random), type: type, start: try #require(Timestamp(one.start)),
                end: Timestamp(one.end), value: .quantity(one.value), unit: unit, source: one.source,
                count: one.count)
        }
        let store = try TestStore(zone: zone).store
        if let preferring { try store.set(priorities: [type: preferring]) }
        for sample in samples { try store.append(Batch(stream: "s", added: [sample])) }
        return store
    }

    private func days(_ store: Store, type: String = steps) throws -> [String: Double?] {
        let rows = try store.statistics(StatisticsQuery(type: type)).rows
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.bucket, $0.sum ?? $0.average) })
    }

    @Test func `a sample over midnight is split by time`() throws {
        let store = try store([Given(value: 100, start: "2026-03-01T23:57:00Z", end: "2026-03-02T00:02:00Z")])
        #expect(try days(store) == ["2026-03-01": 60, "2026-03-02": 40])
        var query = SampleQuery()
        query.start = Timestamp("2026-03-02T00:00:00Z")
        query.strictStart = true
        #expect(try store.samples(query).isEmpty)
        query.strictStart = false
        #expect(try store.samples(query).count == 1)
    }

    @Test func `a point at midnight belongs to the day that begins`() throws {
        let store = try store([Given(value: 7, start: "2026-03-02T00:00:00Z", end: "2026-03-02T00:00:00Z")])
        #expect(try days(store) == ["2026-03-02": 7])
    }

    @Test func `samples of one source add even where they overlap`() throws {
        let store = try store([
            Given(value: 100, start: "2026-03-01T10:00:00Z", end: "2026-03-01T10:10:00Z"),
            Given(value: 100, start: "2026-03-01T10:05:00Z", end: "2026-03-01T10:15:00Z"),
        ])
        #expect(try days(store) == ["2026-03-01": 200])
    }

    @Test(
        arguments: [(nil, 150.0, 160.0), (["iPhone", "Watch"], 150.0, 170.0)] as [([String]?, Double, Double)]
    )
    func `a source of higher priority covers the others`(order: [String]?, equal: Double, unequal: Double)
        throws
    {
        let one = try store(
            [
                Given(
                    value: 100, start: "2026-03-01T10:00:00Z", end: "2026-03-01T10:10:00Z", source: Self.watch
                ),
                Given(value: 100, start: "2026-03-01T10:05:00Z", end: "2026-03-01T10:15:00Z"),
            ], preferring: order)
        #expect(try days(one) == ["2026-03-01": equal])
        let two = try store(
            [
                Given(
                    value: 120, start: "2026-03-01T10:00:00Z", end: "2026-03-01T11:00:00Z", source: Self.watch
                ),
                Given(value: 30, start: "2026-03-01T10:10:00Z", end: "2026-03-01T10:20:00Z"),
                Given(value: 40, start: "2026-03-01T11:00:00Z", end: "2026-03-01T11:20:00Z"),
            ], preferring: order)
        #expect(try days(two) == ["2026-03-01": unequal])
        var query = StatisticsQuery(type: Self.steps)
        query.separateBySource = true
        let rows = try two.statistics(query).rows
        #expect(rows.map(\.source) == [nil] + (order ?? ["Watch", "iPhone"]))
        #expect(Set(rows.dropFirst().map(\.sum)) == [120, 70])
    }

    @Test(arguments: [
        ("America/New_York", "2024-03-10", 23.0, "2024-03-10T05:00:00Z"),
        ("America/New_York", "2024-11-03", 25, "2024-11-03T04:00:00Z"),
        ("Asia/Tokyo", "2024-03-10", 24, "2024-03-09T15:00:00Z"),
        ("Australia/Lord_Howe", "2024-04-07", 24.5, "2024-04-06T13:00:00Z"),
        ("Europe/London", "2024-03-31", 23, "2024-03-31T00:00:00Z"),
    ])
    func `a day is as long as its zone says`(zone: String, day: String, hours: Double, start: String) throws {
        let store = try store([Given(value: 1, start: start, end: start)], zone: zone)
        let row = try #require(try store.statistics(StatisticsQuery(type: Self.steps)).rows.first)
        #expect(row.bucket == day && row.start == Timestamp(start))
        #expect(Double(row.end.microseconds - row.start.microseconds) == hours * 3.6e9)
    }

    @Test func `a day of 23 hours takes 23 of 25 parts`() throws {
        let store = try store(
            [Given(value: 250, start: "2024-03-10T04:00:00Z", end: "2024-03-11T05:00:00Z")],
            zone: "America/New_York")
        #expect(try days(store) == ["2024-03-09": 10, "2024-03-10": 230, "2024-03-11": 10])
    }

    @Test func `an hour that stands twice is two buckets`() throws {
        let store = try store(
            [
                Given(value: 1, start: "2024-04-06T14:10:00Z", end: "2024-04-06T14:10:00Z"),
                Given(value: 2, start: "2024-04-06T15:10:00Z", end: "2024-04-06T15:10:00Z"),
            ], zone: "Australia/Lord_Howe")
        let rows = try store.statistics(StatisticsQuery(type: Self.steps, every: .hour)).rows
        #expect(rows.map(\.bucket) == ["2024-04-07T01", "2024-04-07T01"])
        #expect(rows.map(\.sum) == [1, 2])
        #expect(rows.map(\.start) == [Timestamp("2024-04-06T14:00:00Z"), Timestamp("2024-04-06T15:00:00Z")])
    }

    @Test func `levels of equal energy weigh by time`() throws {
        let type = "HKQuantityTypeIdentifierEnvironmentalAudioExposure"
        func level(_ given: [Given]) throws -> Double {
            let rows = try store(given, type: type, unit: "dBASPL").statistics(StatisticsQuery(type: type))
                .rows
            #expect(rows.first?.style == .discreteEquivalentContinuousLevel)
            return try #require(rows.first?.average)
        }
        let one = try level([
            Given(value: 60, start: "2026-03-01T10:00:00Z", end: "2026-03-01T11:00:00Z"),
            Given(value: 80, start: "2026-03-01T11:00:00Z", end: "2026-03-01T12:00:00Z"),
        ])
        #expect(abs(one - 77.032914) < 5e-7)
        let two = try level([
            Given(value: 80, start: "2026-03-01T10:00:00Z", end: "2026-03-01T10:10:00Z"),
            Given(value: 50, start: "2026-03-01T11:00:00Z", end: "2026-03-01T12:50:00Z"),
        ])
        #expect(abs(two - 69.255699) < 5e-7)
    }

    @Test func `means are arithmetic, of weighted types too`() throws {
        let mass = "HKQuantityTypeIdentifierBodyMass"
        let three = [60.0, 70, 110].map {
            Given(value: $0, start: "2026-03-01T10:00:00Z", end: "2026-03-01T10:00:00Z")
        }
        #expect(try days(try store(three, type: mass, unit: "kg"), type: mass) == ["2026-03-01": 80])
        let rate = "HKQuantityTypeIdentifierHeartRate"
        let rows = try store(three, type: rate, unit: "count/min").statistics(StatisticsQuery(type: rate))
            .rows
        #expect(rows.map(\.average) == [80] && rows.map(\.style) == [.discreteTemporallyWeighted])
    }

    @Test func `a series sample counts once in the mean and whole in the count`() throws {
        let rate = "HKQuantityTypeIdentifierHeartRate"
        let given = [
            Given(value: 60, start: "2026-03-01T10:00:00Z", end: "2026-03-01T10:01:00Z", count: 3),
            Given(value: 90, start: "2026-03-01T11:00:00Z", end: "2026-03-01T11:01:00Z"),
        ]
        let row = try store(given, type: rate, unit: "count/min").statistics(StatisticsQuery(type: rate)).rows
            .first
        #expect(row?.count == 4 && row?.average == 75 && row?.mostRecent == 90)
    }

    @Test func `an empty bucket is absent, or filled with count 0`() throws {
        let store = try store([
            Given(value: 1, start: "2026-03-01T10:00:00Z", end: "2026-03-01T10:00:00Z"),
            Given(value: 2, start: "2026-03-03T10:00:00Z", end: "2026-03-03T10:00:00Z"),
        ])
        #expect(try days(store).keys.sorted() == ["2026-03-01", "2026-03-03"])
        var query = StatisticsQuery(type: Self.steps)
        query.fill = true
        let rows = try store.statistics(query).rows
        #expect(rows.map(\.bucket) == ["2026-03-01", "2026-03-02", "2026-03-03"])
        #expect(rows.map(\.count) == [1, 0, 1] && rows.map(\.sum) == [1, nil, 2])
        query.start = Timestamp("2026-02-28T12:00:00Z")
        query.end = Timestamp("2026-03-02T00:00:00Z")
        #expect(try store.statistics(query).rows.map(\.bucket) == ["2026-02-28", "2026-03-01"])
    }

    @Test func `buckets that meet the asked range are given whole`() throws {
        let store = try store([Given(value: 24, start: "2026-03-01T00:00:00Z", end: "2026-03-02T00:00:00Z")])
        for size in [BucketSize.day, .week, .month, .year] {
            var query = StatisticsQuery(type: Self.steps, every: size)
            query.start = Timestamp("2026-03-01T06:00:00Z")
            query.end = Timestamp("2026-03-01T18:00:00Z")
            #expect(try store.statistics(query).rows.map(\.sum) == [24], "\(size)")
        }
    }

    @Test func `a hundred years of a category do not stop the clock`() throws {
        let type = "HKCategoryTypeIdentifierAppleStandHour"
        var random = SeededGenerator(seed: 4)
        let long = Sample(
            uuid: HistoryMaker.uuid(&random), type: type,
            start: try #require(Timestamp("1900-01-01T00:00:00Z")),
            end: Timestamp("9999-01-01T00:00:00Z"), value: .category(1))
        var test = try TestStore()
        try test.store.append(Batch(stream: "s", added: [long]))
        let digest = try test.digest()
        var query = StatisticsQuery(type: type)
        query.start = Timestamp("1950-01-01T00:00:00Z")
        query.end = Timestamp("1950-01-03T00:00:00Z")
        #expect(try test.store.statistics(query).rows.map(\.seconds) == [86400, 86400])
        try test.store.checkpoint()
        try test.reopen()
        #expect(try test.store.statistics(query).rows.map(\.seconds) == [86400, 86400])
        #expect(try test.digest() == digest)
        var gone = Batch(stream: "s")
        gone.deleted = [Batch.Deletion(uuid: long.uuid)]
        try test.store.append(gone)
        #expect(try test.store.statistics(StatisticsQuery(type: type)).rows.isEmpty)
        #expect(try test.digest() == test.store.replay(from: 0).digest)
    }
}
