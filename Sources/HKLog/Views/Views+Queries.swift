internal import HKLogFormat

extension Views {
    /// Numbers of types, by identifier.
    func typesByName() -> [UInt32] {
        symbols.types.indices.filter { !symbols.types[$0].identifier.isEmpty }.sorted {
            symbols.types[$0].identifier.utf8.lexicographicallyPrecedes(symbols.types[$1].identifier.utf8)
        }.map { UInt32($0) }
    }

    /// The number of a stream that a person named.
    func stream(named name: String) throws(HKLogError) -> UInt32 {
        guard let id = symbols.streamID(name) else {
            throw HKLogError(
                .invalidArgument, "no stream is named \(quoted(name)); 'hklog anchors' lists them")
        }
        return id
    }

    /// The label of the local day of an instant.
    func dayLabel(_ instant: Int64?) -> String? {
        instant.map { CivilDate(dayNumber: calendar.dayNumber(containing: $0)).description }
    }

    /// Counts the shown samples of a type whose unit cannot be converted.
    func countUnconvertible(_ type: UInt32, into result: inout StatisticsResult) {
        let entry = symbols.types[Int(type)]
        guard entry.canonicalUnit != nil else { return }
        var count = 0
        for shape in entry.shapeIDs where symbols.shapes[Int(shape)].conversion == nil {
            count += symbols.shapes[Int(shape)].shownCount
        }
        if count > 0 { result.unconvertible.append((entry.identifier, count)) }
    }

    // MARK: Sources

    func sourceSummaries(type: UInt32) -> [SourceSummary] {
        let ranked = rankedSources(type: type)
        var summaries: [SourceSummary] = []
        for (rank, source) in ranked.enumerated() {
            summaries.append(
                SourceSummary(
                    type: symbols.types[Int(type)].identifier, rank: rank + 1,
                    source: displayName(ofSource: source.sourceID), sourceClass: source.sourceClass.name,
                    reason: reason(ranked, rank), samples: source.samples, first: dayLabel(source.firstStart),
                    last: dayLabel(source.lastStart)))
        }
        return summaries
    }

    /// What set a source's place against its neighbours: why it is not above the one before it, or, for the first,
    /// why it is not below the next.
    private func reason(_ ranked: [RankedSource], _ rank: Int) -> String {
        let own = ranked[rank]
        if own.preference != nil { return "set by the user" }
        let neighbours = ranked.filter { $0.preference == nil && $0.sourceID != own.sourceID }
        guard neighbours.contains(where: { $0.sourceClass == own.sourceClass }) else { return "class" }
        let equals = neighbours.filter {
            $0.sourceClass == own.sourceClass && $0.firstStart == own.firstStart
        }
        return equals.isEmpty ? "newer device" : "name"
    }

    /// Sources that the user prefers for a type that the store has none of.
    func preferredOnly(type: String) -> [SourceSummary] {
        (settings.priorities[type] ?? []).enumerated().map { rank, name in
            SourceSummary(
                type: type, rank: rank + 1, source: name,
                sourceClass: name == Views.manualName ? "manual" : "other",
                reason: "set by the user", samples: 0, first: nil, last: nil)
        }
    }

    // MARK: Samples

    /// The numbers of the rows that a query asks for, in order.
    func rows(for query: SampleQuery) throws(HKLogError) -> [UInt32] {
        let start = query.start?.microseconds ?? Timestamp.earliest.microseconds
        let end = query.end?.microseconds ?? Timestamp.latest.microseconds + 1
        guard start < end else { return [] }
        let filter = try RowFilter(query, views: self, range: start..<end)
        var best = TopRows(limit: query.limit, newestFirst: query.order == .newest)
        if query.types.isEmpty {
            for row in 0..<UInt32(rowBase + table.count) where flags(row) & RowState.shown != 0 {
                let view = view(row)
                if filter.takes(row, view, self) { best.offer(row, view) }
            }
        } else {
            for type in query.types {
                guard let id = symbols.typeID(type) else { continue }
                for (row, view) in rowsOfType(id, meeting: start..<end) where filter.takes(row, view, self) {
                    best.offer(row, view)
                }
            }
        }
        return best.sorted()
    }

    /// Shown rows of a type whose interval may meet a range.
    private func rowsOfType(_ type: UInt32, meeting range: Range<Int64>) -> [(UInt32, RowView)] {
        if spreads(type) && symbols.types[Int(type)].statistic == .category {
            return shownRows(type: type, meeting: range)
        }
        // Rows are linked from the day in which they start, which may lie long before the range.
        return shownRows(type: type, meeting: Timestamp.earliest.microseconds..<range.upperBound)
    }

    // MARK: Explaining

