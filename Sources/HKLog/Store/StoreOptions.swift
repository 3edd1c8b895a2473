/// What a new store is made with.
public struct StoreOptions: Sendable {
    /// The IANA zone that days are cut in; `nil` for the system's.
    public var timeZone: String?
    /// The size at which a segment is sealed.
    public var segmentByteCount: UInt64?

    /// Makes the defaults.
    public init(timeZone: String? = nil, segmentByteCount: UInt64? = nil) {
        self.timeZone = timeZone
        self.segmentByteCount = segmentByteCount
    }
}

/// When an append returns.
public enum SyncPolicy: String, Sendable {
    /// Once its batch is on stable storage.
    case batch
    /// Once the group it is in is on stable storage.
    case group
    /// Once the bytes are with the operating system.
    case none
}

/// How a store is opened.
public enum StoreAccess: Sendable {
    /// Reads only: no lock, nothing made.
    case read
    /// The one writer.
    case write
    /// The one writer; makes the store where there is none.
    case writeOrCreate(StoreOptions)
    /// Decides as a writer would, in memory alone; no lock, nothing written. An empty store where there is none.
    case dryRun(StoreOptions)
}

/// What became of a batch.
public struct AppendResult: Sendable, Equatable {
    /// The log's anchor after the batch; the present one for repeats.
    public var logAnchor: UInt64
    /// The stream's name.
    public var stream: String
    /// Samples added; 0 for repeats.
    public var added: Int
    /// Deletions; 0 for repeats.
    public var deleted: Int
    /// The batch is in the log already.
    public var duplicate: Bool
    /// The batch is of an earlier life of the stream.
    public var stale: Bool
}

/// What views depend on beside the log.
public struct StoreSettings: Sendable, Equatable {
    /// The IANA zone that days are cut in.
    public var timeZone: String
    /// Aggregation styles that differ from the catalog's, by full type identifier.
    public var styles: [String: AggregationStyle] = [:]
    /// Source names in the order that the user prefers, by full type identifier.
    public var priorities: [String: [String]] = [:]
    /// The size at which a segment is sealed.
    public var segmentByteCount: UInt64 = 64 << 20
}

/// What happened in the log.
public enum Change: Sendable {
    /// A batch, with the log's anchor after it.
    case batch(Batch, logAnchor: UInt64)
    /// The batches with these anchors are lost.
    case gap(ClosedRange<UInt64>)
}
