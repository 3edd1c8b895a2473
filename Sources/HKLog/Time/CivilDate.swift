/// A day of the proleptic Gregorian calendar, with no zone and no time.
public struct CivilDate: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The year; 1 to 9999 wherever a text was read.
    public let year: Int32
    /// The month, 1 to 12.
    public let month: Int32
    /// The day of the month, 1 to 31.
    public let day: Int32

    /// Makes a date; `nil` when the year is not 1 to 9999 or there is no such day.
    public init?(year: Int32, month: Int32, day: Int32) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= CivilDate.dayCount(year: year, month: month)
        else { return nil }
        self.init(uncheckedYear: year, month: month, day: day)
    }

    private init(uncheckedYear year: Int32, month: Int32, day: Int32) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Makes the date that lies this many days after 1970-01-01.
    ///
    /// Years outside 1 to 9999 come out right as well.
    public init(dayNumber: Int32) {
        // Eras of 400 years, counted from 0000-03-01, so that the leap day is the last of its year.
        let shifted = Int64(dayNumber) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = Int32(truncatingIfNeeded: shifted - era * 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = Int32(truncatingIfNeeded: era) * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        self.init(uncheckedYear: year, month: month, day: dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    /// Reads `2026-03-01`; `nil` for anything else.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, let date = DateText.civilDate(bytes.span) else { return nil }
        self = date
    }

    /// Days since 1970-01-01.
    public var dayNumber: Int32 { CivilDate.dayNumber(year: year, month: month, day: day) }

    /// Monday is 1, Sunday is 7.
    public var isoWeekday: Int32 { CivilDate.weekdayIndex(dayNumber: dayNumber) + 1 }

    /// The ISO 8601 week, with the year it belongs to.
    public var isoWeek: (year: Int32, week: Int32) { CivilDate.isoWeek(dayNumber: dayNumber) }

    /// `2026-03-01`.
    public var description: String {
        var bytes: [UInt8] = []
        appendText(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    package func appendText(to bytes: inout [UInt8]) {
        appendYear(year, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        appendTwoDigits(month, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        appendTwoDigits(day, to: &bytes)
    }

    /// The same day of the month this many months on, or the month's last day where it is shorter.
    ///
    /// Years are kept to 1 to 9999.
    package func adding(months: Int64) -> CivilDate {
        let index = min(
            max(Int64(year) * 12 + Int64(month) - 1 + min(max(months, -200_000), 200_000), 12), 119_999)
        let newYear = Int32(index / 12)
        let newMonth = Int32(index % 12) + 1
        let newDay = min(day, CivilDate.dayCount(year: newYear, month: newMonth))
        return CivilDate(uncheckedYear: newYear, month: newMonth, day: newDay)
    }

    /// Orders by time.
    public static func < (left: CivilDate, right: CivilDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    // MARK: - Arithmetic on plain numbers

    package static func isLeapYear(_ year: Int32) -> Bool {
        year & 3 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    /// How many days the month has.
    ///
    /// `month` is 1 to 12.
    package static func dayCount(year: Int32, month: Int32) -> Int32 {
        if month == 2 { return isLeapYear(year) ? 29 : 28 }
        return 30 + ((month + (month >> 3)) & 1)
    }

    /// Days from 1970-01-01 to the given day.
    ///
    /// The year may be any of about ±1,000,000, the month 1 to 12.
    @inline(__always)
    package static func dayNumber(year: Int32, month: Int32, day: Int32) -> Int32 {
        let shiftedYear = month <= 2 ? year &- 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear &- 399) / 400
        let yearOfEra = shiftedYear &- era &* 400
        let monthFromMarch = month > 2 ? month &- 3 : month &+ 9
        let dayOfYear = (153 &* monthFromMarch &+ 2) / 5 &+ day &- 1
        let dayOfEra = yearOfEra &* 365 &+ yearOfEra / 4 &- yearOfEra / 100 &+ dayOfYear
        return era &* 146_097 &+ dayOfEra &- 719_468
    }

    /// Monday is 0, Sunday is 6.
    package static func weekdayIndex(dayNumber: Int32) -> Int32 {
        // 1970-01-01 was a Thursday.
        Int32(truncatingIfNeeded: floorModulo(Int64(dayNumber) + 3, 7))
    }

    /// The ISO 8601 week: weeks begin on Monday and belong to the year of their Thursday.
    package static func isoWeek(dayNumber: Int32) -> (year: Int32, week: Int32) {
        let thursday = dayNumber &- weekdayIndex(dayNumber: dayNumber) &+ 3
        let year = CivilDate(dayNumber: thursday).year
        return (year, (thursday &- CivilDate.dayNumber(year: year, month: 1, day: 1)) / 7 + 1)
    }
}

/// The quotient rounded down.
///
/// `divisor` is above zero.
@inline(__always)
package func floorQuotient(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient &- 1 : quotient
}

/// The remainder that is never negative.
///
/// `divisor` is above zero.
@inline(__always)
package func floorModulo(_ value: Int64, _ divisor: Int64) -> Int64 {
    let remainder = value % divisor
    return remainder < 0 ? remainder &+ divisor : remainder
}

/// Two decimal digits of a number from 0 to 99.
@inline(__always)
func appendTwoDigits(_ number: Int32, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number / 10))
    bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
}

/// At least four digits.
///
/// A year before 0 gets a sign: it is never read back, only shown.
func appendYear(_ year: Int32, to bytes: inout [UInt8]) {
    guard (0...9999).contains(year) else {
        bytes.append(contentsOf: String(year).utf8)
        return
    }
    appendTwoDigits(year / 100, to: &bytes)
    appendTwoDigits(year % 100, to: &bytes)
}
