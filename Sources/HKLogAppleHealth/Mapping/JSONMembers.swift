/// The members of a JSON object under construction; a key that comes again makes an array, in order.
///
/// So no key stands twice, whatever the file says, and nothing is lost.
struct JSONMembers {
    private var keys: [[UInt8]] = []
    /// The values of each key, as JSON.
    private var values: [[[UInt8]]] = []
    private var isList: [Bool] = []
    /// Made once there are so many keys that looking through them would take long.
    private var indices: [[UInt8]: Int] = [:]

    private static let linearLimit = 24

    var isEmpty: Bool { keys.isEmpty }

    private mutating func index(of key: [UInt8]) -> Int {
        if keys.count <= JSONMembers.linearLimit {
            if let index = keys.firstIndex(of: key) { return index }
        } else if let index = indices[key] {
            return index
        }
        keys.append(key)
        values.append([])
        isList.append(false)
        if keys.count == JSONMembers.linearLimit + 1 {
            for (index, key) in keys.enumerated() { indices[key] = index }
        } else if keys.count > JSONMembers.linearLimit {
            indices[key] = keys.count - 1
        }
        return keys.count - 1
    }

    /// Adds a value that is JSON already.
    mutating func add(_ key: [UInt8], json: [UInt8]) {
        let place = index(of: key)
        values[place].append(json)
    }

    /// Adds a string.
    mutating func add(_ key: [UInt8], string: [UInt8]) {
        var json: [UInt8] = []
        appendJSONString(string, to: &json)
        add(key, json: json)
    }

    /// Adds a value that is an element of an array, also when there is only the one.
    mutating func addElement(_ key: [UInt8], json: [UInt8]) {
        let place = index(of: key)
        values[place].append(json)
        isList[place] = true
    }

    /// The object, compact.
    var json: [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for index in keys.indices {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            appendJSONString(keys[index], to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            let isArray = isList[index] || values[index].count > 1
            if isArray { bytes.append(UInt8(ascii: "[")) }
            for (place, value) in values[index].enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes.append(contentsOf: value)
            }
            if isArray { bytes.append(UInt8(ascii: "]")) }
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}
