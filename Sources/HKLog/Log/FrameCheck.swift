internal import HKLogFormat

/// What stands at a place where a frame is expected.
enum FrameCheck {
    /// A whole frame or gap of this store: header, length and checksums are right.
    case whole(LogRecord)
    /// So far so good, but the window ends before the frame: it must hold this many bytes from the place on.
    case needs(Int)
    /// The header is zero throughout.
    case zeros
    /// Written by a newer version of the program.
    case newer
    /// Nothing to be believed.
    case bad

    /// Looks at `bytes[index...]`, a window of a file in which `remaining` bytes follow the place.
    ///
    /// No length is believed before the header's own checksum has been checked and the file is long enough.
    static func look(at index: Int, in bytes: Span<UInt8>, remaining: Int, storeTag: UInt64) -> FrameCheck {
        let headerByteCount = LogRecord.headerByteCount
        guard remaining >= headerByteCount else { return .bad }
        guard bytes.count - index >= headerByteCount else { return .needs(headerByteCount) }
        switch LogRecord.read(bytes.extracting(index..<index + headerByteCount)) {
        case .zero: return .zeros
        case .newerVersion: return .newer
        case .notAHeader, .damaged: return .bad
        case .valid(let record):
            guard record.storeTag == storeTag, record.storedByteCount <= remaining - headerByteCount else {
                return .bad
            }
            let end = index + record.byteCount
            guard end <= bytes.count else { return .needs(end - index) }
            let stored = bytes.extracting(index + headerByteCount..<end)
            return record.matches(stored) ? .whole(record) : .bad
        }
    }
}

/// CRC32C.
func checksum(of bytes: Span<UInt8>) -> UInt32 {
    unsafe bytes.withUnsafeBytes { bytes in unsafe Checksum.crc32c(bytes) }
}

/// Whether all bytes are zero.
func isZero(_ bytes: Span<UInt8>) -> Bool {
    unsafe bytes.withUnsafeBytes { bytes in
        var place = 0
        // Words first: a file may hold zeros by the gigabyte.
        while place + 32 <= bytes.count {
            // Sound: 32 bytes are there from `place` on.
            let one = unsafe bytes.loadUnaligned(fromByteOffset: place, as: SIMD4<UInt64>.self)
            if one != SIMD4(repeating: 0) { return false }
            place += 32
        }
        return unsafe bytes[place...].allSatisfy { $0 == 0 }
    }
}