    /// Every shown sample that touches a day, with the part of it that counted.
    func explain(_ key: BucketKey) -> [ExplainedSample] {
        let type = symbols.types[Int(key.type)]
        let range = dayRange(key.day)
        var members: [(row: UInt32, view: RowView)] = []
        forEachShownRow(key) { row, view in members.append((row, view)) }
        members.sort { left, right in
            (left.view.start, left.view.end, SampleUUID(raw: left.view.uuid))
                < (right.view.start, right.view.end, SampleUUID(raw: right.view.uuid))
        }
        let isDiscrete: Bool
        if case .discrete = type.statistic { isDiscrete = true } else { isDiscrete = false }
        var contributions: [Int: CumulativeContribution] = [:]
        var quantities: [KernelSample] = []
        var placeOfMember: [Int: Int] = [:]
        if type.statistic == .cumulative {
            for (index, member) in members.enumerated() {
                guard let sample = kernelSample(member.view) else { continue }
                placeOfMember[index] = quantities.count
                quantities.append(sample)
            }
            for contribution in kernel.cumulativeContributions(of: quantities.span, in: range) {
                contributions[contribution.index] = contribution
            }
        }
        let categories =
            type.statistic == .category ? categoryContributions(members.map(\.view), type, range) : []
        return members.enumerated().map { index, member in
            var explained = blank(member.view)
            switch type.statistic {
            case .none: break
            case .cumulative:
                guard let place = placeOfMember[index], let contribution = contributions[place] else {
                    explained.reason = "left out: its unit does not fit the type"
                    break
                }
                explained.counted = contribution.counted
                explained.coveredBy = contribution.coveredBy.map { sourceName(rank: $0, type) }
                explained.reason = reason(contribution, member.view, range)
            case .discrete:
                guard let sample = kernelSample(member.view) else {
                    explained.reason = "left out: its unit does not fit the type"
                    break
                }
                explained.counted = isDiscrete ? sample.value : nil
                explained.reason =
                    sample.measurementCount > 1
                    ? "counts once in the average, \(sample.measurementCount) in the count"
                    : "starts in the day"
            case .category:
                explained.counted = categories[index].seconds
                explained.coveredBy = categories[index].coveredBy.map { sourceName(rank: $0, type) }
                explained.reason = categories[index].reason
            }
            return explained
        }
    }

    private func blank(_ view: RowView) -> ExplainedSample {
        let shape = symbols.shapes[Int(view.shape)]
        var explained = ExplainedSample(
            uuid: SampleUUID(raw: view.uuid), source: displayName(ofSource: shape.sourceID),
            rank: Int(rank(of: shape)) + 1, start: Timestamp(microseconds: view.start),
            end: Timestamp(microseconds: view.end), value: nil, categoryValue: nil,
            unit: symbols.sampleShape(view.shape)?.unit, counted: nil, coveredBy: [], reason: "")
        switch shape.valueKind {
        case .none: break
        case .double: explained.value = Double(bitPattern: view.value)
        case .integer: explained.categoryValue = Int64(bitPattern: view.value)
        }
        return explained
    }

    private func sourceName(rank: Int32, _ type: TypeEntry) -> String {
        guard rank >= 0, Int(rank) < type.ranking.count else { return Views.noSourceName }
        return displayName(ofSource: type.ranking[Int(rank)])
    }

    private func reason(_ contribution: CumulativeContribution, _ view: RowView, _ range: Range<Int64>)
        -> String
    {
        if contribution.isPoint {
            if !contribution.coveredBy.isEmpty {
                return "covered: a source of higher priority has its instant"
            }
            return view.duration > 0 ? "counts at its start: longer than 366 days" : "counts whole"
        }
        let isCut = view.start < range.lowerBound || view.end > range.upperBound
        if contribution.uncoveredMicroseconds == 0 { return "covered by a source of higher priority" }
        if contribution.uncoveredMicroseconds < contribution.microseconds {
            return isCut
                ? "in part: part of it is covered, part lies outside the day"
                : "in part: part of it is covered"
        }
        return isCut ? "in part: part of it lies outside the day" : "counts whole"
    }

