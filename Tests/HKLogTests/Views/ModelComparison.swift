import HKLog
import HKLogTestSupport
import Testing

/// Compares what a store says with what the slow model says, and names the first difference.
struct ModelComparison {
    let model: SlowModel
    let store: Store
    let rules: SlowModel.Rules
    let context: String
    let shown: [SlowModel.StreamSample]

    init(_ model: SlowModel, _ store: Store, _ rules: SlowModel.Rules, context: String) {
        self.model = model
        self.store = store
        self.rules = rules
        self.context = context
        shown = model.shown
    }

    func samples() throws {
        var query = SampleQuery()
        query.order = .oldest
        let own = try store.samples(query)
        #expect(own.map(\.sample.uuid) == shown.map(\.sample.uuid), "\(context): shown uuids")
        for (stored, expected) in zip(own, shown) where stored.sample.uuid == expected.sample.uuid {
            #expect(stored.sample == expected.sample, "\(context)")
            #expect(SlowModel.Name(stored.stream) == expected.stream, "\(context)")
        }
        #expect(try store.info().samples == shown.count, "\(context)")
        for type in HistoryMaker.types {
            query.types = [type]
            let uuids = try store.samples(query).map(\.sample.uuid)
            #expect(
                uuids == shown.filter { $0.sample.type == type }.map(\.sample.uuid), "\(context): \(type)")
        }
    }

    func streams() throws {
        let own = try store.streams()
        let names = model.streams
        #expect(
            own.map { SlowModel.Name($0.stream) } == names.map(SlowModel.Name.init), "\(context): streams")
        for (summary, name) in zip(own, names) {
            let entries = model.entries(of: name)
            #expect(summary.anchor == model.sourceAnchor(of: name), "\(context): anchor of \(name)")
            #expect(summary.epoch == model.epoch(of: name), "\(context): epoch of \(name)")
            #expect(summary.completeEpoch == model.completeEpoch(of: name), "\(context): complete \(name)")
            #expect(summary.sequence == model.lastSequence(of: name), "\(context): seq of \(name)")
            #expect(summary.batches == UInt64(entries.count), "\(context): batches of \(name)")
            let last = model.log.lastIndex { $0.stream == SlowModel.Name(name) }
            #expect(summary.logAnchor == last.map { UInt64($0 + 1) }, "\(context): log anchor of \(name)")
        }
        let info = try store.info()
        #expect(info.tombstones == model.tombstones, "\(context): tombstones")
        #expect(info.logAnchor == UInt64(model.log.count), "\(context)")
        #expect(info.batches == UInt64(model.log.count), "\(context)")
        #expect(info.streams == names.count, "\(context)")
    }

    func catalog() throws {
        let types = try store.types()
        let expected = Set(shown.map(\.sample.type)).sorted()
        #expect(types.map(\.type) == expected, "\(context): types")
        func day(_ instant: Timestamp) -> String {
            CivilDate(dayNumber: rules.calendar.dayNumber(containing: instant.microseconds)).description
        }
        for summary in types {
            let own = shown.filter { $0.sample.type == summary.type }
            let ranked = model.ranking(own, type: summary.type, rules)
            #expect(summary.samples == own.count, "\(context): \(summary.type)")
            #expect(summary.sources == ranked.count, "\(context): \(summary.type)")
            #expect(summary.first == own.map(\.sample.start).min().map(day), "\(context): \(summary.type)")
            #expect(summary.last == own.map(\.sample.start).max().map(day), "\(context): \(summary.type)")
            let sources = try store.sources(type: summary.type)
            #expect(
                sources.map { SlowModel.Name($0.source) }
                    == ranked.map { SlowModel.Name(model.displayName($0.origin)) },
                "\(context): ranking of \(summary.type)")
            for (source, expected) in zip(sources, ranked) {
                #expect(source.sourceClass == expected.sourceClass, "\(context): \(source.source)")
                #expect(source.samples == expected.samples, "\(context): \(source.source)")
                #expect(source.first == day(expected.first), "\(context): \(source.source)")
                #expect(source.last == day(expected.last), "\(context): \(source.source)")
            }
        }
    }

    func statistics(
        _ size: BucketSize, range: Range<Int64>? = nil, zone: String? = nil, bySource: Bool = false,
        stream: String? = nil
    ) throws {
        let calendar =
            try zone.map { LocalCalendar(rules: try TimeZoneRules(identifier: $0)) } ?? rules.calendar
        let given = stream.map { stream in shown.filter { $0.stream == SlowModel.Name(stream) } } ?? shown
        for type in HistoryMaker.types where Catalog.quantityType(type) != nil || type.hasPrefix("HKCategory")
        {
            var query = StatisticsQuery(type: type, every: size)
            query.start = range.map { Timestamp(microseconds: $0.lowerBound) }
            query.end = range.map { Timestamp(microseconds: $0.upperBound) }
            query.timeZone = zone
            query.separateBySource = bySource
            query.stream = stream
            let result = try store.statistics(query)
            let expected = model.rows(
                type: type, from: given, size: size, in: calendar, range: range, bySource: bySource, rules)
            let title =
                "\(context): \(type) by \(size)\(zone ?? "")\(bySource ? " by source" : "")\(stream ?? "")"
            let (own, other) = (result.rows.map(text), expected.map(text))
            if own != other {
                let place = zip(own, other).enumerated().first { $0.element.0 != $0.element.1 }?.offset
                let index = place ?? min(own.count, other.count)
                Issue.record(
                    """
                    \(title): row \(index) of \(own.count)/\(other.count) is
                    \(index < own.count ? own[index] : "missing"), should be
                    \(index < other.count ? other[index] : "missing")
                    """)
                continue
            }
            for (row, model) in zip(result.rows, expected) {
                let numbers = [row.sum, row.min, row.max, row.average, row.mostRecent, row.seconds].compactMap
                { $0 }
                let isClose =
                    numbers.count == model.numbers.count
                    && zip(numbers, model.numbers).allSatisfy { abs($0 - $1) <= 1e-9 * max(1, abs($1)) }
                #expect(isClose, "\(title): \(text(row)): \(numbers), should be \(model.numbers)")
            }
            #expect(
                result.unconvertible.first?.samples ?? 0 == SlowModel.unconvertible(shown, type: type),
                "\(title): unconvertible")
        }
    }

    private func text(_ row: StatisticsRow) -> String {
        "\(row.bucket) \(row.source ?? "-") \(row.value ?? -1) count \(row.count)"
    }

    private func text(_ row: SlowModel.Row) -> String {
        "\(row.bucket) \(row.source ?? "-") \(row.value ?? -1) count \(row.count)"
    }

    func everything(around centre: Int64, otherZone: String) throws {
        let day: Int64 = 86_400_000_000
        try samples()
        try streams()
        try catalog()
        try statistics(.day)
        try statistics(.hour, range: centre - day..<centre + day + day / 2)
        try statistics(.day, range: centre - 2 * day..<centre + day + 1, bySource: true)
        try statistics(.week, bySource: true)
        try statistics(.month)
        try statistics(.day, range: centre - 3 * day..<centre + 3 * day, zone: otherZone)
        for stream in model.streams.prefix(2) {
            try statistics(.day, range: centre - 3 * day..<centre + 3 * day, stream: stream)
        }
    }
}
