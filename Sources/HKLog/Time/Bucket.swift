/// How long the buckets of statistics are.
public enum BucketSize: String, Sendable, CaseIterable, BitwiseCopyable {
    /// Hours of the local clock.
    case hour
    /// Local days.
    case day
    /// ISO 8601 weeks, from Monday.
    case week
    /// Calendar months.
    case month
    /// Calendar years.
    case year
}

/// One bucket: a half-open local interval of the calendar.
package struct Bucket: Hashable, Sendable, BitwiseCopyable {
    package var size: BucketSize
    /// Which one, on the local calendar: hours, days or Monday-based weeks since that of 1970-01-01, months
    /// since January of the year 0, or the year.
    ///
    /// An hour that stands twice has one number.
    package var number: Int64
    /// Its first microsecond.
    package var start: Int64
    /// The first microsecond after it.
    package var end: Int64

    package init(size: BucketSize, number: Int64, start: Int64, end: Int64) {
        self.size = size
        self.number = number
        self.start = start
        self.end = end
    }

    package var range: Range<Int64> { start..<end }

    /// `2026-03-01`, `2026-03-01T05`, `2026-W09`, `2026-03` or `2026`.
    ///
    /// Short enough to need no allocation.
    package var label: String {
        var bytes: [UInt8] = []
        appendLabel(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    package func appendLabel(to bytes: inout [UInt8]) {
        switch size {
        case .hour:
            CivilDate(dayNumber: Int32(truncatingIfNeeded: floorQuotient(number, 24))).appendText(to: &bytes)
            bytes.append(UInt8(ascii: "T"))
            appendTwoDigits(Int32(truncatingIfNeeded: floorModulo(number, 24)), to: &bytes)
        case .day:
            CivilDate(dayNumber: Int32(truncatingIfNeeded: number)).appendText(to: &bytes)
        case .week:
            let (year, week) = CivilDate.isoWeek(dayNumber: LocalCalendar.monday(ofWeek: number))
            appendYear(year, to: &bytes)
            bytes.append(UInt8(ascii: "-"))
            bytes.append(UInt8(ascii: "W"))
            appendTwoDigits(week, to: &bytes)
        case .month:
            appendYear(Int32(truncatingIfNeeded: floorQuotient(number, 12)), to: &bytes)
            bytes.append(UInt8(ascii: "-"))
            appendTwoDigits(Int32(truncatingIfNeeded: floorModulo(number, 12)) + 1, to: &bytes)
        case .year:
            appendYear(Int32(truncatingIfNeeded: number), to: &bytes)
        }
    }
}

extension LocalCalendar {
    /// The bucket that holds an instant.
    package func bucket(containing instant: Int64, size: BucketSize) -> Bucket {
        if size == .hour { return hour(containing: instant) }
        return bucket(ofDay: dayNumber(containing: instant), size: size)
    }

    /// The bucket that holds a day.
    ///
    /// Of size `hour`: the day's first hour.
    package func bucket(ofDay dayNumber: Int32, size: BucketSize) -> Bucket {
        switch size {
        case .hour:
            hour(containing: dayStart(dayNumber))
        case .day:
            bucket(.day, number: Int64(dayNumber))
        case .week:
            bucket(.week, number: floorQuotient(Int64(dayNumber) + 3, 7))
        case .month:
            bucket(.month, number: LocalCalendar.monthNumber(CivilDate(dayNumber: dayNumber)))
        case .year:
            bucket(.year, number: Int64(CivilDate(dayNumber: dayNumber).year))
        }
    }

    /// A bucket by its number; `size` is not `hour`, whose numbers can stand twice.
    ///
    /// Numbers outside the years -9999 to 19,999 are kept to them.
    package func bucket(_ size: BucketSize, number: Int64) -> Bucket {
        Bucket(
            size: size, number: number, start: dayStart(LocalCalendar.firstDay(size, number: number)),
            end: dayStart(LocalCalendar.firstDay(size, number: number &+ 1)))
    }

    /// The buckets that meet a range, in order; none for an empty range.
    package func buckets(_ size: BucketSize, covering range: Range<Int64>) -> BucketSequence {
        BucketSequence(calendar: self, size: size, range: range)
    }

    fileprivate static func monday(ofWeek number: Int64) -> Int32 {
        Int32(truncatingIfNeeded: min(max(number, -700_000), 1_000_000) * 7 - 3)
    }

    private static func monthNumber(_ date: CivilDate) -> Int64 {
        Int64(date.year) * 12 + Int64(date.month) - 1
    }

    private static func firstDay(_ size: BucketSize, number: Int64) -> Int32 {
        switch size {
        case .hour, .day:
            return Int32(truncatingIfNeeded: min(max(number, -4_400_000), 6_600_000))
        case .week:
            return monday(ofWeek: number)
        case .month:
            let kept = min(max(number, -119_988), 239_999)
            return CivilDate.dayNumber(
                year: Int32(floorQuotient(kept, 12)), month: Int32(floorModulo(kept, 12)) + 1, day: 1)
        case .year:
            return CivilDate.dayNumber(year: Int32(min(max(number, -9_999), 19_999)), month: 1, day: 1)
        }
    }

    // MARK: - Hours

    /// Hours begin where the local clock reaches a full hour, or at the change that skips or repeats one: a
    /// change between local times that have no full hour between them, ends included, begins none.
    private func hour(containing instant: Int64) -> Bucket {
        let table = rules.table
        let (instant, circles) = table.folded(instant)
        let hour: Int64 = 3_600_000_000
        var index = table.segmentIndex(at: instant)
        let endIndex = index
        let shift = table.segments[index].shift
        let number = floorQuotient(instant &+ shift, hour)
        var start = number &* hour &- shift
        while start < table.segments[index].start {
            guard !beginsHour(atSegment: index) else {
                start = table.segments[index].start
                break
            }
            index &-= 1
            // The last full hour before the segment's end.
            let shift = table.segments[index].shift
            start = floorQuotient(table.segmentEnd(index) &+ shift &- 1, hour) &* hour &- shift
        }
        var last = endIndex
        var end = (number &+ 1) &* hour &- shift
        while end > table.segmentEnd(last) {
            guard !beginsHour(atSegment: last &+ 1) else {
                end = table.segmentEnd(last)
                break
            }
            last &+= 1
            let segment = table.segments[last]
            end = (floorQuotient(segment.start &+ segment.shift, hour) &+ 1) &* hour &- segment.shift
        }
        let moved = circles &* OffsetTable.circleMicroseconds
        // The bucket is named for the local time at which it begins.
        let firstNumber = floorQuotient(start &+ table.segments[index].shift, hour)
        return Bucket(
            size: .hour, number: firstNumber &+ circles &* OffsetTable.circleDays &* 24,
            start: start &+ moved,
            end: end &+ moved)
    }

    /// Whether the change that begins a segment skips, repeats or meets a full hour.
    private func beginsHour(atSegment index: Int) -> Bool {
        guard index > 0 else { return false }
        let table = rules.table
        let segment = table.segments[index]
        let before = segment.start &+ table.segments[index &- 1].shift
        let after = segment.start &+ segment.shift
        // A multiple of an hour lies in a closed interval when rounding its end down stays inside.
        let latest = floorQuotient(max(before, after), 3_600_000_000) &* 3_600_000_000
        return latest >= min(before, after)
    }
}

/// The buckets that meet a range, in order.
package struct BucketSequence: Sequence, IteratorProtocol, Sendable {
    private let calendar: LocalCalendar
    private let size: BucketSize
    private let end: Int64
    private var next_: Int64

    init(calendar: LocalCalendar, size: BucketSize, range: Range<Int64>) {
        self.calendar = calendar
        self.size = size
        next_ = range.lowerBound
        end = range.upperBound
    }

    package mutating func next() -> Bucket? {
        guard next_ < end else { return nil }
        let bucket = calendar.bucket(containing: next_, size: size)
        // Each bucket ends after it begins; where the calendar ends, so does the sequence.
        next_ = bucket.end > next_ ? bucket.end : end
        return bucket
    }
}
