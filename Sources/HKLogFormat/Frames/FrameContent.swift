/// What a frame holds, in memory: a run of consecutive batches and their rows as columns.
///
/// The codec turns it into bytes and back. Rows stand in the order of the batches, and within a batch in the
/// order in which the batch listed them. Arrays of one element a row are all of the same count.
package struct FrameContent: Sendable {
    /// The batches, oldest first.
    package var batches: [BatchEntry] = []
    /// The added rows of all batches, one after the other.
    package var rows = RowColumns()
    /// The deletions of all batches, one after the other.
    package var deletions: [DeletionEntry] = []

    package init() {}
}

/// Sixteen raw bytes of a UUID, kept as two words in the byte order they have on disk.
package struct RawUUID: Hashable, Sendable, BitwiseCopyable {
    /// Bytes 0..<8, loaded little-endian.
    package var first: UInt64
    /// Bytes 8..<16, loaded little-endian.
    package var second: UInt64

    package init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }
}

/// A 128-bit content digest, as two words.
@usableFromInline
package struct RawDigest: Hashable, Sendable, BitwiseCopyable {
    @usableFromInline package var low: UInt64
    @usableFromInline package var high: UInt64

    @inlinable
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }
}

/// One batch's own fields.
///
/// `flags` bits are named in `BatchFlags`.
package struct BatchEntry: Sendable, Equatable {
    /// The stream's name, UTF-8.
    package var stream: [UInt8] = []
    /// The source anchor after this batch, UTF-8; meaningful with `BatchFlags.hasAnchor`.
    package var anchor: [UInt8] = []
    /// The source anchor before this batch, UTF-8; meaningful with `BatchFlags.hasPreviousAnchor`.
    package var previousAnchor: [UInt8] = []
    /// What was decided: the epoch the batch belongs to.
    package var epoch: UInt64 = 1
    /// What was decided: the batch's number within its epoch.
    package var sequence: UInt64 = 1
    /// See `BatchFlags`.
    package var flags: UInt16 = 0
    /// The digest of the content as it was first appended.
    package var digest = RawDigest(low: 0, high: 0)
    /// A random number that binds what follows to this very batch.
    package var nonce: UInt64 = 0
    /// How many added rows are this batch's.
    package var addedCount: Int = 0
    /// How many deletions are this batch's.
    package var deletedCount: Int = 0

    package init() {}
}

/// The bits of `BatchEntry.flags`.
package enum BatchFlags {
    package static let hasAnchor: UInt16 = 1 << 0
    /// `previousAnchor` was given as text.
    package static let hasPreviousAnchor: UInt16 = 1 << 1
    /// `previousAnchor` was given as null: the stream must have no source anchor yet.
    package static let previousAnchorIsNone: UInt16 = 1 << 2
    /// `snapshot` was `begin` or `whole`: the batch opens its epoch.
    package static let opensSnapshot: UInt16 = 1 << 3
    /// `snapshot` was `end` or `whole`: the batch completes its epoch.
    package static let endsSnapshot: UInt16 = 1 << 4
    package static let confirmsDeletions: UInt16 = 1 << 5
    /// The producer gave `epoch` and `seq`.
    package static let isNumbered: UInt16 = 1 << 6
    /// The importer's mark `kept`.
    package static let isKept: UInt16 = 1 << 7
    /// Compaction has taken rows out: the digest stands for content that is no longer whole here.
    package static let isThinned: UInt16 = 1 << 8
}

/// One deleted UUID, with the metadata that came along.
package struct DeletionEntry: Sendable, Equatable {
    package var uuid: RawUUID
    /// Compact JSON object, or empty for none.
    package var metadata: [UInt8]

    package init(uuid: RawUUID, metadata: [UInt8] = []) {
        self.uuid = uuid
        self.metadata = metadata
    }
}

/// How a row's 64 value bits are to be read.
package enum RowValueKind: UInt8, Sendable {
    /// No value; the bits are zero.
    case none = 0
    /// The bits of a `Double`.
    case double = 1
    /// A two's complement 64-bit integer.
    case integer = 2
}

/// What rows have in common: an opaque label and the group (rows of one group are encoded together).
package struct RowShape: Sendable, Equatable {
    /// Opaque bytes that identify the shape; the same bytes mean the same shape in every frame.
    package var label: [UInt8]
    /// How the values of rows of this shape are read.
    package var valueKind: RowValueKind
    /// Rows of equal group are encoded as one run.
    ///
    /// Shapes of one group share the value kind. Not stored: it is a hint for the encoder, and is 0 after
    /// decoding.
    package var group: UInt32

    package init(label: [UInt8], valueKind: RowValueKind, group: UInt32) {
        self.label = label
        self.valueKind = valueKind
        self.group = group
    }
}

/// What a few rows have beyond the columns; rows with none have extra id 0.
///
/// The texts are slices of `RowColumns.extraBytes`: the metadata at `byteOffset`, the payload right after it.
package struct RowExtra: Sendable, Hashable, BitwiseCopyable {
    /// The `count` that was given, 0 for none.
    package var count: UInt64
    package var byteOffset: Int
    /// Size of the metadata, a compact JSON object; 0 for none.
    package var metadataByteCount: Int
    /// Size of the payload, a compact JSON object; 0 for none.
    package var payloadByteCount: Int

    package init(count: UInt64, byteOffset: Int, metadataByteCount: Int, payloadByteCount: Int) {
        self.count = count
        self.byteOffset = byteOffset
        self.metadataByteCount = metadataByteCount
        self.payloadByteCount = payloadByteCount
    }
}

/// The rows of a frame or a batch as columns.
package struct RowColumns: Sendable {
    package var uuids: [RawUUID] = []
    /// Microseconds since 1970.
    package var starts: [Int64] = []
    /// Microseconds, 0 or more.
    package var durations: [Int64] = []
    /// Read by the shape's `valueKind`.
    package var values: [UInt64] = []
    /// Indices into `shapes`.
    package var shapeIDs: [UInt32] = []
    /// Bit 0: an end was given (`RowFlags.hasEnd`).
    package var flags: [UInt8] = []
    /// 0 for none, else 1 + the index into `extras`.
    ///
    /// Empty when no row has any.
    package var extraIDs: [UInt32] = []
    /// The shapes that `shapeIDs` names.
    package var shapes: [RowShape] = []
    /// The extras that `extraIDs` names.
    package var extras: [RowExtra] = []
    /// The texts of all extras.
    package var extraBytes: [UInt8] = []

    package init() {}

    package var count: Int { uuids.count }
}

/// The bits of `RowColumns.flags`.
package enum RowFlags {
    package static let hasEnd: UInt8 = 1 << 0
}
