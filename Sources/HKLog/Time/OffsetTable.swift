/// A zone's offsets as one table: which one is in force when, for every instant that a sample can have.
///
/// A rule that goes on for ever is written out for a bit more than 400 years, in which the Gregorian calendar
/// and its weekdays come full circle; later instants are folded back by whole circles. So there is one table
/// and one look-up, and no rule is worked out again.
final class OffsetTable: Sendable {
    /// A stretch of constant offset, from `start` to the next segment's start.
    struct Segment: Sendable, BitwiseCopyable {
        /// Microseconds since 1970; `Int64.min` for the first one.
        var start: Int64
        /// The offset from UTC in microseconds.
        var shift: Int64
        /// The latest local time that any clock in the zone has shown before `start`.
        var reached: Int64
    }

    /// Where the rules change: from `seconds` since 1970 on, `offset` seconds east of UTC.
    struct Change: Equatable, BitwiseCopyable {
        var seconds: Int64
        var offset: Int32
    }

    static let dayMicroseconds: Int64 = 86_400_000_000
    /// 146,097 days: 400 Gregorian years, a whole number of weeks.
    static let circleDays: Int64 = 146_097
    static let circleMicroseconds = circleDays * dayMicroseconds
    /// No offset is larger (RFC 9636 allows -25 h to +26 h): 26 hours.
    static let offsetLimit: Int32 = 26 * 3_600
    /// Instants are kept to this on either side, so that sums with offsets cannot overflow.
    private static let instantLimit: Int64 = 9_200_000_000_000_000_000
    private static let slotShift: Int64 = 44

    let segments: [Segment]
    /// From here on everything repeats every 400 years; `Int64.max` when there is nothing to repeat.
    private let repeatsFrom: Int64
    /// The first slot of 2^44 µs (203 days) that has an entry in `slots`.
    private let firstSlot: Int64
    /// The segment in force where each slot begins.
    private let slots: [UInt32]
    /// A checksum of the table: the same offsets, the same number.
    let checksum: UInt64

    /// Makes a table.
    ///
    /// Changes are in order of time, within the years -1 to 10,500, their offsets in bounds.
    ///
    /// With `repeatsFromYear` they hold a repeating rule, written out to at least one year past it, that has
    /// been in force since more than 400 years before it.
    init(firstOffset: Int32, changes: [Change], repeatsFromYear: Int32?) {
        var segments = [Segment(start: .min, shift: Int64(firstOffset) * 1_000_000, reached: .min)]
        for change in changes {
            let start = change.seconds * 1_000_000
            let shift = Int64(change.offset) * 1_000_000
            // What takes no time did not happen, and what changes no offset is no change.
            if let last = segments.last, last.start == start { segments.removeLast() }
            guard let last = segments.last, last.shift != shift else { continue }
            segments.append(
                Segment(start: start, shift: shift, reached: max(last.reached, start + last.shift - 1)))
        }
        self.segments = segments

        var slots: [UInt32] = []
        let first = segments.count > 1 ? segments[1].start >> OffsetTable.slotShift : 0
        if let last = segments.last, segments.count > 1 {
            let lastSlot = last.start >> OffsetTable.slotShift
            slots.reserveCapacity(Int(lastSlot - first) + 2)
            var index = 0
            for slot in first...lastSlot + 1 {
                let start = slot << OffsetTable.slotShift
                while index + 1 < segments.count, segments[index + 1].start <= start { index += 1 }
                slots.append(UInt32(index))
            }
        }
        self.firstSlot = first
        self.slots = slots
        if let year = repeatsFromYear {
            repeatsFrom =
                Int64(CivilDate.dayNumber(year: year, month: 1, day: 1)) * OffsetTable.dayMicroseconds
        } else {
            repeatsFrom = .max
        }

        // FNV-1a over whole words, folded after each so that high bits reach low ones.
        var checksum: UInt64 = 0xCBF2_9CE4_8422_2325
        func mix(_ word: Int64) {
            checksum = (checksum ^ UInt64(bitPattern: word)) &* 0x0000_0100_0000_01B3
            checksum ^= checksum >> 29
        }
        for segment in segments {
            mix(segment.start)
            mix(segment.shift)
        }
        mix(repeatsFrom)
        self.checksum = checksum
    }

    /// Whether the zone is UTC by another name.
    var isAlwaysZero: Bool { segments.count == 1 && segments[0].shift == 0 }

    /// An instant inside the table and how many circles of 400 years it was folded back.
    @inline(__always)
    func folded(_ instant: Int64) -> (instant: Int64, circles: Int64) {
        let kept = min(max(instant, -OffsetTable.instantLimit), OffsetTable.instantLimit)
        guard kept >= repeatsFrom else { return (kept, 0) }
        let circles = (kept &- repeatsFrom) / OffsetTable.circleMicroseconds &+ 1
        return (kept &- circles &* OffsetTable.circleMicroseconds, circles)
    }

    /// Which segment holds a folded instant.
    @inline(__always)
    func segmentIndex(at instant: Int64) -> Int {
        let slot = (instant >> OffsetTable.slotShift) &- firstSlot
        guard slot >= 0 else { return 0 }
        guard slot < slots.count &- 1 else { return segments.count &- 1 }
        var low = Int(slots[Int(slot)])
        var high = Int(slots[Int(slot) &+ 1])
        while low < high {
            let middle = (low &+ high &+ 1) >> 1
            if segments[middle].start <= instant {
                low = middle
            } else {
                high = middle &- 1
            }
        }
        return low
    }

    /// Where a segment ends.
    @inline(__always)
    func segmentEnd(_ index: Int) -> Int64 {
        index &+ 1 < segments.count ? segments[index &+ 1].start : .max
    }

    /// The first instant at which a clock in the zone shows this local time or a later one.
    func firstInstant(reachingLocal local: Int64) -> Int64 {
        let (local, circles) = folded(local)
        // Sound: no clock is further ahead than the limit, so the answer lies in this segment or a later one.
        var index = segmentIndex(at: local &- Int64(OffsetTable.offsetLimit) &* 1_000_000)
        while index &+ 1 < segments.count, segments[index &+ 1].reached < local { index &+= 1 }
        let segment = segments[index]
        return max(segment.start, local &- segment.shift) &+ circles &* OffsetTable.circleMicroseconds
    }
}
