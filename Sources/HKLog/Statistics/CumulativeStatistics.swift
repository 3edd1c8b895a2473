/// A bucket of a cumulative type.
package struct CumulativeBucket: Sendable, Equatable, BitwiseCopyable {
    /// The total of what the samples count here.
    package var sum: Double
    /// How many samples touch the bucket, covered or not.
    package var count: UInt64

    package init(sum: Double, count: UInt64) {
        self.sum = sum
        self.count = count
    }
}

/// What one sample counts in a bucket, and why: a row of `explain`.
package struct CumulativeContribution: Sendable, Equatable {
    /// Its place among the samples given.
    package var index: Int
    /// Whether it counts wholly or not at all, as it has no interval or one of more than 366 days.
    package var isPoint: Bool
    /// How long it lies in the bucket; 0 for a point.
    package var microseconds: UInt64
    /// How much of that higher priorities leave to it.
    package var uncoveredMicroseconds: UInt64
    /// What it adds to the sum.
    package var counted: Double
    /// The sources of higher priority that cover some of it, first in priority first.
    package var coveredBy: [Int32]
}

extension StatisticsKernel {
    /// The part of a value that some of its interval stands for.
    ///
    /// The whole interval gives the value itself. Otherwise the product comes first, since that of a whole
    /// number and microseconds is mostly exact, so that the one rounding is that of the division. Near the
    /// largest double, where the product could overflow, the same is done 2^64 lower.
    @inline(__always)
    package static func part(of value: Double, microseconds: UInt64, outOf total: UInt64) -> Double {
        if microseconds == total { return value }
        if value.magnitude < 0x1p960 {
            return value * Double(microseconds) / Double(total)
        }
        return value * 0x1p-64 * Double(microseconds) / Double(total) * 0x1p64
    }

    /// The bucket of all sources together, each stretch of time counting only for the source that comes first
    /// in priority; `nil` when no sample touches it.
    ///
    /// - Complexity: O(*n*) for one source, or for samples in the order of their starts of which none is
    ///   covered; else O(*n* log *n*).
    package mutating func cumulativeBucket(of samples: Span<KernelSample>, in bucket: Range<Int64>)
        -> CumulativeBucket?
    {
        let window = BucketWindow(bucket)
        switch addUncovered(samples, in: window, detectingCovers: true) {
        case .noSample: return nil
        case .bucket(let bucket): return bucket
        case .mayBeCovered: break
        }
        sweep.run(samples, in: window)
        sum.removeAll()
        var count: UInt64 = 0
        let range = window.lower..<max(window.lower, window.upper)
        for index in samples.indices {
            let sample = samples[index]
            guard sample.touchesCumulatively(range) else { continue }
            count += 1
            let uncovered = sweep.uncovered[index]
            if uncovered != 0 {
                sum.add(counted(of: sample, uncovered: uncovered))
            }
        }
        return CumulativeBucket(sum: sum.value, count: count)
    }

    /// The bucket of each source alone, with nothing covered, in the order of priority; sources that do not
    /// touch the bucket are left out.
    package mutating func cumulativeBucketsBySource(of samples: Span<KernelSample>, in bucket: Range<Int64>)
        -> [SourceResult<CumulativeBucket>]
    {
        let window = BucketWindow(bucket)
        let bounds = gatherBySource(samples)
        var results: [SourceResult<CumulativeBucket>] = []
        let own = gathered
        for position in bounds.indices.dropLast() {
            let range = bounds[position]..<bounds[position + 1]
            let part = own.span.extracting(range)
            if case .bucket(let bucket) = addUncovered(part, in: window, detectingCovers: false) {
                results.append(SourceResult(rank: part[0].rank, bucket: bucket))
            }
        }
        return results
    }

    /// What each sample that touches the bucket counts there and who covers it, in the order of the input.
    ///
    /// The parts add up to the bucket's sum exactly (before its one rounding).
    package mutating func cumulativeContributions(of samples: Span<KernelSample>, in bucket: Range<Int64>)
        -> [CumulativeContribution]
    {
        let window = BucketWindow(bucket)
        let range = window.lower..<max(window.lower, window.upper)
        sweep.run(samples, in: window)
        let covers = SourceCovers(of: samples)
        var contributions: [CumulativeContribution] = []
        for index in samples.indices {
            let sample = samples[index]
            guard sample.touchesCumulatively(range) else { continue }
            let uncovered = sweep.uncovered[index]
            let isPoint = sample.isCumulativePoint
            let start = isPoint ? sample.start : max(sample.start, window.lower)
            let end = isPoint ? sample.start : min(sample.end, window.upper)
            contributions.append(
                CumulativeContribution(
                    index: index, isPoint: isPoint, microseconds: UInt64(bitPattern: end &- start),
                    uncoveredMicroseconds: isPoint ? 0 : uncovered,
                    counted: uncovered == 0 ? 0 : counted(of: sample, uncovered: uncovered),
                    coveredBy: covers.ranks(before: sample.rank, meeting: start, to: end)))
        }
        return contributions
    }

