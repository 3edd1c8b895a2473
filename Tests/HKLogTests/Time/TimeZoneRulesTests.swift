import Foundation
import HKLog
import Testing

@Suite struct TimeZoneRulesTests {
    @Test(arguments: oddZones)
    func `offsets are those of Foundation`(zone: String) throws {
        let rules = try TimeZoneRules(identifier: zone)
        let twin = try #require(TimeZone(identifier: zone))
        var random = SplitMix(seed: 1)
        for _ in 0..<300 {
            // 1975 to 2036; both sides read their own copy of the rules.
            let seconds = Int64.random(in: 157_766_400..<2_082_758_400, using: &random)
            let expected = twin.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
            #expect(rules.offset(at: seconds * 1_000_000) == Int32(expected), "at \(seconds)")
        }
    }

    @Test(arguments: ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Pacific/Chatham"])
    func `the last rule goes on for ever`(zone: String) throws {
        let rules = try TimeZoneRules(identifier: zone)
        let twin = try #require(TimeZone(identifier: zone))
        var random = SplitMix(seed: 2)
        for _ in 0..<200 {
            let seconds = Int64.random(in: 2_082_758_400..<253_402_214_400, using: &random)
            let expected = twin.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
            #expect(rules.offset(at: seconds * 1_000_000) == Int32(expected), "at \(seconds)")
        }
    }

    @Test(arguments: oddZones)
    func `a change takes place at its very microsecond`(zone: String) throws {
        let rules = try TimeZoneRules(identifier: zone)
        let twin = try #require(TimeZone(identifier: zone))
        var date = Date(timeIntervalSince1970: 157_766_400)
        while let next = twin.nextDaylightSavingTimeTransition(after: date), next.timeIntervalSince1970 < 2e9
        {
            let microseconds = Int64(next.timeIntervalSince1970) * 1_000_000
            let before = twin.secondsFromGMT(for: next.addingTimeInterval(-1))
            let after = twin.secondsFromGMT(for: next)
            #expect(rules.offset(at: microseconds - 1) == Int32(before), "before \(next)")
            #expect(rules.offset(at: microseconds) == Int32(after), "at \(next)")
            date = next
        }
    }

    @Test func `UTC needs no files and has no changes`() throws {
        for name in ["UTC", "GMT", "Etc/UTC", "Etc/GMT"] {
            let rules = try TimeZoneRules(identifier: name)
            #expect(rules.identifier == name)
            #expect(rules.offset(at: .min) == 0)
            #expect(rules.offset(at: .max) == 0)
            #expect(rules.checksum == TimeZoneRules.utc.checksum)
        }
    }

    @Test func `the checksum is that of the rules and not of the name`() throws {
        let godthab = try TimeZoneRules(identifier: "America/Godthab")
        #expect(godthab.checksum == (try TimeZoneRules(identifier: "America/Nuuk")).checksum)
        #expect(godthab.checksum != (try TimeZoneRules(identifier: "Europe/London")).checksum)
    }

    @Test(arguments: [
        "", "/etc/passwd", "../zoneinfo/UTC", "Europe/../UTC", "Europe//Paris", "Europe/Paris/", "America",
        "zone.tab",
        "leapseconds", "right/UTC", "localtime", "Mars/Olympus", "Europe/Paris\n", "Eur\u{F6}pe",
        "\u{0}",
    ])
    func `what is no zone is refused with its name`(name: String) throws {
        let error = #expect(throws: HKLogError.self) { try TimeZoneRules(identifier: name) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasPrefix("unknown time zone ") == true)
        #expect(error?.message.contains("\n") == false)
    }

    @Test func `damaged files are refused or read and never trap`() throws {
        var random = SplitMix(seed: 3)
        for zone in ["America/New_York", "Africa/Casablanca", "Asia/Tokyo"] {
            let path = "/usr/share/zoneinfo/" + zone
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(TimeZoneRules(identifier: zone, bytes: bytes) != nil)
            for count in 0..<bytes.count {
                #expect(TimeZoneRules(identifier: zone, bytes: Array(bytes[..<count])) == nil)
            }
            for _ in 0..<300 {
                var damaged = bytes
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let position = Int.random(in: 0..<bytes.count, using: &random)
                    damaged[position] =
                        random.next() & 1 == 0 ? 0xFF : UInt8.random(in: 0...255, using: &random)
                }
                guard let rules = TimeZoneRules(identifier: zone, bytes: damaged) else { continue }
                let calendar = LocalCalendar(rules: rules)
                for instant in [Int64.min, -62_135_596_800_000_000, 0, 1_700_000_000_000_000, .max] {
                    let day = calendar.dayNumber(containing: instant)
                    _ = calendar.dayStart(day)
                    _ = calendar.bucket(containing: instant, size: .hour)
                }
            }
        }
    }

