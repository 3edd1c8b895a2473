/// Remembers where extras stand, by their hash: each place the newest one that fell into it.
///
/// Metadata comes in two kinds: the few that very many samples share, which this finds, and those with a date or an
/// identifier of their own, which an index of all extras would be full of and never find.
struct RecentExtras: ~Copyable {
    private static let placeCount = 1 << 16

    /// 1 + an index; 0 for none. Made when the first extra comes: many stores have none.
    private var places = Column<UInt32>()

    init() {}

    /// The index of an extra that may have this hash.
    func find(_ hash: UInt64) -> Int? {
        guard places.count > 0 else { return nil }
        let index = places[RecentExtras.place(of: hash)]
        return index == 0 ? nil : Int(index) - 1
    }

    mutating func note(_ hash: UInt64, index: Int) {
        if places.count == 0 { places.setCount(RecentExtras.placeCount) }
        places[RecentExtras.place(of: hash)] = UInt32(truncatingIfNeeded: index + 1)
    }

    private static func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (placeCount - 1) }
}
