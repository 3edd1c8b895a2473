// The 96 bytes of a frame header, by offset:
//
//      0 magic u32        4 version u8      5 compression u8   6 zero u16      8 header checksum u32
//     12 stored checksum u32               16 store tag u64                   24 first anchor u64
//     32 batch count u32 36 added count u32 40 deleted count u32 44 zero u32
//     48 previous nonce u64                56 last nonce u64                  64 stored byte count u64
//     72 plain byte count u64              80 raw byte count u64              88 zero u64
extension FrameHeader {
    /// How many times its size in the file a frame's raw part may have, and likewise the texts made from it.
    ///
    /// Keeps memory in proportion to the file whatever the bytes say; the writer keeps to it.
    package static let expansionLimit: UInt64 = 64

    /// Appends the header's bytes.
    package func encode(into output: inout [UInt8]) {
        let offset = output.count
        output.appendLittleEndian(FrameHeader.magic)
        output.append(FrameHeader.version)
        output.append(compression.rawValue)
        output.appendLittleEndian(UInt16(0))
        output.appendLittleEndian(UInt32(0))
        output.appendLittleEndian(storedChecksum)
        output.appendLittleEndian(storeTag)
        output.appendLittleEndian(firstAnchor)
        output.appendLittleEndian(batchCount)
        output.appendLittleEndian(addedCount)
        output.appendLittleEndian(deletedCount)
        output.appendLittleEndian(UInt32(0))
        output.appendLittleEndian(previousNonce)
        output.appendLittleEndian(lastNonce)
        output.appendLittleEndian(storedByteCount)
        output.appendLittleEndian(plainByteCount)
        output.appendLittleEndian(rawByteCount)
        output.appendLittleEndian(UInt64(0))
        HeaderBytes.seal(&output, at: offset, byteCount: FrameHeader.byteCount)
    }

    /// Reads and checks the header at the front of `bytes`.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> FrameHeaderVerdict {
        let verdict: FrameHeaderVerdict? = unsafe HeaderBytes.verdict(
            bytes, byteCount: byteCount, magic: magic, version: version)
        if let verdict { return verdict }
        var header = FrameHeader()
        guard let compression = unsafe Compression(rawValue: bytes[5]),
            unsafe HeaderBytes.integer(bytes, at: 6, as: UInt16.self) == 0,
            unsafe HeaderBytes.integer(bytes, at: 44, as: UInt32.self) == 0,
            unsafe HeaderBytes.integer(bytes, at: 88, as: UInt64.self) == 0
        else { return .damaged }
        header.compression = compression
        header.storedChecksum = unsafe HeaderBytes.integer(bytes, at: 12, as: UInt32.self)
        header.storeTag = unsafe HeaderBytes.integer(bytes, at: 16, as: UInt64.self)
        header.firstAnchor = unsafe HeaderBytes.integer(bytes, at: 24, as: UInt64.self)
        header.batchCount = unsafe HeaderBytes.integer(bytes, at: 32, as: UInt32.self)
        header.addedCount = unsafe HeaderBytes.integer(bytes, at: 36, as: UInt32.self)
        header.deletedCount = unsafe HeaderBytes.integer(bytes, at: 40, as: UInt32.self)
        header.previousNonce = unsafe HeaderBytes.integer(bytes, at: 48, as: UInt64.self)
        header.lastNonce = unsafe HeaderBytes.integer(bytes, at: 56, as: UInt64.self)
        header.storedByteCount = unsafe HeaderBytes.integer(bytes, at: 64, as: UInt64.self)
        header.plainByteCount = unsafe HeaderBytes.integer(bytes, at: 72, as: UInt64.self)
        header.rawByteCount = unsafe HeaderBytes.integer(bytes, at: 80, as: UInt64.self)
        return header.isWithinBounds ? .valid(header) : .damaged
    }

    /// The same over a span.
    package static func read(_ bytes: Span<UInt8>) -> FrameHeaderVerdict {
        unsafe bytes.withUnsafeBytes { unsafe read($0) }
    }

    /// Each count is covered by bytes that the frame really has.
    var isWithinBounds: Bool {
        guard batchCount >= 1, storedByteCount <= FrameHeader.storedByteCountLimit,
            rawByteCount >= 1, rawByteCount <= FrameHeader.rawByteCountLimit,
            !firstAnchor.addingReportingOverflow(UInt64(batchCount)).overflow
        else { return false }
        let plain = 16 * (UInt64(addedCount) + UInt64(deletedCount)) + 24 * UInt64(batchCount)
        guard plainByteCount == plain, plain <= storedByteCount else { return false }
        let packed = storedByteCount - plain
        return switch compression {
        case .none: rawByteCount == packed
        case .lz4: packed >= 1 && rawByteCount <= FrameHeader.expansionLimit * storedByteCount
        }
    }
}
