internal import HKLog

/// Prints statistics rows: which columns there are depends on what was asked.
struct StatisticsOutput {
    let query: StatisticsQuery
    let result: StatisticsResult
    let family: StatisticsFamily
    private let calendar: LocalCalendar

    init(query: StatisticsQuery, result: StatisticsResult, store: Store) throws(HKLogError) {
        self.query = query
        self.result = result
        self.family = StatisticsFamily(type: query.type, settings: store.settings)
        self.calendar = LocalCalendar(
            rules: query.timeZone == nil
                ? store.timeZoneRules : try TimeZoneRules(identifier: result.zoneIdentifier))
    }

    func print(in session: Session) throws(HKLogError) {
        if session.isForPeople, let type = query.type, let first = result.rows.first {
            try session.output.write(session.style.bold(caption(type: type, first: first)) + "\n")
        }
        try session.print(result.rows, columns: columns, empty: "no samples in this range")
        tellUnconvertible(session)
    }

    /// Says what stayed out of the numbers.
    func tellUnconvertible(_ session: Session) {
        for (type, samples) in result.unconvertible where samples > 0 {
            let noun = samples == 1 ? "sample has" : "samples have"
            session.messages.warning(
                "\(type): \(samples) \(noun) a unit that cannot be converted, and no number above holds them")
        }
    }

    private func caption(type: String, first: StatisticsRow) -> String {
        [
            type, first.unit, first.style?.rawValue, "by \(query.every.rawValue)", result.zoneIdentifier,
        ].compactMap { $0 }.map { SafeText.line($0) }.joined(separator: " · ")
    }

    /// The columns of the contract, without the statistics that `--options` leaves out.
    var columns: [Column<StatisticsRow>] {
        let calendar = calendar
        let isOne = query.type != nil
        var columns: [Column<StatisticsRow>] = [
            Column("type", heading: isOne ? nil : "type") { .text($0.type) },
            Column("bucket") { .text($0.bucket) },
            Column("start", heading: query.every == .hour ? "start" : nil) {
                .text($0.start.text(in: calendar))
            },
            Column("end", heading: nil) { .text($0.end.text(in: calendar)) },
        ]
        if query.separateBySource { columns.append(Column("source") { .text($0.source) }) }
        if family != .category {
            columns.append(Column("unit", heading: isOne ? nil : "unit") { .text($0.unit) })
        }
        if family == .category || family == .mixed {
            columns.append(
                Column("value") { row in
                    row.value.map { CategoryNames.cell(type: row.type, value: $0) } ?? .absent
                })
        }
        for option in family.options where query.options?.contains(option) ?? true {
            columns.append(Self.column(option))
        }
        if family != .category {
            columns.append(Column("style", heading: nil) { .text($0.style?.rawValue) })
        }
        return columns
    }

    private static func column(_ option: StatisticsOption) -> Column<StatisticsRow> {
        Column(option.rawValue, isNumeric: true) { row in
            switch option {
            case .count: .unsigned(row.count)
            case .sum: .number(row.sum)
            case .min: .number(row.min)
            case .max: .number(row.max)
            case .average: .number(row.average)
            case .mostRecent: .number(row.mostRecent)
            case .seconds: .number(row.seconds)
            }
        }
    }
}

/// Which statistics a type has.
enum StatisticsFamily {
    case cumulative
    case discrete
    case category
    /// Several types.
    case mixed

    init(type: String?, settings: StoreSettings) {
        guard let type else {
            self = .mixed
            return
        }
        guard SampleKind.of(type) != .category else {
            self = .category
            return
        }
        let style = settings.styles[type] ?? Catalog.quantityType(type)?.style
        self = style == .cumulative ? .cumulative : .discrete
    }

    /// The columns, in the order of the contract.
    var options: [StatisticsOption] {
        switch self {
        case .cumulative: [.count, .sum]
        case .discrete: [.count, .min, .max, .average, .mostRecent]
        case .category: [.count, .seconds]
        case .mixed: [.count, .sum, .min, .max, .average, .mostRecent, .seconds]
        }
    }
}
