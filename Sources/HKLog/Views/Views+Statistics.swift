internal import HKLogFormat

// Statistics rows: day buckets come from the view as they stand; everything else is computed from the samples of
// the days in question, by the same kernel.
extension Views {
    /// What of a query the views need, resolved.
    struct StatisticsPlan {
        var cut: StatisticsCut
        var calendar: LocalCalendar
        var range: Range<Int64>
        var separateBySource: Bool
        var stream: UInt32?
        var fill: Bool
        /// A start was asked for: fill from there.
        var hasStart: Bool
        var hasEnd: Bool
        /// Values from the canonical unit to the one that is asked for.
        var conversion: UnitConversion?
        var unit: String?
        /// Day buckets of the store's zone, merged, of all streams: what the view keeps.
        var isOfView: Bool
    }

    /// The rows of one type, in order.
    func statistics(type: UInt32, _ plan: StatisticsPlan, into rows: inout [StatisticsRow]) {
        let entry = symbols.types[Int(type)]
        guard entry.statistic != .none else { return }
        let first = rows.count
        if plan.isOfView && !plan.separateBySource {
            viewRows(type, entry, plan, into: &rows)
        } else {
            computedRows(type, entry, plan, into: &rows)
        }
        if plan.fill { fillGaps(entry, plan, from: first, in: &rows) }
    }

    private func viewRows(
        _ type: UInt32, _ entry: TypeEntry, _ plan: StatisticsPlan, into rows: inout [StatisticsRow]
    ) {
        let unit = plan.unit ?? entry.unitText
        forEachDay(type: type, meeting: plan.range) { key, record in
            let day = days.day(key.day, calendar)
            var row = StatisticsRow(
                type: entry.identifier, bucket: day.label, start: Timestamp(microseconds: day.start),
                end: Timestamp(microseconds: day.end), source: nil, unit: unit, value: nil,
                count: record.count,
                sum: nil, min: nil, max: nil, average: nil, mostRecent: nil, seconds: nil, style: entry.style)
            if entry.statistic == .category {
                for category in categoryRows(of: key, record) {
                    row.value = category.value
                    row.count = category.count
                    row.seconds = category.seconds
                    rows.append(row)
                }
            } else {
                fill(&row, entry, plan, record)
                rows.append(row)
            }
        }
    }

    /// Calls for each day bucket of a type that is not empty and meets a range, in order.
    ///
    /// Cost: where everything stands in one layer or in memory, a step from record to record; else a look-up each.
    @inline(__always)
    func forEachDay(
        type: UInt32, meeting range: Range<Int64>, _ body: (BucketKey, borrowing BucketRecord) -> Void
    ) {
        let first =
            range.lowerBound <= Timestamp.earliest.microseconds
            ? Int32.min : calendar.dayNumber(containing: range.lowerBound)
        let last =
            range.upperBound > Timestamp.latest.microseconds
            ? Int32.max : calendar.dayNumber(containing: max(range.upperBound, range.lowerBound + 1) - 1)
        let lowest = BucketKey(type: type, day: first)
        let highest = BucketKey(type: type, day: last)
        if layers.count == 1 && buckets.entries.count == 0 {
            layers[0].forEachBucket(from: lowest, through: highest) { key, record in
                if !record.isEmpty { body(key, record) }
            }
        } else if layers.isEmpty {
            let order = buckets.inOrder()
            var index = order.partitioningIndex { buckets.entries[Int($0)].key >= lowest }
            while index < order.count {
                let entry = buckets.entries[Int(order[index])]
                if entry.key > highest { return }
                if !entry.record.isEmpty { body(entry.key, entry.record) }
                index += 1
            }
        } else {
            for key in orderedKeys(type: type) where key >= lowest && key <= highest {
                if let record = record(of: key), !record.isEmpty { body(key, record) }
            }
        }
    }

    /// A day bucket's numbers, wherever they stand.
    func record(of key: BucketKey) -> BucketRecord? {
        if let index = buckets.find(key), buckets.entries[index].hasRecord {
            return buckets.entries[index].record
        }
        return layerRecord(key)
    }

