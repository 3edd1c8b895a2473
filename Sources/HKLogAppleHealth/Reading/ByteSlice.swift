#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Bytes inside a scanner's window.
///
/// Valid until the scanner is asked for the next element: what is to stay longer is copied. All pointer work of
/// the reader on short runs of bytes is in this type; reading past the end traps.
@safe
struct ByteSlice {
    private let start: UnsafePointer<UInt8>?
    /// How many bytes; -1 for an attribute that is not there.
    let count: Int

    /// An attribute that is not there.
    static var absent: ByteSlice { ByteSlice() }

    private init() {
        unsafe start = nil
        count = -1
    }

    /// Makes a slice of `count` bytes from `start`, which must be readable that far.
    init(start: UnsafePointer<UInt8>, count: Int) {
        unsafe self.start = start
        self.count = count
    }

    var isPresent: Bool { count >= 0 }
    var isEmpty: Bool { count <= 0 }

    subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < count)
        // Sound: checked above.
        return unsafe start.unsafelyUnwrapped[index]
    }

    /// The bytes from `lower` up to `upper`.
    subscript(range: Range<Int>) -> ByteSlice {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        guard let start = unsafe start else { return self }
        return unsafe ByteSlice(start: start + range.lowerBound, count: range.count)
    }

    /// How many bytes lie between `base` and the slice.
    func distance(from base: UnsafePointer<UInt8>) -> Int {
        guard let start = unsafe start else { return 0 }
        return unsafe start - base
    }

    /// A copy of the bytes.
    var bytes: [UInt8] {
        guard let start = unsafe start, count > 0 else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// Adds the bytes to an array.
    func append(to bytes: inout [UInt8]) {
        guard let start = unsafe start, count > 0 else { return }
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
    }

    /// Where a byte stands first, at or after `position`.
    func firstIndex(of byte: UInt8, from position: Int = 0) -> Int? {
        guard let start = unsafe start, position < count else { return nil }
        guard let found = unsafe memchr(start + position, Int32(byte), count - position) else { return nil }
        return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(start)
    }

    /// Whether the bytes are those.
    func equals(_ other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        guard let start = unsafe start, count > 0 else { return true }
        return unsafe other.withUnsafeBufferPointer { otherBytes in
            unsafe memcmp(start, otherBytes.baseAddress.unsafelyUnwrapped, count) == 0
        }
    }

    /// Whether the bytes are those of a part of an array.
    @inline(__always)
    func equals(_ other: [UInt8], from lower: Int, to upper: Int) -> Bool {
        guard count == upper - lower, lower >= 0, upper <= other.count else { return false }
        guard let start = unsafe start, count > 0 else { return true }
        return unsafe other.withUnsafeBufferPointer { otherBytes in
            // Sound: the range was checked above.
            unsafe memcmp(start, otherBytes.baseAddress.unsafelyUnwrapped + lower, count) == 0
        }
    }

    /// Whether the bytes are those of a literal.
    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return hasPrefix(text)
    }

    /// Whether the bytes begin with a literal.
    func hasPrefix(_ text: StaticString) -> Bool {
        guard let start = unsafe start, count >= text.utf8CodeUnitCount else { return false }
        // Sound: the literal and the slice are both at least that long.
        return unsafe memcmp(start, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// Whether every byte stands for itself: printable ASCII and no reference.
    var isPlain: Bool {
        guard let start = unsafe start else { return true }
        var index = 0
        while index + 8 <= count {
            // Sound: eight bytes are left.
            let word = unsafe UnsafeRawPointer(start).loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let ampersand = word ^ 0x2626_2626_2626_2626
            let hasAmpersand = (ampersand &- 0x0101_0101_0101_0101) & ~ampersand
            let isBelowSpace = (word &- 0x2020_2020_2020_2020) & ~word
            if (word | hasAmpersand | isBelowSpace) & 0x8080_8080_8080_8080 != 0 { return false }
            index += 8
        }
        while index < count {
            let byte = unsafe start[index]
            if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "&") { return false }
            index += 1
        }
        return true
    }

    /// The slice without white space at its ends.
    var trimmed: ByteSlice {
        var lower = 0
        var upper = max(count, 0)
        while lower < upper, isWhiteSpace(self[lower]) { lower += 1 }
        while upper > lower, isWhiteSpace(self[upper - 1]) { upper -= 1 }
        return isPresent ? self[lower..<upper] : self
    }
}

/// XML's white space.
@inline(__always)
func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D
}
