internal import HKLog

/// Dates as exports write them, as microseconds since 1970.
///
/// The offset is the phone's at the time of the export and says nothing of the sample's zone: only the instant
/// is kept.
struct ExportDate {
    /// Day, minute and offset of the last date with their texts: most dates share some with the one before.
    ///
    /// At first they are those of `1970-01-01 00:00:00 +0000`.
    private var cachedDay = (head: UInt64(0x2D31_302D_3037_3931), tail: UInt16(0x3130), seconds: Int64(0))
    private var cachedMinute = (
        head: UInt64(0x2D31_302D_3037_3931), tail: UInt64(0x3030_3A30_3020_3130), seconds: Int64(0)
    )
    private var cachedZone = (text: UInt64(0x3030_3030_2B20), seconds: Int64(0))

    /// Reads `yyyy-MM-dd HH:mm:ss ±hhmm` from 25 bytes; `nil` when they are anything else.
    ///
    /// `start` must have 25 readable bytes.
    @inline(__always)
    mutating func fast(_ start: UnsafePointer<UInt8>) -> Int64? {
        let raw = unsafe UnsafeRawPointer(start)
        let head = unsafe raw.loadUnaligned(as: UInt64.self)
        let tail = unsafe raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        if head != cachedMinute.head || tail != cachedMinute.tail {
            guard unsafe readMinute(start, head: head, tail: tail) else { return nil }
        }
        // `:ss` and the zone.
        let second = unsafe raw.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
        let tens = (second >> 8) & 0xFF &- 0x30
        let ones = (second >> 16) & 0xFF &- 0x30
        guard second & 0xFF == 0x3A, tens < 6, ones < 10 else { return nil }
        let zone = unsafe raw.loadUnaligned(fromByteOffset: 17, as: UInt64.self) >> 16
        if zone != cachedZone.text {
            guard readZone(zone) else { return nil }
        }
        let seconds = cachedMinute.seconds &+ Int64(tens &* 10 &+ ones) &- cachedZone.seconds
        let instant = seconds &* 1_000_000
        return ExportDate.isInRange(instant) ? instant : nil
    }

    /// Reads `yyyy-MM-dd HH:mm` into the cache.
    @inline(__always)
    private mutating func readMinute(_ start: UnsafePointer<UInt8>, head: UInt64, tail: UInt64) -> Bool {
        if head != cachedDay.head || UInt16(truncatingIfNeeded: tail) != cachedDay.tail {
            guard let day = unsafe ExportDate.day(start) else { return false }
            cachedDay = (head, UInt16(truncatingIfNeeded: tail), day &* 86_400)
        }
        // ` HH:mm`: a digit less its zero is below ten, a blank or colon less itself is nothing.
        let time = tail >> 16 ^ 0x3030_3A30_3020
        guard ((time &+ 0x7676_7F76_767F) | time) & 0x8080_8080_8080 == 0 else { return false }
        let hour = Int64((time >> 8) & 0xFF) &* 10 &+ Int64((time >> 16) & 0xFF)
        let minute = Int64((time >> 32) & 0xFF) &* 10 &+ Int64((time >> 40) & 0xFF)
        guard hour < 24, minute < 60 else { return false }
        cachedMinute = (head, tail, cachedDay.seconds &+ hour &* 3600 &+ minute &* 60)
        return true
    }

    /// Reads ` ±hhmm`, six bytes, into the cache.
    @inline(never)
    private mutating func readZone(_ text: UInt64) -> Bool {
        let sign = UInt8(truncatingIfNeeded: text >> 8)
        let digits = text >> 16 ^ 0x3030_3030
        guard text & 0xFF == 0x20, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            ((digits &+ 0x7676_7676) | digits) & 0x8080_8080 == 0
        else { return false }
        let hour = Int64(digits & 0xFF) &* 10 &+ Int64((digits >> 8) & 0xFF)
        let minute = Int64((digits >> 16) & 0xFF) &* 10 &+ Int64((digits >> 24) & 0xFF)
        guard hour < 24, minute < 60 else { return false }
        let seconds = hour &* 3600 &+ minute &* 60
        cachedZone = (text, sign == UInt8(ascii: "-") ? -seconds : seconds)
        return true
    }

    /// The day number of `yyyy-MM-dd`; `nil` when it is none.
    private static func day(_ start: UnsafePointer<UInt8>) -> Int64? {
        func digit(_ index: Int) -> Int32? {
            let value = unsafe start[index] &- 0x30
            return value < 10 ? Int32(value) : nil
        }
        guard unsafe start[4] == UInt8(ascii: "-"), unsafe start[7] == UInt8(ascii: "-"),
            let y0 = digit(0), let y1 = digit(1), let y2 = digit(2), let y3 = digit(3),
            let m0 = digit(5), let m1 = digit(6), let d0 = digit(8), let d1 = digit(9)
        else { return nil }
        let year = y0 * 1000 + y1 * 100 + y2 * 10 + y3
        return dayNumber(year: year, month: m0 * 10 + m1, day: d0 * 10 + d1)
    }

    /// Days since 1970-01-01 in the years 1 to 9999; `nil` for a day that does not exist.
    static func dayNumber(year: Int32, month: Int32, day: Int32) -> Int64? {
        guard let date = CivilDate(year: year, month: month, day: day) else { return nil }
        return Int64(date.dayNumber)
    }

    /// Reads any of the forms seen in exports; `nil` for anything else, also without an offset.
    ///
    /// `2024-03-01 08:00:00 +0100`, the same with `T`, fraction, `Z` or `±hh:mm`, and iOS 8's `20150306080000+0100`.
    static func instant(_ text: ByteSlice) -> Int64? {
        instant(text.trimmed.bytes)
    }

