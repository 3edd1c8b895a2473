/// The metadata entries of one sample, until they are written: one run of bytes, so that a record's few entries cost
/// no allocation.
struct MetadataEntries {
    private var bytes: [UInt8] = []
    private var ranges: [Entry] = []

    /// Where a key begins, where its value begins, and where that ends; and whether both are free of what JSON
    /// escapes.
    private struct Entry {
        var key: Int
        var value: Int
        var end: Int
        var isPlainJSON = false
    }

    /// Above this many, repeated keys are found by hashing.
    private static let comparedLimit = 16

    var isEmpty: Bool { ranges.isEmpty }

    /// How much memory the entries and what is made of them take, roughly.
    var cost: Int { bytes.count + ranges.count * ExportElement.overheadByteCount / 2 }

    mutating func removeAll() {
        if ranges.isEmpty { return }
        bytes.removeAll(keepingCapacity: true)
        ranges.removeAll(keepingCapacity: true)
    }

    mutating func add(_ key: [UInt8], _ value: [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: key)
        let middle = bytes.count
        bytes.append(contentsOf: value)
        ranges.append(Entry(key: start, value: middle, end: bytes.count))
    }

    /// Adds an entry whose bytes all stand for themselves.
    ///
    /// `isPlainJSON` says that they do so in JSON as well.
    mutating func add(plain key: ByteSlice, _ value: ByteSlice, isPlainJSON: Bool = false) {
        let start = bytes.count
        key.append(to: &bytes)
        let middle = bytes.count
        value.append(to: &bytes)
        ranges.append(Entry(key: start, value: middle, end: bytes.count, isPlainJSON: isPlainJSON))
    }

    /// Adds the object, if there is anything in it, a creation date first; a repeated key is an array.
    func write(creation: Int64?, _ text: inout CreationText, to output: inout [UInt8]) {
        if ranges.isEmpty {
            if let creation { text.append(creation, to: &output) }
            return
        }
        guard !hasRepeatedKeys(creation != nil) else {
            writeSlowly(creation: creation, &text, to: &output)
            return
        }
        if let creation {
            text.append(creation, to: &output)
            output[output.count - 1] = UInt8(ascii: ",")
        } else {
            output.append(UInt8(ascii: "{"))
        }
        for (index, range) in ranges.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            if range.isPlainJSON {
                output.append(UInt8(ascii: "\""))
                output.append(contentsOf: bytes[range.key..<range.value])
                appendLiteral("\":\"", to: &output)
                output.append(contentsOf: bytes[range.value..<range.end])
                output.append(UInt8(ascii: "\""))
                continue
            }
            appendJSONString(bytes[range.key..<range.value], to: &output)
            output.append(UInt8(ascii: ":"))
            appendJSONString(bytes[range.value..<range.end], to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }

    private func hasRepeatedKeys(_ hasCreation: Bool) -> Bool {
        if ranges.count > MetadataEntries.comparedLimit { return true }
        for (index, range) in ranges.enumerated() {
            let key = bytes[range.key..<range.value]
            if hasCreation, key.count == CreationText.key.utf8CodeUnitCount,
                isText(Array(key), CreationText.key)
            {
                return true
            }
            for other in ranges[..<index]
            where other.value - other.key == key.count && bytes[other.key..<other.value].elementsEqual(key) {
                return true
            }
        }
        return false
    }

    private func writeSlowly(creation: Int64?, _ text: inout CreationText, to output: inout [UInt8]) {
        var members = JSONMembers()
        if let creation {
            var date: [UInt8] = []
            var dates = UTCText()
            dates.append(creation, to: &date)
            members.add(textBytes(CreationText.key), string: date)
        }
        for range in ranges {
            members.add(Array(bytes[range.key..<range.value]), string: Array(bytes[range.value..<range.end]))
        }
        output.append(contentsOf: members.json)
    }
}

/// Writes `{"HKLogCreationDate":"2024-03-01T08:00:00Z"}`: nearly every record has it, so the text is kept and only
/// its digits are changed.
struct CreationText {
    /// The metadata key of a sample's creation date.
    static let key: StaticString = "HKLogCreationDate"

    private static let byteCount = 44

    private var template = [44 of UInt8](repeating: 0)
    private var cachedDay = Int64.min
    private var dates = UTCText()
    private let dateOffset: Int

    init() {
        var text: [UInt8] = []
        appendLiteral("{\"", to: &text)
        appendLiteral(CreationText.key, to: &text)
        appendLiteral("\":\"", to: &text)
        dateOffset = text.count
        appendLiteral("1970-01-01T00:00:00Z\"}", to: &text)
        for index in 0..<CreationText.byteCount { template[index] = text[index] }
    }

    mutating func append(_ instant: Int64, to bytes: inout [UInt8]) {
        let seconds = instant / 1_000_000
        guard seconds &* 1_000_000 == instant, seconds >= 0 else {
            for index in 0..<dateOffset { bytes.append(template[index]) }
            dates.append(instant, to: &bytes)
            appendLiteral("\"}", to: &bytes)
            return
        }
        let day = seconds / 86_400
        if day != cachedDay {
            var text: [UInt8] = []
            dates.append(day &* 86_400_000_000, to: &text)
            for index in 0..<10 { template[dateOffset + index] = text[index] }
            cachedDay = day
        }
        let second = UInt32(truncatingIfNeeded: seconds &- day &* 86_400)
        let minute = second / 60
        set(dateOffset + 11, minute / 60)
        set(dateOffset + 14, minute % 60)
        set(dateOffset + 17, second % 60)
        unsafe template.span.withUnsafeBufferPointer { text in
            unsafe bytes.append(contentsOf: text)
        }
    }

    @inline(__always)
    private mutating func set(_ position: Int, _ value: UInt32) {
        template[position] = 0x30 &+ UInt8(truncatingIfNeeded: value / 10)
        template[position + 1] = 0x30 &+ UInt8(truncatingIfNeeded: value % 10)
    }
}
