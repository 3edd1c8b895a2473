import Foundation
import HKLog
import Testing

@Suite struct DateTextTests {
    private func parse(_ text: String) -> Int64? { DateText.parse(Array(text.utf8).span) }
    private func parseSeconds(_ text: String) -> Int64? { DateText.parseSeconds(Array(text.utf8).span) }

    @Test(arguments: [
        ("2026-03-01T08:00:00+09:00", "2026-02-28T23:00:00Z"),
        ("2026-03-01t08:00:00z", "2026-03-01T08:00:00Z"),
        ("2026-03-01 08:00:00Z", "2026-03-01T08:00:00Z"),
        ("2026-03-01 08:00:00 +0900", "2026-02-28T23:00:00Z"),
        ("2026-03-01 08:00:00.5 -0030", "2026-03-01T08:30:00.5Z"),
        ("2026-03-01T08:00:00-00:00", "2026-03-01T08:00:00Z"),
        ("2024-02-29T23:59:59.999999Z", "2024-02-29T23:59:59.999999Z"),
        ("2026-03-01T08:00:00.120Z", "2026-03-01T08:00:00.12Z"),
        // Half to even.
        ("2026-03-01T08:00:00.0000005Z", "2026-03-01T08:00:00Z"),
        ("2026-03-01T08:00:00.0000015Z", "2026-03-01T08:00:00.000002Z"),
        ("2026-03-01T08:00:00.000000501Z", "2026-03-01T08:00:00.000001Z"),
        ("2026-03-01T08:00:00.999999500Z", "2026-03-01T08:00:01Z"),
        ("1969-12-31T23:59:59.9999985Z", "1969-12-31T23:59:59.999998Z"),
        // RFC 3339's own examples.
        ("1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.52Z"),
        ("1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57Z"),
        ("1990-12-31T23:59:60Z", "1991-01-01T00:00:00Z"),
        ("1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00Z"),
        ("1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.87Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("0000-12-31T23:30:00-00:30", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ])
    func `dates in the known forms are read`(text: String, expected: String) {
        #expect(Timestamp(text)?.description == expected)
    }

    @Test(arguments: [
        "", "2026-03-01", "2026-03-01T08:00:00", "2026-03-01T08:00Z", "2026-03-01T08:00:00.Z",
        "2026-03-01T08:00:00.1234567890Z", "2026-03-01T08:00:00+0900", "2026-03-01T08:00:00 +0900",
        "2026-03-01 08:00:00 +09:00", "2026-03-01 08:00:00 Z", "2026-03-01T08:00:00+24:00",
        "2026-03-01T08:00:00+09:60", "2026-03-01T24:00:00Z", "2026-03-01T08:60:00Z", "2026-03-01T08:00:60Z",
        "2026-03-01T08:59:60Z", "2026-03-01T08:00:61Z", "2026-02-29T08:00:00Z", "2026-00-01T08:00:00Z",
        "2026-13-01T08:00:00Z", "2026-03-00T08:00:00Z", "2026-03-32T08:00:00Z", "0000-12-31T23:59:59Z",
        "9999-12-31T23:59:59.9999996Z", "9999-12-31T23:59:59-00:01", "2026-03-01T08:00:00Z ",
        " 2026-03-01T08:00:00Z",
        "2026-03-01T08:00:00ZZ", "+026-03-01T08:00:00Z", "2026-03-01T08:00:00,5Z", "2026/03/01T08:00:00Z",
        "2026-03-01X08:00:00Z", "2026-03-01T08:00:00\u{FF3A}", "20260301T080000Z", "2026-03-01T08:00:00+9:00",
        "2026-03-01T08:00:00.5", "2026-03-01T08:00:00.5+", "2026-03-01T08:00:00+09:0:",
        "2026-03-01 08:00:00 *0900",
    ])
    func `anything else is refused`(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("1772323200", 1_772_323_200_000_000),
            ("1772323200.25", 1_772_323_200_250_000),
            ("-1.5", -1_500_000), ("0.0000005", 0), ("0.0000015", 2),
            ("0.00000050000000000000000000000001", 1),
            ("-0.0000005", 0), ("-0.0000015", -2), ("4.0000005", 4_000_000),
            ("1772323200.1234565", 1_772_323_200_123_456),
            ("1.7723232e9", 1_772_323_200_000_000), ("17723232E+2", 1_772_323_200_000_000), ("5e-7", 0),
            ("15e-7", 2), ("0e999999999999999999999", 0), ("1e-999999999999999999999", 0),
            ("100000e-5", 1_000_000),
            ("253402300799.999999", 253_402_300_799_999_999), ("-62135596800", -62_135_596_800_000_000),
            ("0.000000000000000000000000000001e30", 1_000_000), ("1e0", 1_000_000),
        ] as [(String, Int64)])
    func `numbers are rounded from their decimal digits`(text: String, expected: Int64) {
        #expect(parseSeconds(text) == expected)
    }

    @Test(arguments: [
        "", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x10", "1 ", " 1", "NaN", "Infinity", "1_000",
        "253402300800",
        "253402300799.9999995", "-62135596800.0000006", "1e12", "1e999999999999999999999", "--1", "1.2.3",
        "1e1.5",
        "99999999999999999999999999999999",
    ])
    func `numbers that are no dates are refused`(text: String) {
        #expect(parseSeconds(text) == nil)
    }

    @Test func `numbers agree with decimal arithmetic`() throws {
        var random = SplitMix(seed: 8)
        for _ in 0..<500 {
            let whole = Int64.random(in: -9_000_000_000...9_000_000_000, using: &random)
            let digits = (0..<Int.random(in: 1...9, using: &random)).map { _ in
                String(Int.random(in: 0...9, using: &random))
            }.joined()
            let text = "\(whole).\(digits)"
            var exact = try #require(Decimal(string: text)) * 1_000_000
            var rounded = Decimal()
            unsafe NSDecimalRound(&rounded, &exact, 0, .bankers)
            #expect(parseSeconds(text) == Int64("\(rounded)"), "\(text)")
        }
    }

    @Test func `what is written is read back`() throws {
        var random = SplitMix(seed: 9)
        let calendars = try oddZones.map { try calendar($0) }
        for index in 0..<2_000 {
            let scale = [1, 1_000, 1_000_000][index % 3] as Int64
            let bounds = Timestamp.earliest.microseconds / scale...Timestamp.latest.microseconds / scale
            let timestamp = Timestamp(microseconds: Int64.random(in: bounds, using: &random) * scale)
            #expect(Timestamp(timestamp.description) == timestamp)
            let calendar = calendars[index % calendars.count]
            #expect(Timestamp(timestamp.text(in: calendar)) == timestamp, "\(calendar.rules.identifier)")
        }
        for timestamp in [Timestamp.earliest, .latest] {
            for calendar in calendars { #expect(Timestamp(timestamp.text(in: calendar)) == timestamp) }
        }
    }

    @Test func `local text has the zone's offset and Z only for UTC itself`() throws {
        let moment = try #require(Timestamp("2026-01-01T00:00:00.25Z"))
        #expect(try moment.text(in: calendar("Asia/Kathmandu")) == "2026-01-01T05:45:00.25+05:45")
        #expect(try moment.text(in: calendar("America/St_Johns")) == "2025-12-31T20:30:00.25-03:30")
        #expect(try moment.text(in: calendar("Europe/London")) == "2026-01-01T00:00:00.25+00:00")
        #expect(try moment.text(in: calendar("Etc/UTC")) == "2026-01-01T00:00:00.25Z")
        // Local mean time, -4:56:02.
        let old = try #require(Timestamp("1850-01-01T12:00:00Z"))
        #expect(try old.text(in: calendar("America/New_York")) == "1850-01-01T07:04:00-04:56")
    }

    @Test func `damaged texts never trap`() {
        var random = SplitMix(seed: 10)
        let seeds = [
            "2026-03-01T08:00:00.123456789+09:00", "2026-03-01 08:00:00 +0900", "20260301080000+0900",
            "-12.5e3",
        ]
        let alphabet = Array("0123456789-+:.TtZz eE".utf8) + [0, 0x7F, 0x80, 0xFF]
        for index in 0..<20_000 {
            var bytes = Array(seeds[index % seeds.count].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let position = Int.random(in: 0..<bytes.count, using: &random)
                switch random.next() % 3 {
                case 0: bytes[position] = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                case 1: bytes.remove(at: position)
                default:
                    bytes.insert(alphabet[Int.random(in: 0..<alphabet.count, using: &random)], at: position)
                }
            }
            for value in [DateText.parse(bytes.span), DateText.parseSeconds(bytes.span)] {
                guard let value else { continue }
                #expect(Timestamp(Timestamp(microseconds: value).description)?.microseconds == value)
            }
        }
    }

    @Test func `option dates are days, instants or spans before now`() throws {
        let calendar = try calendar("America/New_York")
        let now = try #require(Timestamp("2024-03-12T12:00:00Z"))
        func option(_ text: String) throws -> DateOption {
            try DateOption(text, now: now, calendar: calendar)
        }
        #expect(try option("2026-03-01") == .day(date("2026-03-01")))
        #expect(
            try option("2026-03-01T00:00:00Z")
                == .instant(Timestamp(microseconds: instant("2026-03-01T00:00:00Z"))))
        // 08:00 local on both sides of the change of clocks.
        #expect(try option("7d") == .instant(Timestamp(microseconds: instant("2024-03-05T13:00:00Z"))))
        #expect(try option("12w") == .instant(Timestamp(microseconds: instant("2023-12-19T13:00:00Z"))))
        #expect(try option("6mo") == .instant(Timestamp(microseconds: instant("2023-09-12T12:00:00Z"))))
        #expect(try option("0d") == .instant(now))
        for text in [
            "", "d", "7", "7D", "7y", "-7d", "7 d", "9999999d", "999999mo", "2026-02-30", "yesterday",
        ] {
            let error = #expect(throws: HKLogError.self) { try option(text) }
            #expect(error?.code == .invalidArgument)
        }
        let day = try option("2024-03-10")
        #expect(day.lowerBound(in: calendar) == (try instant("2024-03-10T05:00:00Z")))
        #expect(day.upperBound(in: calendar) == (try instant("2024-03-11T04:00:00Z")))
        #expect(
            try option("2024-03-10T00:00:00Z").upperBound(in: calendar) == instant("2024-03-10T00:00:00Z"))
    }
}
