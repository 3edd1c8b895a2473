package import HKLog
package import HKLogFormat

/// The spelling of JSON that hklog writes: compact, and fit to be shown on a terminal.
///
/// Control characters, the separators that some tools take for line breaks, and the marks that turn the direction
/// of writing are escaped in strings; everything else stands as UTF-8.
package enum JSONOutput {
    /// Appends a string with its quotes.
    package static func append(_ text: String, to output: inout [UInt8]) {
        var copy = text
        copy.withUTF8 { bytes in
            unsafe append(text: Span(_unsafeElements: bytes), to: &output)
        }
    }

    /// Appends a string with its quotes, given as its bytes, which are UTF-8.
    package static func append(text: Span<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        var start = 0
        var index = 0
        let cursor = JSONCursor(text)
        while index < text.count {
            if index + 8 <= text.count,
                JSONCursor.bytesOfNote(in: cursor.word(at: index) | deletes(cursor, index)) == 0
            {
                index += 8
                continue
            }
            let byte = text[index]
            let escaped: Int
            if byte == 0x22 || byte == 0x5C || byte < 0x20 {
                output.append(copying: text, in: start..<index)
                appendShortestEscape(byte, to: &output)
                escaped = 1
            } else {
                escaped = unprintableByteCount(text, at: index)
                if escaped > 0 {
                    output.append(copying: text, in: start..<index)
                    appendUnicodeEscape(text, index..<index + escaped, to: &output)
                }
            }
            index += max(1, escaped)
            if escaped > 0 { start = index }
        }
        output.append(copying: text, in: start..<text.count)
        output.append(UInt8(ascii: "\""))
    }

    /// Appends metadata or a payload: compact JSON already, in which only what should not be shown raw is escaped.
    package static func append(json: Span<UInt8>, to output: inout [UInt8]) {
        var start = 0
        var index = 0
        let cursor = JSONCursor(json)
        let highs: UInt64 = 0x8080_8080_8080_8080
        while index < json.count {
            if index + 8 <= json.count, (cursor.word(at: index) | deletes(cursor, index)) & highs == 0 {
                index += 8
                continue
            }
            let escaped = unprintableByteCount(json, at: index)
            if escaped > 0 {
                output.append(copying: json, in: start..<index)
                appendUnicodeEscape(json, index..<index + escaped, to: &output)
                start = index + escaped
            }
            index += max(1, escaped)
        }
        output.append(copying: json, in: start..<json.count)
    }

    /// The high bit where one of eight bytes is U+007F or not ASCII: adding one carries into it.
    @inline(__always)
    private static func deletes(_ cursor: borrowing JSONCursor, _ index: Int) -> UInt64 {
        let lows: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
        return ((cursor.word(at: index) & lows) &+ 0x0101_0101_0101_0101) & ~lows
    }

    /// How many bytes the character at `index` has, if it must not be shown raw, else 0.
    private static func unprintableByteCount(_ text: Span<UInt8>, at index: Int) -> Int {
        switch text[index] {
        case 0x7F:
            return 1
        case 0xC2 where index + 1 < text.count && text[index + 1] < 0xA0:
            return 2
        case 0xE2 where index + 2 < text.count:
            switch (text[index + 1], text[index + 2]) {
            // U+200E, U+200F; U+2028 to U+202E; U+2066 to U+2069.
            case (0x80, 0x8E...0x8F), (0x80, 0xA8...0xAE), (0x81, 0xA6...0xA9): return 3
            default: return 0
            }
        default:
            return 0
        }
    }

    private static func appendUnicodeEscape(
        _ text: Span<UInt8>, _ range: Range<Int>, to output: inout [UInt8]
    ) {
        var scalar = UInt16(text[range.lowerBound])
        switch range.count {
        case 2: scalar = (scalar & 0x1F) << 6 | UInt16(text[range.lowerBound + 1] & 0x3F)
        case 3:
            scalar =
                (scalar & 0x0F) << 12 | UInt16(text[range.lowerBound + 1] & 0x3F) << 6
                | UInt16(text[range.lowerBound + 2] & 0x3F)
        default: break
        }
        output.append(UInt8(ascii: "\\"))
        output.append(UInt8(ascii: "u"))
        for shift: UInt16 in [12, 8, 4, 0] {
            output.append(hexDigit(UInt8(truncatingIfNeeded: scalar >> shift) & 15))
        }
    }

    /// Appends a number: whole ones plainly, others in the fewest digits that read back the same.
    ///
    /// What is not finite, which JSON cannot say, is `null`.
    package static func append(_ value: Double, to output: inout [UInt8]) {
        guard value.isFinite else { return output.append(contentsOf: "null".utf8) }
        let magnitude = value.magnitude
        if value.sign == .minus { output.append(UInt8(ascii: "-")) }
        if magnitude < 0x1p53 {
            let whole = UInt64(magnitude)
            if Double(whole) == magnitude { return append(digits: whole, to: &output) }
            // Few decimals are common. With at most 15 digits in all a decimal is the only one of its length, so the
            // first that reads back the same is the shortest.
            var scale = 10.0
            for decimals in 1...4 {
                let scaled = (magnitude * scale).rounded()
                if scaled < 1e15, scaled / scale == magnitude {
                    return append(UInt64(scaled), decimals: decimals, to: &output)
                }
                scale *= 10
            }
        }
        output.append(contentsOf: magnitude.description.utf8)
        // `description` writes 1e+16 as `1e+16`, but whole numbers below that with `.0`.
        if output.suffix(2).elementsEqual(".0".utf8) { output.removeLast(2) }
    }

    private static func append(_ scaled: UInt64, decimals: Int, to output: inout [UInt8]) {
        var divisor: UInt64 = 1
        for _ in 0..<decimals { divisor *= 10 }
        append(digits: scaled / divisor, to: &output)
        output.append(UInt8(ascii: "."))
        var rest = scaled % divisor
        for _ in 0..<decimals {
            divisor /= 10
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
        }
    }

    /// Appends an integer.
    package static func append(_ value: Int64, to output: inout [UInt8]) {
        if value < 0 { output.append(UInt8(ascii: "-")) }
        append(digits: value.magnitude, to: &output)
    }

    /// Appends an integer.
    package static func append(digits value: UInt64, to output: inout [UInt8]) {
        if value < 10 { return output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value)) }
        let start = output.count
        var rest = value
        while rest > 0 {
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
        output[start...].reverse()
    }

    /// Appends the upper-case text of a uuid with its quotes.
    package static func append(_ uuid: RawUUID, to output: inout [UInt8]) {
        output.append(addingCapacity: 38) { (text: inout OutputSpan<UInt8>) in
            text.append(UInt8(ascii: "\""))
            for index in 0..<16 {
                if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
                let word = index < 8 ? uuid.first : uuid.second
                let byte = UInt8(truncatingIfNeeded: word >> UInt64((index & 7) * 8))
                text.append(hexDigit(byte >> 4))
                text.append(hexDigit(byte & 15))
            }
            text.append(UInt8(ascii: "\""))
        }
    }

    /// Appends an instant with its quotes.
    package static func append(_ instant: Timestamp, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        instant.appendText(to: &output)
        output.append(UInt8(ascii: "\""))
    }
}
