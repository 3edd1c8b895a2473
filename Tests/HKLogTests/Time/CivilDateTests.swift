import Foundation
import HKLog
import Testing

@Suite struct CivilDateTests {
    @Test func `days count on without gaps from year 1 to 9999`() throws {
        #expect(CivilDate.dayNumber(year: 1970, month: 1, day: 1) == 0)
        #expect(CivilDate.dayNumber(year: 1, month: 1, day: 1) == -719_162)
        #expect(CivilDate.dayNumber(year: 9999, month: 12, day: 31) == 2_932_896)
        var expected = CivilDate(dayNumber: -719_162)
        for number in stride(from: Int32(-719_162), through: 2_932_896, by: 1) where number % 7 == 0 {
            let date = CivilDate(dayNumber: number)
            #expect(date.dayNumber == number)
            #expect(date > expected || number == -719_162)
            expected = date
        }
    }

    @Test func `weeks are those of ISO 8601`() throws {
        var twin = Calendar(identifier: .iso8601)
        twin.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for number in stride(from: Int32(-7_305), to: 40_000, by: 11) {
            let moment = Date(timeIntervalSince1970: Double(number) * 86_400)
            let parts = twin.dateComponents([.yearForWeekOfYear, .weekOfYear, .weekday], from: moment)
            let date = CivilDate(dayNumber: number)
            #expect(Int(date.isoWeek.year) == parts.yearForWeekOfYear)
            #expect(Int(date.isoWeek.week) == parts.weekOfYear)
            #expect(Int(date.isoWeekday) % 7 + 1 == parts.weekday)
        }
    }

    @Test(arguments: [
        "2026-02-29", "2026-13-01", "2026-00-01", "0000-01-01", "2026-1-01", "2026-01-01 ", "2026/01/01",
    ])
    func `a day that does not exist is refused`(text: String) {
        #expect(CivilDate(text) == nil)
    }

    @Test func `months are added with the day kept in the month`() throws {
        #expect(try date("2026-01-31").adding(months: 1).description == "2026-02-28")
        #expect(try date("2024-01-31").adding(months: 1).description == "2024-02-29")
        #expect(try date("2026-03-31").adding(months: -6).description == "2025-09-30")
        #expect(try date("2026-03-31").adding(months: .max).description == "9999-12-31")
        #expect(try date("2026-03-31").adding(months: .min).description == "0001-01-31")
    }
}
