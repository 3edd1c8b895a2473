internal import HKLog

/// `config`: shows or changes the store's settings.
enum ConfigCommand {
    static let spec = CommandSpec(
        "config", "shows or changes the store's settings; what depends on them is rebuilt",
        details: [
            "Priorities of sources are set with 'hklog sources --type T --prefer A,B'."
        ],
        options: [
            OptionSpec(.timeZone, "ID", "cut days in this IANA zone, past ones as well"),
            OptionSpec(
                .style, "T=STYLE",
                "aggregate the type T in another style than the catalog's ('default' goes back to it); may be repeated"
            ),
        ],
        run: run)

    /// One setting as a row.
    private struct Setting {
        let name: String
        let type: String?
        let value: Cell
    }

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let zone = session.arguments.value(.timeZone)
        let styleWords = session.arguments.allValues(.style)
        let isChange = zone != nil || !styleWords.isEmpty
        let store = try session.open(isChange ? .write : .read)
        if isChange {
            var styles: [String: AggregationStyle?] = [:]
            for word in styleWords { try readStyle(word, store: store, into: &styles) }
            try store.set(timeZone: zone, styles: styles, priorities: [:])
        }
        try show(store, session)
        let status = try session.finish(with: store)
        if isChange { try store.close() }
        return status
    }

    private static func readStyle(
        _ word: String, store: Store, into styles: inout [String: AggregationStyle?]
    ) throws(HKLogError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw HKLogError(.invalidArgument, "--style: '\(SafeText.line(word))' is not of the form T=STYLE")
        }
        let type = try store.resolveType(String(parts[0]))
        if parts[1] == "default" {
            styles.updateValue(nil, forKey: type)
            return
        }
        let known = AggregationStyle.allCases.map { $0.rawValue }
        let lowered = parts[1].lowercased()
        guard let style = AggregationStyle.allCases.first(where: { $0.rawValue.lowercased() == lowered })
        else {
            let hint =
                NearMiss.best(for: String(parts[1]), among: known).map { "; did you mean \($0)?" } ?? ""
            throw HKLogError(
                .invalidArgument,
                "--style: '\(SafeText.line(String(parts[1])))' is none of \(known.joined(separator: ", ")),"
                    + " default\(hint)")
        }
        styles.updateValue(style, forKey: type)
    }

    private static func show(_ store: Store, _ session: Session) throws(HKLogError) {
        let settings = store.settings
        let styles = settings.styles.sorted { $0.key < $1.key }
        let priorities = settings.priorities.sorted { $0.key < $1.key }
        if session.format == .json || session.format == .jsonl {
            let object = RowJSON.object([
                ("timeZone", RowJSON.string(settings.timeZone)),
                ("segmentBytes", Array(String(settings.segmentByteCount).utf8)),
                ("styles", RowJSON.object(styles.map { ($0.key, RowJSON.string($0.value.rawValue)) })),
                (
                    "priorities",
                    RowJSON.object(
                        priorities.map { ($0.key, RowJSON.array($0.value.map { RowJSON.string($0) })) })
                ),
            ])
            try session.output.write(object)
            try session.output.write("\n")
            return
        }
        var rows = [
            Setting(name: "timeZone", type: nil, value: .text(settings.timeZone)),
            Setting(name: "segmentBytes", type: nil, value: .unsigned(settings.segmentByteCount)),
        ]
        for (type, style) in styles {
            rows.append(Setting(name: "style", type: type, value: .text(style.rawValue)))
        }
        for (type, names) in priorities {
            rows.append(Setting(name: "priority", type: type, value: .names(names)))
        }
        try session.print(
            rows,
            columns: [
                Column("setting") { .text($0.name) }, Column("type") { .text($0.type) },
                Column("value") { $0.value },
            ], empty: "")
    }
}
