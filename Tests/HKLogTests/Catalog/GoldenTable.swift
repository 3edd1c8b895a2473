import Foundation

/// A table of `tools/catalog`, the golden copy that the catalog is made from.
struct GoldenTable {
    let rows: [[String: String]]

    /// The folder of the package.
    private static func root(from file: String = #filePath) -> URL {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
    }

    /// The text of a file of the package.
    static func document(_ path: String) throws -> String {
        try String(contentsOf: root().appendingPathComponent(path), encoding: .utf8)
    }

    init(_ name: String) throws {
        let text = try Self.document("tools/catalog/" + name)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: true).map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        rows = lines.dropFirst().map { line in
            var row: [String: String] = [:]
            for (index, column) in lines[0].enumerated() {
                row[column] = index < line.count ? line[index] : ""
            }
            return row
        }
    }
}

extension [String: String] {
    /// A cell; empty where the table has no such column.
    func cell(_ column: String) -> String { self[column] ?? "" }
}
