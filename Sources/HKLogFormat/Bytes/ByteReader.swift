/// Reads a frame's unpacked part from front to back.
///
/// Every read is checked against the end.
///
/// Sound: made only over memory that outlives it (the decoder's scratch) and that has `padding` readable bytes
/// after the end, so that eight bytes may be loaded at any offset that has been checked.
@safe
struct ByteReader {
    /// Readable bytes that must follow the end.
    static let padding = 16

    private let base: UnsafeRawPointer
    let byteCount: Int
    private(set) var byteOffset = 0

    /// `base` must have `byteCount + padding` readable bytes.
    @unsafe
    init(base: UnsafeRawPointer, byteCount: Int) {
        unsafe self.base = unsafe base
        self.byteCount = byteCount
    }

    var remaining: Int { byteCount &- byteOffset }

    @inline(__always)
    mutating func readByte() throws(CodecError) -> UInt8 {
        guard byteOffset < byteCount else { throw .malformed }
        let byte = unsafe base.load(fromByteOffset: byteOffset, as: UInt8.self)
        byteOffset &+= 1
        return byte
    }

    mutating func readVarint() throws(CodecError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try readByte()
            let bits = UInt64(byte & 0x7F)
            // The tenth byte holds the 64th bit alone.
            guard shift < 63 || bits <= 1 else { throw .malformed }
            value |= bits &<< shift
            if byte < 0x80 { return value }
            shift &+= 7
            guard shift <= 63 else { throw .malformed }
        }
    }

    mutating func readSigned() throws(CodecError) -> Int64 { ZigZag.decode(try readVarint()) }

    /// A number of at most `limit`.
    mutating func readCount(upTo limit: Int) throws(CodecError) -> Int {
        let value = try readVarint()
        guard value <= UInt64(limit) else { throw .malformed }
        return Int(value)
    }

    /// Moves over `count` bytes and returns where they stand.
    @unsafe
    mutating func take(_ count: Int) throws(CodecError) -> UnsafeRawPointer {
        guard count >= 0, count <= remaining else { throw .malformed }
        let start = unsafe base + byteOffset
        byteOffset &+= count
        return unsafe start
    }

    mutating func readBytes(_ count: Int) throws(CodecError) -> [UInt8] {
        let start = try unsafe take(count)
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }
}
