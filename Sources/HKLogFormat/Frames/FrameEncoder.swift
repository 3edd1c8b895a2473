/// Turns content into the bytes of a frame.
///
/// Keeps its work memory between frames.
///
/// The stored bytes are a plain part (uuids, digests, nonces: random, so never compressed) and a rest, one LZ4
/// block where that pays off. See `docs/format.md`, "Stored bytes".
package struct FrameEncoder: Sendable {
    private var rest: [UInt8] = []
    private var batches = BatchColumnsEncoder()
    private var rows = RowColumnsEncoder()
    private var columns = ColumnEncoder()
    private var integers: [Int64] = []

    /// Compression must take away at least one byte in this many, or the rest is stored as it is.
    private static let leastSaving = 32
    /// Fewer bytes are not worth the try.
    private static let leastPackedByteCount = 48

    package init() {}

    /// Appends header and stored bytes of one frame that holds `content`.
    ///
    /// Shapes and extras that no row names are left out, and rows get their numbers without them. Texts without
    /// their flag (`hasAnchor`, `hasPreviousAnchor`) are not content and are left out too.
    package mutating func encode(
        _ content: FrameContent, storeTag: UInt64, firstAnchor: UInt64, previousNonce: UInt64,
        into output: inout [UInt8]
    ) throws(CodecError) {
        try ContentCheck.check(content)
        guard let last = content.batches.last else { throw .inconsistentContent }
        var header = FrameHeader()
        header.storeTag = storeTag
        header.firstAnchor = firstAnchor
        header.previousNonce = previousNonce
        header.lastNonce = last.nonce
        header.batchCount = UInt32(content.batches.count)
        header.addedCount = UInt32(content.rows.count)
        header.deletedCount = UInt32(content.deletions.count)
        let plainByteCount =
            16 * (content.rows.count + content.deletions.count) + 24 * content.batches.count
        guard !firstAnchor.addingReportingOverflow(UInt64(content.batches.count)).overflow else {
            throw .tooLarge
        }

        let textByteCount = try encodeRest(content, firstAnchor: firstAnchor, sharing: true)
        let headerOffset = output.count
        do throws(CodecError) {
            _ = output.appendZeros(FrameHeader.byteCount)
            output.reserveCapacity(
                output.count + plainByteCount + LZ4Block.packedByteCountLimit(rest.count))
            appendPlain(content, into: &output)
            var packed = appendRest(plainByteCount: plainByteCount, allowingCompression: true, into: &output)
            let limit = Int(FrameHeader.expansionLimit)
            if textByteCount > limit * (plainByteCount + packed.storedByteCount) {
                // Shared texts would make more of the bytes than a reader takes: store each whole.
                _ = try encodeRest(content, firstAnchor: firstAnchor, sharing: false)
                output.removeLast(packed.storedByteCount)
                packed = appendRest(plainByteCount: plainByteCount, allowingCompression: false, into: &output)
            }
            header.compression = packed.compression
            header.rawByteCount = UInt64(rest.count)
            header.plainByteCount = UInt64(plainByteCount)
            header.storedByteCount = UInt64(plainByteCount + packed.storedByteCount)
            guard header.isWithinBounds else { throw .tooLarge }
        } catch {
            output.removeLast(output.count - headerOffset)
            throw error
        }
        header.storedChecksum = unsafe output.withUnsafeBytes { bytes in
            unsafe Checksum.crc32c(
                UnsafeRawBufferPointer(rebasing: bytes[(headerOffset + FrameHeader.byteCount)...]))
        }
        headerBytes.removeAll(keepingCapacity: true)
        header.encode(into: &headerBytes)
        unsafe output.withUnsafeMutableBytes { bytes in
            unsafe headerBytes.withUnsafeBytes { header in
                unsafe UnsafeMutableRawBufferPointer(
                    rebasing: bytes[headerOffset..<headerOffset + FrameHeader.byteCount]
                ).copyMemory(from: header)
            }
        }
    }

    private var headerBytes: [UInt8] = []

    /// Fills `rest`.
    ///
    /// Returns how many bytes of text a reader makes of it.
    private mutating func encodeRest(
        _ content: FrameContent, firstAnchor: UInt64, sharing: Bool
    ) throws(CodecError) -> Int {
        rest.removeAll(keepingCapacity: true)
        var textByteCount = batches.encode(
            content.batches, firstAnchor: firstAnchor, sharing: sharing, &columns, into: &rest)
        if content.rows.count > 0 {
            textByteCount += rows.encode(content, sharing: sharing, &columns, into: &rest)
        }
        encodeDeletions(content.deletions)
        guard rest.count <= Int(FrameHeader.rawByteCountLimit) else { throw .tooLarge }
        return textByteCount
    }

    private mutating func encodeDeletions(_ deletions: [DeletionEntry]) {
        guard !deletions.isEmpty else { return }
        integers.removeAll(keepingCapacity: true)
        for deletion in deletions { integers.append(Int64(deletion.metadata.count)) }
        columns.encode(integers, count: integers.count, into: &rest)
        for deletion in deletions where !deletion.metadata.isEmpty {
            rest.append(contentsOf: deletion.metadata)
        }
    }

    private func appendPlain(_ content: FrameContent, into output: inout [UInt8]) {
        // Sound: the words are in the byte order of the disk on every little-endian machine, which all are
        // that Swift runs on here.
        unsafe content.rows.uuids.withUnsafeBytes { unsafe output.append(contentsOf: $0) }
        for deletion in content.deletions {
            output.appendLittleEndian(deletion.uuid.first)
            output.appendLittleEndian(deletion.uuid.second)
        }
        for batch in content.batches {
            output.appendLittleEndian(batch.digest.low)
            output.appendLittleEndian(batch.digest.high)
            output.appendLittleEndian(batch.nonce)
        }
    }

    private func appendRest(
        plainByteCount: Int, allowingCompression: Bool, into output: inout [UInt8]
    ) -> (compression: FrameHeader.Compression, storedByteCount: Int) {
        if allowingCompression && rest.count >= FrameEncoder.leastPackedByteCount {
            let room = rest.count - rest.count / FrameEncoder.leastSaving
            let offset = output.appendZeros(room)
            let packed = unsafe output.withUnsafeMutableBytes { output in
                unsafe rest.withUnsafeBytes { rest in
                    unsafe LZ4Block.pack(
                        rest, into: UnsafeMutableRawBufferPointer(rebasing: output[offset...]))
                }
            }
            let isWithinLimit = rest.count <= Int(FrameHeader.expansionLimit) * (plainByteCount + packed)
            output.removeLast(packed > 0 && isWithinLimit ? room - packed : room)
            if packed > 0 && isWithinLimit { return (.lz4, packed) }
        }
        output.append(contentsOf: rest)
        return (.none, rest.count)
    }
}
