internal import HKLogFormat

/// The shapes of the batch that is being read, and their numbers in it.
///
/// The same as `RowBuilder` makes of them, at a fraction of the cost: samples of many types, as imports bring
/// them, ask for a number each, and hardly ever twice in a row.
struct BatchShapes {
    private(set) var rows: [RowShape] = []
    /// What the decoder calls each combination of texts, and its number.
    private var keys: [(key: UInt64, id: UInt32)] = []
    /// Places in `keys`.
    private var keySlots = SlotTable()
    /// Numbers of shapes, by label.
    private var labelSlots = SlotTable()
    /// Numbers of the first shape of each group, by value kind and type.
    private var groupSlots = SlotTable()
    private var groupCount: UInt32 = 0
    private let seed = UInt64.random(in: .min ... .max)

    mutating func removeAll() {
        rows.removeAll(keepingCapacity: false)
        forgetNumbers()
        labelSlots.removeAll()
        groupSlots.removeAll()
        groupCount = 0
    }

    /// Forgets what combinations were called; the shapes stay.
    mutating func forgetNumbers() {
        keys.removeAll(keepingCapacity: keys.count <= 1 << 12)
        keySlots.removeAll()
    }

    @inline(__always)
    func id(of key: UInt64) -> UInt32? {
        keySlots.find(hash(key)) { keys[$0].key == key }.map { keys[$0].id }
    }

    /// Adds a shape under the name of its combination; combinations that are spelled apart and mean the same
    /// share a number.
    mutating func add(_ shape: RowShape, key: UInt64) -> UInt32 {
        let labelHash = hash(shape.label, count: shape.label.count)
        let known = labelSlots.find(labelHash) { rows[$0].label == shape.label }
        let id = known.map { UInt32($0) } ?? append(shape, labelHash)
        keySlots.add(keys.count, hash(key))
        keys.append((key, id))
        return id
    }

    private mutating func append(_ shape: RowShape, _ labelHash: UInt64) -> UInt32 {
        let id = rows.count
        var shape = shape
        shape.group = group(of: shape, id)
        labelSlots.add(id, labelHash)
        rows.append(shape)
        return UInt32(id)
    }

    /// Shapes of one value kind and type are one group.
    private mutating func group(of shape: RowShape, _ id: Int) -> UInt32 {
        let end = typeEnd(of: shape.label)
        let groupHash = hash(shape.label, count: end)
        let known = groupSlots.find(groupHash) { first in
            typeEnd(of: rows[first].label) == end && rows[first].label[..<end] == shape.label[..<end]
        }
        if let known { return rows[known].group }
        groupSlots.add(id, groupHash)
        defer { groupCount += 1 }
        return groupCount
    }

    /// Where the value kind and the label's first text end: the type, with its length in front.
    private func typeEnd(of label: [UInt8]) -> Int {
        var end = 1
        var length = 0
        var shift = 0
        while end < label.count {
            let byte = label[end]
            length |= Int(byte & 0x7F) << shift
            shift += 7
            end += 1
            if byte < 0x80 { break }
        }
        return min(label.count, end + max(0, length - 1))
    }

    // The seed keeps crafted texts from making it slow.

    @inline(__always)
    private func hash(_ key: UInt64) -> UInt64 { mix(key ^ seed, 0x9E37_79B9_7F4A_7C15) }

    private func hash(_ bytes: [UInt8], count: Int) -> UInt64 {
        unsafe bytes.withUnsafeBytes { bytes in
            var result = seed &+ UInt64(count)
            var offset = 0
            while count &- offset >= 8 {
                // Sound: `count` is at most that of the bytes, and eight of them are left.
                let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                result = mix(result ^ UInt64(littleEndian: word), 0x9E37_79B9_7F4A_7C15)
                offset &+= 8
            }
            var word: UInt64 = 0
            while offset < count {
                word = unsafe word << 8 | UInt64(bytes[offset])
                offset += 1
            }
            return mix(result ^ word, 0xD6E8_FEB8_6659_FD93)
        }
    }

    @inline(__always)
    private func mix(_ value: UInt64, _ factor: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }
}

/// Numbers by hashes: open addressing, at most half full.
///
/// Slots of earlier batches are told by their generation, so that emptying it costs nothing.
private struct SlotTable {
    private var entries: [(hash: UInt64, number: Int)] = []
    /// `generation << 32 | place in entries`, 0 where nothing was ever put.
    private var slots = [UInt64](repeating: 0, count: 64)
    private var generation: UInt64 = 1

    mutating func removeAll() {
        guard !entries.isEmpty else { return }
        entries.removeAll(keepingCapacity: entries.count <= 1 << 12)
        generation += 1
        if slots.count > 1 << 13 || generation > UInt64(UInt32.max) {
            slots = [UInt64](repeating: 0, count: 64)
            generation = 1
        }
    }

    /// The number of this hash that is the one that is looked for.
    @inline(__always)
    func find(_ hash: UInt64, _ isIt: (Int) -> Bool) -> Int? {
        let mask = slots.count &- 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while slots[place] >> 32 == generation {
            let entry = entries[Int(slots[place] & 0xFFFF_FFFF)]
            if entry.hash == hash && isIt(entry.number) { return entry.number }
            place = (place &+ 1) & mask
        }
        return nil
    }

    /// Adds a number that is not there.
    mutating func add(_ number: Int, _ hash: UInt64) {
        entries.append((hash, number))
        if entries.count * 2 > slots.count {
            slots = [UInt64](repeating: 0, count: slots.count * 2)
            for place in entries.indices { put(place) }
        } else {
            put(entries.count - 1)
        }
    }

    private mutating func put(_ entry: Int) {
        let mask = slots.count - 1
        var place = Int(truncatingIfNeeded: entries[entry].hash) & mask
        while slots[place] >> 32 == generation { place = (place + 1) & mask }
        slots[place] = generation << 32 | UInt64(entry)
    }
}
