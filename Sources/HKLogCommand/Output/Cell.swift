internal import HKLog
internal import HKLogJSONLines

/// One value of one column, before any format is chosen.
enum Cell {
    /// Empty, or null.
    case absent
    case text(String)
    case number(Double)
    case integer(Int64)
    case unsigned(UInt64)
    case boolean(Bool)
    /// An integer in JSON, its name elsewhere.
    case named(Int64, String)
    /// An array or object in JSON, a text elsewhere.
    case nested(json: [UInt8], text: String)
    /// One value for machines, another for people.
    indirect case forPeople(String, Cell)

    static func text(_ value: String?) -> Cell { value.map { Cell.text($0) } ?? .absent }
    static func number(_ value: Double?) -> Cell { value.map { Cell.number($0) } ?? .absent }
    static func unsigned(_ value: Int) -> Cell { .integer(Int64(value)) }

    /// A number that stands for itself, such as an anchor: digits alone, also for people.
    static func anchor(_ value: UInt64) -> Cell { .forPeople(String(value), .unsigned(value)) }
    static func anchor(_ value: UInt64?) -> Cell { value.map { Cell.anchor($0) } ?? .absent }

    /// An array in JSON, joined by semicolons elsewhere.
    static func strings(_ texts: [String]) -> Cell {
        .nested(
            json: RowJSON.array(texts.map { RowJSON.string($0) }), text: texts.joined(separator: "; "))
    }

    /// Names joined by commas, as `--prefer` reads them: a comma within a name is written `\,`.
    static func names(_ names: [String]) -> Cell {
        guard !names.isEmpty else { return .absent }
        let escaped = names.map { name in
            name.unicodeScalars.map { $0 == "," || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
        }
        return .text(escaped.joined(separator: ","))
    }

    /// The value as CSV has it before quoting: shortest numbers, plain text.
    var plain: String {
        switch self {
        case .absent: ""
        case .text(let text): text
        case .number(let value): NumberText.exact(value) ?? ""
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .boolean(let value): value ? "true" : "false"
        case .named(_, let name): name
        case .nested(_, let text): text
        case .forPeople(_, let cell): cell.plain
        }
    }

    /// The value for people.
    var readable: String {
        switch self {
        case .number(let value): NumberText.readable(value)
        case .integer(let value): NumberText.readable(Int(value))
        case .unsigned(let value): NumberText.readable(value)
        case .boolean(let value): value ? "yes" : "no"
        case .forPeople(let text, _): SafeText.line(text)
        default: SafeText.line(plain)
        }
    }

    /// The value as JSON.
    func appendJSON(to bytes: inout [UInt8]) {
        switch self {
        case .absent: bytes.append(contentsOf: "null".utf8)
        case .text(let text): JSONOutput.append(text, to: &bytes)
        case .number(let value): JSONOutput.append(value, to: &bytes)
        case .integer(let value), .named(let value, _): JSONOutput.append(value, to: &bytes)
        case .unsigned(let value): JSONOutput.append(digits: value, to: &bytes)
        case .boolean(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .nested(let json, _): bytes.append(contentsOf: json)
        case .forPeople(_, let cell): cell.appendJSON(to: &bytes)
        }
    }
}

/// One column of a command's output: the same table drives all four formats.
struct Column<Row>: Sendable {
    /// The name in CSV and the key in JSON: a contract.
    let name: String
    /// The heading for people; `nil` where the table leaves the column out.
    let heading: String?
    /// Numbers stand at the right.
    let isNumeric: Bool
    let cell: @Sendable (Row) -> Cell

    init(
        _ name: String, heading: String?, isNumeric: Bool = false, _ cell: @escaping @Sendable (Row) -> Cell
    ) {
        self.name = name
        self.heading = heading
        self.isNumeric = isNumeric
        self.cell = cell
    }

    init(_ name: String, isNumeric: Bool = false, _ cell: @escaping @Sendable (Row) -> Cell) {
        self.init(name, heading: name, isNumeric: isNumeric, cell)
    }
}
