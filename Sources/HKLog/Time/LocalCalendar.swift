/// The Gregorian calendar in a time zone: which day an instant belongs to, and when days begin.
///
/// A day begins at the first instant whose local time is its midnight or later. Where clocks are set back over
/// midnight, the day that had already begun goes on; a day that a zone skipped begins where the next one does
/// and holds nothing.
package struct LocalCalendar: Sendable {
    /// The zone.
    package let rules: TimeZoneRules

    package init(rules: TimeZoneRules) {
        self.rules = rules
    }

    /// Microseconds of a day of 24 hours.
    package static let dayMicroseconds = OffsetTable.dayMicroseconds

    /// The day of an instant, in days since 1970-01-01.
    package func dayNumber(containing instant: Int64) -> Int32 {
        let table = rules.table
        let (instant, circles) = table.folded(instant)
        let segment = table.segments[table.segmentIndex(at: instant)]
        let reached = max(instant &+ segment.shift, segment.reached)
        let day = floorQuotient(reached, LocalCalendar.dayMicroseconds) &+ circles &* OffsetTable.circleDays
        return Int32(truncatingIfNeeded: day)
    }

    /// When a day begins.
    package func dayStart(_ dayNumber: Int32) -> Int64 {
        // Far outside all dates: kept where the product fits.
        let day = Int64(min(max(dayNumber, -106_000_000), 106_000_000))
        return rules.table.firstInstant(reachingLocal: day &* LocalCalendar.dayMicroseconds)
    }

    /// The day of an instant as a date.
    package func date(containing instant: Int64) -> CivilDate {
        CivilDate(dayNumber: dayNumber(containing: instant))
    }

    /// When a date begins.
    package func start(of date: CivilDate) -> Int64 {
        dayStart(date.dayNumber)
    }

    /// The first instant at which the local clock shows this time (microseconds since 1970-01-01T00:00 local)
    /// or a later one.
    ///
    /// Of a time that stands twice it is the first.
    package func firstInstant(reachingLocal local: Int64) -> Int64 {
        rules.table.firstInstant(reachingLocal: local)
    }

    /// What the local clock shows, in microseconds since 1970-01-01T00:00 local.
    package func localTime(at instant: Int64) -> Int64 {
        let kept = min(max(instant, -9_200_000_000_000_000_000), 9_200_000_000_000_000_000)
        return kept &+ Int64(rules.offset(at: kept)) &* 1_000_000
    }
}
