/// The step of a collection of statistics: a number of hours, days, weeks, months or years.
package struct CalendarInterval: Hashable, Sendable {
    package var size: BucketSize
    package var count: Int64

    /// Makes a step; `nil` unless the count is 1 to 1,000,000.
    package init?(_ count: Int64, _ size: BucketSize) {
        guard (1...1_000_000).contains(count) else { return nil }
        self.size = size
        self.count = count
    }
}

extension LocalCalendar {
    /// When the interval of this index begins, counted from an anchor: the way of HealthKit's collection queries,
    /// whose intervals run from an anchor date in both directions.
    ///
    /// From days on, the anchor's local day and time of day are kept and stepped by the calendar: each interval is
    /// reckoned from the anchor itself (a step of months from January 31 gives the last day of February, then
    /// March 31). A time that a day lacks is its next instant. Hours are elapsed time.
    package func intervalStart(_ index: Int64, every interval: CalendarInterval, anchor: Int64) -> Int64 {
        let index = min(max(index, -4_000_000_000), 4_000_000_000)
        let kept = min(max(anchor, Timestamp.earliest.microseconds), Timestamp.latest.microseconds)
        // Sound: 4e9 · 1e6 fits, and what comes of it is kept to the years -9999 to 19,999.
        let steps = index * interval.count
        if interval.size == .hour {
            return kept + min(max(steps, -100_000_000), 100_000_000) * 3_600_000_000
        }
        let local = localTime(at: kept)
        let day = floorQuotient(local, LocalCalendar.dayMicroseconds)
        let timeOfDay = local - day * LocalCalendar.dayMicroseconds
        let moved: Int64
        switch interval.size {
        case .hour, .day: moved = day + min(max(steps, -5_000_000), 5_000_000)
        case .week: moved = day + min(max(steps, -700_000), 700_000) * 7
        case .month:
            moved = Int64(CivilDate(dayNumber: Int32(day)).adding(months: steps).dayNumber)
        case .year:
            moved = Int64(
                CivilDate(dayNumber: Int32(day)).adding(months: min(max(steps, -20_000), 20_000) * 12)
                    .dayNumber)
        }
        // A day is entered at its own beginning, also where a clock had shown its midnight before.
        return firstInstant(reachingLocal: moved * LocalCalendar.dayMicroseconds + timeOfDay)
    }

    /// The interval that holds an instant: `[start, end)`.
    ///
    /// Outside the years 1 to 9999 the last one goes on.
    package func interval(containing instant: Int64, every interval: CalendarInterval, anchor: Int64)
        -> Range<
            Int64
        >
    {
        let instant = min(max(instant, Timestamp.earliest.microseconds), Timestamp.latest.microseconds)
        let anchor = min(max(anchor, Timestamp.earliest.microseconds), Timestamp.latest.microseconds)
        let length: Int64
        switch interval.size {
        case .hour: length = 3_600_000_000
        case .day: length = LocalCalendar.dayMicroseconds
        case .week: length = 7 * LocalCalendar.dayMicroseconds
        case .month: length = 2_629_746_000_000
        case .year: length = 31_556_952_000_000
        }
        // A guess by the mean length, then as many steps as the calendar is off it. Sound: the difference of two
        // dates is below 3.2e17; a length that overflows is longer than the calendar.
        let whole = length.multipliedReportingOverflow(by: interval.count)
        var index = whole.overflow ? 0 : floorQuotient(instant - anchor, whole.partialValue)
        // A step to another start; where a zone skipped a day two starts are one, and where the calendar ends all
        // are. Sound: each round moves the start, so the loops end.
        func step(_ direction: Int64) -> Bool {
            let start = intervalStart(index, every: interval, anchor: anchor)
            for distance in 1...2 as ClosedRange<Int64>
            where intervalStart(index + direction * distance, every: interval, anchor: anchor) != start {
                index += direction * distance
                return true
            }
            return false
        }
        while intervalStart(index, every: interval, anchor: anchor) > instant {
            guard step(-1) else { break }
        }
        while intervalStart(index, every: interval, anchor: anchor) <= instant {
            guard step(1) else {
                return intervalStart(index, every: interval, anchor: anchor)..<Int64.max
            }
        }
        let end = intervalStart(index, every: interval, anchor: anchor)
        guard step(-1) else { return Int64.min..<end }
        let start = intervalStart(index, every: interval, anchor: anchor)
        guard start <= instant else { return Int64.min..<start }
        return start..<end
    }
}
