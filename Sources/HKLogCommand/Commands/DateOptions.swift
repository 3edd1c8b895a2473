internal import HKLog

/// `--start` and `--end`, which mean the same on every command.
enum DateOptions {
    static let start = OptionSpec(
        .start, "D", "from here on: a day, RFC 3339, or 7d, 12w, 6mo (that long before now)")
    static let end = OptionSpec(
        .end, "D", "up to here: a day is included, an instant is not")

    /// The range that is asked for, in days of the store.
    static func range(
        of arguments: ParsedArguments, in store: Store
    ) throws(HKLogError) -> (start: Timestamp?, end: Timestamp?) {
        let calendar = LocalCalendar(rules: store.timeZoneRules)
        let now = System.now
        var start: Timestamp?
        var end: Timestamp?
        if let text = arguments.value(.start) {
            start = Timestamp(
                microseconds: try DateOption(text, now: now, calendar: calendar).lowerBound(in: calendar))
        }
        if let text = arguments.value(.end) {
            end = Timestamp(
                microseconds: try DateOption(text, now: now, calendar: calendar).upperBound(in: calendar))
        }
        return (start, end)
    }
}
