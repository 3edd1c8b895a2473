/// The rows of a table in `CatalogTables`; those with too few columns are left out.
struct TableRows: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private let columnCount: Int
    private var position = 0

    init(_ table: String, columnCount: Int) {
        self.bytes = Array(table.utf8)
        self.columnCount = columnCount
    }

    mutating func next() -> TableRow? {
        while position < bytes.count {
            var row = TableRow(bytes: bytes)
            var start = position
            while position < bytes.count, bytes[position] != UInt8(ascii: "\n") {
                if bytes[position] == UInt8(ascii: "|") {
                    row.add(start..<position)
                    start = position + 1
                }
                position += 1
            }
            row.add(start..<position)
            position += 1
            if row.count >= columnCount { return row }
        }
        return nil
    }
}

/// One row: its columns become strings only where they are asked for.
struct TableRow {
    private let bytes: [UInt8]
    private var columns = [8 of Range<Int>](repeating: 0..<0)
    private(set) var count = 0

    fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

    fileprivate mutating func add(_ column: Range<Int>) {
        guard count < columns.count else { return }
        columns[count] = column
        count += 1
    }

    subscript(_ column: Int) -> String { String(decoding: bytes[columns[column]], as: UTF8.self) }

    /// The column after a prefix that the table leaves out.
    func text(_ column: Int, after prefix: String) -> String {
        var result = prefix
        result.reserveCapacity(prefix.utf8.count + columns[column].count)
        result += self[column]
        return result
    }

    /// A column of decimal digits; `nil` for anything else.
    func integer(_ column: Int) -> Int64? {
        guard !isEmpty(column), columns[column].count <= 18 else { return nil }
        var value: Int64 = 0
        var digits = columns[column]
        let isNegative = bytes[digits.lowerBound] == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        for byte in bytes[digits] {
            let digit = byte &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            // Sound: at most eighteen digits.
            value = value * 10 + Int64(digit)
        }
        return isNegative ? -value : value
    }

    func isEmpty(_ column: Int) -> Bool { columns[column].isEmpty }
}
