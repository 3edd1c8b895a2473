/// The rule at the end of a time zone file, such as `EST5EDT,M3.2.0,M11.1.0`: POSIX's `TZ` with the wider hours
/// of RFC 9636.
struct PosixZone: Equatable {
    /// Daylight saving: its offset, and when in each year it begins and ends, by the clock in force before.
    struct Saving: Equatable {
        var offset: Int32
        var begin: YearlyTime
        var end: YearlyTime
    }

    /// An instant of each year, by a local clock.
    struct YearlyTime: Equatable {
        enum Day: Equatable {
            /// `Jn`, 1 to 365: February 29 is never counted.
            case julian(Int32)
            /// `n`, 0 to 365: February 29 is counted.
            case ofYear(Int32)
            /// `Mm.w.d`: weekday 0 (Sunday) to 6 of week 1 to 5 (the last one) of a month.
            case weekday(month: Int32, week: Int32, day: Int32)
        }
        var day: Day
        /// Seconds after midnight, -167 to 167 hours.
        var seconds: Int32

        /// Seconds since 1970 by the local clock.
        func seconds(year: Int32) -> Int64 {
            let newYear = CivilDate.dayNumber(year: year, month: 1, day: 1)
            let number: Int32
            switch day {
            case .julian(let day):
                number = newYear + day - 1 + (day >= 60 && CivilDate.isLeapYear(year) ? 1 : 0)
            case .ofYear(let day):
                number = newYear + day
            case .weekday(let month, let week, let day):
                let first = CivilDate.dayNumber(year: year, month: month, day: 1)
                let sundayBased = (CivilDate.weekdayIndex(dayNumber: first) + 1) % 7
                var inMonth = (day - sundayBased + 7) % 7 + (week - 1) * 7
                if inMonth >= CivilDate.dayCount(year: year, month: month) { inMonth -= 7 }
                number = first + inMonth
            }
            return Int64(number) * 86_400 + Int64(seconds)
        }
    }

    /// Seconds east of UTC.
    var standardOffset: Int32
    /// `nil` where the clocks stay as they are.
    var saving: Saving?

    /// Reads the text; `nil` when it is not such a rule.
    ///
    /// Saving without dates is refused: files name them.
    init?(_ text: [UInt8]) {
        var reader = Reader(text: text)
        guard reader.readName(), let offset = reader.readTime(hourLimit: 24) else { return nil }
        standardOffset = -offset
        guard !reader.isAtEnd else { return }
        guard reader.readName() else { return nil }
        var savingOffset = standardOffset + 3_600
        if reader.peek != UInt8(ascii: ",") {
            guard let offset = reader.readTime(hourLimit: 24) else { return nil }
            savingOffset = -offset
        }
        guard reader.skip(UInt8(ascii: ",")), let begin = reader.readYearlyTime(),
            reader.skip(UInt8(ascii: ",")), let end = reader.readYearlyTime(), reader.isAtEnd
        else { return nil }
        saving = Saving(offset: savingOffset, begin: begin, end: end)
    }

    private struct Reader {
        var text: [UInt8]
        var position = 0

        init(text: [UInt8]) { self.text = text }

        var peek: UInt8? { position < text.count ? text[position] : nil }
        var isAtEnd: Bool { position == text.count }

        mutating func skip(_ byte: UInt8) -> Bool {
            guard peek == byte else { return false }
            position += 1
            return true
        }

        /// Three letters or more, or anything between `<` and `>`.
        mutating func readName() -> Bool {
            if skip(UInt8(ascii: "<")) {
                while let byte = peek {
                    position += 1
                    if byte == UInt8(ascii: ">") { return true }
                }
                return false
            }
            let start = position
            while let byte = peek, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) {
                position += 1
            }
            return position - start >= 3
        }

        mutating func readNumber(upTo limit: Int32) -> Int32? {
            var number: Int32 = 0
            let start = position
            while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                number = number * 10 + Int32(byte - UInt8(ascii: "0"))
                guard number <= limit else { return nil }
                position += 1
            }
            return position > start ? number : nil
        }

        /// `[+-]h[hh][:mm[:ss]]` in seconds.
        mutating func readTime(hourLimit: Int32) -> Int32? {
            let isNegative = peek == UInt8(ascii: "-")
            if isNegative || peek == UInt8(ascii: "+") { position += 1 }
            guard let hours = readNumber(upTo: hourLimit) else { return nil }
            var seconds = hours * 3_600
            if skip(UInt8(ascii: ":")) {
                guard let minutes = readNumber(upTo: 59) else { return nil }
                seconds += minutes * 60
                if skip(UInt8(ascii: ":")) {
                    guard let rest = readNumber(upTo: 59) else { return nil }
                    seconds += rest
                }
            }
            return isNegative ? -seconds : seconds
        }

        mutating func readYearlyTime() -> YearlyTime? {
            let day: YearlyTime.Day
            if skip(UInt8(ascii: "J")) {
                guard let number = readNumber(upTo: 365), number >= 1 else { return nil }
                day = .julian(number)
            } else if skip(UInt8(ascii: "M")) {
                guard let month = readNumber(upTo: 12), month >= 1, skip(UInt8(ascii: ".")),
                    let week = readNumber(upTo: 5), week >= 1, skip(UInt8(ascii: ".")),
                    let weekday = readNumber(upTo: 6)
                else { return nil }
                day = .weekday(month: month, week: week, day: weekday)
            } else {
                guard let number = readNumber(upTo: 365) else { return nil }
                day = .ofYear(number)
            }
            guard skip(UInt8(ascii: "/")) else { return YearlyTime(day: day, seconds: 7_200) }
            guard let seconds = readTime(hourLimit: 167) else { return nil }
            return YearlyTime(day: day, seconds: seconds)
        }
    }
}
