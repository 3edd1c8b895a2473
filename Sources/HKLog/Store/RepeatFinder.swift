internal import HKLogFormat

/// Finds a uuid that stands twice in one batch, at the cost of one probe each.
struct RepeatFinder: ~Copyable {
    private var slots: [UInt32] = []
    private let seed: (UInt64, UInt64)

    /// `seed` keeps crafted uuids from making it slow.
    init(seed: (UInt64, UInt64)) { self.seed = seed }

    /// The index of the first uuid that stands before already.
    mutating func firstRepeat(in uuids: [RawUUID]) -> Int? {
        guard uuids.count > 1 else { return nil }
        var wanted = 16
        while wanted < uuids.count * 2 { wanted *= 2 }
        if slots.count == wanted {
            for index in slots.indices { slots[index] = 0 }
        } else {
            slots = [UInt32](repeating: 0, count: wanted)
        }
        let mask = wanted - 1
        for index in uuids.indices {
            var slot = Int(truncatingIfNeeded: RowTable.hash(uuids[index], seed)) & mask
            while slots[slot] != 0 {
                if uuids[Int(slots[slot]) - 1] == uuids[index] { return index }
                slot = (slot + 1) & mask
            }
            slots[slot] = UInt32(index + 1)
        }
        return nil
    }
}
