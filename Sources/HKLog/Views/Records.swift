internal import HKLogFormat

// Plain records that columns hold, in memory and in layer files alike: their layout is part of a checkpoint's
// format, and a change of it goes with `LayerHeader.version`.

/// The bits of a row's flags.
enum RowState {
    static let hasEnd: UInt8 = RowFlags.hasEnd
    /// A tombstone: no payload.
    static let dead: UInt8 = 1 << 1
    /// Not the cell of its uuid and stream any more: a later one has taken its place.
    static let gone: UInt8 = 1 << 2
    /// Its epoch is below the newest complete one of its stream.
    static let swept: UInt8 = 1 << 3
    /// The payload of a live uuid.
    static let chosen: UInt8 = 1 << 4
    /// What queries see: chosen, and the winner of its sync identifier.
    static let shown: UInt8 = 1 << 5
    /// Its metadata has a sync identifier.
    static let hasSync: UInt8 = 1 << 6
    /// Linked from the day buckets that it touches.
    static let linked: UInt8 = 1 << 7
}

/// One batch that the log has.
struct BatchRecord: BitwiseCopyable {
    var digest = RawDigest(low: 0, high: 0)
    var epoch: UInt64 = 0
    var sequence: UInt64 = 0
    var stream: UInt32 = 0
    /// The number of its first row; its rows end where those of the next batch begin.
    var firstRow: UInt32 = 0
    /// 1 + the number of the batch of the same stream before it; 0 for none.
    var previousOfStream: UInt32 = 0
    /// `BatchFlags`.
    var flags: UInt32 = 0
}

/// What a few rows have beyond the columns.
struct ExtraRecord: BitwiseCopyable {
    var digest = RawDigest(low: 0, high: 0)
    /// As given; 0 for none.
    var count: UInt64 = 0
    var byteOffset: UInt64 = 0
    var metadataByteCount: UInt32 = 0
    var payloadByteCount: UInt32 = 0
    /// `ExtraBits`.
    var bits: UInt32 = 0
    var reserved: UInt32 = 0
}

extension ExtraRecord {
    /// What the extra adds to a sample's hash: nothing when it is a count of 1 alone, which is what no count means.
    @inline(__always)
    var hashed: RawDigest? {
        count > 1 || metadataByteCount > 0 || payloadByteCount > 0 ? digest : nil
    }
}

/// What the metadata of an extra says that views must know.
enum ExtraBits {
    static let isManual: UInt32 = 1 << 0
    static let hasSync: UInt32 = 1 << 1
}

/// One day of one type.
struct BucketRecord: BitwiseCopyable {
    /// Of all samples, as `count` in statistics; 0 in a bucket that has become empty.
    var count: UInt64 = 0
    /// The sum of a cumulative type, the average of a discrete one.
    var value: Double = 0
    var minimum: Double = 0
    var maximum: Double = 0
    var mostRecent: Double = 0
    var digest = RawDigest(low: 0, high: 0)
    /// Where the rows of a category bucket stand.
    var categoryFirst: UInt64 = 0
    var categoryCount: UInt32 = 0
    /// Samples of more than one source touch the day: its numbers depend on the ranking.
    var hasSeveralSources: UInt32 = 0
}

/// One value of a category bucket.
struct CategoryRecord: BitwiseCopyable {
    var value: Int64
    var count: UInt64
    var seconds: Double
}

/// One row that bears a sync identifier.
struct SyncMember: BitwiseCopyable {
    /// Of source, type and sync identifier.
    var group: RawDigest
    /// `HKMetadataKeySyncVersion`; negative infinity for none.
    var version: Double
    var row: UInt32
    var reserved: UInt32 = 0
}
