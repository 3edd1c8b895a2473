/// Asks for statistics buckets, as `HKStatisticsCollectionQuery` does.
public struct StatisticsQuery: Sendable {
    /// The type's full identifier; `nil` for every type that has statistics.
    public var type: String?
    /// How long a bucket is.
    public var every: BucketSize = .day
    /// Only buckets that end after this instant.
    public var start: Timestamp?
    /// Only buckets that begin before this instant.
    public var end: Timestamp?
    /// One row for each source beside the merged one.
    public var separateBySource = false
    /// Values in this unit instead of the canonical one.
    public var unit: String?
    /// Buckets of this IANA zone instead of the store's.
    public var timeZone: String?
    /// Only samples of this stream, taken before covering and ranking.
    public var stream: String?
    /// Empty buckets too, with count 0.
    public var fill = false
    /// The statistics that are wanted; `nil` for all that fit. One that does not fit the type is an error.
    public var options: [StatisticsOption]?

    /// Makes a query for one type, or for all.
    public init(type: String? = nil, every: BucketSize = .day) {
        self.type = type
        self.every = every
    }
}

/// One column of statistics.
public enum StatisticsOption: String, Sendable, CaseIterable {
    /// How many samples.
    case count
    /// The total, for cumulative types.
    case sum
    /// The least value, for discrete types.
    case min
    /// The greatest value, for discrete types.
    case max
    /// The average, for discrete types.
    case average
    /// The latest value, for discrete types.
    case mostRecent
    /// The time that a category value took.
    case seconds
}

/// One bucket of one type: and of one source or one category value, where asked.
public struct StatisticsRow: Sendable, Equatable {
    /// The full type identifier.
    public var type: String
    /// The bucket's label, such as `2026-03-01`, `2026-03-01T05`, `2026-W09`, `2026-03` or `2026`.
    public var bucket: String
    /// Where the bucket begins.
    public var start: Timestamp
    /// Where it ends (exclusive).
    public var end: Timestamp
    /// The source's display name in rows of one source, `nil` in merged ones.
    public var source: String?
    /// The unit of the values; `nil` for categories.
    public var unit: String?
    /// The category value; `nil` for quantities.
    public var value: Int64?
    /// How many samples.
    public var count: UInt64
    /// The total, for cumulative types.
    public var sum: Double?
    /// The least value.
    public var min: Double?
    /// The greatest value.
    public var max: Double?
    /// The average.
    public var average: Double?
    /// The latest value.
    public var mostRecent: Double?
    /// The time that the category value took in the bucket.
    public var seconds: Double?
    /// How the type was aggregated; `nil` for categories.
    public var style: AggregationStyle?
}

/// Statistics and what stayed out of them.
public struct StatisticsResult: Sendable {
    /// The rows, by type, bucket, value, and source (merged first).
    public var rows: [StatisticsRow]
    /// For each type the number of shown samples whose unit cannot be converted: they are in no number above.
    public var unconvertible: [(type: String, samples: Int)]
    /// Named with the answer when damage in the store cut it short.
    public var zoneIdentifier: String
}
