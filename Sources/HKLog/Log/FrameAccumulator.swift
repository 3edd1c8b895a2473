package import HKLogFormat

/// Collects batches, from frames of any kind, into the content of one frame.
package struct FrameAccumulator {
    package private(set) var content = FrameContent()
    private var shapeIDs: [[UInt8]: UInt32] = [:]

    package init() {}

    /// Adds one batch of a decoded frame with those of its rows (numbers in the frame) that are to be kept.
    package mutating func add(
        _ entry: BatchEntry, of frame: borrowing FrameContent, rows: [Int], deletions: Range<Int>
    ) {
        var entry = entry
        entry.addedCount = rows.count
        content.batches.append(entry)
        content.deletions.append(contentsOf: frame.deletions[deletions])
        for row in rows { add(row, of: frame.rows) }
    }

    private mutating func add(_ row: Int, of rows: borrowing RowColumns) {
        let shape = rows.shapes[Int(rows.shapeIDs[row])]
        let id: UInt32
        if let known = shapeIDs[shape.label] {
            id = known
        } else {
            id = UInt32(content.rows.shapes.count)
            shapeIDs[shape.label] = id
            var own = shape
            own.group = group(of: shape)
            content.rows.shapes.append(own)
        }
        content.rows.uuids.append(rows.uuids[row])
        content.rows.starts.append(rows.starts[row])
        content.rows.durations.append(rows.durations[row])
        content.rows.values.append(rows.values[row])
        content.rows.shapeIDs.append(id)
        content.rows.flags.append(rows.flags[row])
        let extra = rows.extraIDs.isEmpty ? 0 : rows.extraIDs[row]
        if extra != 0 && content.rows.extraIDs.isEmpty {
            content.rows.extraIDs = [UInt32](repeating: 0, count: content.rows.uuids.count - 1)
        }
        guard extra != 0 || !content.rows.extraIDs.isEmpty else { return }
        content.rows.extraIDs.append(extra == 0 ? 0 : copyExtra(rows, Int(extra) - 1))
    }

    private mutating func copyExtra(_ rows: borrowing RowColumns, _ index: Int) -> UInt32 {
        var extra = rows.extras[index]
        let end = extra.byteOffset + extra.metadataByteCount + extra.payloadByteCount
        let bytes = rows.extraBytes[extra.byteOffset..<end]
        extra.byteOffset = content.rows.extraBytes.count
        content.rows.extraBytes.append(contentsOf: bytes)
        content.rows.extras.append(extra)
        return UInt32(content.rows.extras.count)
    }

    /// Rows of one type and kind of value go into one run. Decoded shapes do not say their group.
    private func group(of shape: RowShape) -> UInt32 {
        let type = SampleShape(label: shape.label)?.type
        for (index, other) in content.rows.shapes.enumerated() {
            if other.valueKind == shape.valueKind, SampleShape(label: other.label)?.type == type {
                return content.rows.shapes[index].group
            }
        }
        return UInt32(content.rows.shapes.count)
    }

    /// Whether the frame is large enough: more would make reading a part of it dearer.
    package var isFull: Bool {
        content.rows.count >= 4096 || content.batches.count >= 4096 || content.rows.extraBytes.count >= 1 << 20
    }

    package var isEmpty: Bool { content.batches.isEmpty }

    package mutating func removeAll() {
        self = FrameAccumulator()
    }
}
