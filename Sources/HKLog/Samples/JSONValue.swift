/// A JSON value taken apart: numbers keep their text, objects the order of their members.
///
/// For the places that look into metadata and payloads; whoever only passes them on keeps the `JSONText`.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, to the letter.
    case number(String)
    /// A string, its escapes undone.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([Member])

    /// One member of an object.
    public struct Member: Sendable, Equatable {
        /// The key.
        public var name: String
        /// The value.
        public var value: JSONValue

        /// Makes a member.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }

        /// Compares keys as bytes.
        public static func == (left: Member, right: Member) -> Bool {
            left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
        }
    }

    /// Reads one JSON value of any kind.
    ///
    /// - Throws: `invalidData` that names the byte and what is wrong there.
    public init(parsing text: String) throws(HKLogError) {
        let bytes: [UInt8]
        do {
            let utf8 = text.utf8
            bytes = try JSONScanner.compactValue(utf8.span)
        } catch {
            throw HKLogError(.invalidData, "not JSON: \(error.reason) at byte \(error.byteOffset)")
        }
        self = try JSONValue(compact: bytes)
    }

    /// The member of an object by its key, compared as bytes; `nil` for other values.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// The members of an object; `nil` for other values.
    public var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The elements of an array; `nil` for other values.
    public var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// A string's text; `nil` for other values.
    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// A bool; `nil` for other values.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// A number as a `Double`, rounded to the nearest; `nil` for other values and beyond the range of `Double`.
    public var doubleValue: Double? {
        guard case .number(let text) = self, let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// A number that was written as an integer of 64 bits; `nil` for all else.
    public var integerValue: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }
}

extension JSONValue: Equatable {
    /// Texts are compared as bytes: forms of one character that Unicode holds equal are different values.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left.utf8.elementsEqual(right.utf8)
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSONValue {
    /// Appends the value as compact JSON, in the form that `JSONText` keeps.
    ///
    /// Numbers are written to the letter and keys are not compared; `JSONText(_:)` checks both.
    package func write(to output: inout [UInt8]) {
        switch self {
        case .null: output += Array("null".utf8)
        case .bool(let value): output += Array((value ? "true" : "false").utf8)
        case .number(let text): output += Array(text.utf8)
        case .string(let text): JSONValue.write(text, to: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                JSONValue.write(member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a string with its quotes and the shortest escapes.
    package static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars { JSONScanner.append(scalar, to: &output) }
        output.append(UInt8(ascii: "\""))
    }
}

extension JSONText {
    /// Makes the text of an object.
    ///
    /// - Throws: `invalidData` when the value is no object, a number's text is no number, a key stands twice or the
    ///   nesting is deeper than `depthLimit`.
    public init(_ value: JSONValue) throws(HKLogError) {
        var bytes: [UInt8] = []
        value.write(to: &bytes)
        try self.init(parsing: bytes)
    }

    /// The object taken apart.
    ///
    /// - Throws: `damaged` when the bytes are not JSON, which only bytes of a damaged log are.
    public var value: JSONValue {
        get throws(HKLogError) { try JSONValue(compact: bytes) }
    }
}

extension JSONValue {
    /// Reads compact text that was checked when it was written; whatever else is there does not trap.
    fileprivate init(compact bytes: [UInt8]) throws(HKLogError) {
        var reader = CompactReader(bytes: bytes)
        guard let value = reader.value(depth: 1), reader.position == bytes.count else {
            throw HKLogError(
                .damaged, "stored JSON is not valid near byte \(reader.position); run 'hklog verify'")
        }
        self = value
    }
}

private struct CompactReader {
    let bytes: [UInt8]
    var position = 0

    mutating func value(depth: Int) -> JSONValue? {
        guard position < bytes.count, depth <= JSONText.depthLimit + 1 else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "{"):
            return list(until: "}", depth: depth) { (reader: inout CompactReader) -> JSONValue.Member? in
                guard let name = reader.string(), reader.skip(":"),
                    let value = reader.value(depth: depth + 1)
                else { return nil }
                return JSONValue.Member(name, value)
            }.map(JSONValue.object)
        case UInt8(ascii: "["):
            return list(until: "]", depth: depth) { $0.value(depth: depth + 1) }.map(JSONValue.array)
        case UInt8(ascii: "\""): return string().map(JSONValue.string)
        default: return token()
        }
    }

    private mutating func list<Element>(
        until end: Unicode.Scalar, depth: Int, _ element: (inout CompactReader) -> Element?
    ) -> [Element]? {
        position += 1
        if skip(end) { return [] }
        var result: [Element] = []
        while let next = element(&self) {
            result.append(next)
            if skip(end) { return result }
            guard skip(",") else { return nil }
        }
        return nil
    }

    private mutating func string() -> String? {
        guard skip("\"") else { return nil }
        let start = position
        var hasEscapes = false
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\") {
                hasEscapes = true
                position += 1
            }
            position += 1
        }
        guard position < bytes.count else { return nil }
        let range = start..<position
        position += 1
        if !hasEscapes { return String(decoding: bytes[range], as: UTF8.self) }
        var unescaped: [UInt8] = []
        guard JSONScanner.unescape(bytes.span, range, into: &unescaped) else { return nil }
        return String(decoding: unescaped, as: UTF8.self)
    }

    private mutating func token() -> JSONValue? {
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") { break }
            position += 1
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        switch text {
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default: return Double(text) == nil ? nil : .number(text)
        }
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }
}
