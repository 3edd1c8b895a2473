/// What one program measured: named figures, each with one value a run.
///
/// As text it is one line a figure, the name and its values; every program that is compared prints that.
struct Figures {
    private(set) var names: [String] = []
    private var values: [String: [Double]] = [:]

    init() {}

    init(lines text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let name = words.first else { continue }
            let numbers = words.dropFirst().compactMap { Double($0) }
            guard !numbers.isEmpty, numbers.count == words.count - 1 else { continue }
            append(String(name), numbers)
        }
    }

    subscript(_ name: String) -> [Double] { values[name] ?? [] }

    /// The value of a figure that does not change from run to run; `nil` when it was not measured.
    func last(_ name: String) -> Double? { values[name]?.last }

    func spread(_ name: String) -> Spread? { Spread(self[name]) }

    mutating func append(_ name: String, _ more: [Double]) {
        if values[name] == nil { names.append(name) }
        values[name, default: []] += more
    }

    mutating func append(_ name: String, _ value: Double) { append(name, [value]) }

    mutating func append(_ name: String, _ value: Int) { append(name, [Double(value)]) }

    /// Adds another round's values to these.
    mutating func merge(_ other: Figures) {
        for name in other.names { append(name, other[name]) }
    }

    var lines: String {
        names.map { name in
            name + self[name].map { " \($0)" }.joined() + "\n"
        }.joined()
    }
}

/// Median, least and greatest of some runs.
struct Spread {
    var median: Double
    var least: Double
    var greatest: Double

    init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        least = first
        greatest = last
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}