    /// The same for bytes that were copied.
    static func instant(_ text: [UInt8]) -> Int64? {
        guard text.count >= leastByteCount, text.count <= 64 else { return nil }
        var position = 0
        func peek() -> UInt8? { position < text.count ? text[position] : nil }
        func digits(_ count: Int) -> Int32? {
            guard position + count <= text.count else { return nil }
            var value: Int32 = 0
            for index in position..<position + count {
                guard text[index] >= 0x30, text[index] <= 0x39 else { return nil }
                value = value * 10 + Int32(text[index] - 0x30)
            }
            position += count
            return value
        }
        func skip(_ byte: UInt8) -> Bool {
            guard peek() == byte else { return false }
            position += 1
            return true
        }
        guard let year = digits(4) else { return nil }
        let isSeparated = skip(UInt8(ascii: "-"))
        guard let month = digits(2) else { return nil }
        if isSeparated { guard skip(UInt8(ascii: "-")) else { return nil } }
        guard let day = digits(2), let days = dayNumber(year: year, month: month, day: day) else {
            return nil
        }
        if isSeparated {
            guard skip(0x20) || skip(UInt8(ascii: "T")) || skip(UInt8(ascii: "t")) else { return nil }
        }
        guard let hour = digits(2) else { return nil }
        if isSeparated { guard skip(UInt8(ascii: ":")) else { return nil } }
        guard let minute = digits(2) else { return nil }
        if isSeparated { guard skip(UInt8(ascii: ":")) else { return nil } }
        guard let second = digits(2), hour < 24, minute < 60, second < 60 else { return nil }
        var microseconds: Int64 = 0
        if skip(UInt8(ascii: ".")) {
            guard let fraction = fraction(text, at: &position) else { return nil }
            microseconds = fraction
        }
        while skip(0x20) {}
        var offset: Int64 = 0
        if !skip(UInt8(ascii: "Z")) && !skip(UInt8(ascii: "z")) {
            let isNegative = peek() == UInt8(ascii: "-")
            guard skip(UInt8(ascii: "+")) || skip(UInt8(ascii: "-")), let zoneHour = digits(2) else {
                return nil
            }
            _ = skip(UInt8(ascii: ":"))
            guard let zoneMinute = digits(2), zoneHour < 24, zoneMinute < 60 else { return nil }
            offset = Int64(zoneHour) * 3600 + Int64(zoneMinute) * 60
            if isNegative { offset = -offset }
        }
        guard position == text.count else { return nil }
        let seconds = days * 86_400 + Int64(hour) * 3600 + Int64(minute) * 60 + Int64(second) - offset
        let instant = seconds * 1_000_000 + microseconds
        guard isInRange(instant) else { return nil }
        return instant
    }

    /// How many bytes any date has at least.
    static let leastByteCount = 15

    /// Whether an instant is in the years that a sample may have.
    static func isInRange(_ instant: Int64) -> Bool {
        instant >= Timestamp.earliest.microseconds && instant <= Timestamp.latest.microseconds
    }

    /// A fraction of a second as microseconds, rounded half to even; moves past its digits.
    private static func fraction(_ text: [UInt8], at position: inout Int) -> Int64? {
        let first = position
        var value: Int64 = 0
        var rest: [UInt8] = []
        while position < text.count, text[position] >= 0x30, text[position] <= 0x39 {
            let digit = text[position] - 0x30
            if position - first < 6 { value = value * 10 + Int64(digit) } else { rest.append(digit) }
            position += 1
        }
        let count = position - first
        guard count > 0 else { return nil }
        for _ in min(count, 6)..<6 { value *= 10 }
        guard let next = rest.first else { return value }
        let isAboveHalf = next > 5 || (next == 5 && rest.dropFirst().contains { $0 != 0 })
        let isHalf = next == 5 && !isAboveHalf
        return value + (isAboveHalf || (isHalf && value & 1 == 1) ? 1 : 0)
    }
}

/// Writes instants as RFC 3339 in UTC, as metadata and payloads have them.
struct UTCText {
    private var cachedDay = Int64.min
    private var cachedText: [UInt8] = []

    /// Adds `2024-03-01T08:00:00Z`, with a fraction where there is one.
    mutating func append(_ instant: Int64, to bytes: inout [UInt8]) {
        let microseconds = floorModulo(instant, 1_000_000)
        let seconds = floorQuotient(instant, 1_000_000)
        let day = floorQuotient(seconds, 86_400)
        if day != cachedDay {
            cachedText.removeAll(keepingCapacity: true)
            CivilDate(dayNumber: Int32(truncatingIfNeeded: day)).appendText(to: &cachedText)
            cachedText.append(UInt8(ascii: "T"))
            cachedDay = day
        }
        bytes.append(contentsOf: cachedText)
        let second = Int(seconds &- day &* 86_400)
        func pair(_ value: Int, _ after: UInt8) {
            bytes.append(0x30 &+ UInt8(truncatingIfNeeded: value / 10))
            bytes.append(0x30 &+ UInt8(truncatingIfNeeded: value % 10))
            bytes.append(after)
        }
        pair(second / 3600, UInt8(ascii: ":"))
        pair(second / 60 % 60, UInt8(ascii: ":"))
        pair(second % 60, microseconds == 0 ? UInt8(ascii: "Z") : UInt8(ascii: "."))
        guard microseconds != 0 else { return }
        var rest = microseconds
        var divisor: Int64 = 100_000
        while rest > 0 {
            bytes.append(0x30 &+ UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
        bytes.append(UInt8(ascii: "Z"))
    }
}
