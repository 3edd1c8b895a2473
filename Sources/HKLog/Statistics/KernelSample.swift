/// What the statistics need of one quantity sample: flat, so that a bucket's samples lie in one array.
package struct KernelSample: BitwiseCopyable, Sendable, Equatable {
    /// The longest interval of a cumulative sample that is split by time: 366 days.
    package static let longestSplitMicroseconds: UInt64 = 366 * 86_400 * 1_000_000

    /// When it began, in microseconds since 1970.
    package var start: Int64
    /// When it ended; one before `start` counts as `start`.
    package var end: Int64
    /// The value in the type's canonical unit; finite.
    package var value: Double
    /// How many measurements it stands for; 0 counts as 1.
    package var measurementCount: UInt64
    /// The uuid's sixteen bytes as two big-endian numbers, which order as the uuid does.
    package var uuidHigh: UInt64
    package var uuidLow: UInt64
    /// Which source it comes from, as its place in the order of priority: 0 comes first, one rank is one
    /// source.
    package var rank: Int32

    package init(
        start: Int64, end: Int64, value: Double, measurementCount: UInt64 = 1, rank: Int32 = 0,
        uuidHigh: UInt64 = 0, uuidLow: UInt64 = 0
    ) {
        self.start = start
        self.end = end
        self.value = value
        self.measurementCount = measurementCount
        self.uuidHigh = uuidHigh
        self.uuidLow = uuidLow
        self.rank = rank
    }

    /// Whether a cumulative sample counts as a point at its start and covers nothing: it takes no time, or so
    /// much that it cannot be meant as a rate.
    @inline(__always)
    package var isCumulativePoint: Bool {
        end <= start || UInt64(bitPattern: end &- start) > KernelSample.longestSplitMicroseconds
    }

    /// Whether a cumulative sample has a part in the bucket, so that `count` counts it.
    @inline(__always)
    package func touchesCumulatively(_ bucket: Range<Int64>) -> Bool {
        guard start < bucket.upperBound else { return false }
        return isCumulativePoint
            ? start >= bucket.lowerBound : end > bucket.lowerBound && !bucket.isEmpty
    }
}

/// What the statistics need of one category sample.
package struct KernelCategorySample: BitwiseCopyable, Sendable, Equatable {
    /// When it began, in microseconds since 1970.
    package var start: Int64
    /// When it ended; one before `start` counts as `start`.
    package var end: Int64
    /// The raw value.
    package var value: Int64
    /// Which source it comes from, as its place in the order of priority: 0 comes first, one rank is one
    /// source.
    package var rank: Int32

    package init(start: Int64, end: Int64, value: Int64, rank: Int32 = 0) {
        self.start = start
        self.end = end
        self.value = value
        self.rank = rank
    }
}
