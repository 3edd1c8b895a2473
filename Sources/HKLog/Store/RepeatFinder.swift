internal import HKLogFormat

/// Finds a uuid that stands twice in one batch, at the cost of one probe each.
struct RepeatFinder: ~Copyable {
    /// For each slot the index of a uuid + 1, or 0.
    private var slots: [UInt32] = []
    private let seed: (UInt64, UInt64)

    /// `seed` keeps crafted uuids from making it slow.
    init(seed: (UInt64, UInt64)) { self.seed = seed }

    /// The index of the first uuid that stands before already.
    mutating func firstRepeat(in uuids: [RawUUID]) -> Int? {
        guard uuids.count > 1 else { return nil }
        var wanted = 16
        while wanted < uuids.count * 2 { wanted *= 2 }
        if slots.count < wanted { slots = [UInt32](repeating: 0, count: wanted) }
        let (mask, seed) = (UInt64(wanted - 1), seed)
        return unsafe slots.withUnsafeMutableBufferPointer { slots in
            unsafe uuids.withUnsafeBufferPointer { uuids in
                unsafe UnsafeMutableBufferPointer(rebasing: slots[0..<wanted]).update(repeating: 0)
                for index in 0..<uuids.count {
                    let uuid = unsafe uuids[index]
                    // Sound: the mask keeps slots within the table, and indices in it are those of earlier uuids. At
                    // most half of it is taken, so that the search ends.
                    var slot = Int(truncatingIfNeeded: RowTable.hash(uuid, seed) & mask)
                    while true {
                        let entry = unsafe slots[slot]
                        if entry == 0 { break }
                        if unsafe uuids[Int(entry) &- 1] == uuid { return index }
                        slot = (slot &+ 1) & Int(truncatingIfNeeded: mask)
                    }
                    unsafe slots[slot] = UInt32(truncatingIfNeeded: index &+ 1)
                }
                return nil
            }
        }
    }
}
