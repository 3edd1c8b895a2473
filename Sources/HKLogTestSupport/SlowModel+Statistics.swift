package import HKLog

#if canImport(Darwin)
    private import Darwin
#elseif canImport(Glibc)
    private import Glibc
#endif

// The rules of `docs/statistics.md` as formulas over all shown samples.
extension SlowModel {
    /// The settings that numbers depend on.
    package struct Rules {
        package var calendar: LocalCalendar
        /// Source names in the order that the user prefers, by type.
        package var priorities: [String: [String]] = [:]

        package init(calendar: LocalCalendar) { self.calendar = calendar }
    }

    /// One row of statistics.
    package struct Row {
        package var bucket: String
        package var source: String?
        package var value: Int64?
        package var count: UInt64
        package var numbers: [Double]
    }

    /// A source of one type; all manual entries are one.
    package enum Origin: Hashable {
        case manual
        case none
        case source(name: Name?, bundle: Name?)
    }

    /// One source of one type with what ranks it.
    package struct Ranked {
        package var origin: Origin
        package var sourceClass: String
        package var samples: Int
        package var first: Timestamp
        package var last: Timestamp
    }

    package static func origin(_ sample: StreamSample) -> Origin {
        if sample.facts.isManual { return .manual }
        let (name, bundle) = (sample.sample.source?.name, sample.sample.source?.bundleIdentifier)
        if name == nil && bundle == nil { return .none }
        return .source(name: name.map(Name.init), bundle: bundle.map(Name.init))
    }

    /// Sources by priority, the highest first.
    package func ranking(_ samples: [StreamSample], type: String, _ rules: Rules) -> [Ranked] {
        let order = ["manual", "watch", "phone", "apple", "other"]
        func place(_ name: String) -> Int { order.firstIndex(of: name) ?? order.count }
        var sources: [Origin: Ranked] = [:]
        for sample in samples {
            let origin = SlowModel.origin(sample)
            let ownClass = origin == .manual ? "manual" : SlowModel.sourceClass(of: sample.sample)
            var entry =
                sources[origin]
                ?? Ranked(
                    origin: origin, sourceClass: ownClass, samples: 0, first: sample.sample.start,
                    last: sample.sample.start)
            if place(ownClass) < place(entry.sourceClass) { entry.sourceClass = ownClass }
            entry.samples += 1
            entry.first = min(entry.first, sample.sample.start)
            entry.last = max(entry.last, sample.sample.start)
            sources[origin] = entry
        }
        let preferred = rules.priorities[type] ?? []
        func preference(_ origin: Origin) -> Int {
            preferred.firstIndex { names(of: origin).contains(Name($0)) } ?? preferred.count
        }
        return sources.values.sorted { left, right in
            let (own, other) = (preference(left.origin), preference(right.origin))
            if own != other { return own < other }
            if place(left.sourceClass) != place(right.sourceClass) {
                return place(left.sourceClass) < place(right.sourceClass)
            }
            if left.first != right.first { return left.first > right.first }
            return SlowModel.sortKey(left.origin) < SlowModel.sortKey(right.origin)
        }
    }

    private static func sortKey(_ origin: Origin) -> (Name, Name) {
        guard case .source(let name, let bundle) = origin else { return (Name(""), Name("")) }
        return (name ?? Name(""), bundle ?? Name(""))
    }

    /// The class of a sample's source, for the sources that `HistoryMaker` uses.
    static func sourceClass(of sample: Sample) -> String {
        let bundle = sample.source?.bundleIdentifier
        func told(_ text: String?) -> String? {
            guard let text = text?.lowercased() else { return nil }
            if text.contains("watch") { return "watch" }
            if text.contains("iphone") { return "phone" }
            if text.contains("ipad") { return "apple" }
            return nil
        }
        if bundle == nil || bundle?.hasPrefix("com.apple.") == true,
            let own = told(sample.source?.productType)
        {
            return own
        }
        let device = sample.device
        return told(device?.name) ?? told(device?.model) ?? told(device?.hardwareVersion) ?? told(
            sample.source?.name)
            ?? "other"
    }

    /// The texts that mean a source.
    private func names(of origin: Origin) -> [Name] {
        switch origin {
        case .manual: return [Name("manual")]
        case .none: return [Name("(none)")]
        case .source(let name, let bundle):
            let own = name ?? bundle ?? Name("")
            guard let bundle else { return [own] }
            return [own, SlowModel.joined(own, bundle)]
        }
    }