    private func computedRows(
        _ type: UInt32, _ entry: TypeEntry, _ plan: StatisticsPlan, into rows: inout [StatisticsRow]
    ) {
        let members = rowsOfDays(type: type, meeting: plan)
        guard !members.isEmpty else { return }
        let ranking = ranking(of: members, type: type, stream: plan.stream)
        let names = ranking.map { displayName(ofSource: $0) }
        var ranks = [Int32](repeating: -1, count: symbols.sources.count)
        for (rank, source) in ranking.enumerated() { ranks[Int(source)] = Int32(rank) }
        let isCategory = entry.statistic == .category
        // Each sample goes to every bucket that it touches; samples of a bucket stand together after a sort. Buckets
        // go by their starts: two hours may bear one number where clocks are set back.
        var places: [(bucketStart: Int64, member: Int32)] = []
        var quantities: [KernelSample] = []
        var categories: [KernelCategorySample] = []
        for view in members {
            let source = symbols.shapes[Int(view.shape)].sourceID
            guard ranks[Int(source)] >= 0 else {
                // Every source with a shown row has a rank, unless a checkpoint's state and rows contradict each other.
                layers.last?.fail()
                continue
            }
            let member: Int
            if isCategory {
                var sample = categorySample(view)
                sample.rank = ranks[Int(source)]
                categories.append(sample)
                member = categories.count - 1
            } else {
                guard var sample = kernelSample(view) else { continue }
                sample.rank = ranks[Int(source)]
                quantities.append(sample)
                member = quantities.count - 1
            }
            forEachBucket(touchedBy: view, entry, plan) { places.append(($0.start, Int32(member))) }
        }
        places.sort { $0 < $1 }
        var position = 0
        while position < places.count {
            let start = places[position].bucketStart
            let bucket = plan.bucket(containing: start)
            var end = position
            while end < places.count && places[end].bucketStart == start { end += 1 }
            if isCategory {
                let own = places[position..<end].map { categories[Int($0.member)] }
                categoryRows(own, entry, bucket, plan, names, into: &rows)
            } else {
                let own = places[position..<end].map { quantities[Int($0.member)] }
                quantityRows(own, entry, bucket, plan, names, into: &rows)
            }
            position = end
        }
    }

    private func quantityRows(
        _ samples: [KernelSample], _ entry: TypeEntry, _ bucket: StatisticsBucket, _ plan: StatisticsPlan,
        _ names: [String], into rows: inout [StatisticsRow]
    ) {
        if case .discrete(let style) = entry.statistic {
            let mean = DiscreteMean(style)
            guard let merged = kernel.discreteBucket(of: samples.span, in: bucket.range, mean: mean) else {
                return
            }
            rows.append(row(entry, bucket, plan, source: nil, BucketRecord(merged)))
            guard plan.separateBySource else { return }
            for own in kernel.discreteBucketsBySource(of: samples.span, in: bucket.range, mean: mean) {
                rows.append(row(entry, bucket, plan, source: names[Int(own.rank)], BucketRecord(own.bucket)))
            }
        } else {
            guard let merged = kernel.cumulativeBucket(of: samples.span, in: bucket.range) else { return }
            rows.append(row(entry, bucket, plan, source: nil, BucketRecord(merged)))
            guard plan.separateBySource else { return }
            for own in kernel.cumulativeBucketsBySource(of: samples.span, in: bucket.range) {
                rows.append(row(entry, bucket, plan, source: names[Int(own.rank)], BucketRecord(own.bucket)))
            }
        }
    }

    private func categoryRows(
        _ samples: [KernelCategorySample], _ entry: TypeEntry, _ bucket: StatisticsBucket,
        _ plan: StatisticsPlan,
        _ names: [String], into rows: inout [StatisticsRow]
    ) {
        let layers: CategoryLayers = entry.isSleep ? .sleepAnalysis : .one
        let merged = kernel.categoryBucket(of: samples.span, in: bucket.range, layers: layers)
        let bySource =
            plan.separateBySource
            ? kernel.categoryBucketBySource(of: samples.span, in: bucket.range, layers: layers)
                .filter { $0.row.count > 0 || $0.row.microseconds > 0 } : []
        // A value that is covered wholly has rows of its sources and no merged one.
        for value in Set(merged.map(\.value) + bySource.map(\.row.value)).sorted() {
            for row in merged where row.value == value {
                rows.append(
                    self.row(entry, bucket, plan, source: nil, category: (value, row.count, row.seconds)))
            }
            for own in bySource where own.row.value == value {
                let category = (value, own.row.count, own.row.seconds)
                rows.append(row(entry, bucket, plan, source: names[Int(own.rank)], category: category))
            }
        }
    }

    // MARK: Samples of a query

