/// Turns the stored bytes of a frame back into its content.
///
/// Keeps its work memory between frames.
///
/// Nothing is believed before it has been checked: the checksum first, then each length against the bytes that
/// are there, so that no bytes make it trap or take memory out of proportion to their count.
package struct FrameDecoder: Sendable {
    private var rest: [UInt8] = []
    private var batches = BatchColumnsDecoder()
    private var rows = RowColumnsDecoder()
    private var lengths: [Int64] = []

    package init() {}

    /// Whether `stored` are the bytes that `header` was made for.
    ///
    /// Costs one pass and no memory.
    package static func checkStored(_ header: FrameHeader, _ stored: UnsafeRawBufferPointer) -> Bool {
        unsafe UInt64(stored.count) == header.storedByteCount
            && Checksum.crc32c(stored) == header.storedChecksum
    }

    /// Decodes one frame.
    ///
    /// `content` is overwritten; its arrays keep their memory. After an error it holds something unspecified.
    ///
    /// `header` must come from `FrameHeader.read`, which has checked its bounds; they are checked again here.
    package mutating func decode(
        _ header: FrameHeader, stored: UnsafeRawBufferPointer, into content: inout FrameContent
    ) throws(CodecError) {
        guard header.isWithinBounds else { throw .malformed }
        guard UInt64(stored.count) == header.storedByteCount else { throw .wrongByteCount }
        guard unsafe FrameDecoder.checkStored(header, stored) else { throw .checksumMismatch }
        // Sound: the header is within its bounds, so the plain part is no longer than the stored bytes.
        let plainByteCount = Int(header.plainByteCount)
        try unsafe unpack(
            UnsafeRawBufferPointer(rebasing: stored[plainByteCount...]), header.compression,
            rawByteCount: Int(header.rawByteCount))
        let plain = unsafe UnsafeRawBufferPointer(rebasing: stored[0..<plainByteCount])
        let rawByteCount = Int(header.rawByteCount)
        let bytes = rest
        try unsafe bytes.withUnsafeBufferPointer { (bytes) throws(CodecError) in
            guard let base = bytes.baseAddress else { throw .malformed }
            // Sound: `unpack` has left the raw bytes and the padding behind them.
            var reader = unsafe ByteReader(base: UnsafeRawPointer(base), byteCount: rawByteCount)
            try unsafe read(&reader, header, plain, into: &content)
        }
    }

    /// Fills `rest` with the raw bytes and zeros behind them, so that loads of eight bytes are safe to the end.
    private mutating func unpack(
        _ packed: UnsafeRawBufferPointer, _ compression: FrameHeader.Compression, rawByteCount: Int
    ) throws(CodecError) {
        let needed = rawByteCount + ByteReader.padding
        if rest.count < needed { rest = [UInt8](repeating: 0, count: needed) }
        let isWhole = unsafe rest.withUnsafeMutableBytes { rest in
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: rest[0..<rawByteCount])
            switch compression {
            case .none:
                guard packed.count == rawByteCount else { return false }
                unsafe target.copyMemory(from: packed)
                return true
            case .lz4:
                return unsafe LZ4Block.unpack(packed, into: target)
            }
        }
        guard isWhole else { throw .badCompression }
    }

    /// Sound: `isWithinBounds` has checked that `plain` has 16 bytes for each row and deletion, and 24 for each batch.
    private mutating func read(
        _ reader: inout ByteReader, _ header: FrameHeader, _ plain: UnsafeRawBufferPointer,
        into content: inout FrameContent
    ) throws(CodecError) {
        let (addedCount, deletedCount) = (Int(header.addedCount), Int(header.deletedCount))
        var budget = TextBudget(Int(FrameHeader.expansionLimit * header.storedByteCount))
        try batches.decode(&reader, header, &budget, into: &content.batches)
        unsafe readDigests(plain, from: 16 * (addedCount + deletedCount), into: &content.batches)
        guard content.batches.last?.nonce == header.lastNonce else { throw .malformed }
        content.rows.uuids.resize(to: addedCount, filler: RawUUID(first: 0, second: 0))
        unsafe content.rows.uuids.withUnsafeMutableBytes { uuids in
            unsafe uuids.copyMemory(from: UnsafeRawBufferPointer(rebasing: plain[0..<16 * addedCount]))
        }
        try rows.decode(&reader, content.batches, batches, rowCount: addedCount, &budget, into: &content.rows)
        try unsafe readDeletions(
            &reader, plain, from: 16 * addedCount, deletedCount, into: &content.deletions)
        guard reader.remaining == 0 else { throw .malformed }
    }

    private func readDigests(
        _ plain: UnsafeRawBufferPointer, from offset: Int, into batches: inout [BatchEntry]
    ) {
        var offset = offset
        for index in batches.indices {
            batches[index].digest = unsafe RawDigest(
                low: HeaderBytes.integer(plain, at: offset, as: UInt64.self),
                high: HeaderBytes.integer(plain, at: offset + 8, as: UInt64.self))
            batches[index].nonce = unsafe HeaderBytes.integer(plain, at: offset + 16, as: UInt64.self)
            offset += 24
        }
    }

    private mutating func readDeletions(
        _ reader: inout ByteReader, _ plain: UnsafeRawBufferPointer, from offset: Int, _ count: Int,
        into deletions: inout [DeletionEntry]
    ) throws(CodecError) {
        deletions.removeAll(keepingCapacity: true)
        guard count > 0 else { return }
        try reader.readColumn(count, into: &lengths)
        deletions.reserveCapacity(count)
        for index in 0..<count {
            guard lengths[index] >= 0, lengths[index] <= reader.remaining else { throw .malformed }
            let uuid = unsafe RawUUID(
                first: HeaderBytes.integer(plain, at: offset + 16 * index, as: UInt64.self),
                second: HeaderBytes.integer(plain, at: offset + 16 * index + 8, as: UInt64.self))
            let metadata = lengths[index] == 0 ? [] : try reader.readBytes(Int(lengths[index]))
            deletions.append(DeletionEntry(uuid: uuid, metadata: metadata))
        }
    }
}

extension Array {
    /// Makes the array `count` long and keeps its memory.
    mutating func resize(to newCount: Int, filler: Element) {
        if count > newCount {
            removeLast(count - newCount)
        } else if count < newCount {
            append(contentsOf: repeatElement(filler, count: newCount - count))
        }
    }
}