    private static func joined(_ name: Name, _ bundle: Name) -> Name {
        Name(
            String(decoding: name.bytes, as: UTF8.self) + " (" + String(decoding: bundle.bytes, as: UTF8.self)
                + ")")
    }

    /// The name that a source is shown by: with its bundle where another one of the log has the same name.
    package func displayName(_ origin: Origin) -> String {
        switch origin {
        case .manual: return "manual"
        case .none: return "(none)"
        case .source(let name, let bundle):
            let own = name ?? bundle ?? Name("")
            var others = Set<Origin>()
            for entry in log {
                for sample in entry.added {
                    guard let source = sample.source else { continue }
                    let other = Origin.source(
                        name: source.name.map(Name.init), bundle: source.bundleIdentifier.map(Name.init))
                    if other != origin, (source.name ?? source.bundleIdentifier).map(Name.init) == own {
                        others.insert(other)
                    }
                }
            }
            if let bundle, name != nil, !others.isEmpty {
                return String(decoding: SlowModel.joined(own, bundle).bytes, as: UTF8.self)
            }
            return String(decoding: own.bytes, as: UTF8.self)
        }
    }

    // MARK: Rows

    /// Statistics of one type from these shown samples, over buckets that meet a range.
    package func rows(
        type: String, from samples: [StreamSample], size: BucketSize, in calendar: LocalCalendar,
        range: Range<Int64>?, bySource: Bool, _ rules: Rules
    ) -> [Row] {
        let own = samples.filter { Name($0.sample.type) == Name(type) }
        let style = Catalog.quantityType(type)?.style
        let isCategory = type.hasPrefix("HKCategoryTypeIdentifier")
        guard style != nil || isCategory, let first = own.map({ $0.sample.start.microseconds }).min() else {
            return []
        }
        let ranked = ranking(own, type: type, rules)
        var ranks: [Origin: Int] = [:]
        for (rank, source) in ranked.enumerated() { ranks[source.origin] = rank }
        let items = own.compactMap { Item($0, rank: ranks[SlowModel.origin($0)] ?? -1, style: style) }
        let last = items.map { max($0.start + 1, $0.end) }.max() ?? first + 1
        let names = bySource ? ranked.map { displayName($0.origin) } : []
        var rows: [Row] = []
        for bucket in calendar.buckets(size, covering: range ?? first..<last) where bucket.end > bucket.start
        {
            let touching = items.filter {
                $0.start < bucket.end && ($0.end > bucket.start || $0.start >= bucket.start)
            }
            guard !touching.isEmpty else { continue }
            if isCategory {
                let isSleep = type == "HKCategoryTypeIdentifierSleepAnalysis"
                for value in Set(touching.map(\.category)).sorted() {
                    let merged = categoryRow(touching, value, bucket, isSleep: isSleep, only: nil)
                    if let merged { rows.append(merged) }
                    for (rank, name) in names.enumerated() {
                        guard var row = categoryRow(touching, value, bucket, isSleep: isSleep, only: rank)
                        else { continue }
                        row.source = name
                        rows.append(row)
                    }
                }
                continue
            }
            for rank in [nil] + names.indices.map(Optional.some) {
                let part = rank.map { rank in touching.filter { $0.rank == rank } } ?? touching
                guard var row = quantityRow(part, bucket, style) else { continue }
                row.source = rank.map { names[$0] }
                rows.append(row)
            }
        }
        return rows
    }

    private func quantityRow(_ items: [Item], _ bucket: Bucket, _ style: AggregationStyle?) -> Row? {
        if style == .cumulative { return cumulativeRow(items, bucket) }
        return discreteRow(items, bucket, isLevel: style == .discreteEquivalentContinuousLevel)
    }

    private func cumulativeRow(_ items: [Item], _ bucket: Bucket) -> Row? {
        var row = Row(bucket: bucket.label, count: 0, numbers: [0])
        for item in items {
            let covers = items.filter { $0.rank < item.rank && $0.end > $0.start }
            if item.end == item.start {
                guard bucket.range.contains(item.start) else { continue }
                row.count += 1
                if !covers.contains(where: { $0.start <= item.start && item.start < $0.end }) {
                    row.numbers[0] += item.value
                }
                continue
            }
            let (lower, upper) = (max(item.start, bucket.start), min(item.end, bucket.end))
            guard lower < upper else { continue }
            row.count += 1
            let free = SlowModel.uncovered(lower..<upper, covers)
            row.numbers[0] += item.value * (Double(free) / Double(item.end - item.start))
        }
        return row.count > 0 ? row : nil
    }

