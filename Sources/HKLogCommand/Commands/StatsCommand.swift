internal import HKLog

/// `stats`: statistics buckets.
enum StatsCommand {
    static let spec = CommandSpec(
        "stats", "statistics buckets, of all types unless one is named",
        details: [
            "Buckets that meet the asked range are given whole. An empty bucket is absent, unless --fill asks for it."
        ],
        options: [
            OptionSpec(.type, "T", "only this type (full identifier or short name)"),
            every, DateOptions.start, DateOptions.end,
            OptionSpec(
                .options, "LIST",
                "the statistics to show, of count, sum, min, max, average, mostRecent, seconds"),
            OptionSpec(.separateBySource, nil, "one row a source beside the merged one"),
            OptionSpec(.unit, "U", "values in this unit instead of the type's own"),
            OptionSpec(.timeZone, "ID", "buckets of this IANA zone instead of the store's"),
            OptionSpec(.stream, "S", "only samples of this stream"),
            OptionSpec(.fill, nil, "empty buckets too"),
        ],
        run: run)

    static let every = OptionSpec(.every, "SIZE", "hour, day, week, month or year; day by default")

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let arguments = session.arguments
        let store = try session.openForReading()
        var query = try query(of: arguments, in: store)
        query.options = try arguments.choices(.options, of: StatisticsOption.self)
        query.separateBySource = arguments.has(.separateBySource)
        query.unit = arguments.value(.unit)
        query.timeZone = arguments.value(.timeZone)
        query.stream = arguments.value(.stream)
        query.fill = arguments.has(.fill)
        let result = try store.statistics(query)
        try StatisticsOutput(query: query, result: result, store: store).print(in: session)
        return try session.finish(with: store)
    }

    /// What `stats` and `chart` have in common.
    static func query(of arguments: ParsedArguments, in store: Store) throws(HKLogError) -> StatisticsQuery {
        var query = StatisticsQuery()
        if let type = arguments.value(.type) { query.type = try store.resolveType(type) }
        query.every = try arguments.choice(.every, of: BucketSize.self) ?? .day
        (query.start, query.end) = try DateOptions.range(of: arguments, in: store)
        return query
    }
}
