/// A set of small numbers that knows its least one: a tree of bits, 64 to a word.
///
/// Up to 64 ranks, which is everybody, it is one word and no branch depends on its content; beyond, it never
/// costs more than a step for each factor of 64.
struct ActiveRanks: Sendable {
    private var capacity = 0
    /// The whole set when it has one level.
    private var word: UInt64 = 0
    /// The levels, the lowest first, when it has several; else empty.
    private var words: [UInt64] = []
    private var levelOffsets: [Int] = []

    init() {}

    /// Empties the set and makes room for the numbers below `capacity`.
    mutating func reset(capacity newCapacity: Int) {
        capacity = newCapacity
        word = 0
        words.removeAll(keepingCapacity: true)
        levelOffsets.removeAll(keepingCapacity: true)
        guard capacity > 64 else { return }
        var remaining = capacity
        repeat {
            remaining = (remaining + 63) / 64
            levelOffsets.append(words.count)
            for _ in 0..<remaining {
                words.append(0)
            }
        } while remaining > 1
    }

    /// Puts a number in or takes it out, and gives the least one left; the capacity for an empty set.
    @inline(__always)
    mutating func set(_ member: Int, isPresent: Bool) -> Int {
        if capacity > 64 { return setInTree(member, isPresent: isPresent) }
        let position = UInt64(truncatingIfNeeded: member)
        word = word & ~(1 &<< position) | (isPresent ? 1 : 0) &<< position
        return min(word.trailingZeroBitCount, capacity)
    }

    private mutating func setInTree(_ member: Int, isPresent: Bool) -> Int {
        var position = member
        var isNeeded = isPresent
        for offset in levelOffsets {
            let bit = 1 &<< UInt64(position & 63) as UInt64
            position /= 64
            if isNeeded {
                words[offset + position] |= bit
            } else {
                words[offset + position] &= ~bit
            }
            isNeeded = words[offset + position] != 0
        }
        var least = 0
        for offset in levelOffsets.reversed() {
            let level = words[offset + least]
            if level == 0 { return capacity }
            least = least * 64 + level.trailingZeroBitCount
        }
        return least
    }
}
