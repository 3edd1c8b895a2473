/// A date as options take it: a day of the store's zone, or an instant.
package enum DateOption: Equatable, Sendable {
    case day(CivilDate)
    case instant(Timestamp)

    /// Reads `2026-03-01`, RFC 3339 with an offset, or `7d`, `12w`, `6mo`: that long before `now`.
    ///
    /// What is counted back is days, weeks and months of the calendar: the local time of day stays, whatever the
    /// clocks did meanwhile, and a month that is too short gives its last day.
    package init(_ text: String, now: Timestamp, calendar: LocalCalendar) throws(HKLogError) {
        if let date = CivilDate(text) {
            self = .day(date)
        } else if let instant = Timestamp(text) {
            self = .instant(instant)
        } else if let instant = DateOption.before(now, text, calendar) {
            self = .instant(instant)
        } else {
            let shown = String(String.UnicodeScalarView(text.unicodeScalars.prefix(64))).debugDescription
            throw HKLogError(
                .invalidArgument,
                "\(shown) is no date; give a day (2026-03-01), RFC 3339 with an offset"
                    + " (2026-03-01T08:00:00Z), or 7d, 12w or 6mo for that long before now")
        }
    }

    /// The instant at which a range that is given as this `--start` begins.
    package func lowerBound(in calendar: LocalCalendar) -> Int64 {
        switch self {
        case .day(let date): calendar.start(of: date)
        case .instant(let instant): instant.microseconds
        }
    }

    /// The instant before which a range that is given as this `--end` ends: a day is included, an instant is not.
    package func upperBound(in calendar: LocalCalendar) -> Int64 {
        switch self {
        case .day(let date): calendar.dayStart(date.dayNumber + 1)
        case .instant(let instant): instant.microseconds
        }
    }

    private static func before(_ now: Timestamp, _ text: String, _ calendar: LocalCalendar) -> Timestamp? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...6).contains(digits.count), let count = Int64(String(decoding: digits, as: UTF8.self))
        else {
            return nil
        }
        let size: BucketSize
        switch String(decoding: text.utf8.dropFirst(digits.count), as: UTF8.self) {
        case "d": size = .day
        case "w": size = .week
        case "mo": size = .month
        default: return nil
        }
        if size == .month {
            // Months are kept to the year 1; a date before it is refused here.
            let date = calendar.date(containing: now.microseconds)
            guard Int64(date.year) * 12 + Int64(date.month) - 1 - count >= 12 else { return nil }
        }
        guard let step = CalendarInterval(1, size) else { return nil }
        let instant = calendar.intervalStart(-count, every: step, anchor: now.microseconds)
        guard instant >= Timestamp.earliest.microseconds else { return nil }
        return Timestamp(microseconds: instant)
    }
}
