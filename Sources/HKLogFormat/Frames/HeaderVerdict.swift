/// What the bytes at the place of a header turn out to be.
package enum HeaderVerdict<Header: Equatable & Sendable>: Equatable, Sendable {
    case valid(Header)
    /// All bytes are zero: preallocated space that nothing was written to.
    case zero
    /// A whole header of a later format version.
    case newerVersion(UInt8)
    /// The magic is another one, or there are too few bytes.
    case notAHeader
    /// The magic is right, but the checksum or a bound is not.
    case damaged
}

package typealias FrameHeaderVerdict = HeaderVerdict<FrameHeader>
package typealias SegmentHeaderVerdict = HeaderVerdict<SegmentHeader>

/// What frame and segment headers have in common: magic at 0, version at 4, and at 8 a CRC32C over all other
/// bytes of the header.
///
/// These three places stay in every later version.
enum HeaderBytes {
    static let versionOffset = 4
    static let checksumOffset = 8
    static let afterChecksum = 12

    static func checksum(_ bytes: UnsafeRawBufferPointer, byteCount: Int) -> UInt32 {
        let before = unsafe UnsafeRawBufferPointer(rebasing: bytes[0..<checksumOffset])
        let after = unsafe UnsafeRawBufferPointer(rebasing: bytes[afterChecksum..<byteCount])
        return unsafe Checksum.crc32c(after, continuing: Checksum.crc32c(before))
    }

    /// The verdict as far as magic, checksum and version decide it; nil when the fields are to be read.
    static func verdict<Header>(
        _ bytes: UnsafeRawBufferPointer, byteCount: Int, magic: UInt32, version: UInt8
    ) -> HeaderVerdict<Header>? {
        guard bytes.count >= byteCount else { return .notAHeader }
        if unsafe integer(bytes, at: 0, as: UInt32.self) != magic {
            let isZero = unsafe bytes[0..<byteCount].allSatisfy { $0 == 0 }
            return isZero ? .zero : .notAHeader
        }
        let stored = unsafe integer(bytes, at: checksumOffset, as: UInt32.self)
        guard unsafe stored == checksum(bytes, byteCount: byteCount) else { return .damaged }
        let found = unsafe bytes[versionOffset]
        if found > version { return .newerVersion(found) }
        return found == version ? nil : .damaged
    }

    /// Sound: callers have checked that the header's bytes are there; offsets are constants within them.
    @inline(__always)
    static func integer<Value: FixedWidthInteger & BitwiseCopyable>(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, as type: Value.Type
    ) -> Value {
        unsafe Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Puts the checksum into the header that begins at `offset`.
    static func seal(_ output: inout [UInt8], at offset: Int, byteCount: Int) {
        let sum = unsafe output.withUnsafeBytes { bytes in
            let header = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + byteCount])
            return unsafe checksum(header, byteCount: byteCount)
        }
        for index in 0..<4 {
            output[offset + checksumOffset + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index)))
        }
    }
}
