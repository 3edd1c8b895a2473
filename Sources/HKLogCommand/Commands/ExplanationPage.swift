internal import HKLog

/// The explanation of a day's number as a page for people: one section a source, highest priority first, and at
/// the end the number that `stats` prints.
struct ExplanationPage {
    let explanation: Explanation
    let calendar: LocalCalendar
    let style: TextStyle

    func lines() -> [String] {
        var lines = heading()
        guard !explanation.samples.isEmpty else { return lines + ["", "no samples touch this day"] }
        for section in sections() {
            lines.append("")
            lines += self.lines(of: section)
        }
        lines.append("")
        lines += total()
        return lines
    }

    private struct Section {
        let source: String
        let rank: Int
        var samples: [ExplainedSample] = []
    }

    private func heading() -> [String] {
        let name = SafeText.line(Catalog.shortName(explanation.type))
        let hours = Double(explanation.end.microseconds - explanation.start.microseconds) / 3_600_000_000
        var details = [SafeText.line(explanation.type), calendar.rules.identifier]
        if let rowStyle = explanation.rows.first?.style { details.append(rowStyle.rawValue) }
        if hours != 24 { details.append("\(NumberText.readable(hours)) hours") }
        return [style.bold("\(name) on \(explanation.day)"), style.faint(details.joined(separator: " · "))]
    }

    /// Samples by source, in the order of the ranks; within a source as they came.
    private func sections() -> [Section] {
        var sections: [Section] = []
        for sample in explanation.samples {
            let index =
                sections.firstIndex {
                    $0.rank == sample.rank && $0.source.utf8.elementsEqual(sample.source.utf8)
                }
            if let index {
                sections[index].samples.append(sample)
            } else {
                sections.append(Section(source: sample.source, rank: sample.rank, samples: [sample]))
            }
        }
        return sections.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map { $0.element }
    }

    private func lines(of section: Section) -> [String] {
        let counted = section.samples.reduce(0.0) { $0 + ($1.counted ?? 0) }
        let noun = section.samples.count == 1 ? "sample" : "samples"
        var title = "\(section.rank). \(SafeText.line(section.source))"
        title = style.bold(style.color(title, index: max(0, section.rank - 1)))
        var lines = [
            title + style.faint("  \(section.samples.count) \(noun)\(countedText(counted, before: ", "))")
        ]
        var cells: [[String]] = []
        for sample in section.samples {
            cells.append([time(of: sample), valueText(of: sample), countedCell(of: sample), note(on: sample)])
        }
        let widths = (0..<4).map { column in cells.map { DisplayWidth.of($0[column]) }.max() ?? 0 }
        for (sample, row) in zip(section.samples, cells) {
            let left = "   " + DisplayWidth.pad(row[0], to: widths[0])
            let middle = "  " + DisplayWidth.pad(row[1], to: widths[1], atStart: true)
            let right = "  → " + DisplayWidth.pad(row[2], to: widths[2], atStart: true)
            let note = row[3].isEmpty ? "" : "  " + row[3]
            let whole = left + middle + paint(right, for: sample) + style.faint(note)
            lines.append(whole)
        }
        return lines
    }

    /// Whole green, in part yellow, not at all red.
    private func paint(_ text: String, for sample: ExplainedSample) -> String {
        guard let counted = sample.counted, counted > 0 else { return style.red(text) }
        return sample.coveredBy.isEmpty ? style.green(text) : style.yellow(text)
    }

    private func countedText(_ counted: Double, before: String) -> String {
        guard isAdding else { return "" }
        return before
            + (explanation.unit == nil
                ? "\(NumberText.duration(counted)) counted"
                : "\(NumberText.readable(counted)) \(unitText) counted")
    }

    /// Whether parts add up to the day's number: not for minimum, maximum and average.
    private var isAdding: Bool {
        explanation.rows.first.map { $0.sum != nil || $0.seconds != nil } ?? true
    }

    private var unitText: String { SafeText.line(explanation.unit ?? "") }

    private func time(of sample: ExplainedSample) -> String {
        let start = clock(sample.start)
        return sample.end == sample.start ? start : "\(start)–\(clock(sample.end))"
    }

    /// The local time of day, with the date where it is another day.
    private func clock(_ instant: Timestamp) -> String {
        let local = calendar.localTime(at: instant.microseconds)
        let day = LocalCalendar.dayMicroseconds
        let seconds = (local % day + day) % day / 1_000_000
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        var text = "\(two(seconds / 3600)):\(two(seconds / 60 % 60))"
        if seconds % 60 != 0 { text += ":" + two(seconds % 60) }
        let date = calendar.date(containing: instant.microseconds).description
        let isWithin = instant >= explanation.start && instant <= explanation.end
        return isWithin || date.utf8.elementsEqual(explanation.day.utf8) ? text : "\(date) \(text)"
    }

    private func valueText(of sample: ExplainedSample) -> String {
        if let value = sample.categoryValue {
            return SafeText.line(CategoryNames.shortName(type: explanation.type, value: value))
        }
        guard let value = sample.value else { return "" }
        return NumberText.readable(value) + (sample.unit.map { " " + SafeText.line($0) } ?? "")
    }

    private func countedCell(of sample: ExplainedSample) -> String {
        guard let counted = sample.counted else { return "—" }
        return explanation.unit == nil ? NumberText.duration(counted) : NumberText.readable(counted)
    }

    private func note(on sample: ExplainedSample) -> String {
        let names = sample.coveredBy.map { SafeText.line($0) }.joined(separator: ", ")
        return SafeText.line(sample.reason) + (names.isEmpty ? "" : " by \(names)")
    }

    private func total() -> [String] {
        let merged = explanation.rows.filter { $0.source == nil }
        guard !merged.isEmpty else { return ["no number for this day"] }
        return merged.map { row in
            var parts: [String] = []
            if let value = row.value {
                parts.append(SafeText.line(CategoryNames.shortName(type: row.type, value: value)))
            }
            func add(_ name: String, _ value: Double?) {
                guard let value, let exact = NumberText.exact(value) else { return }
                parts.append("\(name) \(exact)" + (unitText.isEmpty ? "" : " \(unitText)"))
            }
            add("sum", row.sum)
            add("min", row.min)
            add("max", row.max)
            add("average", row.average)
            add("most recent", row.mostRecent)
            if let seconds = row.seconds, let exact = NumberText.exact(seconds) {
                parts.append("\(exact) seconds (\(NumberText.duration(seconds)))")
            }
            parts.append("count \(row.count)")
            return style.bold("= " + parts.joined(separator: ", "))
        }
    }
}
