/// Columns of text for people.
struct TextTable {
    private let headings: [String]
    private let isNumeric: [Bool]
    private var rows: [[String]] = []

    init(headings: [String], isNumeric: [Bool]) {
        self.headings = headings
        self.isNumeric = isNumeric
    }

    mutating func add(_ cells: [String]) {
        rows.append(cells)
    }

    /// The lines, without trailing spaces.
    ///
    /// On a terminal text columns give way until a row fits, the widest first; elsewhere nothing is cut.
    func lines(style: TextStyle) -> [String] {
        var widths = headings.map { DisplayWidth.of($0) }
        for row in rows {
            for (index, cell) in row.enumerated() {
                widths[index] = max(widths[index], DisplayWidth.of(cell))
            }
        }
        if let limit = style.width { Self.shrink(&widths, numeric: isNumeric, to: limit) }
        var lines = [style.faint(line(headings, widths: widths))]
        for row in rows { lines.append(line(row, widths: widths)) }
        return lines
    }

    private static let gap = 2
    private static let leastWidth = 8

    private static func shrink(_ widths: inout [Int], numeric: [Bool], to limit: Int) {
        var excess = widths.reduce(0, +) + gap * (widths.count - 1) - limit
        while excess > 0 {
            let candidates = widths.indices.filter { !numeric[$0] && widths[$0] > leastWidth }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { return }
            widths[widest] -= 1
            excess -= 1
        }
    }

    private func line(_ cells: [String], widths: [Int]) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            if index > 0 { line += String(repeating: " ", count: Self.gap) }
            line += DisplayWidth.pad(
                DisplayWidth.cut(cell, to: widths[index]), to: widths[index], atStart: isNumeric[index])
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}

/// What the terminal at standard output can do.
struct TextStyle {
    /// The width of the terminal; `nil` where output goes to a file or a pipe.
    var width: Int?
    /// Whether colours are wanted.
    var hasColor: Bool

    static let plain = TextStyle(width: nil, hasColor: false)

    func bold(_ text: String) -> String { wrap(text, "1") }
    func faint(_ text: String) -> String { wrap(text, "2") }
    func red(_ text: String) -> String { wrap(text, "31") }
    func green(_ text: String) -> String { wrap(text, "32") }
    func yellow(_ text: String) -> String { wrap(text, "33") }
    func cyan(_ text: String) -> String { wrap(text, "36") }
    func color(_ text: String, index: Int) -> String {
        wrap(text, ["36", "35", "33", "32", "34", "31"][index % 6])
    }

    private func wrap(_ text: String, _ code: String) -> String {
        hasColor && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
