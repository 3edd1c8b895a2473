/// Reads dates as they stand in batches and exports.
///
/// Each function takes the whole text and gives microseconds since 1970, or `nil` for anything that is not
/// exactly such a date.
package enum DateText {
    /// A date with an offset, in either form that batches know.
    ///
    /// - RFC 3339: `2026-03-01T08:00:00.123456789+09:00`, with `T`, `t` or a space, `Z` or `z`, and up to nine
    ///   digits of fraction;
    /// - `2026-03-01 08:00:00 +0900`.
    ///
    /// A fraction is rounded to the microsecond, half to even; the result lies in the years 1 to 9999 of UTC. A
    /// leap second, 23:59:60 of UTC, is the second after it, since a timestamp counts none.
    package static func parse(_ text: Span<UInt8>) -> Int64? {
        let count = text.count
        guard count >= 20, let local = wholeSeconds(text) else { return nil }
        var position = 19
        var fraction: Int64 = 0
        if text[19] == UInt8(ascii: ".") {
            var scale: Int64 = 100_000_000
            position = 20
            while position < count, let digit = digit(text[position]) {
                guard scale > 0 else { return nil }
                fraction &+= digit &* scale
                scale /= 10
                position &+= 1
            }
            guard position > 20 else { return nil }
        }
        guard position < count else { return nil }
        let offset: Int64
        switch text[position] {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"):
            guard position &+ 1 == count else { return nil }
            offset = 0
        case UInt8(ascii: " "):
            guard text[10] == UInt8(ascii: " "), position &+ 6 == count,
                let read = offsetSeconds(text, at: position &+ 1, minutesAt: position &+ 4)
            else { return nil }
            offset = read
        default:
            guard position &+ 6 == count, text[position &+ 3] == UInt8(ascii: ":"),
                let read = offsetSeconds(text, at: position, minutesAt: position &+ 4)
            else { return nil }
            offset = read
        }
        let seconds = local.seconds &- offset
        if local.isLeap && floorModulo(seconds, 86_400) != 0 { return nil }
        var microseconds = seconds &* 1_000_000 &+ fraction / 1_000
        let rest = fraction % 1_000
        if rest > 500 || (rest == 500 && microseconds & 1 != 0) { microseconds &+= 1 }
        return inRange(microseconds)
    }

    /// The ten characters `2026-03-01` at the beginning of a text; more may follow.
    package static func civilDate(_ text: Span<UInt8>) -> CivilDate? {
        guard text.count >= 10, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            let century = pair(text, 0), let yearOfCentury = pair(text, 2), let month = pair(text, 5),
            let day = pair(text, 8)
        else { return nil }
        return CivilDate(year: century &* 100 &+ yearOfCentury, month: month, day: day)
    }

    // MARK: - Parts

    /// `yyyy-MM-dd?HH:mm:ss` at the beginning of at least 19 bytes, `?` being `T`, `t` or a space.
    ///
    /// A second of 60 passes with minute 59 only and is marked.
    @inline(__always)
    private static func wholeSeconds(_ text: Span<UInt8>) -> (seconds: Int64, isLeap: Bool)? {
        guard text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"), text[13] == UInt8(ascii: ":"),
            text[16] == UInt8(ascii: ":")
        else { return nil }
        let separator = text[10]
        guard separator | 0x20 == UInt8(ascii: "t") || separator == UInt8(ascii: " ") else { return nil }
        guard let century = pair(text, 0), let yearOfCentury = pair(text, 2), let month = pair(text, 5),
            let day = pair(text, 8), let hour = pair(text, 11), let minute = pair(text, 14),
            let second = pair(text, 17),
            let dayNumber = dayNumber(century &* 100 &+ yearOfCentury, month, day), hour < 24, minute < 60
        else { return nil }
        let isLeap = second == 60
        guard second < 60 || (isLeap && minute == 59) else { return nil }
        let timeOfDay = hour &* 3_600 &+ minute &* 60 &+ second
        return (Int64(dayNumber) &* 86_400 &+ Int64(timeOfDay), isLeap)
    }

    /// Years 0 to 9999: year 0 may become year 1 by its offset.
    @inline(__always)
    private static func dayNumber(_ year: Int32, _ month: Int32, _ day: Int32) -> Int32? {
        guard UInt32(bitPattern: month &- 1) < 12, day >= 1 else { return nil }
        guard day <= 28 || day <= CivilDate.dayCount(year: year, month: month) else { return nil }
        return CivilDate.dayNumber(year: year, month: month, day: day)
    }

    /// `+hh` and `mm`, in seconds.
    @inline(__always)
    private static func offsetSeconds(_ text: Span<UInt8>, at position: Int, minutesAt: Int) -> Int64? {
        guard let hours = pair(text, position &+ 1), let minutes = pair(text, minutesAt), hours < 24,
            minutes < 60
        else { return nil }
        let seconds = Int64(hours &* 3_600 &+ minutes &* 60)
        switch text[position] {
        case UInt8(ascii: "+"): return seconds
        case UInt8(ascii: "-"): return -seconds
        default: return nil
        }
    }

    @inline(__always)
    private static func pair(_ text: Span<UInt8>, _ position: Int) -> Int32? {
        let tens = text[position] &- UInt8(ascii: "0")
        let ones = text[position &+ 1] &- UInt8(ascii: "0")
        guard tens < 10, ones < 10 else { return nil }
        return Int32(tens) &* 10 &+ Int32(ones)
    }

    @inline(__always)
    private static func digit(_ byte: UInt8) -> Int64? {
        let value = byte &- UInt8(ascii: "0")
        return value < 10 ? Int64(value) : nil
    }

    @inline(__always)
    private static func inRange(_ microseconds: Int64) -> Int64? {
        microseconds >= Timestamp.earliest.microseconds && microseconds <= Timestamp.latest.microseconds
            ? microseconds : nil
    }
}
