import Foundation
import Testing

/// What the documents say of the command line is what it does.
struct DocumentTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test(arguments: ArgumentTests.commands)
    func `the command line's document has each command with its options`(
        command: String, options: [String]
    ) throws {
        let file = Self.root.appending(path: "docs/command.md")
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let heading = text.split(separator: "\n").first {
            $0.hasPrefix("### `hklog \(command) ") || $0 == "### `hklog \(command)`"
        }
        for option in options { #expect(heading?.contains("--\(option)") == true, "\(command) --\(option)") }
        #expect(heading != nil)
    }
}
