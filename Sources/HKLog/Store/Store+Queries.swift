internal import HKLogFormat

extension Store {
    // MARK: Statistics

    /// Statistics buckets of one type or of all.
    ///
    /// Merged days of the store's zone come from the view as they stand: no sample is read. Anything else (other
    /// bucket sizes, another zone, one stream, separate sources) is computed from the samples of the range.
    /// Throws `invalidArgument` for a type without statistics, an option, unit or zone that does not fit.
    public func statistics(_ query: StatisticsQuery) throws(HKLogError) -> StatisticsResult {
        try withViews { views throws(HKLogError) in
            var calendar = views.calendar
            if let zone = query.timeZone, zone != views.settings.timeZone {
                calendar = LocalCalendar(rules: try TimeZoneRules(identifier: zone))
            }
            var stream: UInt32?
            if let name = query.stream {
                stream = try views.stream(named: name)
            }
            let earliest = Timestamp.earliest.microseconds
            let latest = Timestamp.latest.microseconds
            let start = query.start?.microseconds ?? earliest
            let end = query.end?.microseconds ?? latest + 1
            let cut = try query.cut()
            var isDay = false
            if case .calendar(.day) = cut { isDay = true }
            var plan = Views.StatisticsPlan(
                cut: cut, calendar: calendar, range: start..<max(start, end),
                separateBySource: query.separateBySource, stream: stream, fill: query.fill,
                hasStart: query.start != nil, hasEnd: query.end != nil, conversion: nil, unit: nil,
                isOfView: isDay && stream == nil
                    && calendar.rules.checksum == views.calendar.rules.checksum)
            var result = StatisticsResult(
                rows: [], unconvertible: [], zoneIdentifier: calendar.rules.identifier)
            if let type = query.type {
                try check(query, type: type, views: views, plan: &plan)
                // A day that the zone skipped, say: there is nothing in no time.
                if start >= end { return result }
                if let id = views.symbols.typeID(type) {
                    views.statistics(type: id, plan, into: &result.rows)
                    views.countUnconvertible(id, into: &result)
                }
                return result
            }
            if query.unit != nil {
                throw HKLogError(
                    .invalidArgument, "a unit needs a type: name the type whose values it is for")
            }
            if start >= end { return result }
            for id in views.typesByName() {
                views.statistics(type: id, plan, into: &result.rows)
                views.countUnconvertible(id, into: &result)
            }
            return result
        }
    }

    /// The statistics of one type over one range, as `HKStatisticsQuery` gives them: merged over sources, samples
    /// cut at the range's ends.
    ///
    /// `nil` where no sample counts.
    ///
    /// Throws `invalidArgument` for a type without statistics, and for an option or unit that does not fit it.
    public func statistics(
        type: String, from start: Timestamp, to end: Timestamp, options: [StatisticsOption]? = nil,
        unit: String? = nil
    ) throws(HKLogError) -> StatisticsRow? {
        var query = StatisticsQuery(type: type)
        query.start = start
        query.end = end
        query.options = options
        query.unit = unit
        query.isWhole = true
        return try statistics(query).rows.first
    }

    private func check(
        _ query: StatisticsQuery, type: String, views: Views, plan: inout Views.StatisticsPlan
    ) throws(HKLogError) {
        let kind = SampleKind.of(type)
        let quantity = Catalog.quantityType(type)
        guard kind == .category || quantity != nil else {
            throw HKLogError(
                .invalidArgument,
                kind == .quantity
                    ? "\(type) is not in the catalog, so it has no statistics; 'hklog samples' lists its samples"
                    : "\(type) has no statistics; 'hklog samples' lists its samples")
        }
        var fitting: [StatisticsOption] = [.count, .seconds]
        if let quantity {
            let style = views.settings.styles[type] ?? quantity.style
            fitting = style == .cumulative ? [.count, .sum] : [.count, .min, .max, .average, .mostRecent]
        }
        for option in query.options ?? [] where !fitting.contains(option) {
            let names = fitting.map(\.rawValue).joined(separator: ", ")
            throw HKLogError(.invalidArgument, "\(option.rawValue) does not fit \(type); these do: \(names)")
        }
        guard let text = query.unit else { return }
        guard let quantity else {
            throw HKLogError(.invalidArgument, "\(type) is a category and has no unit")
        }
        let unit = try Unit(text)
        guard let conversion = UnitConversion(from: quantity.canonicalUnit, to: unit) else {
            throw HKLogError(
                .invalidArgument,
                "the unit \(quoted(text)) does not fit \(type), which is kept in \(quantity.canonicalUnitText)"
            )
        }
        plan.conversion = conversion
        plan.unit = text
    }

    /// Calls for each merged day bucket as the view keeps it, with the full identifier of its type, by type and day: the
    /// quickest way to all of them, for charts and exports.
    ///
    /// Category types are left out: they have several values a day.
    ///
    /// Cost: about 20 ns a bucket.
    public func forEachDay(type: String? = nil, _ body: (String, DailyBucket) -> Void) throws(HKLogError) {
        try withViews { views throws(HKLogError) in
            var types = views.typesByName()
            if let type { types = views.symbols.typeID(type).map { [$0] } ?? [] }
            let all = Timestamp.earliest.microseconds..<Timestamp.latest.microseconds + 1
            for id in types {
                let entry = views.symbols.types[Int(id)]
                if entry.statistic == .none || entry.statistic == .category { continue }
                let isCumulative = entry.statistic == .cumulative
                let identifier = entry.identifier
                views.forEachDay(type: id, meeting: all) { key, record in
                    var bucket = DailyBucket()
                    bucket.dayNumber = key.day
                    bucket.count = record.count
                    bucket.sum = isCumulative ? record.value : .nan
                    bucket.average = isCumulative ? .nan : record.value
                    bucket.minimum = isCumulative ? .nan : record.minimum
                    bucket.maximum = isCumulative ? .nan : record.maximum
                    bucket.mostRecent = isCumulative ? .nan : record.mostRecent
                    body(identifier, bucket)
                }
            }
        }
    }

