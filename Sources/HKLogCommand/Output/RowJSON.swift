internal import HKLogJSONLines

/// JSON of rows.
enum RowJSON {
    /// One object with a key for each column.
    static func object<Row>(_ row: Row, columns: [Column<Row>]) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, column) in columns.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONOutput.append(column.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            column.cell(row).appendJSON(to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// An array of values that are JSON already.
    static func array(_ values: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: value)
        }
        bytes.append(UInt8(ascii: "]"))
        return bytes
    }

    /// An object of values that are JSON already.
    static func object(_ members: [(String, [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONOutput.append(member.0, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: member.1)
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// A string, with what no terminal should see escaped.
    static func string(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONOutput.append(text, to: &bytes)
        return bytes
    }
}
