package import HKLogFormat

/// Collects samples as columns: shapes are interned once, then a sample is a few numbers.
///
/// Readers and importers build batches with it, so that no `Sample` value and no string is made for each row.
package struct RowBuilder {
    private var rows = RowColumns()
    private var shapeIDs: [[UInt8]: UInt32] = [:]
    private var groups: [[UInt8]: UInt32] = [:]
    private var extraIDs: [RowExtraKey: UInt32] = [:]

    private struct RowExtraKey: Hashable {
        var count: UInt64
        var metadata: [UInt8]
        var payload: [UInt8]
    }

    package init() {}

    package var count: Int { rows.count }

    /// The number of a shape in this batch, the same for the same label.
    ///
    /// Cost: one hash of the label; readers that see the same texts again should remember the number.
    package mutating func shapeID(for shape: SampleShape) -> UInt32 {
        let label = shape.label
        if let id = shapeIDs[label] { return id }
        let id = UInt32(rows.shapes.count)
        let groupKey = [shape.valueKind.rawValue] + Array(shape.type.utf8)
        let group = groups[groupKey] ?? UInt32(groups.count)
        groups[groupKey] = group
        rows.shapes.append(RowShape(label: label, valueKind: shape.valueKind, group: group))
        shapeIDs[label] = id
        return id
    }

    /// The number of an extra in this batch.
    ///
    /// 0 when all three are absent. Equal ones share a number.
    package mutating func extraID(count: UInt64, metadata: [UInt8], payload: [UInt8]) -> UInt32 {
        if count == 0 && metadata.isEmpty && payload.isEmpty { return 0 }
        let key = RowExtraKey(count: count, metadata: metadata, payload: payload)
        if let id = extraIDs[key] { return id }
        let extra = RowExtra(
            count: count, byteOffset: rows.extraBytes.count, metadataByteCount: metadata.count,
            payloadByteCount: payload.count)
        rows.extraBytes.append(contentsOf: metadata)
        rows.extraBytes.append(contentsOf: payload)
        rows.extras.append(extra)
        let id = UInt32(rows.extras.count)
        extraIDs[key] = id
        return id
    }

    /// Adds one row.
    ///
    /// `duration` must be 0 or more.
    package mutating func add(
        uuid: RawUUID, start: Int64, duration: Int64, hasEnd: Bool, valueBits: UInt64, shapeID: UInt32,
        extraID: UInt32 = 0
    ) {
        rows.uuids.append(uuid)
        rows.starts.append(start)
        rows.durations.append(duration)
        rows.values.append(valueBits)
        rows.shapeIDs.append(shapeID)
        rows.flags.append(hasEnd ? RowFlags.hasEnd : 0)
        if extraID != 0 && rows.extraIDs.isEmpty {
            rows.extraIDs = [UInt32](repeating: 0, count: rows.uuids.count - 1)
        }
        if extraID != 0 || !rows.extraIDs.isEmpty { rows.extraIDs.append(extraID) }
    }

    /// Adds one sample.
    package mutating func add(_ sample: Sample) {
        let kind: RowValueKind
        let bits: UInt64
        switch sample.value {
        case nil: (kind, bits) = (.none, 0)
        case .quantity(let value): (kind, bits) = (.double, value.bitPattern)
        case .category(let value): (kind, bits) = (.integer, UInt64(bitPattern: value))
        }
        let shape = shapeID(
            for: SampleShape(
                valueKind: kind, type: sample.type, unit: sample.unit, source: sample.source,
                device: sample.device))
        let extra = extraID(
            count: sample.count ?? 0, metadata: sample.metadata?.bytes ?? [],
            payload: sample.payload?.bytes ?? [])
        let start = sample.start.microseconds
        add(
            uuid: sample.uuid.raw, start: start, duration: (sample.end ?? sample.start).microseconds &- start,
            hasEnd: sample.end != nil, valueBits: bits, shapeID: shape, extraID: extra)
    }

    /// The columns so far; the builder is empty afterwards.
    package mutating func finish() -> RowColumns {
        let result = rows
        self = RowBuilder()
        return result
    }
}
