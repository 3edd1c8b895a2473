internal import HKLog

/// The form that results are printed in.
enum OutputFormat: String, CaseIterable {
    case table
    case csv
    case json
    case jsonl
}

/// Prints a list of rows in any format, as they come; a table is printed at the end.
struct RowPrinter<Row> {
    private let columns: [Column<Row>]
    private let format: OutputFormat
    private let output: OutputWriter
    private let style: TextStyle
    private let object: ((Row) -> [UInt8])?
    private var table: TextTable
    private var rowCount = 0

    /// `object` gives the JSON of a row where it is more than its columns.
    init(
        columns: [Column<Row>], format: OutputFormat, output: OutputWriter, style: TextStyle,
        object: ((Row) -> [UInt8])? = nil
    ) throws(HKLogError) {
        self.columns = columns
        self.format = format
        self.output = output
        self.style = style
        self.object = object
        let shown = columns.filter { $0.heading != nil }
        self.table = TextTable(
            headings: shown.map { $0.heading ?? $0.name }, isNumeric: shown.map { $0.isNumeric })
        if format == .csv { try output.write(CSV.header(columns)) }
    }

    mutating func print(_ row: Row) throws(HKLogError) {
        switch format {
        case .table: table.add(columns.filter { $0.heading != nil }.map { $0.cell(row).readable })
        case .csv: try output.write(CSV.row(row, columns: columns))
        case .json:
            try output.write(rowCount == 0 ? "[\n" : ",\n")
            try output.write(json(row))
        case .jsonl:
            try output.write(json(row))
            try output.write("\n")
        }
        rowCount += 1
    }

    /// Ends the list.
    ///
    /// `empty` is said to people in place of an empty table.
    func finish(empty: String = "nothing") throws(HKLogError) {
        switch format {
        case .table:
            if rowCount == 0 {
                try output.write(empty + "\n")
            } else {
                for line in table.lines(style: style) { try output.write(line + "\n") }
            }
        case .json: try output.write(rowCount == 0 ? "[]\n" : "\n]\n")
        case .csv, .jsonl: break
        }
    }

    private func json(_ row: Row) -> [UInt8] {
        object?(row) ?? RowJSON.object(row, columns: columns)
    }
}

/// Prints one thing: an object in JSON, a header and a row in CSV, a line for each value for people.
struct ThingPrinter<Thing> {
    let columns: [Column<Thing>]
    let format: OutputFormat
    let output: OutputWriter
    let style: TextStyle

    func print(_ thing: Thing) throws(HKLogError) {
        switch format {
        case .json, .jsonl:
            try output.write(RowJSON.object(thing, columns: columns))
            try output.write("\n")
        case .csv:
            try output.write(CSV.header(columns))
            try output.write(CSV.row(thing, columns: columns))
        case .table:
            let shown = columns.filter { $0.heading != nil }
            let width = shown.map { DisplayWidth.of($0.heading ?? "") }.max() ?? 0
            for column in shown {
                let text = column.cell(thing).readable
                if text.isEmpty { continue }
                let heading = DisplayWidth.pad(column.heading ?? "", to: width)
                try output.write("\(style.faint(heading))  \(text)\n")
            }
        }
    }
}
