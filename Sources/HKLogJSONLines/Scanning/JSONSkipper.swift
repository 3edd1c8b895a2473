extension JSONCursor {
    /// Moves past whatever value is next, checking only its strings and that its brackets end.
    ///
    /// For looking ahead; what is skipped is read for good afterwards.
    mutating func skipValue() throws(LineFault) {
        var depth = 0
        repeat {
            skipWhiteSpace()
            guard position < bytes.count else { throw malformed("a value") }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                _ = try scanString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { throw malformed("a value") }
                position += 1
            default:
                while position < bytes.count, !Self.endsBareWord(bytes[position]) { position += 1 }
            }
        } while depth > 0
        guard depth == 0 else { throw malformed("a value") }
    }

    private static func endsBareWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x0A, 0x0D, 0x09, UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: ":"),
            UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default:
            false
        }
    }
}
