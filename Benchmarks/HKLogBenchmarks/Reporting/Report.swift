import HKLog

/// What was measured, printed as it comes and kept for the file.
struct Report {
    /// One program's part in one comparison.
    private struct Entry {
        var run: String
        var title: String
        var program: String
        var samples: Int
        var figures: Figures
    }

    private struct Ratio {
        var run: String
        var title: String
        var name: String
        var value: Double
        var goal: Double?
    }

    private var run = ""
    private var title = ""
    private var entries: [Entry] = []
    private var ratios: [Ratio] = []

    mutating func begin(_ run: String, _ title: String) {
        (self.run, self.title) = (run, title)
        print("\n\(run): \(title)")
    }

    func note(_ text: String) { print("  \(text)") }

    /// One line of figures, those that the program has.
    mutating func add(_ program: String, _ figures: Figures, samples: Int, timed name: String = "seconds") {
        entries.append(Entry(run: run, title: title, program: program, samples: samples, figures: figures))
        var parts: [String] = []
        if let seconds = figures.spread(name) {
            parts.append(NumberText.time(seconds))
            if name == "seconds", samples > 0 {
                parts.append(NumberText.count(Double(samples) / seconds.median) + " samples/s")
            }
        }
        if name == "seconds", let processor = figures.spread("processorSeconds") {
            parts.append(NumberText.time(processor.median) + " of processor")
        }
        if let bytes = figures.last("bytes"), samples > 0 {
            parts.append(NumberText.fixed(bytes / Double(samples), 2) + " B/sample")
        }
        if name == "seconds", let memory = figures.spread("memoryKilobytes") {
            parts.append(NumberText.fixed(memory.greatest / 1024, 1) + " MB more memory")
        }
        for (name, text) in [("writes", "writes"), ("syncs", "syncs")] {
            if let value = figures.last(name) { parts.append(NumberText.fixed(value, 0) + " " + text) }
        }
        if let allocations = figures.last("allocations"), let batches = figures.last("batches"), batches > 0 {
            parts.append(NumberText.fixed(allocations / batches, 1) + " allocations/batch")
        }
        if let live = figures.last("live"), live > 0 { parts.append(NumberText.fixed(live, 0) + " live") }
        if let buckets = figures.last("buckets"), buckets > 0 {
            parts.append(NumberText.fixed(buckets, 0) + " buckets")
        }
        if let rows = figures.last(name == "yearSeconds" ? "yearRows" : "rows") {
            parts.append(NumberText.fixed(rows, 0) + " rows")
        }
        let name = program + String(repeating: " ", count: max(0, 26 - program.count))
        print("  \(name) \(parts.joined(separator: " · "))")
    }

    /// How many times as fast (or, for sizes, how large) one thing is as another, beside its goal.
    mutating func ratio(
        _ name: String, _ value: Double?, atLeast goal: Double? = nil, atMost limit: Double? = nil
    ) {
        guard let value, value.isFinite else { return }
        ratios.append(Ratio(run: run, title: title, name: name, value: value, goal: goal ?? limit))
        var text = "\(name): \(NumberText.short(value))"
        if let goal { text += " (goal ≥ \(NumberText.short(goal)): \(value >= goal ? "met" : "short"))" }
        if let limit { text += " (goal ≤ \(NumberText.short(limit)): \(value <= limit ? "met" : "short"))" }
        print("    \(text)")
    }

    /// The speed of `mine` by wall time, and by processor time, over that of `other`.
    mutating func speed(
        _ mine: Figures, over other: Figures?, called name: String, figure: String = "seconds",
        of otherFigure: String? = nil,
        atLeast goal: Double? = nil
    ) {
        guard let other, let own = mine.spread(figure)?.median,
            let theirs = other.spread(otherFigure ?? figure)?.median, own > 0
        else { return }
        ratio("times as fast as \(name)", theirs / own, atLeast: goal)
        if figure == "seconds", otherFigure == nil, let processor = mine.spread("processorSeconds")?.median,
            let theirProcessor = other.spread("processorSeconds")?.median, processor > 0
        {
            ratio("the same by processor time", theirProcessor / processor, atLeast: goal)
        }
    }

    /// Every figure as JSON.
    func json(_ options: Options) -> JSONValue {
        func member(_ name: String, _ value: JSONValue) -> JSONValue.Member { JSONValue.Member(name, value) }
        let programs = entries.map { entry in
            let figures = entry.figures.names.map { name in
                member(name, .array(entry.figures[name].map { .number(text(of: $0)) }))
            }
            return JSONValue.object([
                member("run", .string(entry.run)), member("title", .string(entry.title)),
                member("program", .string(entry.program)), member("samples", .number("\(entry.samples)")),
                member("figures", .object(figures)),
            ])
        }
        let compared = ratios.map { ratio in
            JSONValue.object([
                member("run", .string(ratio.run)), member("title", .string(ratio.title)),
                member("ratio", .string(ratio.name)), member("value", .number(text(of: ratio.value))),
                member("goal", ratio.goal.map { .number(text(of: $0)) } ?? .null),
            ])
        }
        return .object([
            member("date", .string(Timestamp(microseconds: Platform.wallClockMicroseconds).description)),
            member("machine", .string(Machine.description)), member("samples", .number("\(options.samples)")),
            member("seed", .number("\(options.seed)")), member("programs", .array(programs)),
            member("ratios", .array(compared)),
        ])
    }

    private func text(of value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    }
}
