/// Remembers where extras stand, by their hash: each place the newest one that fell into it.
///
/// Metadata comes in two kinds: the few that very many samples share, which this finds, and those with a date or an
/// identifier of their own, which an index of all extras would be full of and never find. Small enough to stay in
/// the processor's caches.
struct RecentExtras: ~Copyable {
    private static let placeCount = 1 << 14

    /// High half: the hash's; low half: 1 + an index.
    ///
    /// Made when the first extra comes: many stores have none.
    private var places = Column<UInt64>()

    init() {}

    /// The index of an extra that very likely has this hash.
    func find(_ hash: UInt64) -> Int? {
        guard places.count > 0 else { return nil }
        let entry = places[RecentExtras.place(of: hash)]
        guard entry != 0, (entry ^ hash) >> 32 == 0 else { return nil }
        return Int(UInt32(truncatingIfNeeded: entry)) - 1
    }

    mutating func note(_ hash: UInt64, index: Int) {
        if places.count == 0 { places.setCount(RecentExtras.placeCount) }
        places[RecentExtras.place(of: hash)] =
            hash & 0xFFFF_FFFF_0000_0000 | UInt64(UInt32(truncatingIfNeeded: index + 1))
    }

    private static func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (placeCount - 1) }
}
