internal import HKLog

/// What a chart shows, before it is drawn anywhere.
struct ChartModel {
    /// One bucket of the chart.
    struct Bar {
        let label: String
        let shape: Shape
    }

    /// What is drawn for a bucket.
    enum Shape {
        case empty
        /// A sum, from zero.
        case sum(Double)
        /// The least, the average and the greatest value.
        case band(least: Double, average: Double, greatest: Double)
        /// Parts stacked upon each other; the first number is an index into `series`.
        case stack([(series: Int, amount: Double)])
    }

    let title: String
    let subtitle: String
    /// How amounts are written; `nil` for times.
    let unit: String?
    /// Names of what is stacked.
    let series: [String]
    let bars: [Bar]

    init(
        type: String, rows: [StatisticsRow], family: StatisticsFamily, every: BucketSize, zone: String
    ) {
        let unit = rows.compactMap { $0.unit }.first
        title = Catalog.shortName(type)
        subtitle = [
            type, unit, rows.compactMap { $0.style?.rawValue }.first, "by \(every.rawValue)", zone,
        ].compactMap { $0 }.joined(separator: " · ")
        if family == .category {
            let stacked = Self.stack(rows, type: type)
            (series, bars) = (stacked.series, stacked.bars)
            self.unit = stacked.isCount ? "" : nil
        } else {
            series = []
            self.unit = unit ?? ""
            bars = rows.map { Bar(label: $0.bucket, shape: Self.shape(of: $0)) }
        }
    }

    private init(_ model: ChartModel, bars: [Bar]) {
        title = model.title
        subtitle = model.subtitle
        unit = model.unit
        series = model.series
        self.bars = bars
    }

    /// The chart of the last buckets alone.
    func suffix(_ count: Int) -> ChartModel { ChartModel(self, bars: Array(bars.suffix(count))) }

    private static func shape(of row: StatisticsRow) -> Shape {
        if let sum = row.sum, sum.isFinite { return .sum(sum) }
        if let least = row.min, let greatest = row.max, let average = row.average, average.isFinite {
            return .band(least: least, average: average, greatest: greatest)
        }
        return .empty
    }

    private static let sleepType = "HKCategoryTypeIdentifierSleepAnalysis"

    /// Rows of one bucket follow one another; where no value takes time, their counts are stacked.
    private static func stack(
        _ rows: [StatisticsRow], type: String
    ) -> (series: [String], bars: [Bar], isCount: Bool) {
        var values = Set(rows.compactMap { $0.value }).sorted()
        // Time in bed holds the time asleep: stacked, the night would be twice as long.
        if type == sleepType, values.count > 1 { values.removeAll { $0 == 0 } }
        let isCount = !rows.contains { ($0.seconds ?? 0) > 0 }
        var bars: [Bar] = []
        var parts: [(series: Int, amount: Double)] = []
        for (index, row) in rows.enumerated() {
            let amount = isCount ? Double(row.count) : row.seconds ?? 0
            if let value = row.value, amount > 0, let series = values.firstIndex(of: value) {
                parts.append((series: series, amount: amount))
            }
            let isLast = index + 1 == rows.count || rows[index + 1].start != row.start
            if isLast {
                bars.append(Bar(label: row.bucket, shape: parts.isEmpty ? .empty : .stack(parts)))
                parts = []
            }
        }
        return (values.map { CategoryNames.shortName(type: type, value: $0) }, bars, isCount)
    }

    /// The least and greatest amounts that the scale must hold.
    var range: ClosedRange<Double> {
        var low = Double.infinity
        var high = -Double.infinity
        for bar in bars {
            switch bar.shape {
            case .empty: continue
            case .sum(let sum):
                low = min(low, 0, sum)
                high = max(high, 0, sum)
            case .band(let least, _, let greatest):
                low = min(low, least)
                high = max(high, greatest)
            case .stack(let parts):
                low = min(low, 0)
                high = max(high, parts.reduce(0) { $0 + $1.amount })
            }
        }
        guard low <= high else { return 0...1 }
        if low < high { return low...high }
        return low == 0 ? 0...1 : min(low, 0)...max(high, 0)
    }

    /// An amount with its unit for people.
    func text(_ amount: Double) -> String {
        unit == nil ? NumberText.duration(amount) : NumberText.readable(amount)
    }

    /// What the numbers beside a bar say.
    func numbers(of shape: Shape) -> String {
        switch shape {
        case .empty: ""
        case .sum(let sum): text(sum)
        case .band(let least, let average, let greatest):
            "\(text(least)) – \(text(average)) – \(text(greatest))"
        case .stack(let parts): text(parts.reduce(0) { $0 + $1.amount })
        }
    }
}
