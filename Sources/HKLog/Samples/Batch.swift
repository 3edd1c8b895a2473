package import HKLogFormat

/// One page of one anchored query: what was added and deleted, and the source anchor that closes it.
///
/// A batch is appended to the log whole or not at all. Its samples are kept as columns; `BatchBuilder` makes
/// one without an intermediate `Sample` each.
public struct Batch: Sendable {
    /// What a batch says of the source anchor that its query started from.
    public enum PreviousAnchor: Sendable, Equatable {
        /// Nothing: not checked.
        case notGiven
        /// The query started from nothing.
        case none
        /// The query started from this anchor.
        case anchor(String)
    }

    /// Which part of a snapshot (a full listing of the stream) a batch is.
    public enum Snapshot: String, Sendable, Equatable {
        /// Its first page.
        case begin
        /// Its last page.
        case end
        /// First and last page in one.
        case whole
    }

    /// The producer's own numbering.
    public struct Numbering: Sendable, Equatable {
        /// One life of the stream, 1 or more.
        public var epoch: UInt64
        /// The batch's number within the epoch, 1 or more.
        public var sequence: UInt64

        /// Makes a numbering.
        public init(epoch: UInt64, sequence: UInt64) {
            self.epoch = epoch
            self.sequence = sequence
        }
    }

    /// One deletion: `HKDeletedObject`.
    public struct Deletion: Sendable, Equatable {
        /// Which sample is gone.
        public var uuid: SampleUUID
        /// What HealthKit keeps of a deleted object.
        public var metadata: JSONText?

        /// Makes a deletion.
        public init(uuid: SampleUUID, metadata: JSONText? = nil) {
            self.uuid = uuid
            self.metadata = metadata
        }
    }

    /// The upstream sequence: normally one HealthKit type on one device.
    public var stream: String
    /// The source anchor before this batch.
    public var previousAnchor: PreviousAnchor = .notGiven
    /// The source anchor after this batch; opaque, compared as bytes.
    public var anchor: String?
    /// Which part of a snapshot this is; `nil` for a difference.
    public var snapshot: Snapshot?
    /// Lets the end of a snapshot sweep away suspiciously much.
    public var confirmDeletions = false
    /// The producer's numbering, if it has one.
    public var numbering: Numbering?
    /// What was deleted.
    public var deleted: [Deletion] = []
    /// The content digest as first computed, where the sender knows it (32 hexadecimal digits).
    public var digest: ContentDigest?
    /// The importer's mark: units and long strings were kept unchecked.
    public var kept = false
    /// The added samples as columns, in order.
    package var rows = RowColumns()

    /// Makes a batch with no samples yet.
    public init(stream: String) {
        self.stream = stream
    }

    /// Makes a batch of samples.
    public init(stream: String, added: [Sample], deleted: [SampleUUID] = [], anchor: String? = nil) {
        self.stream = stream
        self.anchor = anchor
        self.deleted = deleted.map { Deletion(uuid: $0) }
        var builder = RowBuilder()
        for sample in added { builder.add(sample) }
        self.rows = builder.finish()
    }

    /// How many samples the batch adds.
    public var addedCount: Int { rows.count }

    /// The added samples, in order.
    ///
    /// Makes a `Sample` of each: O(n) with allocations.
    public var added: [Sample] {
        let shapes = rows.shapes.map { SampleShape(label: $0.label) }
        return (0..<rows.count).compactMap { index in
            shapes[Int(rows.shapeIDs[index])].map { sample(at: index, shape: $0) }
        }
    }

    private func sample(at index: Int, shape: SampleShape) -> Sample {
        let start = rows.starts[index]
        let hasEnd = rows.flags[index] & RowFlags.hasEnd != 0
        var sample = Sample(
            uuid: SampleUUID(raw: rows.uuids[index]), type: shape.type, start: Timestamp(microseconds: start),
            end: hasEnd ? Timestamp(microseconds: start &+ rows.durations[index]) : nil,
            unit: shape.unit, source: shape.source, device: shape.device)
        switch shape.valueKind {
        case .none: break
        case .double: sample.value = .quantity(Double(bitPattern: rows.values[index]))
        case .integer: sample.value = .category(Int64(bitPattern: rows.values[index]))
        }
        if !rows.extraIDs.isEmpty, rows.extraIDs[index] != 0 {
            let extra = rows.extras[Int(rows.extraIDs[index]) - 1]
            let payloadOffset = extra.byteOffset + extra.metadataByteCount
            if extra.count > 0 { sample.count = extra.count }
            if extra.metadataByteCount > 0 {
                sample.metadata = JSONText(
                    uncheckedCompactObject: Array(rows.extraBytes[extra.byteOffset..<payloadOffset]))
            }
            if extra.payloadByteCount > 0 {
                sample.payload = JSONText(
                    uncheckedCompactObject: Array(
                        rows.extraBytes[payloadOffset..<payloadOffset + extra.payloadByteCount]))
            }
        }
        return sample
    }
}

/// The 128-bit digest of a batch's content.
public struct ContentDigest: Hashable, Sendable, CustomStringConvertible {
    package var raw: RawDigest

    package init(raw: RawDigest) {
        self.raw = raw
    }

    /// Reads 32 hexadecimal digits of either case; `nil` for anything else.
    public init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 32 else { return nil }
        var words: [UInt64] = [0, 0]
        for (index, digit) in digits.enumerated() {
            guard let value = hexValue(digit) else { return nil }
            words[index / 16] = words[index / 16] << 4 | UInt64(value)
        }
        self.raw = RawDigest(low: words[1], high: words[0])
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String {
        hexadecimal(raw.high) + hexadecimal(raw.low)
    }
}
