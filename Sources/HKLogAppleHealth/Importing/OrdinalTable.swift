/// Counts samples of one identity, and lets a correlation's child meet its twin at the top level.
///
/// Two samples may agree in type, start, end and creation; the ordinal among those, in the order of the document,
/// tells them apart. A child of a correlation and a record at the top level are one sample where value and source
/// agree as well (see `TwinContent`): whichever comes second takes the ordinal of the first. 16 bytes a slot, at most
/// two thirds full.
struct OrdinalTable {
    /// Pairs of a key and what is known of it: 32 bits of the content of ordinal 0, 30 of the count, and whether
    /// ordinal 0 was seen at the top level and as a child.
    private var slots: [UInt64]
    private var slotCount: Int
    private var usedCount = 0
    private let seed: UInt64
    private var hasChildren = false
    /// The same for ordinals above 0, of which there are few: content and the two marks.
    private var further: [Identity: UInt64] = [:]

    private struct Identity: Hashable {
        var key: UInt64
        var ordinal: UInt32
    }

    private static let topMark: UInt64 = 1 << 63
    private static let childMark: UInt64 = 1 << 62
    private static let marks = topMark | childMark
    private static let countShift: UInt64 = 32
    private static let countMask: UInt64 = 0x3FFF_FFFF
    /// How many samples of one identity are looked through for a twin.
    private static let twinSearchLimit: UInt32 = 64

    init(seed: UInt64 = .random(in: .min ... .max)) {
        self.seed = seed | 1
        slotCount = 1 << 12
        slots = [UInt64](repeating: 0, count: slotCount * 2)
    }

    /// The ordinal of the next sample of this identity.
    ///
    /// `isTwin` says that the very sample was listed before.
    mutating func ordinal(
        key given: UInt64, content: TwinContent, isChild: Bool
    ) -> (ordinal: UInt32, isTwin: Bool) {
        let key = given == 0 ? 1 : given
        let mark = isChild ? OrdinalTable.childMark : OrdinalTable.topMark
        if isChild { hasChildren = true }
        let slot = slot(of: key)
        if slots[slot] == 0 {
            slots[slot] = key
            slots[slot + 1] = UInt64(content.word) | 1 << OrdinalTable.countShift | mark
            usedCount += 1
            if usedCount * 3 > slotCount * 2 { grow() }
            return (0, false)
        }
        let known = slots[slot + 1]
        let count = UInt32((known >> OrdinalTable.countShift) & OrdinalTable.countMask)
        if hasChildren {
            if OrdinalTable.isTwin(known, content: content, mark: mark) {
                slots[slot + 1] = known | mark
                return (0, true)
            }
            var ordinal: UInt32 = 1
            while ordinal < min(count, OrdinalTable.twinSearchLimit) {
                let identity = Identity(key: key, ordinal: ordinal)
                if let other = further[identity],
                    OrdinalTable.isTwin(other, content: content, mark: mark)
                {
                    further[identity] = other | mark
                    return (ordinal, true)
                }
                ordinal += 1
            }
        }
        slots[slot + 1] = known &+ 1 << OrdinalTable.countShift
        if count < OrdinalTable.twinSearchLimit {
            further[Identity(key: key, ordinal: count)] = UInt64(content.word) | mark
        }
        return (count, false)
    }

    /// Whether what is known is of that content and was seen only in the other place.
    private static func isTwin(_ known: UInt64, content: TwinContent, mark: UInt64) -> Bool {
        content.agrees(with: UInt32(truncatingIfNeeded: known)) && known & mark == 0 && known & marks != 0
    }

    @inline(__always)
    private func slot(of key: UInt64) -> Int {
        let mask = slotCount - 1
        var place = Int(truncatingIfNeeded: (key &* seed) >> 24) & mask
        while true {
            let known = slots[place * 2]
            if known == key || known == 0 { return place * 2 }
            place = (place + 1) & mask
        }
    }

    private mutating func grow() {
        let old = slots
        slotCount *= 2
        slots = [UInt64](repeating: 0, count: slotCount * 2)
        var index = 0
        while index < old.count {
            if old[index] != 0 {
                let slot = slot(of: old[index])
                slots[slot] = old[index]
                slots[slot + 1] = old[index + 1]
            }
            index += 2
        }
    }
}