    /// How much of a range none of some intervals holds: the range is cut at every bound, and each piece looked at.
    private static func uncovered(_ range: Range<Int64>, _ covers: [Item]) -> Int64 {
        let inner = covers.flatMap { [$0.start, $0.end] }.filter { range.contains($0) }
        let cuts = Set(inner + [range.lowerBound, range.upperBound]).sorted()
        var free: Int64 = 0
        for (start, end) in zip(cuts, cuts.dropFirst())
        where !covers.contains(where: { $0.start <= start && end <= $0.end }) {
            free += end - start
        }
        return free
    }

    private func discreteRow(_ items: [Item], _ bucket: Bucket, isLevel: Bool) -> Row? {
        let own = items.filter { bucket.range.contains($0.start) }
        let recent = own.max { ($0.end, $0.start, $0.uuid) < ($1.end, $1.start, $1.uuid) }
        guard let recent, let least = own.map(\.value).min(), let greatest = own.map(\.value).max() else {
            return nil
        }
        var average = own.reduce(0) { $0 + $1.value } / Double(own.count)
        if isLevel {
            let isTimeless = own.allSatisfy { $0.end == $0.start }
            var (energy, time) = (0.0, 0.0)
            for item in own {
                let weight = isTimeless ? 1 : Double(item.end - item.start)
                energy += weight * pow(10, item.value / 10)
                time += weight
            }
            average = 10 * log10(energy / time)
        }
        return Row(
            bucket: bucket.label, count: own.reduce(0) { $0 + $1.count },
            numbers: [least, greatest, average, recent.value])
    }

    private func categoryRow(_ items: [Item], _ value: Int64, _ bucket: Bucket, isSleep: Bool, only: Int?)
        -> Row?
    {
        func layer(_ value: Int64) -> Int { isSleep && value == 0 ? 1 : 0 }
        let own = items.filter { $0.category == value && (only == nil || $0.rank == only) }
        let count = own.count { bucket.range.contains($0.start) }
        let bounds = items.flatMap { [$0.start, $0.end] }.filter { bucket.range.contains($0) }
        let cuts = Set(bounds + [bucket.start, bucket.end]).sorted()
        var time: Int64 = 0
        for (start, end) in zip(cuts, cuts.dropFirst()) {
            let present = items.filter { $0.start <= start && end <= $0.end }
            for rank in Set(own.map(\.rank))
            where present.contains(where: { $0.rank == rank && $0.category == value }) {
                let isCovered =
                    only == nil && present.contains { $0.rank < rank && layer($0.category) == layer(value) }
                if !isCovered { time += end - start }
            }
        }
        guard count > 0 || time > 0 else { return nil }
        return Row(bucket: bucket.label, value: value, count: UInt64(count), numbers: [Double(time) / 1e6])
    }

    /// A sample as numbers, in the canonical unit.
    private struct Item {
        var start: Int64
        var end: Int64
        var value = 0.0
        var category: Int64 = 0
        var count: UInt64
        var rank: Int
        var uuid: SampleUUID

        init?(_ stored: StreamSample, rank: Int, style: AggregationStyle?) {
            let sample = stored.sample
            start = sample.start.microseconds
            end = stored.end.microseconds
            count = sample.count ?? 1
            uuid = sample.uuid
            self.rank = rank
            switch sample.value {
            case nil: return nil
            case .category(let value): category = value
            case .quantity(let value):
                guard let canonical = Catalog.quantityType(sample.type)?.canonicalUnit,
                    let unit = try? Unit(sample.unit ?? ""),
                    let converted = unit.convert(value, to: canonical)
                else { return nil }
                self.value = converted
            }
            // More than 366 days cannot be meant as a rate: a point.
            if style == .cumulative && end - start > 366 * 86_400_000_000 { end = start }
        }
    }

    /// How many of some samples have a unit that does not fit.
    package static func unconvertible(_ samples: [StreamSample], type: String) -> Int {
        guard let canonical = Catalog.quantityType(type)?.canonicalUnit else { return 0 }
        return samples.count { stored in
            guard Name(stored.sample.type) == Name(type) else { return false }
            guard let unit = try? Unit(stored.sample.unit ?? "") else { return true }
            return unit.convert(1, to: canonical) == nil
        }
    }
}
