// A libFuzzer target for the frame decoder: see run-frame-fuzz. The package's sources are compiled into the same
// module, so that the decoder itself is instrumented.

/// Kept between runs, as a reader keeps it: what one frame leaves behind must not harm the next.
nonisolated(unsafe) private var decoder = FrameDecoder()
nonisolated(unsafe) private var content = FrameContent()
nonisolated(unsafe) private var encoder = FrameEncoder()
nonisolated(unsafe) private var output: [UInt8] = []

/// Takes the input as a frame whose checksums are made right, and as it is.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrame(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    _ = unsafe FrameHeader.read(bytes)
    _ = unsafe SegmentHeader.read(bytes)
    guard count > FrameHeader.byteCount else { return 0 }
    let stored = unsafe UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.byteCount...])
    guard let header = unsafe repaired(bytes, stored) else { return 0 }
    do {
        try unsafe decoder.decode(header, stored: stored, into: &content)
        // What decodes is content, and content is encoded.
        output.removeAll(keepingCapacity: true)
        try encoder.encode(
            content, storeTag: 0, firstAnchor: header.firstAnchor, previousNonce: 0, into: &output)
    } catch CodecError.inconsistentContent {
        stopOnContradiction()
    } catch {
        return 0
    }
    return 0
}

/// A header with the counts of the input, fitted to the bytes that are there and under right checksums.
private func repaired(_ bytes: UnsafeRawBufferPointer, _ stored: UnsafeRawBufferPointer) -> FrameHeader? {
    var header = FrameHeader()
    header.batchCount = unsafe UInt32(bytes[32]) % 8 + 1
    header.addedCount = unsafe UInt32(bytes[36]) + UInt32(bytes[37] & 1) << 8
    header.deletedCount = unsafe UInt32(bytes[40]) % 16
    header.firstAnchor = unsafe UInt64(bytes[24])
    header.plainByteCount =
        16 * UInt64(header.addedCount + header.deletedCount) + 24 * UInt64(header.batchCount)
    header.storedByteCount = UInt64(stored.count)
    guard header.storedByteCount > header.plainByteCount else { return nil }
    header.compression = unsafe bytes[5] & 1 == 0 ? .none : .lz4
    header.rawByteCount =
        header.compression == .none
        ? header.storedByteCount - header.plainByteCount
        : unsafe UInt64(bytes[80]) + UInt64(bytes[81] & 7) << 8 + 1
    header.lastNonce = unsafe UInt64(
        littleEndian: stored.loadUnaligned(
            fromByteOffset: Int(header.plainByteCount) - 8, as: UInt64.self))
    header.storedChecksum = unsafe Checksum.crc32c(stored)
    return header
}

/// A decoded content that the encoder finds contradictory: the decoder has let something through.
private func stopOnContradiction() -> Never { preconditionFailure("decoded content is inconsistent") }
