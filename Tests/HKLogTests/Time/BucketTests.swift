import Foundation
import HKLog
import Testing

@Suite struct BucketTests {
    private func lines(_ zone: String, _ size: BucketSize, _ from: String, _ to: String) throws -> [String] {
        let calendar = try calendar(zone)
        return calendar.buckets(size, covering: try instant(from)..<(try instant(to))).map { bucket in
            "\(bucket.label) \(Timestamp(microseconds: bucket.start).text(in: calendar))"
        }
    }

    @Test func `Lord Howe repeats half an hour in autumn and skips one in spring`() throws {
        #expect(
            try lines("Australia/Lord_Howe", .hour, "2024-04-07T00:00:00+11:00", "2024-04-07T03:30:00+10:30")
                == [
                    "2024-04-07T00 2024-04-07T00:00:00+11:00", "2024-04-07T01 2024-04-07T01:00:00+11:00",
                    "2024-04-07T01 2024-04-07T01:30:00+10:30", "2024-04-07T02 2024-04-07T02:00:00+10:30",
                    "2024-04-07T03 2024-04-07T03:00:00+10:30",
                ])
        #expect(
            try lines("Australia/Lord_Howe", .hour, "2024-10-06T01:00:00+10:30", "2024-10-06T03:30:00+11:00")
                == [
                    "2024-10-06T01 2024-10-06T01:00:00+10:30", "2024-10-06T02 2024-10-06T02:30:00+11:00",
                    "2024-10-06T03 2024-10-06T03:00:00+11:00",
                ])
    }

    @Test func `New York has an hour less and an hour twice`() throws {
        #expect(
            try lines("America/New_York", .hour, "2024-03-10T06:00:00Z", "2024-03-10T08:00:00Z") == [
                "2024-03-10T01 2024-03-10T01:00:00-05:00", "2024-03-10T03 2024-03-10T03:00:00-04:00",
            ])
        #expect(
            try lines("America/New_York", .hour, "2024-11-03T05:00:00Z", "2024-11-03T07:30:00Z") == [
                "2024-11-03T01 2024-11-03T01:00:00-04:00", "2024-11-03T01 2024-11-03T01:00:00-05:00",
                "2024-11-03T02 2024-11-03T02:00:00-05:00",
            ])
    }

    @Test func `Kathmandu's hours begin at a quarter past those of UTC`() throws {
        #expect(
            try lines("Asia/Kathmandu", .hour, "2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z") == [
                "2026-03-01T05 2026-03-01T05:00:00+05:45", "2026-03-01T06 2026-03-01T06:00:00+05:45",
            ])
    }

    @Test func `an hour begins at the change that skips or meets it`() throws {
        // Kathmandu went from +05:30 to +05:45 at local midnight of 1986: that skips the full hour.
        let kathmandu = try lines("Asia/Kathmandu", .hour, "1985-12-31T18:00:00Z", "1985-12-31T19:00:00Z")
        #expect(
            kathmandu == [
                "1985-12-31T23 1985-12-31T23:00:00+05:30", "1986-01-01T00 1986-01-01T00:15:00+05:45",
            ])
        // Pyongyang went from +08:30 to +09:00 at 23:30: the full hour is met.
        #expect(
            try lines("Asia/Pyongyang", .hour, "2018-05-04T14:00:00Z", "2018-05-04T16:00:00Z") == [
                "2018-05-04T22 2018-05-04T22:00:00+08:30", "2018-05-04T23 2018-05-04T23:00:00+08:30",
                "2018-05-05T00 2018-05-05T00:00:00+09:00",
            ])
    }

    @Test func `a change inside an hour begins none`() throws {
        // One change at 1,000,000,000: from 02:46:40+01:00 back to 02:36:40+00:50.
        var bytes = Array("TZif".utf8) + [UInt8](repeating: 0, count: 16)
        for count in [0, 0, 0, 1, 2, 4] as [UInt8] { bytes += [0, 0, 0, count] }
        bytes += [0x3B, 0x9A, 0xCA, 0x00, 1]
        bytes += [0, 0, 0x0E, 0x10, 0, 0] + [0, 0, 0x0B, 0xB8, 0, 0] + Array("ABC\0".utf8)
        let calendar = LocalCalendar(rules: try #require(TimeZoneRules(identifier: "Test", bytes: bytes)))
        for text in ["2001-09-09T01:00:00Z", "2001-09-09T01:46:40Z", "2001-09-09T02:09:59Z"] {
            let hour = calendar.bucket(containing: try instant(text), size: .hour)
            #expect(hour.label == "2001-09-09T02")
            #expect(hour.start == (try instant("2001-09-09T01:00:00Z")))
            #expect(hour.end == (try instant("2001-09-09T02:10:00Z")))
        }
    }

    @Test func `labels are those of the contract`() throws {
        let calendar = try calendar("Europe/Paris")
        let moment = try instant("2026-03-01T05:30:00+01:00")
        let labels = BucketSize.allCases.map { calendar.bucket(containing: moment, size: $0).label }
        #expect(labels == ["2026-03-01T05", "2026-03-01", "2026-W09", "2026-03", "2026"])
        let newYear = try instant("2027-01-01T12:00:00Z")
        #expect(calendar.bucket(containing: newYear, size: .week).label == "2026-W53")
    }

    @Test func `weeks, months and years begin at midnight of their first day`() throws {
        #expect(
            try lines("America/New_York", .week, "2024-03-08T12:00:00Z", "2024-03-12T12:00:00Z") == [
                "2024-W10 2024-03-04T00:00:00-05:00", "2024-W11 2024-03-11T00:00:00-04:00",
            ])
        #expect(
            try lines("America/Sao_Paulo", .month, "2018-10-30T12:00:00Z", "2018-11-30T12:00:00Z") == [
                "2018-10 2018-10-01T00:00:00-03:00", "2018-11 2018-11-01T00:00:00-03:00",
            ])
        #expect(
            try lines("Pacific/Apia", .day, "2011-12-29T12:00:00-10:00", "2012-01-01T00:00:01+14:00") == [
                "2011-12-29 2011-12-29T00:00:00-10:00", "2011-12-31 2011-12-31T00:00:00+14:00",
                "2012-01-01 2012-01-01T00:00:00+14:00",
            ])
        #expect(
            try lines("UTC", .year, "2025-12-31T23:59:59Z", "2026-01-01T00:00:01Z") == [
                "2025 2025-01-01T00:00:00Z", "2026 2026-01-01T00:00:00Z",
            ])
        #expect(try lines("UTC", .day, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z").isEmpty)
    }

    @Test(arguments: oddZones)
    func `buckets follow one another without gap and hold what they are asked for`(zone: String) throws {
        let calendar = try calendar(zone)
        var random = SplitMix(seed: 6)
        for size in BucketSize.allCases {
            for _ in 0..<40 {
                let moment = Int64.random(in: -3_000_000_000_000_000..<30_000_000_000_000_000, using: &random)
                let bucket = calendar.bucket(containing: moment, size: size)
                #expect(bucket.range.contains(moment))
                #expect(calendar.bucket(containing: bucket.start, size: size) == bucket)
                #expect(calendar.bucket(containing: bucket.end - 1, size: size) == bucket)
                let next = calendar.bucket(containing: bucket.end, size: size)
                #expect(next.start == bucket.end)
            }
        }
    }

    @Test(arguments: oddZones)
    func `hours nest in days over all changes`(zone: String) throws {
        let calendar = try calendar(zone)
        for year in [1987, 2006, 2011, 2018] as [Int32] {
            let first = CivilDate.dayNumber(year: year, month: 1, day: 1)
            for day in stride(from: first, to: first + 366, by: 1) {
                let start = calendar.dayStart(day)
                #expect(calendar.bucket(containing: start, size: .hour).start == start)
            }
        }
    }

    @Test func `intervals step from their anchor by the calendar`() throws {
        let calendar = try calendar("America/New_York")
        let anchor = try instant("2024-01-31T06:00:00-05:00")
        let month = try #require(CalendarInterval(1, .month))
        let starts = (0..<4).map {
            Timestamp(microseconds: calendar.intervalStart($0, every: month, anchor: anchor)).text(
                in: calendar)
        }
        #expect(
            starts == [
                "2024-01-31T06:00:00-05:00", "2024-02-29T06:00:00-05:00", "2024-03-31T06:00:00-04:00",
                "2024-04-30T06:00:00-04:00",
            ])
        let twoDays = try #require(CalendarInterval(2, .day))
        let held = calendar.interval(
            containing: try instant("2024-03-10T12:00:00Z"), every: twoDays, anchor: anchor)
        #expect(Timestamp(microseconds: held.lowerBound).text(in: calendar) == "2024-03-09T06:00:00-05:00")
        #expect(Timestamp(microseconds: held.upperBound).text(in: calendar) == "2024-03-11T06:00:00-04:00")
        let sixHours = try #require(CalendarInterval(6, .hour))
        let hours = calendar.interval(containing: anchor - 1, every: sixHours, anchor: anchor)
        #expect(hours == anchor - 21_600_000_000..<anchor)
        #expect(CalendarInterval(0, .day) == nil)
        #expect(CalendarInterval(1_000_001, .day) == nil)
    }

    @Test(arguments: oddZones)
    func `an interval holds what it is asked for`(zone: String) throws {
        let calendar = try calendar(zone)
        var random = SplitMix(seed: 7)
        for size in BucketSize.allCases {
            for count in [1, 2, 7, 13, 1_000_000] as [Int64] {
                let step = try #require(CalendarInterval(count, size))
                for _ in 0..<10 {
                    let anchor = Int64.random(in: 0..<2_000_000_000_000_000, using: &random)
                    let moment = Int64.random(
                        in: -1_000_000_000_000_000..<4_000_000_000_000_000, using: &random)
                    let held = calendar.interval(containing: moment, every: step, anchor: anchor)
                    #expect(held.contains(moment), "\(count) \(size)")
                    if held.upperBound != .max, held.upperBound < Timestamp.latest.microseconds {
                        let next = calendar.interval(containing: held.upperBound, every: step, anchor: anchor)
                        #expect(next.lowerBound == held.upperBound, "\(count) \(size)")
                    }
                }
            }
        }
    }
}
