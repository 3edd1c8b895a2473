internal import HKLog

/// `types`: what the store holds, or what the catalog knows.
enum TypesCommand {
    static let spec = CommandSpec(
        "types", "the types in the store: samples, first and last day, sources, unit",
        options: [OptionSpec(.all, nil, "every type of the catalog, also those without samples")],
        run: run)

    /// A type of the store, or of the catalog.
    private struct Row {
        let type: String
        let kind: SampleKind
        let style: AggregationStyle?
        let unit: String?
        var samples = 0
        var first: String?
        var last: String?
        var sources = 0
    }

    private static let columns: [Column<Row>] = [
        Column("type") { .text($0.type) },
        Column("kind") { .text($0.kind.rawValue) },
        Column("style") { .text($0.style?.rawValue) },
        Column("unit") { .text($0.unit) },
        Column("samples", isNumeric: true) { .unsigned($0.samples) },
        Column("first") { .text($0.first) },
        Column("last") { .text($0.last) },
        Column("sources", isNumeric: true) { .unsigned($0.sources) },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let store = try session.openForReading()
        var rows = try store.types().map { summary in
            Row(
                type: summary.type, kind: summary.kind, style: summary.style, unit: summary.unit,
                samples: summary.samples, first: summary.first, last: summary.last, sources: summary.sources)
        }
        if session.arguments.has(.all) {
            let stored = Set(rows.map { Array($0.type.utf8) })
            rows += catalogRows(settings: store.settings).filter { !stored.contains(Array($0.type.utf8)) }
            rows.sort { $0.type.utf8.lexicographicallyPrecedes($1.type.utf8) }
        }
        try session.print(rows, columns: columns, empty: "no samples yet")
        return try session.finish(with: store)
    }

    private static func catalogRows(settings: StoreSettings) -> [Row] {
        Catalog.quantityTypes.map { type in
            Row(
                type: type.identifier, kind: .quantity, style: settings.styles[type.identifier] ?? type.style,
                unit: type.canonicalUnitText)
        }
            + Catalog.categoryTypes.map { Row(type: $0.identifier, kind: .category, style: nil, unit: nil) }
            + Catalog.otherTypes.map { Row(type: $0.identifier, kind: $0.kind, style: nil, unit: nil) }
    }
}
