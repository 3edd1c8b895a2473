package import HKLogFormat

/// Collects batches, from frames of any kind, into the content of one frame.
package struct FrameAccumulator {
    package private(set) var content = FrameContent()
    private var shapeIDs: [[UInt8]: UInt32] = [:]
    private var groups: [[UInt8]: UInt32] = [:]

    package init() {}

    /// Adds one batch of a frame, with the deletions and rows of these ranges.
    package mutating func add(
        _ entry: BatchEntry, of frame: borrowing FrameContent, rows: Range<Int>, deletions: Range<Int>
    ) {
        content.batches.append(entry)
        content.deletions.append(contentsOf: frame.deletions[deletions])
        let before = content.rows.count
        content.rows.uuids.append(contentsOf: frame.rows.uuids[rows])
        content.rows.starts.append(contentsOf: frame.rows.starts[rows])
        content.rows.durations.append(contentsOf: frame.rows.durations[rows])
        content.rows.values.append(contentsOf: frame.rows.values[rows])
        content.rows.flags.append(contentsOf: frame.rows.flags[rows])
        var map = [UInt32](repeating: .max, count: frame.rows.shapes.count)
        for row in rows {
            let local = Int(frame.rows.shapeIDs[row])
            if map[local] == .max { map[local] = shapeID(of: frame.rows.shapes[local]) }
            content.rows.shapeIDs.append(map[local])
        }
        if frame.rows.extraIDs.isEmpty && content.rows.extraIDs.isEmpty { return }
        while content.rows.extraIDs.count < before { content.rows.extraIDs.append(0) }
        guard !frame.rows.extraIDs.isEmpty else {
            content.rows.extraIDs.append(contentsOf: repeatElement(0, count: rows.count))
            return
        }
        var extras = [UInt32](repeating: 0, count: frame.rows.extras.count)
        for row in rows {
            let extra = Int(frame.rows.extraIDs[row])
            if extra != 0 && extras[extra - 1] == 0 { extras[extra - 1] = copyExtra(frame.rows, extra - 1) }
            content.rows.extraIDs.append(extra == 0 ? 0 : extras[extra - 1])
        }
    }

    private mutating func shapeID(of shape: RowShape) -> UInt32 {
        if let known = shapeIDs[shape.label] { return known }
        let id = UInt32(content.rows.shapes.count)
        shapeIDs[shape.label] = id
        var own = shape
        own.group = group(of: shape)
        content.rows.shapes.append(own)
        return id
    }

    private mutating func copyExtra(_ rows: borrowing RowColumns, _ index: Int) -> UInt32 {
        var extra = rows.extras[index]
        let end = extra.byteOffset + extra.metadataByteCount + extra.payloadByteCount
        let start = extra.byteOffset
        precondition(start >= 0 && start <= end && end <= rows.extraBytes.count)
        extra.byteOffset = content.rows.extraBytes.count
        unsafe rows.extraBytes.withUnsafeBufferPointer { bytes in
            // Sound: the line above has checked the range.
            unsafe content.rows.extraBytes.append(
                contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
        }
        content.rows.extras.append(extra)
        return UInt32(content.rows.extras.count)
    }

    /// Rows of one type and kind of value go into one run.
    ///
    /// Decoded shapes do not say their group.
    private mutating func group(of shape: RowShape) -> UInt32 {
        let key = [shape.valueKind.rawValue] + Array((SampleShape(label: shape.label)?.type ?? "").utf8)
        if let known = groups[key] { return known }
        let group = UInt32(groups.count)
        groups[key] = group
        return group
    }

    /// About how many bytes the content takes in memory.
    package var byteCount: Int { FrameAccumulator.byteCount(of: content) }

    static func byteCount(of content: borrowing FrameContent) -> Int {
        content.rows.count * 56 + content.rows.extraBytes.count + content.deletions.count * 24
            + content.batches.count * 160
    }

    /// Whether the frame is large enough: more would make reading a part of it dearer.
    package var isFull: Bool {
        content.rows.count >= 4096 || content.batches.count >= 4096
            || content.rows.extraBytes.count >= 1 << 20
    }

    package var isEmpty: Bool { content.batches.isEmpty }

    package mutating func removeAll() {
        self = FrameAccumulator()
    }
}