    @Test func `a file of the first version without a rule keeps its last offset`() throws {
        // Two types, +1 h and +2 h; one change at 1,000,000,000.
        var bytes = Array("TZif".utf8) + [UInt8](repeating: 0, count: 16)
        for count in [0, 0, 0, 1, 2, 4] as [UInt8] { bytes += [0, 0, 0, count] }
        bytes += [0x3B, 0x9A, 0xCA, 0x00, 1]
        bytes += [0, 0, 0x0E, 0x10, 0, 0] + [0, 0, 0x1C, 0x20, 1, 0] + Array("ABC\0".utf8)
        let rules = try #require(TimeZoneRules(identifier: "Test", bytes: bytes))
        #expect(rules.offset(at: 999_999_999_999_999) == 3_600)
        #expect(rules.offset(at: 1_000_000_000_000_000) == 7_200)
        #expect(rules.offset(at: .max) == 7_200)
    }

    /// A file of version 3 that has no changes and says it all in its footer.
    private func rules(footer: String) -> TimeZoneRules? {
        func block(_ counts: [UInt8]) -> [UInt8] {
            Array("TZif3".utf8) + [UInt8](repeating: 0, count: 15) + counts.flatMap { [0, 0, 0, $0] }
                + [0, 0, 0, 0, 0, 0] + Array("ABC\0".utf8)
        }
        let bytes = block([0, 0, 0, 0, 1, 4]) + block([0, 0, 0, 0, 1, 4]) + Array("\n\(footer)\n".utf8)
        return TimeZoneRules(identifier: "Test", bytes: bytes)
    }

    @Test func `a footer's rule is read in all its forms`() throws {
        let eastern = try #require(rules(footer: "EST5EDT,M3.2.0,M11.1.0"))
        #expect(eastern.offset(at: try instant("2024-03-10T06:59:59.999999Z")) == -18_000)
        #expect(eastern.offset(at: try instant("2024-03-10T07:00:00Z")) == -14_400)
        #expect(eastern.offset(at: try instant("2024-11-03T06:00:00Z")) == -18_000)
        // RFC 9636's own examples: hours outside the day, and saving all year.
        let nuuk = try #require(rules(footer: "<-02>2<-01>,M3.5.0/-1,M10.5.0/0"))
        #expect(nuuk.offset(at: try instant("2024-03-31T00:59:59Z")) == -7_200)
        #expect(nuuk.offset(at: try instant("2024-03-31T01:00:00Z")) == -3_600)
        let always = try #require(rules(footer: "XXX3EDT4,0/0,J365/23"))
        for text in ["2023-12-31T23:59:59Z", "2024-01-01T03:00:00Z", "2024-07-01T00:00:00Z"] {
            #expect(always.offset(at: try instant(text)) == -14_400)
        }
        let fixed = try #require(rules(footer: "<+0545>-5:45"))
        #expect(fixed.offset(at: 0) == 20_700)
        let julian = try #require(rules(footer: "AAA0BBB,J60/0,59/0"))
        #expect(julian.offset(at: try instant("2023-03-01T00:00:00Z")) == 3_600)
    }

    @Test(arguments: [
        "E5", "EST", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0", "EST5EDT,M3.6.0,M11.1.0",
        "EST5EDT,M3.2.7,M11.1.0", "EST99", "EST5EDT,J0,J365", "EST5EDT,366,0", "EST5EDT,M3.2.0/168,M11.1.0",
        "<EST5", "EST5EDT,M3.2.0,M11.1.0x", "EST5:60",
    ])
    func `a footer that is no rule makes the file unsound`(footer: String) {
        #expect(rules(footer: footer) == nil)
    }
}