    /// Shown rows of a type that may touch the buckets that meet the asked range: each once.
    private func rowsOfDays(type: UInt32, meeting plan: StatisticsPlan) -> [RowView] {
        // The buckets at both ends are given whole.
        var range = plan.range
        if range.lowerBound > Timestamp.earliest.microseconds {
            range = plan.bucket(containing: range.lowerBound).start..<range.upperBound
        }
        if range.upperBound <= Timestamp.latest.microseconds, range.upperBound > range.lowerBound {
            let end = plan.bucket(containing: range.upperBound - 1).end
            range = range.lowerBound..<max(end, range.lowerBound)
        }
        return shownRows(type: type, meeting: range).compactMap { _, view in
            if let stream = plan.stream, symbols.shapes[Int(view.shape)].streamID != stream { return nil }
            return view
        }
    }

    /// Shown rows of a type that touch the days of a range, each once, by row number.
    func shownRows(type: UInt32, meeting range: Range<Int64>) -> [(UInt32, RowView)] {
        var found: [(UInt32, RowView)] = []
        var isSpread = false
        for key in orderedKeys(type: type) {
            let day = dayRange(key.day)
            guard day.upperBound > range.lowerBound, day.lowerBound < range.upperBound else { continue }
            forEachShownRow(key) { row, view in
                found.append((row, view))
                if view.start < day.lowerBound { isSpread = true }
            }
        }
        guard isSpread else { return found }
        found.sort { $0.0 < $1.0 }
        var unique: [(UInt32, RowView)] = []
        unique.reserveCapacity(found.count)
        for pair in found where unique.last?.0 != pair.0 { unique.append(pair) }
        return unique
    }

    private func ranking(of members: [RowView], type: UInt32, stream: UInt32?) -> [UInt32] {
        guard stream != nil else { return symbols.types[Int(type)].ranking }
        // Ranked among the stream's own samples, as if the others were not there.
        let sources = Set(members.map { symbols.shapes[Int($0.shape)].sourceID })
        return rankedSources(type: type, stream: stream).map(\.sourceID).filter(sources.contains)
    }

    private func forEachBucket(
        touchedBy view: RowView, _ entry: TypeEntry, _ plan: StatisticsPlan,
        _ body: (StatisticsBucket) -> Void
    ) {
        var bucket = plan.bucket(containing: view.start)
        func meets(_ bucket: StatisticsBucket) -> Bool {
            bucket.end > plan.range.lowerBound && bucket.start < plan.range.upperBound
        }
        var end = view.start
        switch entry.statistic {
        case .cumulative:
            if UInt64(bitPattern: view.duration) <= KernelSample.longestSplitMicroseconds { end = view.end }
        case .category: end = view.start &+ min(view.duration, Views.longestSpreadDuration)
        case .discrete, .none: break
        }
        if end <= view.start {
            if meets(bucket) { body(bucket) }
            return
        }
        if bucket.end <= plan.range.lowerBound, plan.range.lowerBound < end {
            bucket = plan.bucket(containing: plan.range.lowerBound)
        }
        while bucket.start < end {
            if bucket.start >= plan.range.upperBound { return }
            if meets(bucket) { body(bucket) }
            guard bucket.end > bucket.start else { return }
            bucket = plan.bucket(containing: bucket.end)
        }
    }

    // MARK: Rows

    private func row(
        _ entry: TypeEntry, _ bucket: StatisticsBucket, _ plan: StatisticsPlan, source: String?,
        _ record: BucketRecord
    ) -> StatisticsRow {
        var row = emptyRow(entry, bucket, plan, source: source)
        row.count = record.count
        fill(&row, entry, plan, record)
        return row
    }

    private func fill(
        _ row: inout StatisticsRow, _ entry: TypeEntry, _ plan: StatisticsPlan, _ record: BucketRecord
    ) {
        func shown(_ value: Double) -> Double { plan.conversion?.apply(value) ?? value }
        if entry.statistic == .cumulative {
            row.sum = shown(record.value)
        } else {
            row.min = shown(record.minimum)
            row.max = shown(record.maximum)
            row.average = shown(record.value)
            row.mostRecent = shown(record.mostRecent)
        }
    }

    private func row(
        _ entry: TypeEntry, _ bucket: StatisticsBucket, _ plan: StatisticsPlan, source: String?,
        category: (value: Int64, count: UInt64, seconds: Double)
    ) -> StatisticsRow {
        var row = emptyRow(entry, bucket, plan, source: source)
        row.value = category.value
        row.count = category.count
        row.seconds = category.seconds
        return row
    }

    private func emptyRow(
        _ entry: TypeEntry, _ bucket: StatisticsBucket, _ plan: StatisticsPlan, source: String?
    )
        -> StatisticsRow
    {
        StatisticsRow(
            type: entry.identifier, bucket: bucket.label, start: Timestamp(microseconds: bucket.start),
            end: Timestamp(microseconds: bucket.end), source: source,
            unit: plan.unit ?? entry.unitText, value: nil,
            count: 0, sum: nil, min: nil, max: nil, average: nil, mostRecent: nil, seconds: nil,
            style: entry.style)
    }

