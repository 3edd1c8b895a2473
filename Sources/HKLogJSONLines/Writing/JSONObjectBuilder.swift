/// Builds one object of JSON, member by member, for output that is no batch: answers of commands.
///
/// Keys are written as they are given; they are the program's own.
package struct JSONObjectBuilder {
    /// The object so far, without its closing brace.
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    package init() {}

    /// Adds a text, or null.
    package mutating func add(_ key: StaticString, _ value: String?) {
        addKey(key)
        guard let value else { return addNull() }
        JSONOutput.append(value, to: &bytes)
    }

    /// Adds an integer, or null.
    package mutating func add(_ key: StaticString, _ value: Int64?) {
        addKey(key)
        guard let value else { return addNull() }
        JSONOutput.append(value, to: &bytes)
    }

    /// Adds an integer that is not negative, or null.
    package mutating func add(_ key: StaticString, _ value: UInt64?) {
        addKey(key)
        guard let value else { return addNull() }
        JSONOutput.append(digits: value, to: &bytes)
    }

    /// Adds a count, or null.
    package mutating func add(_ key: StaticString, _ value: Int?) {
        add(key, value.map { Int64($0) })
    }

    /// Adds a number, or null; one that is not finite is null, too.
    package mutating func add(_ key: StaticString, _ value: Double?) {
        addKey(key)
        guard let value else { return addNull() }
        JSONOutput.append(value, to: &bytes)
    }

    /// Adds true or false, or null.
    package mutating func add(_ key: StaticString, _ value: Bool?) {
        addKey(key)
        guard let value else { return addNull() }
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Adds an array of objects.
    package mutating func add(_ key: StaticString, _ objects: [JSONObjectBuilder]) {
        addKey(key)
        bytes.append(UInt8(ascii: "["))
        for (index, object) in objects.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            object.append(to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Adds an array of texts.
    package mutating func add(_ key: StaticString, _ texts: [String]) {
        addKey(key)
        bytes.append(UInt8(ascii: "["))
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONOutput.append(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Appends the object to an output, without a line break.
    package func append(to output: inout [UInt8]) {
        output.append(contentsOf: bytes)
        output.append(UInt8(ascii: "}"))
    }

    private mutating func addKey(_ key: StaticString) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        key.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func addNull() {
        bytes.append(contentsOf: "null".utf8)
    }
}
