internal import HKLog

/// `chart`: the buckets as a picture.
enum ChartCommand {
    static let spec = CommandSpec(
        "chart", "the buckets as a picture, in the terminal or a file",
        details: [
            "Sums are bars, readings a band from minimum to maximum with the average, category values stacked times."
                + " With --format csv, json or jsonl it prints the buckets as 'hklog stats' does."
        ],
        options: [
            OptionSpec(.type, "T", "the type (full identifier or short name)", isRequired: true),
            StatsCommand.every, DateOptions.start, DateOptions.end,
            OptionSpec(.svg, "FILE", "write an SVG picture to this file ('-': standard output)"),
        ],
        run: run)

    /// More lines than this are no picture; whoever wants them says from where.
    private static let defaultBucketCount = 60

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let store = try session.openForReading()
        var query = try StatsCommand.query(of: session.arguments, in: store)
        let svgPath = session.arguments.value(.svg)
        query.fill = session.isForPeople || svgPath != nil
        let result = try store.statistics(query)
        let output = try StatisticsOutput(query: query, result: result, store: store)
        let model = ChartModel(
            type: query.type ?? "", rows: result.rows, family: output.family, every: query.every,
            zone: result.zoneIdentifier)
        if let svgPath {
            try write(SVGChart(model: model).text(), to: svgPath, session)
        } else if session.isForPeople {
            try draw(model, isWhole: query.start != nil, session)
        }
        if session.isForPeople {
            output.tellUnconvertible(session)
        } else if svgPath == nil {
            try output.print(in: session)
        }
        return try session.finish(with: store)
    }

    private static func draw(_ model: ChartModel, isWhole: Bool, _ session: Session) throws(HKLogError) {
        guard !model.bars.isEmpty else {
            try session.output.write("no samples in this range\n")
            return
        }
        let isCut = !isWhole && model.bars.count > defaultBucketCount
        let shown = isCut ? model.suffix(defaultBucketCount) : model
        for line in TerminalChart(model: shown, style: session.style).lines() {
            try session.output.write(line + "\n")
        }
        if isCut {
            session.messages.notice(
                "these are the last \(defaultBucketCount) of \(model.bars.count) buckets; --start shows more")
        }
    }

    private static func write(_ text: String, to path: String, _ session: Session) throws(HKLogError) {
        if path == "-" {
            try session.output.write(text)
            return
        }
        let file = try OutputFile(path)
        try file.writer.write(text)
        try file.close()
        session.messages.notice("wrote \(path)")
    }
}