    // MARK: Samples

    /// Shown samples, by start, end and uuid.
    ///
    /// Cost: with types named, the days that meet the range; else one pass over all rows.
    public func samples(_ query: SampleQuery) throws(HKLogError) -> [StoredSample] {
        try withViews { views throws(HKLogError) in
            let rows = try views.rows(for: query)
            return rows.compactMap { views.sample($0) }
        }
    }

    // MARK: Catalog

    /// The types in the store, by identifier.
    public func types() throws(HKLogError) -> [TypeSummary] {
        try withViews { views throws(HKLogError) in
            views.typesByName().compactMap { id in
                let entry = views.symbols.types[Int(id)]
                let sources = views.rankedSources(type: id)
                guard !sources.isEmpty else { return nil }
                return TypeSummary(
                    type: entry.identifier, kind: entry.kind, style: entry.style,
                    unit: entry.canonicalUnit?.description, samples: sources.reduce(0) { $0 + $1.samples },
                    first: views.dayLabel(sources.map(\.firstStart).min()),
                    last: views.dayLabel(sources.map(\.lastStart).max()), sources: sources.count)
            }
        }
    }

    /// Sources with their priority in force and its reason, of one type or of all.
    public func sources(type: String? = nil) throws(HKLogError) -> [SourceSummary] {
        try withViews { views throws(HKLogError) in
            var summaries: [SourceSummary] = []
            var ids = views.typesByName()
            if let type { ids = views.symbols.typeID(type).map { [$0] } ?? [] }
            for id in ids { summaries.append(contentsOf: views.sourceSummaries(type: id)) }
            if let type, ids.isEmpty { summaries = views.preferredOnly(type: type) }
            return summaries
        }
    }

    /// Streams, by name.
    public func streams() throws(HKLogError) -> [StreamSummary] {
        try withViews { views throws(HKLogError) in
            views.streams.indices.filter { views.streams[$0].hasBatches }.map { index in
                let stream = views.streams[index]
                return StreamSummary(
                    stream: views.symbols.streamName(UInt32(index)),
                    anchor: stream.anchor.map { String(decoding: $0, as: UTF8.self) }, epoch: stream.epoch,
                    completeEpoch: stream.completeEpoch, sequence: stream.lastSequence,
                    batches: stream.batches,
                    logAnchor: stream.logAnchor)
            }.sorted { $0.stream.utf8.lexicographicallyPrecedes($1.stream.utf8) }
        }
    }

    /// The source anchor to go on from for a stream; `nil` where there is none yet.
    public func sourceAnchor(stream: String) throws(HKLogError) -> String? {
        try withViews { views throws(HKLogError) in
            guard let id = views.symbols.streamID(stream) else { return nil }
            return views.streams[Int(id)].anchor.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Finds a type by what a person typed: identifier or short name in any letter case, of the catalog or store.
    public func resolveType(_ text: String) throws(HKLogError) -> String {
        let known = try withViews { views throws(HKLogError) in
            views.symbols.types.map(\.identifier).filter { !$0.isEmpty }
        }
        return try Catalog.resolve(text, known: known)
    }

    /// The store at a glance.
    public func info() throws(HKLogError) -> StoreInfo {
        let (logBytes, segments) = try withCore { core throws(HKLogError) in try core.logSize() }
        return try withViews { views throws(HKLogError) in
            var info = StoreInfo(
                store: path, formatVersion: StoreManifest.formatVersion, timeZone: views.settings.timeZone,
                logAnchor: views.anchor, batches: UInt64(views.batchBase + views.batches.count),
                samples: views.shownCount, tombstones: views.tombstoneCount,
                streams: views.streams.count { $0.hasBatches }, segments: segments, logBytes: logBytes,
                bytesPerSample: nil, viewsAnchor: views.anchor, digest: views.digestText)
            if views.shownCount > 0 { info.bytesPerSample = Double(logBytes) / Double(views.shownCount) }
            return info
        }
    }

    // MARK: Explaining

    /// How a day's number of a type came about.
    ///
    /// `day` is a label such as `2026-03-01`, in the store's zone.
    ///
    /// Throws `invalidArgument` for a day that is none and for a type without statistics.
    public func explain(type: String, day: String) throws(HKLogError) -> Explanation {
        guard let date = CivilDate(day) else {
            throw HKLogError(
                .invalidArgument, "the day \(quoted(day)) is none; expected one such as 2026-03-01")
        }
        var query = StatisticsQuery(type: type)
        let range = read(calendarDay: date.dayNumber)
        query.start = Timestamp(microseconds: range.lowerBound)
        query.end = Timestamp(microseconds: range.upperBound)
        let rows = range.isEmpty ? [] : try statistics(query).rows
        return try withViews { views throws(HKLogError) in
            var explanation = Explanation(
                type: type, day: date.description, start: Timestamp(microseconds: range.lowerBound),
                end: Timestamp(microseconds: range.upperBound),
                unit: Catalog.quantityType(type)?.canonicalUnitText,
                samples: [], rows: rows)
            if let id = views.symbols.typeID(type) {
                explanation.samples = views.explain(BucketKey(type: id, day: date.dayNumber))
            }
            return explanation
        }
    }

    private func read(calendarDay day: Int32) -> Range<Int64> {
        let start = calendar.dayStart(day)
        return start..<max(start, calendar.dayStart(day &+ 1))
    }
}
