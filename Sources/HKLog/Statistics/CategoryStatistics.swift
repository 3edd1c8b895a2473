/// Which values of a category type compete for the same time.
package enum CategoryLayers: Sendable {
    /// All of them.
    case one
    /// Sleep analysis: being in bed (value 0) and sleeping or being awake there go on at once.
    case sleepAnalysis

    @inline(__always)
    func layer(of value: Int64) -> Int {
        switch self {
        case .one: 0
        case .sleepAnalysis: value == 0 ? 1 : 0
        }
    }

    var layerCount: Int {
        switch self {
        case .one: 1
        case .sleepAnalysis: 2
        }
    }
}

/// A row of a bucket of a category type.
package struct CategoryRow: Sendable, Equatable, BitwiseCopyable {
    /// The raw value.
    package var value: Int64
    /// How many samples of it start in the bucket.
    package var count: UInt64
    /// How much time of the bucket it takes.
    package var microseconds: UInt64

    package init(value: Int64, count: UInt64, microseconds: UInt64) {
        self.value = value
        self.count = count
        self.microseconds = microseconds
    }

    /// The time in seconds, rounded once.
    package var seconds: Double { Double(microseconds) / 1_000_000 }
}

/// A row of one source alone.
package struct CategorySourceRow: Sendable, Equatable, BitwiseCopyable {
    /// The source's place in the order of priority.
    package var rank: Int32
    /// The source's own row, with nothing covered.
    package var row: CategoryRow
}

extension StatisticsKernel {
    /// One row for each value that starts or takes time in the bucket, by value.
    package mutating func categoryBucket(
        of samples: Span<KernelCategorySample>, in bucket: Range<Int64>, layers: CategoryLayers
    ) -> [CategoryRow] {
        var groups = CategoryGroups(of: samples, in: BucketWindow(bucket), layers: layers)
        groups.measure(samples, covering: true)
        groups.members.sort { ($0.value, $0.rank) < ($1.value, $1.rank) }
        var rows: [CategoryRow] = []
        for group in groups.members where group.count > 0 || group.microseconds > 0 {
            if let last = rows.indices.last, rows[last].value == group.value {
                rows[last].count += group.count
                rows[last].microseconds += group.microseconds
            } else {
                rows.append(
                    CategoryRow(
                        value: group.value, count: group.count, microseconds: group.microseconds))
            }
        }
        return rows
    }

    /// One row for each source and value, each source measured alone, by priority and then value.
    package mutating func categoryBucketBySource(
        of samples: Span<KernelCategorySample>, in bucket: Range<Int64>, layers: CategoryLayers
    ) -> [CategorySourceRow] {
        var groups = CategoryGroups(of: samples, in: BucketWindow(bucket), layers: layers)
        groups.measure(samples, covering: false)
        return groups.members.map { (group: CategoryGroups.Group) in
            CategorySourceRow(
                rank: group.rank,
                row: CategoryRow(
                    value: group.value, count: group.count, microseconds: group.microseconds))
        }
    }
}

/// The samples that touch a bucket, grouped by source and value, and the time that each group takes.
///
/// Time is found as for cumulative samples: at every instant and in each layer only the present source that
/// comes first in priority counts, and each rank has a clock that runs while it does. A group takes what its
/// rank's clock goes on while at least one of its samples is present.
private struct CategoryGroups {
    struct Group {
        var rank: Int32
        var value: Int64
        var count: UInt64 = 0
        var microseconds: UInt64 = 0
        var depth = 0
        var clockAtStart: UInt64 = 0
        /// Where its rank stands among the ranks present.
        var place = 0
    }

    private(set) var rankCount = 0
    /// By rank and then value.
    var members: [Group] = []

    private let window: BucketWindow
    private let layers: CategoryLayers
    private var starts: [TimeKey] = []
    private var ends: [TimeKey] = []
    private var spare: [TimeKey] = []

    init(of samples: Span<KernelCategorySample>, in window: BucketWindow, layers: CategoryLayers) {
        self.window = window
        self.layers = layers
        for index in samples.indices where touches(samples[index]) {
            let sample = samples[index]
            if members.last?.rank != sample.rank || members.last?.value != sample.value {
                members.append(Group(rank: sample.rank, value: sample.value))
            }
        }
        members.sort { ($0.rank, $0.value) < ($1.rank, $1.value) }
        var kept: [Group] = []
        for var group in members {
            if let last = kept.last {
                if last.rank == group.rank, last.value == group.value { continue }
                group.place = last.place + (last.rank == group.rank ? 0 : 1)
            }
            kept.append(group)
        }
        members = kept
        rankCount = (kept.last?.place ?? -1) + 1
    }

    private func startsInside(_ sample: KernelCategorySample) -> Bool {
        sample.start >= window.lower && sample.start < window.upper
    }

    private func takesTime(_ sample: KernelCategorySample) -> Bool {
        sample.end > sample.start && sample.end > window.lower && sample.start < window.upper
            && !window.isEmpty
    }

    private func touches(_ sample: KernelCategorySample) -> Bool {
        startsInside(sample) || takesTime(sample)
    }

    private func position(of sample: KernelCategorySample) -> Int {
        var low = 0
        var high = members.count
        while low < high {
            let middle = (low + high) / 2
            if (members[middle].rank, members[middle].value) < (sample.rank, sample.value) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// Counts the samples and measures the time of each group, less what higher priorities cover if
    /// `covering`.
    mutating func measure(_ samples: Span<KernelCategorySample>, covering: Bool) {
        for layer in 0..<layers.layerCount {
            starts.removeAll(keepingCapacity: true)
            ends.removeAll(keepingCapacity: true)
            for index in samples.indices where touches(samples[index]) {
                let sample = samples[index]
                guard layers.layer(of: sample.value) == layer else { continue }
                let position = position(of: sample)
                if startsInside(sample) {
                    members[position].count += 1
                }
                if takesTime(sample) {
                    let start = window.offset(max(sample.start, window.lower))
                    let end = window.offset(min(sample.end, window.upper))
                    starts.append(TimeKey(key: start, index: position))
                    ends.append(TimeKey(key: end, index: position))
                }
            }
            sort(&starts, spare: &spare)
            sort(&ends, spare: &spare)
            pass(covering: covering)
        }
    }

    private mutating func pass(covering: Bool) {
        var clocks = [UInt64](repeating: 0, count: rankCount + 1)
        var depths = [Int](repeating: 0, count: rankCount)
        var active = ActiveRanks()
        active.reset(capacity: rankCount)
        var first = rankCount
        var now: UInt64 = 0
        var nextStart = 0
        var nextEnd = 0
        while nextEnd < ends.count {
            let isEnd = nextStart == starts.count || ends[nextEnd].key <= starts[nextStart].key
            let event = isEnd ? ends[nextEnd] : starts[nextStart]
            let group = Int(event.index)
            let place = members[group].place
            clocks[first] += event.key - now
            now = event.key
            let clock = covering ? clocks[place] : now
            if isEnd {
                nextEnd += 1
                members[group].depth -= 1
                if members[group].depth == 0 {
                    members[group].microseconds += clock - members[group].clockAtStart
                }
                depths[place] -= 1
            } else {
                nextStart += 1
                if members[group].depth == 0 {
                    members[group].clockAtStart = clock
                }
                members[group].depth += 1
                depths[place] += 1
            }
            first = active.set(place, isPresent: depths[place] > 0)
        }
    }
}