    private func counted(of sample: KernelSample, uncovered: UInt64) -> Double {
        sample.isCumulativePoint
            ? sample.value
            : StatisticsKernel.part(
                of: sample.value, microseconds: uncovered,
                outOf: UInt64(bitPattern: sample.end &- sample.start))
    }

    private enum UncoveredSum {
        case noSample
        case bucket(CumulativeBucket)
        /// One sample may cover another, so that the sum is not what was asked for.
        case mayBeCovered
    }

    /// Sums the samples as if nothing were covered.
    private mutating func addUncovered(
        _ samples: Span<KernelSample>, in window: BucketWindow, detectingCovers: Bool
    ) -> UncoveredSum {
        sum.removeAll()
        var fixed = FixedSum()
        var count: UInt64 = 0
        var meetings = MeetingDetector()
        let range = window.lower..<max(window.lower, window.upper)
        for index in samples.indices {
            let sample = samples[index]
            guard sample.touchesCumulatively(range) else { continue }
            count += 1
            let isPoint = sample.isCumulativePoint
            let start = max(sample.start, window.lower)
            let end = isPoint ? start &+ 1 : min(sample.end, window.upper)
            if detectingCovers, meetings.hasMeeting(start: start, end: end, rank: sample.rank) {
                return .mayBeCovered
            }
            let part =
                isPoint
                ? sample.value
                : StatisticsKernel.part(
                    of: sample.value, microseconds: UInt64(bitPattern: end &- start),
                    outOf: UInt64(bitPattern: sample.end &- sample.start))
            if !fixed.addFitting(part) {
                sum.add(part)
            }
        }
        sum.add(fixed)
        return count == 0 ? .noSample : .bucket(CumulativeBucket(sum: sum.value, count: count))
    }
}

/// Looks at intervals one after the other and says whether two of different sources may meet.
///
/// Certainly not while they come in order and each starts after all ends of other sources. Input out of order
/// counts as meeting, but for that of one source.
private struct MeetingDetector {
    private var rank: Int32 = 0
    /// The latest end so far, and the latest among the sources other than its own.
    private var latestEnd = Int64.min
    private var otherEnd = Int64.min
    private var latestStart = Int64.min
    private var isOrdered = true
    private var hasTwoSources = false

    init() {}

    @inline(__always)
    mutating func hasMeeting(start: Int64, end: Int64, rank newRank: Int32) -> Bool {
        isOrdered = isOrdered && start >= latestStart
        latestStart = start
        if newRank == rank {
            latestEnd = max(latestEnd, end)
            return hasTwoSources && (!isOrdered || start < otherEnd)
        }
        if latestEnd == Int64.min {
            rank = newRank
            latestEnd = end
            return false
        }
        hasTwoSources = true
        let isMeeting = !isOrdered || start < latestEnd
        if end > latestEnd {
            otherEnd = latestEnd
            latestEnd = end
            rank = newRank
        } else {
            otherEnd = max(otherEnd, end)
        }
        return isMeeting
    }
}

/// The union of each source's intervals, for asking who covers a stretch.
private struct SourceCovers {
    private struct Run {
        var start: Int64
        var end: Int64
    }

    private var ranks: [Int32] = []
    private var runs: [[Run]] = []

    init(of samples: Span<KernelSample>) {
        var intervals: [KernelSample] = []
        for index in samples.indices where !samples[index].isCumulativePoint {
            intervals.append(samples[index])
        }
        intervals.sort { ($0.rank, $0.start) < ($1.rank, $1.start) }
        for interval in intervals {
            if ranks.last != interval.rank {
                ranks.append(interval.rank)
                runs.append([])
            }
            let last = runs.count - 1
            if let end = runs[last].last?.end, interval.start <= end {
                runs[last][runs[last].count - 1].end = max(end, interval.end)
            } else {
                runs[last].append(Run(start: interval.start, end: interval.end))
            }
        }
    }

    /// The sources of higher priority present somewhere in `[start, end)`, or at `start` if that is a point.
    func ranks(before rank: Int32, meeting start: Int64, to end: Int64) -> [Int32] {
        var found: [Int32] = []
        for (position, candidate) in ranks.enumerated() {
            if candidate >= rank { break }
            // The first run that ends after the start is the only one to look at.
            let own = runs[position]
            var low = 0
            var high = own.count
            while low < high {
                let middle = (low + high) / 2
                if own[middle].end <= start {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            if low < own.count, own[low].start < end || own[low].start <= start {
                found.append(candidate)
            }
        }
        return found
    }
}
