/// CSV after RFC 4180: a header row, CRLF at the ends, quotes where they are needed.
enum CSV {
    static func header<Row>(_ columns: [Column<Row>]) -> String {
        columns.map { field($0.name) }.joined(separator: ",") + "\r\n"
    }

    static func row<Row>(_ row: Row, columns: [Column<Row>]) -> String {
        var line = ""
        for (index, column) in columns.enumerated() {
            if index > 0 { line += "," }
            line += field(column.cell(row).plain)
        }
        line += "\r\n"
        return line
    }

    /// One cell: no control characters, and nothing that a spreadsheet would run as a formula.
    static func field(_ text: String) -> String {
        var safe = SafeText.line(text)
        if let first = safe.utf8.first, "=+-@".utf8.contains(first), !isNumber(safe) { safe = "'" + safe }
        guard safe.utf8.contains(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }) else {
            return safe
        }
        return "\"" + safe.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
            + "\""
    }

    /// Sign, digits, fraction, exponent, and nothing else.
    static func isNumber(_ text: String) -> Bool {
        var rest = Substring(text).utf8
        func dropDigits() -> Bool {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            rest = rest.dropFirst(digits.count)
            return !digits.isEmpty
        }
        func dropSign() {
            if let first = rest.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
                rest = rest.dropFirst()
            }
        }
        dropSign()
        guard dropDigits() else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard dropDigits() else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            dropSign()
            guard dropDigits() else { return false }
        }
        return rest.isEmpty
    }
}
