extension JSONText {
    /// How deep objects and arrays may stand in one another.
    public static let depthLimit = 64

    /// Checks a JSON object's text and makes it compact.
    ///
    /// Refused are: anything but one object, a key that stands twice (after its escapes are undone), nesting beyond
    /// `depthLimit`, UTF-8 that is not valid, half of a surrogate pair, `NaN` and other words that are not JSON.
    ///
    /// - Throws: `invalidData` that names the byte and what is wrong there.
    public init(parsing text: String) throws(HKLogError) {
        try self.init(parsing: Array(text.utf8))
    }

    /// Checks the bytes of a JSON object's text and makes it compact; see `init(parsing:)` of a string.
    public init(parsing bytes: [UInt8]) throws(HKLogError) {
        do {
            self.init(uncheckedCompactObject: try JSONScanner.compactObject(bytes.span))
        } catch {
            throw HKLogError(
                .invalidData, "not a JSON object: \(error.reason) at byte \(error.byteOffset)")
        }
    }
}

/// What is wrong in a JSON text, and at which byte.
package struct JSONFault: Error, Equatable, Sendable {
    package var reason: String
    package var byteOffset: Int
}

/// Reads JSON text strictly (RFC 8259) and writes it compactly, as `JSONText` describes.
package struct JSONScanner: Sendable {
    private var position = 0
    private var output: [UInt8] = []

    private init() {}

    /// The compact form of a text that must be one object.
    package static func compactObject(_ bytes: Span<UInt8>) throws(JSONFault) -> [UInt8] {
        var scanner = JSONScanner()
        scanner.skipSpace(bytes)
        guard scanner.peek(bytes) == UInt8(ascii: "{") else { throw scanner.fault("a '{' is expected") }
        return try scanner.whole(bytes)
    }

    /// The compact form of a text that is one value of any kind.
    package static func compactValue(_ bytes: Span<UInt8>) throws(JSONFault) -> [UInt8] {
        var scanner = JSONScanner()
        return try scanner.whole(bytes)
    }

    private mutating func whole(_ bytes: Span<UInt8>) throws(JSONFault) -> [UInt8] {
        output.reserveCapacity(bytes.count)
        skipSpace(bytes)
        try value(bytes, depth: 1)
        skipSpace(bytes)
        guard position == bytes.count else { throw fault("something follows the end") }
        return output
    }

    private mutating func value(_ bytes: Span<UInt8>, depth: Int) throws(JSONFault) {
        guard let first = peek(bytes) else { throw fault("a value is expected") }
        switch first {
        case UInt8(ascii: "{"): try object(bytes, depth: depth)
        case UInt8(ascii: "["): try array(bytes, depth: depth)
        case UInt8(ascii: "\""): try string(bytes)
        case UInt8(ascii: "t"): try word("true", bytes)
        case UInt8(ascii: "f"): try word("false", bytes)
        case UInt8(ascii: "n"): try word("null", bytes)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(bytes)
        default: throw fault("a value is expected")
        }
    }

    private mutating func object(_ bytes: Span<UInt8>, depth: Int) throws(JSONFault) {
        guard depth <= JSONText.depthLimit else { throw fault("nested deeper than \(JSONText.depthLimit)") }
        var keys = JSONKeySet()
        copy(bytes)
        skipSpace(bytes)
        if peek(bytes) == UInt8(ascii: "}") { return copy(bytes) }
        while true {
            guard peek(bytes) == UInt8(ascii: "\"") else { throw fault("a key is expected") }
            let (keyOffset, outputOffset) = (position, output.count)
            try string(bytes)
            // Equal keys have equal compact forms, whatever escapes they came with.
            guard keys.insert(outputOffset..<output.count, of: output) else {
                throw fault("a key that stands twice", at: keyOffset)
            }
            skipSpace(bytes)
            guard peek(bytes) == UInt8(ascii: ":") else { throw fault("a ':' is expected") }
            copy(bytes)
            skipSpace(bytes)
            try value(bytes, depth: depth + 1)
            skipSpace(bytes)
            switch peek(bytes) {
            case UInt8(ascii: ","):
                copy(bytes)
                skipSpace(bytes)
            case UInt8(ascii: "}"): return copy(bytes)
            default: throw fault("a ',' or '}' is expected")
            }
        }
    }

    private mutating func array(_ bytes: Span<UInt8>, depth: Int) throws(JSONFault) {
        guard depth <= JSONText.depthLimit else { throw fault("nested deeper than \(JSONText.depthLimit)") }
        copy(bytes)
        skipSpace(bytes)
        if peek(bytes) == UInt8(ascii: "]") { return copy(bytes) }
        while true {
            try value(bytes, depth: depth + 1)
            skipSpace(bytes)
            switch peek(bytes) {
            case UInt8(ascii: ","):
                copy(bytes)
                skipSpace(bytes)
            case UInt8(ascii: "]"): return copy(bytes)
            default: throw fault("a ',' or ']' is expected")
            }
        }
    }

    private mutating func string(_ bytes: Span<UInt8>) throws(JSONFault) {
        copy(bytes)
        while let byte = peek(bytes) {
            switch byte {
            case UInt8(ascii: "\""): return copy(bytes)
            case UInt8(ascii: "\\"):
                guard let (scalar, byteCount) = Self.escape(bytes, at: position, before: bytes.count) else {
                    throw fault("an escape that JSON does not have")
                }
                Self.append(scalar, to: &output)
                position += byteCount
            case 0..<0x20: throw fault("a control character in a string")
            case 0x20..<0x80: copy(bytes)
            default:
                let byteCount = Self.characterByteCount(bytes, at: position)
                guard byteCount > 0 else { throw fault("not valid UTF-8") }
                for _ in 0..<byteCount { copy(bytes) }
            }
        }
        throw fault("a string without its end")
    }

    private mutating func word(_ word: StaticString, _ bytes: Span<UInt8>) throws(JSONFault) {
        guard Catalog.starts(bytes.extracting(droppingFirst: position), with: word) else {
            throw fault("a value is expected")
        }
        for _ in 0..<word.utf8CodeUnitCount { copy(bytes) }
    }

    private mutating func number(_ bytes: Span<UInt8>) throws(JSONFault) {
        let start = position
        if peek(bytes) == UInt8(ascii: "-") { copy(bytes) }
        let leadingZero = peek(bytes) == UInt8(ascii: "0")
        let wholeDigits = digits(bytes)
        guard wholeDigits > 0, !leadingZero || wholeDigits == 1 else { throw fault("no number", at: start) }
        if peek(bytes) == UInt8(ascii: ".") {
            copy(bytes)
            guard digits(bytes) > 0 else { throw fault("no number", at: start) }
        }
        if let mark = peek(bytes), mark == UInt8(ascii: "e") || mark == UInt8(ascii: "E") {
            copy(bytes)
            if let sign = peek(bytes), sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { copy(bytes) }
            guard digits(bytes) > 0 else { throw fault("no number", at: start) }
        }
    }

    private mutating func digits(_ bytes: Span<UInt8>) -> Int {
        let start = position
        while let byte = peek(bytes), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { copy(bytes) }
        return position - start
    }

    /// Takes the next byte over; sound, because `peek` has seen it.
    private mutating func copy(_ bytes: Span<UInt8>) {
        output.append(bytes[position])
        position += 1
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>) {
        while let byte = peek(bytes), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private func peek(_ bytes: Span<UInt8>) -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    private func fault(_ reason: String, at byteOffset: Int? = nil) -> JSONFault {
        JSONFault(reason: reason, byteOffset: byteOffset ?? position)
    }
}

extension JSONScanner {
    /// Writes what stands between a string's quotes with its escapes undone; false where an escape is not valid.
    static func unescape(_ bytes: Span<UInt8>, _ range: Range<Int>, into result: inout [UInt8]) -> Bool {
        guard range.upperBound <= bytes.count else { return false }
        var index = range.lowerBound
        while index < range.upperBound {
            if bytes[index] != UInt8(ascii: "\\") {
                result.append(bytes[index])
                index += 1
                continue
            }
            guard let (scalar, byteCount) = escape(bytes, at: index, before: range.upperBound) else {
                return false
            }
            result.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
            index += byteCount
        }
        return true
    }

    /// The character that an escape stands for, and how long the escape is; a surrogate pair is one.
    static func escape(
        _ bytes: Span<UInt8>, at start: Int, before end: Int
    ) -> (scalar: Unicode.Scalar, byteCount: Int)? {
        guard start + 1 < end else { return nil }
        switch bytes[start + 1] {
        case UInt8(ascii: "\""): return ("\"", 2)
        case UInt8(ascii: "\\"): return ("\\", 2)
        case UInt8(ascii: "/"): return ("/", 2)
        case UInt8(ascii: "b"): return ("\u{8}", 2)
        case UInt8(ascii: "f"): return ("\u{C}", 2)
        case UInt8(ascii: "n"): return ("\n", 2)
        case UInt8(ascii: "r"): return ("\r", 2)
        case UInt8(ascii: "t"): return ("\t", 2)
        case UInt8(ascii: "u"):
            guard let first = codeUnit(bytes, at: start + 2, before: end) else { return nil }
            if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
            guard first < 0xDC00, start + 7 < end, bytes[start + 6] == UInt8(ascii: "\\"),
                bytes[start + 7] == UInt8(ascii: "u"),
                let second = codeUnit(bytes, at: start + 8, before: end), second >= 0xDC00, second < 0xE000,
                let scalar = Unicode.Scalar(
                    0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
            else { return nil }
            return (scalar, 12)
        default: return nil
        }
    }

    private static func codeUnit(_ bytes: Span<UInt8>, at start: Int, before end: Int) -> UInt16? {
        guard end - start >= 4 else { return nil }
        var result: UInt16 = 0
        for index in start..<start + 4 {
            guard let digit = hexValue(bytes[index]) else { return nil }
            result = result << 4 | UInt16(digit)
        }
        return result
    }

    /// Writes a character with the shortest escape, or as UTF-8 where it needs none.
    static func append(_ scalar: Unicode.Scalar, to output: inout [UInt8]) {
        switch scalar {
        case "\"", "\\", "\0"..<" ": appendShortestEscape(UInt8(scalar.value), to: &output)
        default:
            if let encoded = UTF8.encode(scalar) { output.append(contentsOf: encoded) }
        }
    }

    /// How many bytes the UTF-8 character here has (2 to 4); 0 where it is not valid.
    static func characterByteCount(_ bytes: Span<UInt8>, at start: Int) -> Int {
        let first = bytes[start]
        let byteCount = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, first <= 0xF4, bytes.count - start >= byteCount else { return 0 }
        for index in start + 1..<start + byteCount where bytes[index] & 0xC0 != 0x80 { return 0 }
        let second = bytes[start + 1]
        switch first {
        case 0xE0: return second >= 0xA0 ? 3 : 0
        case 0xED: return second < 0xA0 ? 3 : 0
        case 0xF0: return second >= 0x90 ? 4 : 0
        case 0xF4: return second < 0x90 ? 4 : 0
        default: return byteCount
        }
    }
}

/// Writes the escape of a quote, a backslash or a control character below U+0020 in the form that `JSONText`
/// documents.
package func appendShortestEscape(_ byte: UInt8, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
    case 0x08: output.append(UInt8(ascii: "b"))
    case 0x0C: output.append(UInt8(ascii: "f"))
    case 0x0A: output.append(UInt8(ascii: "n"))
    case 0x0D: output.append(UInt8(ascii: "r"))
    case 0x09: output.append(UInt8(ascii: "t"))
    default:
        output.append(contentsOf: "u00".utf8)
        output.append(hexDigit(byte >> 4))
        output.append(hexDigit(byte & 15))
    }
}

/// The keys of one object so far: compared one by one while they are few, hashed afterwards.
private struct JSONKeySet {
    private var few: [Range<Int>] = []
    private var many: Set<[UInt8]> = []

    /// Adds the key that stands at a range of the text; false when it is there already.
    mutating func insert(_ key: Range<Int>, of text: [UInt8]) -> Bool {
        if many.isEmpty, few.count < 12 {
            for other in few where other.count == key.count && text[other].elementsEqual(text[key]) {
                return false
            }
            few.append(key)
            return true
        }
        if many.isEmpty { many = Set(few.map { Array(text[$0]) }) }
        return many.insert(Array(text[key])).inserted
    }
}
