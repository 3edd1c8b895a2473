internal import HKLogFormat

/// One row as an importer hands it over: plain numbers, its texts a slice of bytes that many rows share.
package struct ImportedRow: BitwiseCopyable, Sendable {
    package var uuid: SampleUUID
    /// Microseconds since 1970.
    package var start: Int64
    /// Microseconds, 0 or more.
    package var duration: Int64
    package var valueBits: UInt64
    /// An index into the importer's shapes.
    package var shape: UInt32
    package var hasEnd: Bool
    /// Where the metadata begins among the bytes; the payload follows it.
    package var byteOffset: Int = 0
    package var metadataByteCount: UInt32 = 0
    package var payloadByteCount: UInt32 = 0

    package init(
        uuid: SampleUUID, start: Int64, duration: Int64, hasEnd: Bool, valueBits: UInt64, shape: UInt32
    ) {
        self.uuid = uuid
        self.start = start
        self.duration = duration
        self.hasEnd = hasEnd
        self.valueBits = valueBits
        self.shape = shape
    }
}

/// A shape with its label made once, so that a batch costs no encoding of texts.
package struct ImportedShape: Sendable {
    package let shape: SampleShape
    fileprivate let label: [UInt8]
    fileprivate let groupKey: [UInt8]

    package init(_ shape: SampleShape) {
        self.shape = shape
        self.label = shape.label
        self.groupKey = [shape.valueKind.rawValue] + Array(shape.type.utf8)
    }
}

extension Batch {
    /// Makes a batch of an importer's rows.
    ///
    /// Shapes that no row uses stay out of it.
    /// Rows that follow one another and share their bytes share one extra; others are not compared, because
    /// nearly every row of an export has a creation date of its own.
    package init(stream: String, importing imported: [ImportedRow], shapes: [ImportedShape], bytes: [UInt8]) {
        self.init(stream: stream)
        kept = true
        var columns = RowColumns()
        let count = imported.count
        columns.uuids.reserveCapacity(count)
        columns.starts.reserveCapacity(count)
        columns.durations.reserveCapacity(count)
        columns.values.reserveCapacity(count)
        columns.shapeIDs.reserveCapacity(count)
        columns.flags.reserveCapacity(count)
        columns.extraIDs.reserveCapacity(count)
        var localShapes = [UInt32](repeating: .max, count: shapes.count)
        var groups: [[UInt8]: UInt32] = [:]
        var hasExtras = false
        var lastOffset = -1
        var lastCounts: UInt64 = 0
        for row in imported {
            columns.uuids.append(row.uuid.raw)
            columns.starts.append(row.start)
            columns.durations.append(row.duration)
            columns.values.append(row.valueBits)
            columns.flags.append(row.hasEnd ? RowFlags.hasEnd : 0)
            let shapeIndex = Int(row.shape)
            var local = localShapes[shapeIndex]
            if local == .max {
                local = UInt32(columns.shapes.count)
                localShapes[shapeIndex] = local
                let shape = shapes[shapeIndex]
                let group = groups[shape.groupKey] ?? UInt32(groups.count)
                groups[shape.groupKey] = group
                columns.shapes.append(
                    RowShape(label: shape.label, valueKind: shape.shape.valueKind, group: group))
            }
            columns.shapeIDs.append(local)
            let counts = UInt64(row.metadataByteCount) << 32 | UInt64(row.payloadByteCount)
            if counts == 0 {
                columns.extraIDs.append(0)
                continue
            }
            hasExtras = true
            if row.byteOffset != lastOffset || counts != lastCounts {
                let byteCount = Int(row.metadataByteCount) + Int(row.payloadByteCount)
                columns.extras.append(
                    RowExtra(
                        count: 0, byteOffset: columns.extraBytes.count,
                        metadataByteCount: Int(row.metadataByteCount),
                        payloadByteCount: Int(row.payloadByteCount)))
                columns.extraBytes.append(contentsOf: bytes[row.byteOffset..<row.byteOffset + byteCount])
                lastOffset = row.byteOffset
                lastCounts = counts
            }
            columns.extraIDs.append(UInt32(columns.extras.count))
        }
        if !hasExtras { columns.extraIDs = [] }
        rows = columns
    }
}

/// Makes name-based UUIDs: version 8 of RFC 9562 over SipHash-1-3-128.
///
/// The 128 bits of the hash become the sixteen bytes, the low half first and each half with its lowest byte
/// first; then the four bits of the version and the two of the variant are set. Frozen: golden tests hold it.
package struct NameHasher: Sendable, BitwiseCopyable {
    private var hasher: ContentHasher

    package init(domain: UInt64) {
        hasher = ContentHasher(domain: domain)
    }

    /// Takes in a text, its length first.
    package mutating func add(_ text: [UInt8]) {
        hasher.add(text.span)
    }

    /// Takes in a number.
    package mutating func add(_ word: UInt64) {
        hasher.add(word)
    }

    /// The UUID of what was taken in so far.
    package var uuid: SampleUUID {
        let digest = hasher.finish()
        return SampleUUID(
            raw: RawUUID(
                first: digest.low & ~(0xF << 52) | 0x8 << 52, second: digest.high & ~0xC0 | 0x80))
    }

    /// The UUID of what was taken in so far and three more numbers, in one call because each record needs it.
    package func uuid(adding first: Int64, _ second: Int64, _ third: Int64) -> SampleUUID {
        var copy = self
        copy.hasher.add(UInt64(bitPattern: first))
        copy.hasher.add(UInt64(bitPattern: second))
        copy.hasher.add(UInt64(bitPattern: third))
        return copy.uuid
    }
}

extension SampleUUID {
    /// Sixty-four well mixed bits of a name-based UUID, for hash tables.
    package var tableKey: UInt64 {
        raw.first ^ (raw.second << 8 | raw.second >> 56)
    }
}

/// Which of its values a row bears, for importers, which do not see the format.
package enum ImportedValue: UInt8, Sendable {
    case none = 0
    case quantity = 1
    case category = 2
}

extension SampleShape {
    package init(value: ImportedValue, type: String, unit: String?, source: Source?, device: Device?) {
        let kind: RowValueKind =
            switch value {
            case .none: .none
            case .quantity: .double
            case .category: .integer
            }
        self.init(valueKind: kind, type: type, unit: unit, source: source, device: device)
    }

    /// Which of its values a row of this shape bears.
    package var importedValue: ImportedValue {
        switch valueKind {
        case .none: .none
        case .double: .quantity
        case .integer: .category
        }
    }
}
