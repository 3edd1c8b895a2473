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
        var shared = SharedParts()
        if sharing && index > 0 {
            shared = findShared(label, index)
            let least = LabelTableEncoder.leastShared
            if shared.prefix < least { (shared.prefixDistance, shared.prefix) = (0, 0) }
            shared.suffix = min(shared.suffix, label.count - shared.prefix)
            if shared.suffix < least { (shared.suffixDistance, shared.suffix) = (0, 0) }
        }
        kinds.append(Int64(shape.valueKind.rawValue))
        if index > 0 {
            prefixDistances.append(Int64(shared.prefixDistance))
            prefixes.append(Int64(shared.prefix))
            suffixDistances.append(Int64(shared.suffixDistance))
            suffixes.append(Int64(shared.suffix))
        }
        let middle = shared.prefix..<label.count - shared.suffix
        middleCounts.append(Int64(middle.count))
        unsafe label.withUnsafeBufferPointer { label in
            unsafe middles.append(contentsOf: UnsafeBufferPointer(rebasing: label[middle]))
            unsafe bytes.append(contentsOf: label)
        }
        ends.append(bytes.count)
    }

    /// What a label has in common with earlier ones, and how far before it those stand.
    private struct SharedParts {
        var (prefixDistance, prefix) = (0, 0)
        var (suffixDistance, suffix) = (0, 0)
    }

    /// The longest prefix and the longest suffix, each of the nearest label that has it.
    private func findShared(_ label: [UInt8], _ index: Int) -> SharedParts {
        var best = SharedParts()
        let first = max(0, index - LabelTableEncoder.window)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe ends.withUnsafeBufferPointer { ends in
                unsafe label.withUnsafeBufferPointer { label in
                    var other = index &- 1
                    // Sound: `ends` are ends of texts in `bytes`, in order.
                    var end = unsafe ends[other]
                    while other >= first {
                        let start = unsafe other == 0 ? 0 : ends[other &- 1]
                        let count = end &- start
                        // A look at the byte that would make it longer saves most comparisons.
                        if best.prefix < count && best.prefix < label.count,
                            unsafe bytes[start &+ best.prefix] == label[best.prefix]
                        {
                            let prefix = unsafe SharedText.prefix(
                                label, UnsafeBufferPointer(rebasing: bytes[start..<end]))
                            if prefix > best.prefix {
                                (best.prefixDistance, best.prefix) = (index &- other, prefix)
                            }
                        }
                        if best.suffix < count && best.suffix < label.count,
                            unsafe bytes[end &- 1 &- best.suffix] == label[label.count &- 1 &- best.suffix]
                        {
                            let suffix = unsafe SharedText.suffix(
                                label, UnsafeBufferPointer(rebasing: bytes[start..<end]), limit: label.count)
                            if suffix > best.suffix {
                                (best.suffixDistance, best.suffix) = (index &- other, suffix)
                            }
                        }
                        end = start
                        other &-= 1
                    }
                }
            }
        }
        return best
    }
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
        let count = try reader.readCount(upTo: rowCount)
        guard count > 0 else { throw .malformed }
        try reader.readColumn(count, into: &kinds)
        try reader.readColumn(count - 1, into: &prefixDistances)
        try reader.readColumn(count - 1, into: &prefixes)
        try reader.readColumn(count - 1, into: &suffixDistances)
        try reader.readColumn(count - 1, into: &suffixes)
        try reader.readColumn(count, into: &middleCounts)
        // The last frame's labels lend their memory.
        if shapes.count > count { shapes.removeLast(shapes.count - count) }
        shapes.reserveCapacity(count)
        for index in 0..<count {
            guard middleCounts[index] >= 0, middleCounts[index] <= reader.remaining,
                let kind = UInt8(exactly: kinds[index]).flatMap(RowValueKind.init(rawValue:))
            else { throw .malformed }
            if index == shapes.count { shapes.append(RowShape(label: [], valueKind: kind, group: 0)) }
            shapes[index].valueKind = kind
            shapes[index].group = 0
            var label: [UInt8] = []
            swap(&label, &shapes[index].label)
            label.removeAll(keepingCapacity: true)
            let middle = try unsafe reader.take(Int(middleCounts[index]))
            let bytes = unsafe UnsafeRawBufferPointer(start: middle, count: Int(middleCounts[index]))
            if index == 0 {
                try budget.take(bytes.count)
                unsafe label.append(contentsOf: bytes)
            } else {
                let first = try earlier(prefixDistances[index - 1], before: index, shapes)
                let last = try earlier(suffixDistances[index - 1], before: index, shapes)
                try unsafe SharedText.join(
                    prefixOf: first, prefixes[index - 1], bytes, suffixOf: last, suffixes[index - 1], &budget,
                    into: &label)
            }
            swap(&label, &shapes[index].label)
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
