/// One type that the store holds.
public struct TypeSummary: Sendable, Equatable {
    /// The full identifier.
    public var type: String
    /// What kind of sample.
    public var kind: SampleKind
    /// How it is aggregated, for quantity types of the catalog.
    public var style: AggregationStyle?
    /// The canonical unit, for quantity types of the catalog.
    public var unit: String?
    /// Shown samples.
    public var samples: Int
    /// The local day of the first start.
    public var first: String?
    /// The local day of the last start.
    public var last: String?
    /// How many sources.
    public var sources: Int
}

/// One source of one type, with its priority.
public struct SourceSummary: Sendable, Equatable {
    /// The full type identifier.
    public var type: String
    /// 1 for the highest priority.
    public var rank: Int
    /// The display name.
    public var source: String
    /// The class that the default order uses: `manual`, `watch`, `phone`, `apple`, `other`.
    public var sourceClass: String
    /// Why it has this rank: `set by the user`, `class`, `newer device`, `name`.
    public var reason: String
    /// Shown samples.
    public var samples: Int
    /// The local day of the first start; `nil` for a source that has none yet.
    public var first: String?
    /// The local day of the last start.
    public var last: String?
}

/// One stream and how far it has come.
public struct StreamSummary: Sendable, Equatable {
    /// The stream's name.
    public var stream: String
    /// Its source anchor.
    public var anchor: String?
    /// Its present epoch.
    public var epoch: UInt64
    /// Its newest complete epoch; 0 for none.
    public var completeEpoch: UInt64
    /// The last sequence number.
    public var sequence: UInt64
    /// How many batches the log has of it.
    public var batches: UInt64
    /// The log's anchor after its last batch.
    public var logAnchor: UInt64
}

/// A store at a glance.
public struct StoreInfo: Sendable, Equatable {
    /// The path.
    public var store: String
    /// The format version.
    public var formatVersion: Int
    /// The zone that days are cut in.
    public var timeZone: String
    /// How many batches stand in the log.
    public var logAnchor: UInt64
    /// Batches that are there (less than the anchor where there are gaps).
    public var batches: UInt64
    /// Shown samples.
    public var samples: Int
    /// Dead cells, of uuids never seen as well.
    public var tombstones: Int
    /// Streams.
    public var streams: Int
    /// Segment files.
    public var segments: Int
    /// Bytes of the log without preallocation.
    public var logBytes: UInt64
    /// Log bytes by shown sample; `nil` where there is none.
    public var bytesPerSample: Double?
    /// The anchor up to which the views have been applied: the log's, but for damage.
    public var viewsAnchor: UInt64
    /// The digest of the views, 32 hexadecimal digits.
    public var digest: String
}

/// What a replay did.
public struct ReplayReport: Sendable, Equatable {
    /// The anchor it began at.
    public var from: UInt64
    /// The anchor it ended at.
    public var to: UInt64
    /// Batches applied.
    public var batches: UInt64
    /// Samples added by them.
    public var added: UInt64
    /// Deletions in them.
    public var deleted: UInt64
    /// Adds after which their own cell is dead.
    public var suppressed: UInt64
    /// Shown samples afterwards.
    public var samples: Int
    /// Day buckets afterwards.
    public var buckets: Int
    /// The digest of the views.
    public var digest: String
    /// How long it took.
    public var seconds: Double
    /// Added samples by second.
    public var samplesPerSecond: Double
}

/// How one sample counted in one day's number.
public struct ExplainedSample: Sendable, Equatable {
    /// The sample.
    public var uuid: SampleUUID
    /// The source's display name.
    public var source: String
    /// Its rank, 1 for the highest.
    public var rank: Int
    /// When it began.
    public var start: Timestamp
    /// When it ended.
    public var end: Timestamp
    /// Its value as given.
    public var value: Double?
    /// Its category value.
    public var categoryValue: Int64?
    /// Its unit as given.
    public var unit: String?
    /// The part of it that counted, in the canonical unit (seconds for categories); `nil` when it stays out.
    public var counted: Double?
    /// Names of the sources that covered it, highest first.
    public var coveredBy: [String]
    /// Why it counted as it did, in a few words.
    public var reason: String
}

/// How a day's number came about.
public struct Explanation: Sendable {
    /// The full type identifier.
    public var type: String
    /// The day's label.
    public var day: String
    /// Where the day begins.
    public var start: Timestamp
    /// Where it ends.
    public var end: Timestamp
    /// The canonical unit; `nil` for categories.
    public var unit: String?
    /// Every shown sample that touches the day, by start, end, uuid.
    public var samples: [ExplainedSample]
    /// The rows that `stats` prints for the day.
    public var rows: [StatisticsRow]
}

/// What `verify` found.
public struct VerifyReport: Sendable {
    /// One finding.
    public struct Problem: Sendable, Equatable {
        /// What it is, in a few words.
        public var what: String
        /// The file, relative to the store.
        public var file: String
        /// Where in the file.
        public var offset: UInt64
        /// How many bytes.
        public var length: UInt64
        /// The first anchor it concerns.
        public var firstAnchor: UInt64?
        /// The last anchor it concerns.
        public var lastAnchor: UInt64?
    }

    /// Whether nothing was found.
    public var sound: Bool
    /// How many batches stand in the log.
    public var logAnchor: UInt64
    /// Frames read.
    public var frames: UInt64
    /// Segments read.
    public var segments: Int
    /// Checkpoints read.
    public var checkpoints: Int
    /// Batches that an earlier repair recorded as lost: first and last `logAnchor`.
    public var gaps: [ClosedRange<UInt64>]
    /// The findings.
    public var problems: [Problem]
}

/// What `repair` did.
public struct RepairReport: Sendable {
    /// What was done, a line each.
    public var actions: [String]
    /// Batches that are lost: first and last `logAnchor`.
    public var gaps: [ClosedRange<UInt64>]
    /// Files that hold what was set aside, relative to the store.
    public var setAside: [String]
}

/// What `compact` did.
public struct CompactReport: Sendable {
    /// Log bytes before.
    public var bytesBefore: UInt64
    /// Log bytes after.
    public var bytesAfter: UInt64
    /// Added rows that were taken out.
    public var rowsRemoved: UInt64
    /// Frames before.
    public var framesBefore: UInt64
    /// Frames after.
    public var framesAfter: UInt64
    /// Set-aside files that may still hold deleted data, relative to the store; gone with `purge`.
    public var setAside: [String]
}
