/// Finds how much of each cumulative sample is not covered by sources of higher priority.
///
/// One pass over starts and ends in the order of time. At every instant only the present source that comes
/// first in priority counts, so each rank has a clock that runs while it is that source; what a sample counts
/// is what its rank's clock went on from its start to its end. That is O(*n* log *n*) for any number of
/// sources.
struct CoverageSweep: Sendable {
    /// For each sample given: its microseconds in the bucket that count; for a point 1 or 0.
    private(set) var uncovered: [UInt64] = []

    private var starts: [TimeKey] = []
    private var ends: [TimeKey] = []
    private var spare: [TimeKey] = []
    private var ranks: [Int32] = []
    private var clocks: [UInt64] = []
    private var depths: [Int] = []
    private var active = ActiveRanks()

    init() {}

    mutating func run(_ samples: Span<KernelSample>, in window: BucketWindow) {
        collect(samples, in: window)
        sort(&starts, spare: &spare)
        sort(&ends, spare: &spare)
        active.reset(capacity: ranks.count)
        clocks.removeAll(keepingCapacity: true)
        depths.removeAll(keepingCapacity: true)
        // The last clock runs while no source is present.
        for _ in 0...ranks.count {
            clocks.append(0)
            depths.append(0)
        }
        pass()
    }

    /// Fills `starts` and `ends` with the samples that touch the window.
    ///
    /// A start's key is its offset doubled, plus one for a point, so that a point comes after the intervals
    /// that start with it: it is inside them. An end's key is doubled too and goes first among equals:
    /// intervals are half-open.
    private mutating func collect(_ samples: Span<KernelSample>, in window: BucketWindow) {
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        uncovered.removeAll(keepingCapacity: true)
        collectRanks(samples)
        let bucket = window.lower..<max(window.lower, window.upper)
        for index in samples.indices {
            let sample = samples[index]
            uncovered.append(0)
            guard sample.touchesCumulatively(bucket) else { continue }
            let place = place(of: sample.rank)
            if sample.isCumulativePoint {
                starts.append(TimeKey(key: window.offset(sample.start) &* 2 &+ 1, index: index, place: place))
            } else {
                let start = window.offset(max(sample.start, window.lower))
                let end = window.offset(min(sample.end, window.upper))
                starts.append(TimeKey(key: start &* 2, index: index, place: place))
                ends.append(TimeKey(key: end &* 2, index: index, place: place))
            }
        }
    }

    /// Lists the ranks in order, each once; a handful is found by looking through the list.
    private mutating func collectRanks(_ samples: Span<KernelSample>) {
        ranks.removeAll(keepingCapacity: true)
        for index in samples.indices where ranks.count <= 16 {
            let rank = samples[index].rank
            if !ranks.contains(rank) {
                ranks.append(rank)
            }
        }
        if ranks.count > 16 {
            ranks.removeAll(keepingCapacity: true)
            for index in samples.indices {
                ranks.append(samples[index].rank)
            }
        }
        ranks.sort()
        var keptCount = 0
        for index in ranks.indices where keptCount == 0 || ranks[keptCount - 1] != ranks[index] {
            ranks[keptCount] = ranks[index]
            keptCount += 1
        }
        ranks.removeLast(ranks.count - keptCount)
    }

    @inline(__always)
    private func place(of rank: Int32) -> Int {
        var low = 0
        var high = ranks.count
        while low < high {
            let middle = (low + high) / 2
            if ranks[middle] < rank {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// Goes through starts and ends in the order of time.
    ///
    /// Which kind comes next cannot be predicted, so the loop does the same for both; it leaves what it works
    /// on in local variables, where nothing else can touch it.
    private mutating func pass() {
        let ownStarts = self.starts
        let ownEnds = self.ends
        var ownClocks = exchange(&self.clocks, with: [])
        var ownDepths = exchange(&self.depths, with: [])
        var ownUncovered = exchange(&self.uncovered, with: [])
        var active = exchange(&self.active, with: ActiveRanks())
        let starts = ownStarts.span
        let ends = ownEnds.span
        var clocks = ownClocks.mutableSpan
        var depths = ownDepths.mutableSpan
        var uncovered = ownUncovered.mutableSpan
        var now: UInt64 = 0
        var nextStart = 0
        var nextEnd = 0
        var first = ranks.count
        while nextStart < starts.count || nextEnd < ends.count {
            let start = nextStart < starts.count ? starts[nextStart] : TimeKey(key: .max, index: 0)
            let end = nextEnd < ends.count ? ends[nextEnd] : TimeKey(key: .max, index: 0)
            let isEnd = end.key <= start.key
            let event = isEnd ? end : start
            nextEnd += isEnd ? 1 : 0
            nextStart += isEnd ? 0 : 1
            let index = Int(event.index)
            let place = Int(event.place)
            let time = event.key / 2
            clocks[first] &+= time &- now
            now = time
            if event.key & 1 == 1 {
                uncovered[index] = first < place ? 0 : 1
                continue
            }
            // The clock at the start is kept where the result will be, and taken from the clock at the end.
            uncovered[index] = clocks[place] &- uncovered[index]
            depths[place] += isEnd ? -1 : 1
            first = active.set(place, isPresent: depths[place] != 0)
        }
        self.clocks = ownClocks
        self.depths = ownDepths
        self.uncovered = ownUncovered
        self.active = active
    }
}

/// Moves a value out and another one in, so that the value has one owner.
private func exchange<Value>(_ place: inout Value, with new: Value) -> Value {
    let old = place
    place = new
    return old
}
