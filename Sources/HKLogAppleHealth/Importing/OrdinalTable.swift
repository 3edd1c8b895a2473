private import CHKLogShims

/// Counts samples of one identity, and lets a correlation's child meet its twin at the top level.
///
/// Two samples may agree in type, start, end and creation; the ordinal among those, in the order of the document,
/// tells them apart. A child of a correlation and a record at the top level are one sample where value and source
/// agree as well (see `TwinContent`): whichever comes second takes the ordinal of the first.
///
/// 12 bytes a slot, at most three quarters full, in memory that asks for huge pages: nearly each access is a cache
/// miss, and small pages would make it a fault as well. What only repeated identities need is in dictionaries.
@safe
struct OrdinalTable: ~Copyable {
    /// The slots, `slotByteCount` each: a word of the key and two marks, 0 where the slot is free; then the content
    /// of ordinal 0.
    private var slots: UnsafeMutableRawPointer
    /// The slots are 1 shifted by this.
    private var exponent: Int
    private var usedCount = 0
    private let seed: UInt64
    private var hasChildren = false
    /// How many samples there are of the identities that have more than one.
    private var counts: [UInt64: UInt32] = [:]
    /// Content and marks of ordinals above 0.
    private var further: [Identity: Seen] = [:]

    private struct Identity: Hashable {
        var key: UInt64
        var ordinal: UInt32
    }

    /// The content of a sample, and where it was seen: the lowest two bits of `marks`.
    private struct Seen {
        var content: UInt32
        var marks: UInt64
    }

    private static let slotByteCount = 12
    private static let topMark: UInt64 = 1
    private static let childMark: UInt64 = 2
    private static let marks = topMark | childMark
    /// How many samples of one identity are looked through for a twin.
    private static let twinSearchLimit: UInt32 = 64

    init(seed: UInt64 = .random(in: .min ... .max)) {
        self.seed = seed | 1
        exponent = 12
        unsafe slots = OrdinalTable.memory(exponent: exponent)
    }

    deinit {
        unsafe hklog_memory_free(slots, OrdinalTable.slotByteCount << exponent)
    }

    /// Free slots; running out of memory ends the process, as it does for `Array`.
    private static func memory(exponent: Int) -> UnsafeMutableRawPointer {
        guard let memory = unsafe hklog_memory_grow(nil, 0, slotByteCount << exponent) else {
            preconditionFailure("out of memory")
        }
        return unsafe memory
    }

    /// The ordinal of the next sample of this identity.
    ///
    /// `isTwin` says that the very sample was listed before. The lowest two bits of the key count for nothing.
    @inline(__always)
    mutating func ordinal(
        key given: UInt64, content: TwinContent, isChild: Bool
    ) -> (ordinal: UInt32, isTwin: Bool) {
        let key = given & ~OrdinalTable.marks
        let mark = isChild ? OrdinalTable.childMark : OrdinalTable.topMark
        if isChild { hasChildren = true }
        let slot = unsafe slot(of: key)
        if unsafe slot.loadUnaligned(as: UInt64.self) != 0 {
            return unsafe nextOrdinal(of: key, in: slot, content: content, mark: mark)
        }
        unsafe slot.storeBytes(of: key | mark, as: UInt64.self)
        unsafe slot.storeBytes(of: content.word, toByteOffset: 8, as: UInt32.self)
        usedCount += 1
        if usedCount * 4 > 3 << exponent { grow() }
        return (0, false)
    }

    /// The same for an identity that was seen before.
    @inline(never)
    private mutating func nextOrdinal(
        of key: UInt64, in slot: UnsafeMutableRawPointer, content: TwinContent, mark: UInt64
    ) -> (ordinal: UInt32, isTwin: Bool) {
        let count = counts[key] ?? 1
        if hasChildren {
            let known = unsafe slot.loadUnaligned(as: UInt64.self)
            let first = Seen(
                content: unsafe slot.loadUnaligned(fromByteOffset: 8, as: UInt32.self),
                marks: known & OrdinalTable.marks)
            if OrdinalTable.isTwin(first, content: content, mark: mark) {
                unsafe slot.storeBytes(of: known | mark, as: UInt64.self)
                return (0, true)
            }
            var ordinal: UInt32 = 1
            while ordinal < min(count, OrdinalTable.twinSearchLimit) {
                let identity = Identity(key: key, ordinal: ordinal)
                if let other = further[identity],
                    OrdinalTable.isTwin(other, content: content, mark: mark)
                {
                    further[identity] = Seen(content: other.content, marks: other.marks | mark)
                    return (ordinal, true)
                }
                ordinal += 1
            }
        }
        counts[key] = count + 1
        if count < OrdinalTable.twinSearchLimit {
            further[Identity(key: key, ordinal: count)] = Seen(content: content.word, marks: mark)
        }
        return (count, false)
    }

    /// Whether what is known is of that content and was seen only in the other place.
    private static func isTwin(_ known: Seen, content: TwinContent, mark: UInt64) -> Bool {
        content.agrees(with: known.content) && known.marks & mark == 0
    }

    /// The slot that holds a key, or the free one that it would get.
    @inline(__always)
    private func slot(of key: UInt64) -> UnsafeMutableRawPointer {
        let mask = 1 << exponent - 1
        // The highest bits: so neighbours stay neighbours when the table grows, which then moves through memory in
        // order.
        var place = Int(truncatingIfNeeded: (key &* seed) >> UInt64(64 - exponent))
        while true {
            // Sound: the place is below the number of slots.
            let slot = unsafe slots + place * OrdinalTable.slotByteCount
            let known = unsafe slot.loadUnaligned(as: UInt64.self)
            if known == 0 || known & ~OrdinalTable.marks == key { return unsafe slot }
            place = (place + 1) & mask
        }
    }

    private mutating func grow() {
        let old = unsafe slots
        let oldByteCount = OrdinalTable.slotByteCount << exponent
        exponent += 1
        unsafe slots = OrdinalTable.memory(exponent: exponent)
        var offset = 0
        while offset < oldByteCount {
            let known = unsafe old.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if known != 0 {
                let slot = unsafe slot(of: known & ~OrdinalTable.marks)
                unsafe slot.storeBytes(of: known, as: UInt64.self)
                unsafe slot.storeBytes(
                    of: old.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self), toByteOffset: 8,
                    as: UInt32.self)
            }
            offset += OrdinalTable.slotByteCount
        }
        unsafe hklog_memory_free(old, oldByteCount)
    }
}
