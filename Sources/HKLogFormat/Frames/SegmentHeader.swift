/// The first bytes of a segment file.
///
/// See `docs/format.md`, "Segment header".
///
/// Names the store and the segment before, so that a missing or foreign file is found from headers alone.
package struct SegmentHeader: Equatable, Sendable {
    /// Size of the encoded header.
    package static let byteCount = 128
    /// `HKSg`, little-endian.
    package static let magic: UInt32 = 0x6753_4B48
    /// The format version that this program writes, and the newest it reads.
    package static let version: UInt8 = 1
    /// Stands for "there is no segment before".
    package static let noPrevious = UInt64.max

    /// The store's id.
    ///
    /// Its first eight bytes are the `storeTag` of every frame.
    package var storeID = RawUUID(first: 0, second: 0)
    /// How many batches stand in the log before this segment.
    package var firstAnchor: UInt64 = 0
    /// `firstAnchor` of the segment before; `noPrevious` for the first one.
    package var previousFirstAnchor: UInt64 = SegmentHeader.noPrevious
    /// The nonce of the last batch before this segment; 0 for the first one.
    package var previousLastNonce: UInt64 = 0

    package init() {}

    package init(
        storeID: RawUUID, firstAnchor: UInt64, previousFirstAnchor: UInt64, previousLastNonce: UInt64
    ) {
        self.storeID = storeID
        self.firstAnchor = firstAnchor
        self.previousFirstAnchor = previousFirstAnchor
        self.previousLastNonce = previousLastNonce
    }

    /// Appends the header's bytes.
    package func encode(into output: inout [UInt8]) {
        let offset = output.count
        output.appendLittleEndian(SegmentHeader.magic)
        output.appendLittleEndian(UInt32(SegmentHeader.version))
        output.appendLittleEndian(UInt64(0))
        output.appendLittleEndian(storeID.first)
        output.appendLittleEndian(storeID.second)
        output.appendLittleEndian(firstAnchor)
        output.appendLittleEndian(previousFirstAnchor)
        output.appendLittleEndian(previousLastNonce)
        _ = output.appendZeros(SegmentHeader.byteCount - SegmentHeader.reservedOffset)
        HeaderBytes.seal(&output, at: offset, byteCount: SegmentHeader.byteCount)
    }

    private static let reservedOffset = 56

    /// Reads and checks the header at the front of `bytes`.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> SegmentHeaderVerdict {
        let verdict: SegmentHeaderVerdict? = unsafe HeaderBytes.verdict(
            bytes, byteCount: byteCount, magic: magic, version: version)
        if let verdict { return verdict }
        guard unsafe bytes[5..<8].allSatisfy({ $0 == 0 }), unsafe bytes[12..<16].allSatisfy({ $0 == 0 }),
            unsafe bytes[reservedOffset..<byteCount].allSatisfy({ $0 == 0 })
        else { return .damaged }
        var header = SegmentHeader()
        header.storeID.first = unsafe HeaderBytes.integer(bytes, at: 16, as: UInt64.self)
        header.storeID.second = unsafe HeaderBytes.integer(bytes, at: 24, as: UInt64.self)
        header.firstAnchor = unsafe HeaderBytes.integer(bytes, at: 32, as: UInt64.self)
        header.previousFirstAnchor = unsafe HeaderBytes.integer(bytes, at: 40, as: UInt64.self)
        header.previousLastNonce = unsafe HeaderBytes.integer(bytes, at: 48, as: UInt64.self)
        guard header.previousFirstAnchor == noPrevious || header.previousFirstAnchor < header.firstAnchor
        else {
            return .damaged
        }
        return .valid(header)
    }

    /// The same over a span.
    package static func read(_ bytes: Span<UInt8>) -> SegmentHeaderVerdict {
        unsafe bytes.withUnsafeBytes { unsafe read($0) }
    }
}
