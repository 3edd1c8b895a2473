/// Computes one bucket's statistics from the shown samples that touch it: the one place where numbers are
/// made, for the kept days, for other buckets at query time, for `explain` and for tests.
///
/// Every result is a pure function of the samples as a set: their order does not show, not in the last bit.
/// The kernel holds only scratch memory, so that a caller who keeps one kernel for many buckets pays for no
/// allocation. Samples that do not touch the bucket may be among those given and change nothing.
package struct StatisticsKernel: Sendable {
    var sum = ExactSum()
    var sweep = CoverageSweep()
    var gathered: [KernelSample] = []
    var order: [TimeKey] = []
    var spareOrder: [TimeKey] = []

    package init() {}

    /// Copies the samples into `gathered`, source by source, and gives the places where sources begin and the
    /// end.
    mutating func gatherBySource(_ samples: Span<KernelSample>) -> [Int] {
        order.removeAll(keepingCapacity: true)
        for index in samples.indices {
            // Sound: flipping the sign bit keeps the order of signed numbers in unsigned ones.
            let key = UInt64(UInt32(bitPattern: samples[index].rank) ^ 0x8000_0000)
            order.append(TimeKey(key: key, index: index))
        }
        sort(&order, spare: &spareOrder)
        gathered.removeAll(keepingCapacity: true)
        var bounds: [Int] = []
        for entry in order {
            let sample = samples[Int(entry.index)]
            if gathered.last?.rank != sample.rank {
                bounds.append(gathered.count)
            }
            gathered.append(sample)
        }
        bounds.append(gathered.count)
        return bounds
    }
}

/// One source's share, in the order of priority.
package struct SourceResult<Bucket: Sendable & Equatable>: Sendable, Equatable {
    /// The source's place in the order of priority.
    package var rank: Int32
    /// The statistics of its samples alone.
    package var bucket: Bucket
}

/// A bucket cut to the range in which instants can lie, so that differences and doubled offsets cannot
/// overflow.
struct BucketWindow {
    let lower: Int64
    let upper: Int64

    init(_ bucket: Range<Int64>) {
        lower = max(bucket.lowerBound, -(1 << 61))
        upper = min(bucket.upperBound, 1 << 61)
    }

    @inline(__always)
    var isEmpty: Bool { upper <= lower }

    @inline(__always)
    func offset(_ instant: Int64) -> UInt64 { UInt64(bitPattern: instant &- lower) }
}
