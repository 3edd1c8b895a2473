internal import HKLog

/// `explain`: how a day's number came about.
enum ExplainCommand {
    static let spec = CommandSpec(
        "explain",
        "how that day's number came about: each sample, its source, what part of it counted and why",
        options: [
            OptionSpec(.type, "T", "the type (full identifier or short name)", isRequired: true),
            OptionSpec(.day, "D", "the day, such as 2026-03-01, in the store's zone", isRequired: true),
        ],
        run: run)

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let store = try session.openForReading()
        let type = try store.resolveType(session.arguments.value(.type) ?? "")
        let day = try dayLabel(session.arguments.value(.day) ?? "", store: store)
        let explanation = try store.explain(type: type, day: day)
        if session.isForPeople {
            let page = ExplanationPage(
                explanation: explanation, calendar: LocalCalendar(rules: store.timeZoneRules),
                style: session.style)
            for line in page.lines() { try session.output.write(line + "\n") }
        } else {
            try session.print(explanation.samples, columns: columns(type: type), empty: "")
        }
        return try session.finish(with: store)
    }

    /// `1d` and the like name the day that lies that long before today.
    private static func dayLabel(_ text: String, store: Store) throws(HKLogError) -> String {
        let calendar = LocalCalendar(rules: store.timeZoneRules)
        switch try DateOption(text, now: System.now, calendar: calendar) {
        case .day(let date): return date.description
        case .instant(let instant): return calendar.date(containing: instant.microseconds).description
        }
    }

    private static func columns(type: String) -> [Column<ExplainedSample>] {
        [
            Column("uuid") { .text($0.uuid.description) },
            Column("source") { .text($0.source) },
            Column("rank", isNumeric: true) { .unsigned($0.rank) },
            Column("start") { .text($0.start.description) },
            Column("end") { .text($0.end.description) },
            Column("value", isNumeric: true) { sample in
                if let value = sample.categoryValue { return CategoryNames.cell(type: type, value: value) }
                return .number(sample.value)
            },
            Column("unit") { .text($0.unit) },
            Column("counted", isNumeric: true) { .number($0.counted) },
            Column("coveredBy") { .names($0.coveredBy) },
            Column("reason") { .text($0.reason) },
        ]
    }
}
