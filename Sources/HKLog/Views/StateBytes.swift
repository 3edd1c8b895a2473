/// Writes the small parts of a checkpoint: numbers of fixed size and texts with their lengths, little-endian.
struct StateWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ value: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    mutating func put(_ value: Int) { put(UInt64(bitPattern: Int64(value))) }

    mutating func put(_ value: Int64) { put(UInt64(bitPattern: value)) }

    mutating func put(_ value: UInt32) { put(UInt64(value)) }

    mutating func put(_ value: Bool) { put(UInt64(value ? 1 : 0)) }

    mutating func put<Bytes: Collection>(_ text: Bytes) where Bytes.Element == UInt8 {
        put(text.count)
        bytes.append(contentsOf: text)
    }
}

/// Reads them back.
///
/// After anything that does not fit it gives zeros and `isDamaged` is set.
struct StateReader {
    private let bytes: [UInt8]
    private var position = 0
    private(set) var isDamaged = false

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func word() -> UInt64 {
        guard bytes.count - position >= 8 else {
            isDamaged = true
            return 0
        }
        var value: UInt64 = 0
        for index in 0..<8 { value |= UInt64(bytes[position + index]) << UInt64(index * 8) }
        position += 8
        return value
    }

    mutating func integer() -> Int { Int(Int64(bitPattern: word())) }

    mutating func signed() -> Int64 { Int64(bitPattern: word()) }

    mutating func number() -> UInt32 {
        let value = word()
        if value > UInt64(UInt32.max) { isDamaged = true }
        return UInt32(truncatingIfNeeded: value)
    }

    mutating func flag() -> Bool { word() == 1 }

    /// How many elements follow, each of at least `byteCount` bytes: never more than the bytes can hold.
    mutating func count(of byteCount: Int) -> Int {
        let value = word()
        guard value <= UInt64((bytes.count - position) / max(byteCount, 1)) else {
            isDamaged = true
            return 0
        }
        return Int(value)
    }

    mutating func text() -> [UInt8] {
        let count = count(of: 1)
        defer { position += count }
        return Array(bytes[position..<position + count])
    }
}
