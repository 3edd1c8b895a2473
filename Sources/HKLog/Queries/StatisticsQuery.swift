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
    /// The statistics that are wanted.
    ///
    /// `nil` for all that fit. One that does not fit the type is an error.
    public var options: [StatisticsOption]?

    /// Steps of this many hours, days, weeks, months or years from `anchorDate` instead of `every`: the interval
    /// components of `HKStatisticsCollectionQuery`.
    ///
    /// 1 to 1,000,000.
    public var interval: (count: Int, size: BucketSize)?
    /// Where the steps of `interval` begin; they run in both directions from it.
    public var anchorDate: Timestamp?
    /// One bucket: the range from `start` to `end` itself.
    var isWhole = false

    /// Makes a query for one type, or for all.
    public init(type: String? = nil, every: BucketSize = .day) {
        self.type = type
        self.every = every
    }
}

extension StatisticsQuery {
    /// How the query cuts time.
    func cut() throws(HKLogError) -> StatisticsCut {
        if isWhole { return .whole }
        guard let interval else { return .calendar(every) }
        guard let step = CalendarInterval(Int64(interval.count), interval.size) else {
            throw HKLogError(.invalidArgument, "the interval's count: expected 1 to 1,000,000")
        }
        return .interval(step, anchor: (anchorDate ?? Timestamp(microseconds: 0)).microseconds)
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
    /// The zone that the buckets are cut in.
    public var zoneIdentifier: String
}

/// One day of one quantity type, plain numbers: in the canonical unit, a statistic that the type has not is not a number.
public struct DailyBucket: Sendable {
    /// The day in the store's zone, in days since 1970-01-01; `CivilDate(dayNumber:)` names it.
    public internal(set) var dayNumber: Int32 = 0
    /// How many samples.
    public internal(set) var count: UInt64 = 0
    /// The total of a cumulative type.
    public internal(set) var sum = Double.nan
    /// The average of a discrete type.
    public internal(set) var average = Double.nan
    /// The least value of a discrete type.
    public internal(set) var minimum = Double.nan
    /// The greatest value of a discrete type.
    public internal(set) var maximum = Double.nan
    /// The latest value of a discrete type.
    public internal(set) var mostRecent = Double.nan
}
