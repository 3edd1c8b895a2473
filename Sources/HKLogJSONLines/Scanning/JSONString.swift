internal import HKLog

/// A string of the line: the range between its quotes, checked and not yet unescaped.
struct JSONStringToken {
    /// The first byte after the opening quote.
    var start: Int
    /// The closing quote.
    var end: Int
    /// Whether a backslash stands in it.
    var hasEscapes: Bool
    /// How many bytes of UTF-8 it is once unescaped.
    var byteCount: Int
}

extension JSONCursor {
    /// Skips white space and moves past a string, or throws.
    @inline(__always)
    mutating func readString(_ expected: String) throws(LineFault) -> JSONStringToken {
        skipWhiteSpace()
        guard next == UInt8(ascii: "\"") else { throw malformed(expected) }
        return try scanString()
    }

    /// Moves past the string whose opening quote is next, checking every byte of it.
    @inline(__always)
    mutating func scanString() throws(LineFault) -> JSONStringToken {
        let start = position &+ 1
        var index = start
        // Eight bytes at a time while nothing among them wants a closer look.
        while index &+ 8 <= bytes.count {
            let found = Self.bytesOfNote(in: word(at: index))
            if found == 0 {
                index &+= 8
                continue
            }
            index &+= found.trailingZeroBitCount >> 3
            if bytes[index] == UInt8(ascii: "\"") {
                position = index &+ 1
                return JSONStringToken(start: start, end: index, hasEscapes: false, byteCount: index &- start)
            }
            break
        }
        return try scanSlowly(from: start, at: index)
    }

    /// The high bit of each byte that is a quote, a backslash, a control character or not ASCII.
    ///
    /// Exact for the lowest such byte; bits above it may be set by a borrow.
    @inline(__always)
    static func bytesOfNote(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        let control = (word &- (ones &* 0x20)) & ~word
        return (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | control | word) & highs
    }

