/// The names that an object may use as keys.
struct FieldNames: Sendable {
    private var bytes: [UInt8] = []
    private var ranges: [Range<Int>] = []

    init(_ names: [String]) {
        for name in names {
            ranges.append(bytes.count..<bytes.count + name.utf8.count)
            bytes.append(contentsOf: name.utf8)
        }
    }

    /// The name of a number.
    func name(_ index: Int) -> String { String(decoding: bytes[ranges[index]], as: UTF8.self) }

    /// Which of the names is at `text`, byte by byte.
    func index(of text: Span<UInt8>) -> Int? {
        for (index, range) in ranges.enumerated() where range.count == text.count {
            if JSONCursor(text).starts(with: bytes.span, in: range) { return index }
        }
        return nil
    }
}

extension JSONCursor {
    /// Reads a key and the colon after it, up to the value; gives the number of its name.
    ///
    /// `seen` collects the names, one bit each; a name that stands twice or is none of `names` throws.
    mutating func readField(_ names: FieldNames, seen: inout UInt64, of what: String) throws(LineFault) -> Int
    {
        let token = try readString("a key")
        var unescaped: [UInt8] = []
        var found: Int?
        if token.hasEscapes {
            try appendText(of: token, to: &unescaped)
            found = names.index(of: unescaped.span)
        } else {
            found = names.index(of: bytes.extracting(token.start..<token.end))
        }
        guard let index = found else { throw unknownField(token, of: what) }
        guard seen & 1 << UInt64(index) == 0 else { throw repeatedField(token) }
        seen |= 1 << UInt64(index)
        try expect(UInt8(ascii: ":"), "':' after a key")
        skipWhiteSpace()
        return index
    }

    mutating func unknownField(_ token: JSONStringToken, of what: String) -> LineFault {
        LineFault(at: token.start - 1, in: printableText(of: token), "a field that \(what) has")
    }

    mutating func repeatedField(_ token: JSONStringToken) -> LineFault {
        LineFault(at: token.start - 1, in: printableText(of: token), "each key once")
    }

    private mutating func printableText(of token: JSONStringToken) -> String {
        var text: [UInt8] = []
        do throws(LineFault) {
            try appendText(of: token, to: &text)
        } catch {
            // The scan has checked every escape.
            text.removeAll()
        }
        return printable(text[...])
    }

    /// After a member or element: `true` where another follows, `false` where the container has ended.
    @inline(__always)
    mutating func readSeparator(end: UInt8) throws(LineFault) -> Bool {
        skipWhiteSpace()
        let byte = next
        guard byte == UInt8(ascii: ",") || byte == end else {
            throw malformed(end == UInt8(ascii: "}") ? "',' or '}'" : "',' or ']'")
        }
        position += 1
        return byte != end
    }
}
