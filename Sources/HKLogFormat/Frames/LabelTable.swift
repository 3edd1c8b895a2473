// The shapes' labels: each is stored as a prefix that it shares with one earlier label, a suffix that it shares
// with another, and what is between. Labels start with a type's name and end with a source and device, so that
// most are put together from two earlier ones. See `docs/format.md`, "Shapes".

struct LabelTableEncoder: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private var kinds: [Int64] = []
    private var prefixDistances: [Int64] = []
    private var prefixes: [Int64] = []
    private var suffixDistances: [Int64] = []
    private var suffixes: [Int64] = []
    private var middleCounts: [Int64] = []
    private var middles: [UInt8] = []

    /// How far back a writer looks.
    private static let window = 64
    /// Sharing less costs more than it saves.
    private static let leastShared = 3

    /// Appends the shapes that have a number of 0 or more.
    ///
    /// Returns the byte count of all labels.
    mutating func encode(
        _ shapes: [RowShape], shapeNumbers: [Int32], sharing: Bool, _ columns: inout ColumnEncoder,
        into output: inout [UInt8]
    ) -> Int {
        reset()
        for (shape, number) in zip(shapes, shapeNumbers) where number >= 0 {
            add(shape, sharing)
        }
        output.appendVarint(kinds.count)
        columns.encode(kinds, count: kinds.count, into: &output)
        columns.encode(prefixDistances, count: prefixDistances.count, into: &output)
        columns.encode(prefixes, count: prefixes.count, into: &output)
        columns.encode(suffixDistances, count: suffixDistances.count, into: &output)
        columns.encode(suffixes, count: suffixes.count, into: &output)
        columns.encode(middleCounts, count: middleCounts.count, into: &output)
        output.append(contentsOf: middles)
        return bytes.count
    }

    private mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        kinds.removeAll(keepingCapacity: true)
        prefixDistances.removeAll(keepingCapacity: true)
        prefixes.removeAll(keepingCapacity: true)
        suffixDistances.removeAll(keepingCapacity: true)
        suffixes.removeAll(keepingCapacity: true)
        middleCounts.removeAll(keepingCapacity: true)
        middles.removeAll(keepingCapacity: true)
    }

    private mutating func add(_ shape: RowShape, _ sharing: Bool) {
        let label = shape.label
        let index = kinds.count
        var best = (prefixDistance: 0, prefix: 0, suffixDistance: 0, suffix: 0)
        if sharing && index > 0 {
            let first = max(0, index - LabelTableEncoder.window)
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe label.withUnsafeBufferPointer { label in
                    for other in stride(from: index - 1, through: first, by: -1) {
                        let start = other == 0 ? 0 : ends[other - 1]
                        // Sound: `ends` are ends of texts in `bytes`, in order.
                        let text = unsafe UnsafeBufferPointer(rebasing: bytes[start..<ends[other]])
                        // A look at the byte that would make it longer saves most comparisons.
                        let prefix =
                            unsafe mayShare(label, text, best.prefix, fromEnd: false)
                            ? SharedText.prefix(label, text) : 0
                        if prefix > best.prefix {
                            (best.prefixDistance, best.prefix) = (index - other, prefix)
                        }
                        let suffix =
                            unsafe mayShare(label, text, best.suffix, fromEnd: true)
                            ? SharedText.suffix(label, text, limit: label.count) : 0
                        if suffix > best.suffix {
                            (best.suffixDistance, best.suffix) = (index - other, suffix)
                        }
                    }
                }
            }
            if best.prefix < LabelTableEncoder.leastShared { (best.prefixDistance, best.prefix) = (0, 0) }
            best.suffix = min(best.suffix, label.count - best.prefix)
            if best.suffix < LabelTableEncoder.leastShared { (best.suffixDistance, best.suffix) = (0, 0) }
        }
        kinds.append(Int64(shape.valueKind.rawValue))
        if index > 0 {
            prefixDistances.append(Int64(best.prefixDistance))
            prefixes.append(Int64(best.prefix))
            suffixDistances.append(Int64(best.suffixDistance))
            suffixes.append(Int64(best.suffix))
        }
        middleCounts.append(Int64(label.count - best.prefix - best.suffix))
        middles.append(contentsOf: label[best.prefix..<label.count - best.suffix])
        bytes.append(contentsOf: label)
        ends.append(bytes.count)
    }
}

/// Whether two texts have the same byte at `index`, counted from the front or from the end.
private func mayShare(
    _ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>, _ index: Int, fromEnd: Bool
) -> Bool {
    guard index < a.count, index < b.count else { return false }
    return unsafe fromEnd ? a[a.count &- 1 &- index] == b[b.count &- 1 &- index] : a[index] == b[index]
}

struct LabelTableDecoder: Sendable {
    private var prefixDistances: [Int64] = []
    private var prefixes: [Int64] = []
    private var suffixDistances: [Int64] = []
    private var suffixes: [Int64] = []
    private var middleCounts: [Int64] = []
    private var kinds: [Int64] = []

    /// Reads the shapes of a frame of `rowCount` rows; there cannot be more shapes than rows.
    mutating func decode(
        _ reader: inout ByteReader, rowCount: Int, _ budget: inout TextBudget, into shapes: inout [RowShape]
    ) throws(CodecError) {
        shapes.removeAll(keepingCapacity: true)
        let count = try reader.readCount(upTo: rowCount)
        guard count > 0 else { throw .malformed }
        try reader.readColumn(count, into: &kinds)
        try reader.readColumn(count - 1, into: &prefixDistances)
        try reader.readColumn(count - 1, into: &prefixes)
        try reader.readColumn(count - 1, into: &suffixDistances)
        try reader.readColumn(count - 1, into: &suffixes)
        try reader.readColumn(count, into: &middleCounts)
        shapes.reserveCapacity(count)
        for index in 0..<count {
            guard middleCounts[index] >= 0, middleCounts[index] <= reader.remaining,
                let kind = UInt8(exactly: kinds[index]).flatMap(RowValueKind.init(rawValue:))
            else { throw .malformed }
            var label = [UInt8]()
            if index == 0 {
                label = try reader.readBytes(Int(middleCounts[0]))
                try budget.take(label.count)
            } else {
                let middle = try reader.readBytes(Int(middleCounts[index]))
                let (prefix, suffix) = (prefixes[index - 1], suffixes[index - 1])
                let first = try earlier(prefixDistances[index - 1], before: index, shapes)
                let last = try earlier(suffixDistances[index - 1], before: index, shapes)
                label = try SharedText.join(
                    prefixOf: first, prefix, middle[...], suffixOf: last, suffix, &budget)
            }
            shapes.append(RowShape(label: label, valueKind: kind, group: 0))
        }
    }

    /// The label that stands `distance` before; none for 0.
    private func earlier(_ distance: Int64, before index: Int, _ shapes: [RowShape]) throws(CodecError)
        -> [UInt8]
    {
        guard distance >= 0, distance <= index else { throw .malformed }
        return distance == 0 ? [] : shapes[index - Int(distance)].label
    }
}
