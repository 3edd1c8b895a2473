internal import HKLogFormat

extension JSONCursor {
    /// The uuid in the 36 bytes from `byteOffset` on, eight digits at a time; `nil` where they are none.
    @inline(__always)
    func uuid(at byteOffset: Int) -> RawUUID? {
        let hyphen = UInt8(ascii: "-")
        guard bytes.count &- byteOffset >= 36, bytes[byteOffset &+ 8] == hyphen,
            bytes[byteOffset &+ 13] == hyphen, bytes[byteOffset &+ 18] == hyphen,
            bytes[byteOffset &+ 23] == hyphen
        else { return nil }
        let lows: UInt64 = 0xFFFF_FFFF
        let inner = word(at: byteOffset &+ 9) & lows | word(at: byteOffset &+ 14) << 32
        let outer = word(at: byteOffset &+ 19) & lows | word(at: byteOffset &+ 24) << 32
        guard let first = hexBytes(word(at: byteOffset)), let second = hexBytes(inner),
            let third = hexBytes(outer), let fourth = hexBytes(word(at: byteOffset &+ 28))
        else { return nil }
        return RawUUID(first: first | second << 32, second: third | fourth << 32)
    }
}

/// The four bytes that eight hexadecimal digits stand for, the first digit in the lowest byte of `digits`.
@inline(__always)
private func hexBytes(_ digits: UInt64) -> UInt64? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    // 1 in each byte that claims to be a letter (0x41…0x46, 0x61…0x66), 0 for a digit (0x30…0x39).
    let letters = digits >> 6 & ones
    let lows = digits & (ones &* 0x0F)
    let highs = digits & (ones &* 0xF0) & ~(letters << 5)
    // The high half is 3 for digits and 4 for letters of either case; the low half of a digit is 9 at most, that
    // of a letter 1 to 6. No sum leaves its byte.
    let isHexadecimal =
        highs == (ones &* 0x30) ^ (letters &* 0x70)
        && (lows &+ ones &* 6 &+ letters &* 3) & (ones &* 0x10) == 0
        && (lows &+ letters &* 15) & (ones &* 0x10) == letters << 4
    guard isHexadecimal else { return nil }
    let nibbles = lows &+ letters &* 9
    var packed = (nibbles << 4 | nibbles >> 8) & 0x00FF_00FF_00FF_00FF
    packed = (packed | packed >> 8) & 0x0000_FFFF_0000_FFFF
    return (packed | packed >> 16) & 0xFFFF_FFFF
}
