internal import HKLog

/// `sources`: which source counts before which, and why.
enum SourcesCommand {
    static let spec = CommandSpec(
        "sources", "sources by type with the priority in force and the reason; sets it",
        details: [
            "Where intervals of several sources overlap, the part of the source with the lower rank number counts."
                + " --prefer '' goes back to the default order."
        ],
        options: [
            OptionSpec(.type, "T", "only this type (full identifier or short name)"),
            OptionSpec(
                .prefer, "A,B,...",
                "set the order for the type: names, or 'name (bundle identifier)', or manual; '\\,' is a comma"
            ),
        ],
        run: run)

    private static let columns: [Column<SourceSummary>] = [
        Column("type") { .text($0.type) },
        Column("rank", isNumeric: true) { .unsigned($0.rank) },
        Column("source") { .text($0.source) },
        Column("class") { .text($0.sourceClass) },
        Column("reason") { .text($0.reason) },
        Column("samples", isNumeric: true) { .unsigned($0.samples) },
        Column("first") { .text($0.first) },
        Column("last") { .text($0.last) },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let preferred = session.arguments.names(.prefer)
        let typeText = session.arguments.value(.type)
        if preferred != nil && typeText == nil { throw .usage("--prefer wants --type T") }
        let store = try session.open(preferred == nil ? .read : .write)
        var type: String?
        if let typeText { type = try store.resolveType(typeText) }
        if let preferred, let type {
            var priorities: [String: [String]?] = [:]
            priorities.updateValue(preferred.isEmpty ? nil : preferred, forKey: type)
            try store.set(timeZone: nil, styles: [:], priorities: priorities)
        }
        try session.print(try store.sources(type: type), columns: columns, empty: "no sources yet")
        let status = try session.finish(with: store)
        if preferred != nil { try store.close() }
        return status
    }
}
