/// Signed numbers as unsigned ones of small magnitude: 0, -1, 1, -2 become 0, 1, 2, 3.
enum ZigZag {
    @inline(__always)
    static func encode(_ value: Int64) -> UInt64 {
        UInt64(bitPattern: (value &<< 1) ^ (value &>> 63))
    }

    @inline(__always)
    static func decode(_ value: UInt64) -> Int64 {
        Int64(bitPattern: (value &>> 1) ^ (0 &- (value & 1)))
    }
}

extension [UInt8] {
    /// Appends `value` in LEB128: seven bits a byte, lowest first, the top bit says that more follow.
    mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest &>>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func appendVarint(_ value: Int) { appendVarint(UInt64(value)) }

    /// Appends the zigzag form of `value` in LEB128.
    mutating func appendSigned(_ value: Int64) { appendVarint(ZigZag.encode(value)) }

    /// Appends `byteCount` zero bytes and returns where they begin.
    mutating func appendZeros(_ byteCount: Int) -> Int {
        let offset = count
        append(contentsOf: repeatElement(0, count: byteCount))
        return offset
    }

    /// Appends the integer's bytes, lowest first.
    mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        var rest = value.littleEndian
        unsafe Swift.withUnsafeBytes(of: &rest) { unsafe append(contentsOf: $0) }
    }
}
