extension Timestamp: CustomStringConvertible {
    /// Reads RFC 3339 with an offset and up to nine digits of fraction, or `2026-03-01 08:00:00 +0900`; `nil`
    /// for anything else and outside the years 1 to 9999.
    ///
    /// Rounds to the microsecond, half to even.
    public init?(_ text: String) {
        var copy = text
        let parsed = copy.withUTF8 { bytes in unsafe DateText.parse(Span(_unsafeElements: bytes)) }
        guard let parsed else { return nil }
        self.init(microseconds: parsed)
    }

    /// RFC 3339 in UTC, such as `2026-02-28T23:00:00Z`, with a fraction only where there is one.
    public var description: String {
        var bytes: [UInt8] = []
        appendText(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `description`.
    package func appendText(to bytes: inout [UInt8]) {
        Timestamp.append(local: microseconds, offsetMinutes: nil, to: &bytes)
    }

    /// RFC 3339 with the offset of a zone, such as `2026-03-01T00:00:00+09:00`; see `appendText(to:in:)`.
    package func text(in calendar: LocalCalendar) -> String {
        var bytes: [UInt8] = []
        appendText(to: &bytes, in: calendar)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the instant with the offset of a zone.
    ///
    /// `Z` stands for UTC itself (a zone that never has another offset), `+00:00` for any other zone while it
    /// keeps the same time.
    ///
    /// Local mean times of before the railways have seconds in their offset, which the form does not know: the
    /// offset is cut to minutes and the time goes with it, so that the instant stays right. Where a local date
    /// would not be in the years 0 to 9999, it is written in UTC.
    package func appendText(to bytes: inout [UInt8], in calendar: LocalCalendar) {
        guard !calendar.rules.table.isAlwaysZero else { return appendText(to: &bytes) }
        let minutes = Int64(calendar.rules.offset(at: microseconds)) / 60
        let local = microseconds &+ minutes &* 60_000_000
        guard abs(minutes) < 1_440, local >= Timestamp.yearZero, local <= Timestamp.latest.microseconds else {
            return appendText(to: &bytes)
        }
        Timestamp.append(local: local, offsetMinutes: Int32(minutes), to: &bytes)
    }

    /// 0000-01-01T00:00:00Z.
    private static let yearZero: Int64 = -62_167_219_200_000_000

    private static func append(local: Int64, offsetMinutes: Int32?, to bytes: inout [UInt8]) {
        let day = floorQuotient(local, 86_400_000_000)
        let timeOfDay = local &- day &* 86_400_000_000
        let seconds = Int32(timeOfDay / 1_000_000)
        var fraction = Int32(timeOfDay % 1_000_000)
        CivilDate(dayNumber: Int32(truncatingIfNeeded: day)).appendText(to: &bytes)
        bytes.append(UInt8(ascii: "T"))
        appendTwoDigits(seconds / 3_600, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        appendTwoDigits(seconds / 60 % 60, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        appendTwoDigits(seconds % 60, to: &bytes)
        if fraction != 0 {
            bytes.append(UInt8(ascii: "."))
            while fraction != 0 {
                bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: fraction / 100_000))
                fraction = fraction % 100_000 * 10
            }
        }
        guard let offsetMinutes else {
            bytes.append(UInt8(ascii: "Z"))
            return
        }
        bytes.append(offsetMinutes < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
        appendTwoDigits(abs(offsetMinutes) / 60, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        appendTwoDigits(abs(offsetMinutes) % 60, to: &bytes)
    }
}
