/// The nine attributes of a `Record`, as slices of the scanner's window.
struct RecordFields {
    /// Which attribute; the raw value is its place.
    enum Field: Int, CaseIterable {
        case type, sourceName, sourceVersion, device, unit, creationDate, startDate, endDate, value
    }

    private var slices = [9 of ByteSlice](repeating: .absent)
    /// Instants that were read on the way, with a bit in `instantMask` each.
    private var creation: Int64 = 0
    private var start: Int64 = 0
    private var end: Int64 = 0
    private var instantMask: UInt32 = 0
    /// The value, where it was a plain number.
    var number: Double = 0
    var hasNumber = false
    /// The number of the head that the record shares with others, where it is one of `RecordHeads`; else 0.
    var head: UInt32 = 0

    subscript(field: Field) -> ByteSlice {
        @inline(__always) get { slices[field.rawValue] }
        @inline(__always) set { slices[field.rawValue] = newValue }
    }

    /// Makes all fields absent.
    @inline(__always)
    mutating func clear() {
        for place in 0..<9 { slices[place] = .absent }
        instantMask = 0
        hasNumber = false
        head = 0
    }

    /// The slice of a field by its place.
    @inline(__always)
    func slice(_ place: Int) -> ByteSlice { slices[place] }

    @inline(__always)
    mutating func set(_ place: Int, _ slice: ByteSlice) { slices[place] = slice }

    @inline(__always)
    mutating func setInstant(_ instant: Int64, of field: Field) {
        instantMask |= 1 << UInt32(field.rawValue)
        switch field {
        case .creationDate: creation = instant
        case .startDate: start = instant
        default: end = instant
        }
    }

    /// The instant of a date field, however it is written; `nil` when it is absent or no date.
    @inline(__always)
    func instant(_ field: Field) -> Int64? {
        if instantMask & 1 << UInt32(field.rawValue) != 0 {
            switch field {
            case .creationDate: return creation
            case .startDate: return start
            default: return end
            }
        }
        let slice = self[field]
        guard slice.isPresent else { return nil }
        return ExportDate.instant(slice.isPlain ? slice.bytes : decodedText(slice))
    }

    /// Which field an attribute is.
    static func field(named name: ByteSlice) -> Field? {
        for pattern in AttributePattern.usualOrder where pattern.name.utf8CodeUnitCount == name.count {
            if name.hasPrefix(pattern.name) { return pattern.field }
        }
        return nil
    }
}

/// An attribute's name as two words to compare with: a blank, the name, `="`.
struct AttributePattern {
    let field: RecordFields.Field
    let name: StaticString
    let byteCount: Int
    let low: UInt64
    let lowMask: UInt64
    let high: UInt64
    let highMask: UInt64

    init(_ name: StaticString, _ field: RecordFields.Field) {
        self.field = field
        self.name = name
        var text: [UInt8] = [0x20]
        name.withUTF8Buffer { unsafe text.append(contentsOf: $0) }
        text += [UInt8(ascii: "="), UInt8(ascii: "\"")]
        byteCount = text.count
        var words: [UInt64] = [0, 0]
        var masks: [UInt64] = [0, 0]
        for (index, byte) in text.enumerated() {
            words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
            masks[index / 8] |= 0xFF << UInt64(index % 8 * 8)
        }
        (low, high, lowMask, highMask) = (words[0], words[1], masks[0], masks[1])
    }

    /// The order that Apple's exports have; no name is longer than thirteen bytes.
    static let usualOrder: [AttributePattern] = [
        AttributePattern("type", .type), AttributePattern("sourceName", .sourceName),
        AttributePattern("sourceVersion", .sourceVersion), AttributePattern("device", .device),
        AttributePattern("unit", .unit), AttributePattern("creationDate", .creationDate),
        AttributePattern("startDate", .startDate), AttributePattern("endDate", .endDate),
        AttributePattern("value", .value),
    ]
}
