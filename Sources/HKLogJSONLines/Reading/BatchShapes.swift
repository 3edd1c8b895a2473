internal import HKLogFormat

/// The shapes of the batch that is being read, and their numbers in it.
///
/// The same as `RowBuilder` makes of them, without a hash of texts for each batch: most batches have one shape or
/// two, and their labels are known from earlier batches.
struct BatchShapes {
    private(set) var rows: [RowShape] = []
    /// Numbers by what the decoder calls the combination of texts, the first few of them.
    private var keys: [(key: UInt64, id: UInt32)] = []
    private var manyKeys: [UInt64: UInt32] = [:]
    /// Numbers by label, once there are too many to look through.
    private var labels: [[UInt8]: UInt32] = [:]
    private var groups: [GroupKey: UInt32] = [:]

    private struct GroupKey: Hashable {
        var kind: UInt8
        var type: ArraySlice<UInt8>
    }

    private static let countToLookThrough = 16

    mutating func removeAll() {
        rows.removeAll(keepingCapacity: false)
        forgetNumbers()
        if !labels.isEmpty { labels.removeAll() }
        if !groups.isEmpty { groups.removeAll() }
    }

    /// Forgets what combinations were called; the shapes stay.
    mutating func forgetNumbers() {
        keys.removeAll(keepingCapacity: true)
        if !manyKeys.isEmpty { manyKeys.removeAll() }
    }

    @inline(__always)
    func id(of key: UInt64) -> UInt32? {
        for entry in keys where entry.key == key { return entry.id }
        return manyKeys.isEmpty ? nil : manyKeys[key]
    }

    /// Adds a shape under the name of its combination; combinations that are spelled apart and mean the same
    /// share a number.
    mutating func add(_ shape: RowShape, key: UInt64) -> UInt32 {
        let id = known(shape.label) ?? append(shape)
        if keys.count < Self.countToLookThrough {
            keys.append((key, id))
        } else {
            manyKeys[key] = id
        }
        return id
    }

    private func known(_ label: [UInt8]) -> UInt32? {
        if !labels.isEmpty { return labels[label] }
        return rows.firstIndex { $0.label == label }.map { UInt32($0) }
    }

    private mutating func append(_ shape: RowShape) -> UInt32 {
        let id = UInt32(rows.count)
        var shape = shape
        shape.group = group(of: shape)
        rows.append(shape)
        if !labels.isEmpty {
            labels[shape.label] = id
        } else if rows.count > Self.countToLookThrough {
            for (number, row) in rows.enumerated() { labels[row.label] = UInt32(number) }
        }
        return id
    }

    /// Shapes of one value kind and type are one group.
    private mutating func group(of shape: RowShape) -> UInt32 {
        // The first shape is alone, as in most batches: nothing to compare, nothing to hash.
        guard let first = rows.first else { return 0 }
        if groups.isEmpty { groups[groupKey(of: first)] = 0 }
        let key = groupKey(of: shape)
        if let known = groups[key] { return known }
        let group = UInt32(groups.count)
        groups[key] = group
        return group
    }

    /// The value kind, and the label's first text: the type, with its length in front.
    private func groupKey(of shape: RowShape) -> GroupKey {
        var end = 1
        var length = 0
        var shift = 0
        while end < shape.label.count {
            let byte = shape.label[end]
            length |= Int(byte & 0x7F) << shift
            shift += 7
            end += 1
            if byte < 0x80 { break }
        }
        return GroupKey(
            kind: shape.valueKind.rawValue,
            type: shape.label[1..<min(shape.label.count, end + max(0, length - 1))])
    }
}
