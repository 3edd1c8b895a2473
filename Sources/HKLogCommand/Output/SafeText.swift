/// Makes text from data harmless where it is printed.
///
/// Control characters could drive the reader's terminal, and bidirectional marks could make text look like
/// something else; both are shown as escapes. What is printed as JSON stays the same value for a JSON reader.
enum SafeText {
    /// The text on one line, with nothing that a terminal would obey.
    static func line(_ text: String) -> String {
        // Nearly every text is plain ASCII, which a look at its bytes shows.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        guard text.unicodeScalars.contains(where: isDangerous) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x100 && isDangerous(scalar):
                result += "\\x" + hex(scalar.value, digits: 2)
            case _ where isDangerous(scalar): result += "\\u{" + hex(scalar.value, digits: 4) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// C0 and C1 controls, DEL, and the characters that turn the direction of writing or end a line.
    static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        // Language tags and interlinear marks are invisible, and no name needs them.
        case 0xFEFF, 0xFFF9...0xFFFB, 0xE0001, 0xE0020...0xE007F: true
        default: false
        }
    }

    /// The text for a page: dangerous characters are shown, markup is not markup.
    static func markup(_ text: String) -> String {
        var result = ""
        for character in line(text).unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            // No XML document may hold these, not even as references.
            case "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    static func hex(_ value: UInt32, digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
