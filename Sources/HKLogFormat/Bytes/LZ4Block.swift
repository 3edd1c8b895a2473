// The only file that knows which library packs: liblz4, or Apple's Compression framework. Both read and write
// the same LZ4 block format (no frame, no length).
#if canImport(Compression)
    private import Compression
#else
    private import CLZ4
#endif

/// One LZ4 block.
enum LZ4Block {
    /// The most bytes that a block of `byteCount` bytes may pack to.
    static func packedByteCountLimit(_ byteCount: Int) -> Int { byteCount + byteCount / 255 + 16 }

    /// Packs `source` into `target`.
    ///
    /// Returns the packed size, or 0 where it does not fit.
    static func pack(_ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
        guard source.count > 0, source.count <= Int(Int32.max) / 2, target.count > 0,
            let sourceBase = source.baseAddress, let targetBase = target.baseAddress
        else { return 0 }
        #if canImport(Compression)
            return unsafe compression_encode_buffer(
                targetBase.assumingMemoryBound(to: UInt8.self), target.count,
                sourceBase.assumingMemoryBound(to: UInt8.self), source.count, nil, COMPRESSION_LZ4_RAW)
        #else
            let packed = unsafe LZ4_compress_default(
                sourceBase.assumingMemoryBound(to: CChar.self),
                targetBase.assumingMemoryBound(to: CChar.self),
                Int32(truncatingIfNeeded: source.count),
                Int32(truncatingIfNeeded: min(target.count, Int(Int32.max))))
            return max(0, Int(packed))
        #endif
    }

    /// Unpacks `source`; true when it fills `target` to the last byte.
    ///
    /// Never writes past it.
    static func unpack(_ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Bool {
        guard source.count > 0, source.count <= Int(Int32.max), target.count > 0,
            target.count <= Int(Int32.max), let sourceBase = source.baseAddress,
            let targetBase = target.baseAddress
        else { return false }
        #if canImport(Compression)
            let unpacked = unsafe compression_decode_buffer(
                targetBase.assumingMemoryBound(to: UInt8.self), target.count,
                sourceBase.assumingMemoryBound(to: UInt8.self), source.count, nil, COMPRESSION_LZ4_RAW)
            return unpacked == target.count
        #else
            let unpacked = unsafe LZ4_decompress_safe(
                sourceBase.assumingMemoryBound(to: CChar.self),
                targetBase.assumingMemoryBound(to: CChar.self),
                Int32(truncatingIfNeeded: source.count), Int32(truncatingIfNeeded: target.count))
            return Int(unpacked) == target.count
        #endif
    }
}
