import HKLogFormat
import HKLogTestSupport
import Testing

@testable import HKLog

/// Queries shaped like HealthKit's, on a store in memory.
@Suite("Queries of the library") struct QueryTests {
    private let steps = "HKQuantityTypeIdentifierStepCount"
    private let rate = "HKQuantityTypeIdentifierHeartRate"

    private func store() throws -> Store {
        try Store.open(
            at: "/store", access: .writeOrCreate(StoreOptions(timeZone: "Europe/Berlin")),
            layer: SimulatedFileLayer())
    }

    private func instant(_ text: String) throws -> Timestamp { try #require(Timestamp(text)) }

    private func sample(
        _ number: UInt64, _ type: String, _ start: String, _ end: String, _ value: Double, metadata: String? = nil
    ) throws -> Sample {
        Sample(
            uuid: SampleUUID(raw: .init(first: number, second: 1)), type: type, start: try instant(start),
            end: try instant(end), value: .quantity(value), unit: type == steps ? "count" : "count/min",
            source: Source(name: "iPhone"), metadata: try metadata.map { try JSONText(parsing: $0) })
    }

    @Test func `a range that cuts a sample takes its part alone`() throws {
        let store = try store()
        _ = try store.append(
            Batch(
                stream: steps,
                added: [
                    try sample(1, steps, "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z", 600),
                    try sample(2, steps, "2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z", 40),
                ]))
        let row = try #require(
            try store.statistics(
                type: steps, from: instant("2026-03-01T10:30:00Z"), to: instant("2026-03-02T10:15:00Z")))
        #expect(row.sum == 310)
        #expect(row.count == 2)
        #expect(
            try store.statistics(
                type: steps, from: instant("2026-04-01T00:00:00Z"), to: instant("2026-04-02T00:00:00Z")) == nil)
    }

    @Test func `a collection steps from its anchor date in both directions`() throws {
        let store = try store()
        _ = try store.append(
            Batch(
                stream: steps,
                added: [
                    try sample(1, steps, "2026-03-01T12:00:00+01:00", "2026-03-01T12:00:00+01:00", 1),
                    try sample(2, steps, "2026-03-03T05:59:00+01:00", "2026-03-03T05:59:00+01:00", 2),
                    try sample(3, steps, "2026-03-03T06:00:00+01:00", "2026-03-03T06:00:00+01:00", 4),
                ]))
        var query = StatisticsQuery(type: steps)
        query.interval = (2, .day)
        query.anchorDate = try instant("2026-03-05T06:00:00+01:00")
        let rows = try store.statistics(query).rows
        #expect(rows.map(\.sum) == [3, 4])
        #expect(rows.map(\.start) == [try instant("2026-03-01T06:00:00+01:00"), try instant("2026-03-03T06:00:00+01:00")])
        #expect(rows.map(\.bucket) == ["2026-03-01T06:00:00+01:00", "2026-03-03T06:00:00+01:00"])
        query.interval = (0, .day)
        #expect(throws: HKLogError.self) { try store.statistics(query) }
    }

    @Test func `a statistic that does not fit is an error that names those that do`() throws {
        let store = try store()
        var query = StatisticsQuery(type: rate)
        query.options = [.sum]
        let error = #expect(throws: HKLogError.self) { try store.statistics(query) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasSuffix("these do: count, min, max, average, mostRecent") == true)
    }

    @Test func `a sample query is strict about its ends when asked, and looks into metadata`() throws {
        let store = try store()
        _ = try store.append(
            Batch(
                stream: steps,
                added: [
                    try sample(1, steps, "2026-03-01T09:00:00Z", "2026-03-01T11:00:00Z", 1),
                    try sample(
                        2, steps, "2026-03-01T10:00:00Z", "2026-03-01T12:30:00Z", 2,
                        metadata: #"{"HKTimeZone":"Europe/Berlin"}"#),
                    try sample(3, steps, "2026-03-01T10:00:00Z", "2026-03-01T10:30:00Z", 3),
                ]))
        var query = SampleQuery()
        query.types = [steps]
        query.start = try instant("2026-03-01T10:00:00Z")
        query.end = try instant("2026-03-01T12:00:00Z")
        query.order = .oldest
        func values() throws -> [Sample.Value?] { try store.samples(query).map(\.sample.value) }
        #expect(try values() == [.quantity(1), .quantity(3), .quantity(2)])
        query.strictStart = true
        #expect(try values() == [.quantity(3), .quantity(2)])
        query.strictEnd = true
        #expect(try values() == [.quantity(3)])
        query = SampleQuery()
        query.metadataKey = "HKTimeZone"
        #expect(try values() == [.quantity(2)])
        query = SampleQuery()
        query.limit = 1
        #expect(try values() == [.quantity(2)], "the newest by start and end")
    }

    @Test func `notices are merged while nobody takes them, and end with the store`() async throws {
        let store = try store()
        var notices = store.changeNotices.makeAsyncIterator()
        _ = try store.append(
            Batch(stream: steps, added: [try sample(1, steps, "2026-03-01T23:30:00Z", "2026-03-01T23:30:00Z", 1)]))
        _ = try store.append(
            Batch(stream: rate, added: [try sample(2, rate, "2026-03-05T10:00:00Z", "2026-03-05T10:00:00Z", 60)]))
        let notice = try #require(await notices.next())
        #expect(notice.anchor == 2)
        #expect(notice.types == [steps, rate])
        #expect(notice.days == [try #require(CivilDate("2026-03-02")), try #require(CivilDate("2026-03-05"))])
        var gone = Batch(stream: rate)
        gone.deleted = [Batch.Deletion(uuid: SampleUUID(raw: .init(first: 2, second: 1)))]
        _ = try store.append(gone)
        #expect(await notices.next()?.deletions == 1)
        try store.close()
        #expect(await notices.next() == nil)
    }

    @Test func `a source anchor is what the anchored query goes on from`() throws {
        let store = try store()
        #expect(try store.sourceAnchor(stream: steps) == nil)
        var batch = Batch(stream: steps, added: [try sample(1, steps, "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", 1)])
        batch.previousAnchor = .none
        batch.anchor = "a1"
        _ = try store.append(batch)
        #expect(try store.sourceAnchor(stream: steps) == "a1")
        #expect(try store.append(batch).duplicate)
    }
}
