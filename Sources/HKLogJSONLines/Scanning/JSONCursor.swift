/// A place in one line of JSON: strict tokens, one after the other, over bytes that it does not own.
///
/// The grammar is RFC 8259's to the letter. UTF-8 is checked where it may stand, inside strings; a byte above 127
/// anywhere else is no token. Nothing is copied: a token is a range of the line.
struct JSONCursor: ~Escapable {
    let bytes: Span<UInt8>
    /// The next byte to read.
    var position = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    /// The next byte; 0 at the end, which is no token either.
    var next: UInt8 {
        @inline(__always) get { position < bytes.count ? bytes[position] : 0 }
    }

    /// Eight bytes as a little-endian word.
    ///
    /// `byteOffset + 8` must not be beyond the end.
    @inline(__always)
    func word(at byteOffset: Int) -> UInt64 {
        precondition(byteOffset >= 0 && byteOffset <= bytes.count - 8)
        // Sound: the line above has checked the range.
        return unsafe UInt64(
            littleEndian: bytes.bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: byteOffset, as: UInt64.self))
    }

    @inline(__always)
    mutating func skipWhiteSpace() {
        while position < bytes.count {
            let byte = bytes[position]
            if byte > 0x20 || !(byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09) { return }
            position += 1
        }
    }

    /// Skips white space and moves past `byte` if it is next.
    @inline(__always)
    mutating func take(_ byte: UInt8) -> Bool {
        skipWhiteSpace()
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Skips white space and moves past `byte`, or throws.
    @inline(__always)
    mutating func expect(_ byte: UInt8, _ expected: String) throws(LineFault) {
        guard take(byte) else { throw malformed(expected) }
    }

    func malformed(_ expected: String) -> LineFault {
        LineFault(at: position, "malformed JSON: expected \(expected)")
    }

    /// Whether the bytes from here on begin with `other[range]`.
    @inline(__always)
    func starts(with other: Span<UInt8>, in range: Range<Int>) -> Bool {
        let count = range.count
        guard range.lowerBound >= 0, range.upperBound <= other.count, count <= bytes.count &- position else {
            return false
        }
        var index = 0
        // Sound: both ranges have been checked above, and a word is loaded only where eight bytes are left.
        while index &+ 8 <= count {
            let left = unsafe bytes.bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: position &+ index, as: UInt64.self)
            let right = unsafe other.bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: range.lowerBound &+ index, as: UInt64.self)
            if left != right { return false }
            index &+= 8
        }
        while index < count {
            if bytes[position &+ index] != other[range.lowerBound &+ index] { return false }
            index &+= 1
        }
        return true
    }

    /// Moves past `null` if it is next.
    @inline(__always)
    mutating func takeNull() throws(LineFault) -> Bool {
        guard next == UInt8(ascii: "n") else { return false }
        guard takeWord("null") else { throw malformed("a value") }
        return true
    }

    /// Reads `true` or `false`; `nil` when something else is next.
    mutating func takeBool() throws(LineFault) -> Bool? {
        switch next {
        case UInt8(ascii: "t"):
            guard takeWord("true") else { throw malformed("a value") }
            return true
        case UInt8(ascii: "f"):
            guard takeWord("false") else { throw malformed("a value") }
            return false
        default:
            return nil
        }
    }

    private mutating func takeWord(_ word: String) -> Bool {
        let letters = word.utf8
        guard letters.count <= bytes.count - position else { return false }
        for (offset, letter) in letters.enumerated() where bytes[position + offset] != letter { return false }
        position += letters.count
        return true
    }
}