    /// Puts a row with count 0 where a bucket has none.
    private func fillGaps(
        _ entry: TypeEntry, _ plan: StatisticsPlan, from first: Int, in rows: inout [StatisticsRow]
    ) {
        let own = Array(rows[first...])
        let start = plan.hasStart ? plan.range.lowerBound : own.first?.start.microseconds
        let end = plan.hasEnd ? plan.range.upperBound : own.last?.end.microseconds
        guard let start, let end, start < end else { return }
        rows.removeLast(own.count)
        var position = 0
        for bucket in plan.buckets(covering: start..<end) {
            let before = position
            while position < own.count && own[position].start.microseconds == bucket.start {
                rows.append(own[position])
                position += 1
            }
            if position == before { rows.append(emptyRow(entry, bucket, plan, source: nil)) }
        }
    }
}

/// Bounds and labels of days that were asked for already: types share their days.
struct DayTable {
    struct Day {
        var start: Int64
        var end: Int64
        var label: String
    }

    private var first: Int32 = 0
    private var days: [Day?] = []
    private static let longest: Int32 = 40_000

    mutating func day(_ number: Int32, _ calendar: LocalCalendar) -> Day {
        if days.isEmpty { first = number &- 400 }
        let index = Int(number) - Int(first)
        if index >= 0, index < days.count, let known = days[index] { return known }
        let start = calendar.dayStart(number)
        let day = Day(
            start: start, end: max(start, calendar.dayStart(number &+ 1)),
            label: CivilDate(dayNumber: number).description)
        guard index >= 0, index < Int(DayTable.longest) else { return day }
        while days.count <= index { days.append(nil) }
        days[index] = day
        return day
    }
}

extension Array {
    /// The first index whose element fits, where all before it do not and all after it do.
    func partitioningIndex(where fits: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if fits(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// How a query cuts time into buckets.
enum StatisticsCut {
    /// Clock hours, local days, ISO weeks, months or years.
    case calendar(BucketSize)
    /// Steps from an anchor date, as HealthKit's collection queries take them.
    case interval(CalendarInterval, anchor: Int64)
    /// One bucket: the asked range itself.
    case whole
}

/// One bucket of a query.
struct StatisticsBucket {
    var start: Int64
    var end: Int64
    var label: String

    var range: Range<Int64> { start..<max(start, end) }
}

extension Views.StatisticsPlan {
    /// The bucket that holds an instant.
    ///
    /// An instant outside the range of a query of one bucket lies in one of the two that stand before and after
    /// it.
    func bucket(containing instant: Int64) -> StatisticsBucket {
        switch cut {
        case .calendar(let size):
            let bucket = calendar.bucket(containing: instant, size: size)
            return StatisticsBucket(start: bucket.start, end: bucket.end, label: bucket.label)
        case .interval(let interval, let anchor):
            let bounds = calendar.interval(containing: instant, every: interval, anchor: anchor)
            return StatisticsBucket(
                start: bounds.lowerBound, end: bounds.upperBound,
                label: Timestamp(microseconds: bounds.lowerBound).text(in: calendar))
        case .whole:
            if instant < range.lowerBound {
                return StatisticsBucket(start: .min / 4, end: range.lowerBound, label: "before")
            }
            if instant >= range.upperBound {
                return StatisticsBucket(start: range.upperBound, end: .max / 4, label: "after")
            }
            let label = [range.lowerBound, range.upperBound].map {
                Timestamp(microseconds: min($0, Timestamp.latest.microseconds)).text(in: calendar)
            }
            return StatisticsBucket(
                start: range.lowerBound, end: range.upperBound, label: label.joined(separator: "/"))
        }
    }

    /// The buckets that meet a range, in order, none of them empty.
    func buckets(covering range: Range<Int64>) -> [StatisticsBucket] {
        var found: [StatisticsBucket] = []
        var instant = range.lowerBound
        while instant < range.upperBound {
            let bucket = bucket(containing: instant)
            guard bucket.end > instant else { break }
            found.append(bucket)
            instant = bucket.end
        }
        return found
    }
}

extension BucketRecord {
    init(_ bucket: DiscreteBucket) {
        self.init(
            count: bucket.count, value: bucket.average, minimum: bucket.minimum, maximum: bucket.maximum,
            mostRecent: bucket.mostRecent)
    }

    init(_ bucket: CumulativeBucket) {
        self.init(count: bucket.count, value: bucket.sum)
    }
}