    /// For each category sample of a day: the time that is its own.
    ///
    /// Where samples of one source and value overlap, the time goes to the one that comes first, so that the
    /// parts add up to what `stats` prints.
    private func categoryContributions(_ views: [RowView], _ type: TypeEntry, _ range: Range<Int64>)
        -> [(seconds: Double, coveredBy: [Int32], reason: String)]
    {
        let samples = views.map { categorySample($0) }
        func layer(_ value: Int64) -> Int { type.isSleep && value == 0 ? 1 : 0 }
        return samples.indices.map { index in
            let own = samples[index]
            let start = max(own.start, range.lowerBound)
            let end = min(own.end, range.upperBound)
            guard start < end else {
                return (
                    0, [],
                    own.start >= range.lowerBound ? "counts, takes no time" : "takes no time in the day"
                )
            }
            var taken: [Range<Int64>] = []
            var coveredBy = Set<Int32>()
            var isRepeated = false
            for other in samples.indices where other != index {
                let sample = samples[other]
                let overlap = max(sample.start, start)..<max(min(sample.end, end), max(sample.start, start))
                guard !overlap.isEmpty else { continue }
                if sample.rank < own.rank && layer(sample.value) == layer(own.value) {
                    taken.append(overlap)
                    coveredBy.insert(sample.rank)
                } else if sample.rank == own.rank && sample.value == own.value && other < index {
                    taken.append(overlap)
                    isRepeated = true
                }
            }
            taken.sort { $0.lowerBound < $1.lowerBound }
            var free: Int64 = 0
            var position = start
            for part in taken {
                if part.lowerBound > position { free += part.lowerBound - position }
                position = max(position, part.upperBound)
            }
            if end > position { free += end - position }
            var reason = free == end - start ? "counts whole" : free == 0 ? "covered" : "in part"
            if !coveredBy.isEmpty && free > 0 { reason += ": part of it is covered" }
            if isRepeated { reason += ", overlaps another of its source" }
            return (Double(free) / 1_000_000, coveredBy.sorted(), reason)
        }
    }
}

/// Which rows a sample query takes.
private struct RowFilter {
    private let query: SampleQuery
    private let range: Range<Int64>
    private let types: Set<UInt32>?
    private let sources: Set<UInt32>?
    private let stream: UInt32?

    init(_ query: SampleQuery, views: Views, range: Range<Int64>) throws(HKLogError) {
        self.query = query
        self.range = range
        types = query.types.isEmpty ? nil : Set(query.types.compactMap { views.symbols.typeID($0) })
        if let name = query.source {
            sources = Set(
                views.symbols.sources.indices.map { UInt32($0) }.filter { views.sourceIsNamed(name, $0) })
        } else {
            sources = nil
        }
        if let name = query.stream {
            stream = try views.stream(named: name)
        } else {
            stream = nil
        }
    }

    func takes(_ row: UInt32, _ view: RowView, _ views: Views) -> Bool {
        let end = view.end
        if view.duration == 0 {
            guard range.contains(view.start) else { return false }
        } else {
            guard view.start < range.upperBound, end > range.lowerBound else { return false }
        }
        if query.strictStart && !range.contains(view.start) { return false }
        if query.strictEnd && !(end >= range.lowerBound && end < range.upperBound) { return false }
        let shape = views.symbols.shapes[Int(view.shape)]
        if let types, !types.contains(shape.typeID) { return false }
        if let sources, !sources.contains(shape.sourceID) { return false }
        if let stream, shape.streamID != stream { return false }
        if let key = query.metadataKey {
            guard view.extra != 0 else { return false }
            let metadata = JSONText(uncheckedCompactObject: views.metadata(of: view.extra))
            guard !metadata.bytes.isEmpty, let value = try? JSONValue(parsing: metadata.text),
                value[key] != nil
            else { return false }
        }
        return true
    }
}

/// The first so many rows of an order: a heap whose top is the last of them.
private struct TopRows {
    private struct Entry {
        var row: UInt32
        var start: Int64
        var end: Int64
        var uuid: SampleUUID
    }

    private var heap: [Entry] = []
    private let limit: Int
    private let newestFirst: Bool

    init(limit: Int?, newestFirst: Bool) {
        self.limit = limit ?? .max
        self.newestFirst = newestFirst
    }

    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        let isEarlier = (left.start, left.end, left.uuid) < (right.start, right.end, right.uuid)
        return newestFirst ? !isEarlier : isEarlier
    }

    mutating func offer(_ row: UInt32, _ view: RowView) {
        guard limit > 0 else { return }
        let entry = Entry(row: row, start: view.start, end: view.end, uuid: SampleUUID(raw: view.uuid))
        if heap.count < limit {
            heap.append(entry)
            var child = heap.count - 1
            while child > 0, precedes(heap[(child - 1) / 2], heap[child]) {
                heap.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
        } else if precedes(entry, heap[0]) {
            heap[0] = entry
            var parent = 0
            while true {
                var last = parent
                for child in [2 * parent + 1, 2 * parent + 2]
                where child < heap.count && precedes(heap[last], heap[child]) {
                    last = child
                }
                if last == parent { break }
                heap.swapAt(parent, last)
                parent = last
            }
        }
    }

    func sorted() -> [UInt32] { heap.sorted { precedes($0, $1) }.map(\.row) }
}