    @inline(never)
    private mutating func scanSlowly(from start: Int, at first: Int) throws(LineFault) -> JSONStringToken {
        var index = first
        var dropped = 0
        var hasEscapes = false
        while true {
            guard index < bytes.count else {
                position = bytes.count
                throw malformed("the closing quote of a string")
            }
            if index &+ 8 <= bytes.count, Self.bytesOfNote(in: word(at: index)) == 0 {
                index &+= 8
                continue
            }
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                position = index + 1
                return JSONStringToken(
                    start: start, end: index, hasEscapes: hasEscapes, byteCount: index - start - dropped)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                let escape = try checkEscape(at: index)
                dropped += escape.byteCount - escape.utf8ByteCount
                index += escape.byteCount
            case 0..<0x20:
                position = index
                throw malformed("control characters in strings to be escaped")
            case 0x80...:
                index += try utf8SequenceByteCount(at: index)
            default:
                index += 1
            }
        }
    }

    private mutating func checkEscape(
        at index: Int
    ) throws(LineFault) -> (byteCount: Int, utf8ByteCount: Int, scalar: UInt32) {
        position = index
        guard index + 1 < bytes.count else { throw malformed("an escape sequence") }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""): return (2, 1, 0x22)
        case UInt8(ascii: "\\"): return (2, 1, 0x5C)
        case UInt8(ascii: "/"): return (2, 1, 0x2F)
        case UInt8(ascii: "b"): return (2, 1, 0x08)
        case UInt8(ascii: "f"): return (2, 1, 0x0C)
        case UInt8(ascii: "n"): return (2, 1, 0x0A)
        case UInt8(ascii: "r"): return (2, 1, 0x0D)
        case UInt8(ascii: "t"): return (2, 1, 0x09)
        case UInt8(ascii: "u"): break
        default: throw malformed("an escape sequence")
        }
        guard let unit = hexUnit(at: index + 2) else { throw malformed("four hexadecimal digits after \\u") }
        switch unit {
        case 0..<0x80: return (6, 1, unit)
        case 0x80..<0x800: return (6, 2, unit)
        case 0xD800..<0xDC00:
            guard index + 7 < bytes.count, bytes[index + 6] == UInt8(ascii: "\\"),
                bytes[index + 7] == UInt8(ascii: "u"), let low = hexUnit(at: index + 8),
                (0xDC00..<0xE000).contains(low)
            else { throw malformed("a surrogate pair, not half of one") }
            return (12, 4, 0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        case 0xDC00..<0xE000: throw malformed("a surrogate pair, not half of one")
        default: return (6, 3, unit)
        }
    }

    private func hexUnit(at index: Int) -> UInt32? {
        guard index + 4 <= bytes.count else { return nil }
        var unit: UInt32 = 0
        for offset in 0..<4 {
            guard let digit = hexValue(bytes[index + offset]) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    /// The length of the well-formed UTF-8 sequence that begins with the non-ASCII byte at `index` (Unicode
    /// standard, table 3-7), or throws.
    private mutating func utf8SequenceByteCount(at index: Int) throws(LineFault) -> Int {
        func byte(_ offset: Int) -> UInt8 { index + offset < bytes.count ? bytes[index + offset] : 0 }
        func continues(_ offset: Int) -> Bool { byte(offset) & 0xC0 == 0x80 }
        let first = bytes[index]
        let second = byte(1)
        switch first {
        case 0xC2...0xDF where continues(1): return 2
        case 0xE0 where (0xA0...0xBF).contains(second) && continues(2): return 3
        case 0xED where (0x80...0x9F).contains(second) && continues(2): return 3
        case 0xE1...0xEC where continues(1) && continues(2): return 3
        case 0xEE...0xEF where continues(1) && continues(2): return 3
        case 0xF0 where (0x90...0xBF).contains(second) && continues(2) && continues(3): return 4
        case 0xF1...0xF3 where continues(1) && continues(2) && continues(3): return 4
        case 0xF4 where (0x80...0x8F).contains(second) && continues(2) && continues(3): return 4
        default:
            position = index
            throw LineFault(at: index, "malformed UTF-8: expected a well-formed sequence")
        }
    }

    /// Appends the text of a string that has been scanned, unescaped.
    mutating func appendText(of token: JSONStringToken, to output: inout [UInt8]) throws(LineFault) {
        let resume = position
        guard token.hasEscapes else {
            output.append(copying: bytes, in: token.start..<token.end)
            return
        }
        var index = token.start
        while index < token.end {
            if bytes[index] != UInt8(ascii: "\\") {
                output.append(bytes[index])
                index += 1
                continue
            }
            let escape = try checkEscape(at: index)
            appendUTF8(escape.scalar, to: &output)
            index += escape.byteCount
        }
        position = resume
    }

    /// Appends the string that has been scanned as a JSON string with the shortest escapes, quotes included.
    mutating func appendCompact(_ token: JSONStringToken, to output: inout [UInt8]) throws(LineFault) {
        let resume = position
        output.append(UInt8(ascii: "\""))
        if !token.hasEscapes {
            output.append(copying: bytes, in: token.start..<token.end)
        } else {
            var index = token.start
            while index < token.end {
                if bytes[index] != UInt8(ascii: "\\") {
                    output.append(bytes[index])
                    index += 1
                    continue
                }
                let escape = try checkEscape(at: index)
                switch escape.scalar {
                case 0x22, 0x5C, 0..<0x20: appendShortestEscape(UInt8(escape.scalar), to: &output)
                default: appendUTF8(escape.scalar, to: &output)
                }
                index += escape.byteCount
            }
        }
        output.append(UInt8(ascii: "\""))
        position = resume
    }

    /// The text of a string that has been scanned.
    mutating func text(of token: JSONStringToken) throws(LineFault) -> String {
        var copy: [UInt8] = []
        copy.reserveCapacity(token.byteCount)
        try appendText(of: token, to: &copy)
        return String(decoding: copy, as: UTF8.self)
    }
}

private func appendUTF8(_ scalar: UInt32, to output: inout [UInt8]) {
    switch scalar {
    case 0..<0x80:
        output.append(UInt8(scalar))
    case 0x80..<0x800:
        output.append(UInt8(0xC0 | scalar >> 6))
        output.append(UInt8(0x80 | scalar & 0x3F))
    case 0x800..<0x1_0000:
        output.append(UInt8(0xE0 | scalar >> 12))
        output.append(UInt8(0x80 | scalar >> 6 & 0x3F))
        output.append(UInt8(0x80 | scalar & 0x3F))
    default:
        output.append(UInt8(0xF0 | scalar >> 18 & 0x07))
        output.append(UInt8(0x80 | scalar >> 12 & 0x3F))
        output.append(UInt8(0x80 | scalar >> 6 & 0x3F))
        output.append(UInt8(0x80 | scalar & 0x3F))
    }
}

extension [UInt8] {
    /// Appends a part of a span.
    @inline(__always)
    mutating func append(copying bytes: Span<UInt8>, in range: Range<Int>) {
        let part = bytes.extracting(range)
        unsafe part.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
