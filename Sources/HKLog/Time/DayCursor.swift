/// Finds the days of many instants: those near the one before cost a subtraction and a comparison.
package struct DayCursor: Sendable {
    private let table: OffsetTable
    private let calendar: LocalCalendar
    /// Where the day last found begins.
    package private(set) var start: Int64 = 0
    private var length: UInt64 = 0
    /// The day last found.
    package private(set) var dayNumber: Int32 = 0

    package init(calendar: LocalCalendar) {
        self.calendar = calendar
        self.table = calendar.rules.table
    }

    /// Where the day last found ends.
    package var end: Int64 { start &+ Int64(bitPattern: length) }

    /// The day of an instant, in days since 1970-01-01.
    @inline(__always)
    package mutating func dayNumber(containing instant: Int64) -> Int32 {
        if UInt64(bitPattern: instant &- start) < length { return dayNumber }
        return move(to: instant)
    }

    @inline(never)
    private mutating func move(to instant: Int64) -> Int32 {
        let (folded, circles) = table.folded(instant)
        let index = table.segmentIndex(at: folded)
        let segment = table.segments[index]
        let local = max(folded &+ segment.shift, segment.reached)
        let day = floorQuotient(local, OffsetTable.dayMicroseconds)
        let midnight = day &* OffsetTable.dayMicroseconds
        let begin = midnight &- segment.shift
        let end = begin &+ OffsetTable.dayMicroseconds
        dayNumber = Int32(truncatingIfNeeded: day &+ circles &* OffsetTable.circleDays)
        // Nearly every day lies in one segment, and no clock had reached it before.
        if begin >= segment.start, end <= table.segmentEnd(index), segment.reached < midnight {
            start = begin &+ circles &* OffsetTable.circleMicroseconds
            length = UInt64(OffsetTable.dayMicroseconds)
        } else {
            start = calendar.dayStart(dayNumber)
            length = UInt64(bitPattern: calendar.dayStart(dayNumber &+ 1) &- start)
        }
        return dayNumber
    }
}
