internal import HKLog

/// Checks whole values of any shape and copies them as the compact text that `JSONText` documents.
///
/// It keeps its own stack, so nesting costs no call depth, and it reuses its memory from one value to the next.
struct JSONCopier {
    /// The compact text of the last value.
    private(set) var text: [UInt8] = []

    /// The containers around the place that is being read, outermost first.
    private var containers: [Container] = []
    /// Where in `text` the keys of the open objects stand, quotes included.
    private var keys: [Range<Int>] = []

    private struct Container {
        var isObject: Bool
        /// An array's next element.
        var index = 0
        /// The object's first key in `keys`.
        var firstKey: Int
        /// Its keys, once there are too many to look through.
        var keySet: Set<[UInt8]>?
    }

    /// Objects with more keys than this get a set of them.
    private static let keyCountToLookThrough = 12

    /// Copies the object that is next; `nil` when something else is.
    ///
    /// `checksLength` says whether long strings are refused.
    mutating func copyObject(
        _ cursor: inout JSONCursor, checksLength: Bool
    ) throws(LineFault) -> Bool {
        guard cursor.next == UInt8(ascii: "{") else { return false }
        try copyValue(&cursor, checksLength: checksLength)
        return true
    }

    /// Copies whatever value is next.
    mutating func copyValue(
        _ cursor: inout JSONCursor, checksLength: Bool
    ) throws(LineFault) {
        text.removeAll(keepingCapacity: true)
        containers.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        do throws(LineFault) {
            try copy(&cursor, checksLength: checksLength)
        } catch {
            throw located(error)
        }
    }

    private mutating func copy(
        _ cursor: inout JSONCursor, checksLength: Bool
    ) throws(LineFault) {
        cursor.skipWhiteSpace()
        while true {
            // Here a value begins.
            switch cursor.next {
            case UInt8(ascii: "{"):
                try open(isObject: true, &cursor)
                guard cursor.take(UInt8(ascii: "}")) else {
                    try copyKey(&cursor, checksLength: checksLength)
                    continue
                }
                close()
            case UInt8(ascii: "["):
                try open(isObject: false, &cursor)
                cursor.skipWhiteSpace()
                guard cursor.take(UInt8(ascii: "]")) else {
                    continue
                }
                close()
            case UInt8(ascii: "\""):
                let token = try cursor.scanString()
                try check(token, checksLength)
                try cursor.appendCompact(token, to: &text)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let token = try cursor.scanNumber()
                text.append(copying: cursor.bytes, in: token.start..<token.end)
            case UInt8(ascii: "n"):
                guard try cursor.takeNull() else { throw cursor.malformed("a value") }
                text.append(contentsOf: "null".utf8)
            default:
                guard let value = try cursor.takeBool() else { throw cursor.malformed("a value") }
                text.append(contentsOf: (value ? "true" : "false").utf8)
            }
            // Here a value has ended; so may the containers around it.
            while true {
                guard let top = containers.indices.last else { return }
                cursor.skipWhiteSpace()
                let isObject = containers[top].isObject
                if cursor.take(UInt8(ascii: ",")) {
                    text.append(UInt8(ascii: ","))
                    if isObject {
                        try copyKey(&cursor, checksLength: checksLength)
                    } else {
                        containers[top].index += 1
                        cursor.skipWhiteSpace()
                    }
                    break
                }
                guard cursor.take(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw cursor.malformed(isObject ? "',' or '}'" : "',' or ']'")
                }
                close()
            }
        }
    }

    private mutating func open(isObject: Bool, _ cursor: inout JSONCursor) throws(LineFault) {
        guard containers.count < JSONText.depthLimit else {
            throw LineFault(
                at: cursor.position, "at most \(JSONText.depthLimit) levels of nesting")
        }
        cursor.position += 1
        text.append(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
        containers.append(Container(isObject: isObject, firstKey: keys.count))
    }

    private mutating func close() {
        guard let container = containers.popLast() else { return }
        text.append(container.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
        keys.removeLast(keys.count - container.firstKey)
    }

    /// Copies a key and its colon, up to where the value begins.
    private mutating func copyKey(_ cursor: inout JSONCursor, checksLength: Bool) throws(LineFault) {
        let token = try cursor.readString("a key")
        try check(token, checksLength)
        let start = text.count
        try cursor.appendCompact(token, to: &text)
        let top = containers.count - 1
        guard isNew(start..<text.count, in: top) else {
            throw LineFault(at: token.start - 1, in: keyText(start..<text.count), "each key once")
        }
        keys.append(start..<text.count)
        try cursor.expect(UInt8(ascii: ":"), "':' after a key")
        text.append(UInt8(ascii: ":"))
        cursor.skipWhiteSpace()
    }

    private mutating func isNew(_ key: Range<Int>, in top: Int) -> Bool {
        let firstKey = containers[top].firstKey
        if containers[top].keySet != nil {
            return containers[top].keySet?.insert(Array(text[key])).inserted == true
        }
        for earlier in keys[firstKey...] where earlier.count == key.count {
            if text[earlier].elementsEqual(text[key]) { return false }
        }
        if keys.count - firstKey >= Self.keyCountToLookThrough {
            var set = Set<[UInt8]>()
            for earlier in keys[firstKey...] { set.insert(Array(text[earlier])) }
            set.insert(Array(text[key]))
            containers[top].keySet = set
        }
        return true
    }

    private func check(_ token: JSONStringToken, _ checksLength: Bool) throws(LineFault) {
        guard !checksLength || token.byteCount <= JSONLimits.stringByteCount else {
            throw .stringTooLong(token)
        }
    }

    /// Puts the way through the open containers before the fault's own path.
    private func located(_ fault: LineFault) -> LineFault {
        var path = ""
        for (number, container) in containers.enumerated() {
            if !container.isObject {
                path += "[\(container.index)]"
                continue
            }
            let end = number + 1 < containers.count ? containers[number + 1].firstKey : keys.count
            guard end > container.firstKey else { break }
            // A key that stands twice is named by the fault itself, not by the member before it.
            if !fault.path.isEmpty && number + 1 == containers.count { break }
            path += (path.isEmpty ? "" : ".") + keyText(keys[end - 1])
        }
        return path.isEmpty ? fault : fault.inside(path)
    }

    private func keyText(_ key: Range<Int>) -> String {
        printable(text[key].dropFirst().dropLast())
    }
}

extension LineFault {
    static func stringTooLong(_ token: JSONStringToken) -> LineFault {
        LineFault(at: token.start - 1, "a string of at most 1 MiB", mayBeLifted: true)
    }
}

/// A name from the data as a message may show it: short, and without anything that moves a terminal's cursor.
func printable(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(decoding: bytes.prefix(64), as: UTF8.self)
    var shown = ""
    for scalar in text.unicodeScalars {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
            shown += "\u{FFFD}"
        default:
            shown.unicodeScalars.append(scalar)
        }
    }
    return bytes.count > 64 ? shown + "…" : shown
}
