import Foundation
import HKLog
import Testing

@Suite struct LocalCalendarTests {
    @Test(arguments: oddZones)
    func `days begin where Foundation begins them`(zone: String) throws {
        let calendar = try calendar(zone)
        var twin = Calendar(identifier: .gregorian)
        twin.timeZone = try #require(TimeZone(identifier: zone))
        var cursor = DayCursor(calendar: calendar)
        var random = SplitMix(seed: 4)
        for _ in 0..<150 {
            let seconds = Int64.random(in: 157_766_400..<2_082_758_400, using: &random)
            let moment = Date(timeIntervalSince1970: Double(seconds))
            let parts = twin.dateComponents([.year, .month, .day], from: moment)
            let day = calendar.dayNumber(containing: seconds * 1_000_000)
            let date = CivilDate(dayNumber: day)
            #expect(
                [Int(date.year), Int(date.month), Int(date.day)] == [parts.year, parts.month, parts.day])
            let start = Int64(twin.startOfDay(for: moment).timeIntervalSince1970) * 1_000_000
            #expect(calendar.dayStart(day) == start, "\(date) in \(zone)")
            #expect(cursor.dayNumber(containing: seconds * 1_000_000) == day)
            #expect(cursor.start == start)
            #expect(cursor.end == calendar.dayStart(day + 1))
        }
    }

    /// The definition, word by word.
    @Test(arguments: oddZones)
    func `a day holds what lies between its beginning and the next`(zone: String) throws {
        let calendar = try calendar(zone)
        var random = SplitMix(seed: 5)
        var cursor = DayCursor(calendar: calendar)
        for year in [1867, 1892, 1945, 1993, 2006, 2011, 2024, 2500, 9999] as [Int32] {
            let first = CivilDate.dayNumber(year: year, month: 1, day: 1)
            for day in stride(
                from: first + year % 3, to: first + 366, by: year == 2011 || year == 2006 ? 1 : 5)
            {
                let start = calendar.dayStart(day)
                let end = calendar.dayStart(day + 1)
                #expect(start <= end)
                guard start < end else { continue }
                for instant in [start, end - 1, Int64.random(in: start..<end, using: &random)] {
                    #expect(calendar.dayNumber(containing: instant) == day)
                    #expect(cursor.dayNumber(containing: instant) == day)
                }
                // At its first instant the clock shows midnight or later, just before it did not.
                let midnight = Int64(day) * LocalCalendar.dayMicroseconds
                #expect(calendar.localTime(at: start) >= midnight)
                #expect(calendar.localTime(at: start - 1) < midnight)
            }
        }
    }

    @Test(arguments: [
        ("America/New_York", "2024-03-10", "2024-03-10T05:00:00Z", "2024-03-11T04:00:00Z", 23.0),
        ("America/New_York", "2024-11-03", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z", 25.0),
        ("Asia/Tokyo", "2024-03-10", "2024-03-09T15:00:00Z", "2024-03-10T15:00:00Z", 24.0),
        ("Australia/Lord_Howe", "2024-04-07", "2024-04-06T13:00:00Z", "2024-04-07T13:30:00Z", 24.5),
        ("Europe/London", "2024-03-31", "2024-03-31T00:00:00Z", "2024-03-31T23:00:00Z", 23.0),
        // Clocks go from midnight to 01:00: there is no midnight.
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z", 23.0),
        // Clocks go from midnight back to 23:00, which is still the day before.
        ("America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z", 25.0),
        // Clocks went from 00:01 back to 23:01: the new day had begun.
        ("America/St_Johns", "2006-10-29", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z", 25.0),
        ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", 24.0),
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", 0.0),
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z", 24.0),
    ])
    func `known days are as long as they were`(
        zone: String, day: String, start: String, end: String, hours: Double
    ) throws {
        let calendar = try calendar(zone)
        let number = try date(day).dayNumber
        #expect(Timestamp(microseconds: calendar.dayStart(number)).description == start)
        #expect(Timestamp(microseconds: calendar.dayStart(number + 1)).description == end)
        #expect(Double(calendar.dayStart(number + 1) - calendar.dayStart(number)) == hours * 3.6e9)
    }

    @Test func `extreme instants are kept in bounds`() throws {
        for zone in ["America/New_York", "Asia/Tokyo", "UTC"] {
            let calendar = try calendar(zone)
            var cursor = DayCursor(calendar: calendar)
            for instant in [Int64.min, Int64.min + 1, -1, 0, Int64.max - 1, Int64.max] {
                #expect(cursor.dayNumber(containing: instant) == calendar.dayNumber(containing: instant))
                for size in BucketSize.allCases { _ = calendar.bucket(containing: instant, size: size).label }
            }
            #expect(calendar.dayStart(.min) < calendar.dayStart(0))
            #expect(calendar.dayStart(.max) > calendar.dayStart(0))
        }
    }
}
