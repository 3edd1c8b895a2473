/// How many columns of a terminal text takes.
enum DisplayWidth {
    /// The width of text that holds no control characters.
    static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width(of: $1) }
    }

    /// The text cut to a width, with an ellipsis where something is missing.
    static func cut(_ text: String, to limit: Int) -> String {
        guard of(text) > limit, limit > 0 else { return text }
        var result = ""
        var used = 0
        for character in text {
            let next = width(of: character)
            if used + next > limit - 1 { break }
            result.append(character)
            used += next
        }
        return result + "…"
    }

    /// The text filled up with spaces.
    static func pad(_ text: String, to width: Int, atStart: Bool = false) -> String {
        let fill = String(repeating: " ", count: max(0, width - of(text)))
        return atStart ? fill + text : text + fill
    }

    private static func width(of character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if character.unicodeScalars.contains(where: { $0.value == 0xFE0F }) { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return character.unicodeScalars.count > 1 ? 1 : 0
        default: break
        }
        return isWide(first.value) ? 2 : 1
    }

    /// East Asian wide and full-width characters, and emoji.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
            0xA000...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
