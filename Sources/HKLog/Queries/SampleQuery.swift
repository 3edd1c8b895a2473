/// Asks for shown samples, as `HKSampleQuery` does.
public struct SampleQuery: Sendable {
    /// Which end comes first.
    public enum Order: String, Sendable {
        /// Greatest start first.
        case newest
        /// Least start first.
        case oldest
    }

    /// Full type identifiers; empty for all.
    public var types: [String] = []
    /// A sample is in range when its interval meets `[start, end)`; a point when it lies in it.
    public var start: Timestamp?
    /// See `start`.
    public var end: Timestamp?
    /// `HKQueryOptions.strictStartDate`: the sample must begin in the range.
    public var strictStart = false
    /// `HKQueryOptions.strictEndDate`: the sample must end in the range.
    public var strictEnd = false
    /// The source's display name, with or without its bundle identifier; `manual` for manual entries.
    public var source: String?
    /// Only samples of this stream.
    public var stream: String?
    /// Only samples whose metadata has this key.
    public var metadataKey: String?
    /// By start, end, uuid.
    public var order: Order = .newest
    /// At most this many; `nil` for all.
    public var limit: Int?

    /// Makes a query for all samples.
    public init() {}
}

/// A shown sample and the stream that it is listed by.
public struct StoredSample: Sendable, Equatable {
    /// The sample.
    public var sample: Sample
    /// The stream's name.
    public var stream: String
    /// The source as people see it: its name, with the bundle identifier where two share one; `manual` for manual
    /// entries, `(none)` where there is none.
    public var sourceName: String
}
