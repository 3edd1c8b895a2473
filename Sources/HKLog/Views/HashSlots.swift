/// A hash index from a 64-bit hash to indices of records that the caller keeps.
///
/// The same slots as the row table's: half a hash and 1 + an index, linear probing.
struct HashSlots: ~Copyable {
    private(set) var slots = Column<UInt64>()
    private var used = 0

    init() {}

    mutating func reserveMore(_ more: Int) {
        var wanted = max(slots.count, 64)
        while wanted * 65 < (used + more) * 100 { wanted *= 2 }
        guard wanted > slots.count else { return }
        var grown = Column<UInt64>()
        grown.setCount(wanted)
        // A slot holds half of its hash only: the other half of the place comes from the low bits kept in `places`.
        let old = slots.count
        for slot in 0..<old where slots[slot] != 0 {
            var place = HashSlots.place(of: slots[slot]) & (wanted - 1)
            while grown[place] != 0 { place = (place + 1) & (wanted - 1) }
            grown[place] = slots[slot]
        }
        slots = grown
    }

    /// Where a slot's probing begins: made of the half that the slot keeps, so that the index can grow by itself.
    static func place(of entry: UInt64) -> Int {
        let half = entry >> 32
        return Int(truncatingIfNeeded: half ^ half << 21 ^ half << 42 & 0x7FFF_FFFF_FFFF_FFFF)
    }

    static func entry(hash: UInt64, index: Int) -> UInt64 {
        (hash &* 0x9E37_79B9_7F4A_7C15) & 0xFFFF_FFFF_0000_0000
            | UInt64(UInt32(truncatingIfNeeded: index + 1))
    }

    mutating func insert(hash: UInt64, index: Int) {
        reserveMore(1)
        let entry = HashSlots.entry(hash: hash, index: index)
        let mask = slots.count - 1
        var place = HashSlots.place(of: entry) & mask
        while slots[place] != 0 { place = (place + 1) & mask }
        slots[place] = entry
        used += 1
    }

    /// The first index under a hash that `matches` takes.
    func find(hash: UInt64, matches: (Int) -> Bool) -> Int? {
        guard slots.count > 0 else { return nil }
        let wanted = HashSlots.entry(hash: hash, index: -1) >> 32
        let mask = slots.count - 1
        var place = HashSlots.place(of: wanted << 32) & mask
        while slots[place] != 0 {
            let entry = slots[place]
            if entry >> 32 == wanted {
                let index = Int(UInt32(truncatingIfNeeded: entry)) - 1
                if matches(index) { return index }
            }
            place = (place + 1) & mask
        }
        return nil
    }
}
