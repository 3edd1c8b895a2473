package import HKLogFormat

/// The mark that `repair` leaves where batches are lost, in the place of their frames.
///
/// ```
///      0 magic u32 "HKGp"      4 version u8 = 1, 3 zero bytes     8 checksum u32   12 zero u32
///     16 store tag u64        24 first anchor u64                32 end anchor u64
///     40 previous nonce u64   48 last nonce u64                  56 zero to byte 96
/// ```
/// The checksum is the CRC32C of all other bytes. Batches `firstAnchor ..< endAnchor` are lost; the nonces are
/// those of the batch before them and of the last of them (as the frame behind names it), so that the chain holds
/// across the gap. Where two frames did not fit each other though no batch is missing, the gap is empty.
package struct GapRecord: Equatable, Sendable {
    package static let byteCount = FrameHeader.byteCount
    static let magic: UInt32 = 0x7047_4B48
    static let version: UInt8 = 1

    package var storeTag: UInt64
    package var firstAnchor: UInt64
    package var endAnchor: UInt64
    package var previousNonce: UInt64
    package var lastNonce: UInt64

    package init(
        storeTag: UInt64, firstAnchor: UInt64, endAnchor: UInt64, previousNonce: UInt64, lastNonce: UInt64
    ) {
        self.storeTag = storeTag
        self.firstAnchor = firstAnchor
        self.endAnchor = endAnchor
        self.previousNonce = previousNonce
        self.lastNonce = lastNonce
    }

    package func encoded() -> [UInt8] {
        var bytes = Self.littleEndian(UInt64(Self.magic) | UInt64(Self.version) << 32)
        bytes += [0, 0, 0, 0, 0, 0, 0, 0]
        for word in [storeTag, firstAnchor, endAnchor, previousNonce, lastNonce] {
            bytes += Self.littleEndian(word)
        }
        bytes += [UInt8](repeating: 0, count: Self.byteCount - bytes.count)
        let sum = Self.littleEndian(UInt64(Self.checksum(of: bytes)))
        bytes.replaceSubrange(8..<12, with: sum.prefix(4))
        return bytes
    }

    /// The record at the front of `bytes`.
    package static func read(_ bytes: Span<UInt8>) -> HeaderVerdict<GapRecord> {
        guard bytes.count >= byteCount, integer(bytes, at: 0) & 0xFFFF_FFFF == UInt64(magic) else {
            return .notAHeader
        }
        var copy: [UInt8] = []
        for index in 0..<byteCount { copy.append(bytes[index]) }
        guard integer(bytes, at: 8) & 0xFFFF_FFFF == UInt64(checksum(of: copy)) else { return .damaged }
        if bytes[4] > version { return .newerVersion(bytes[4]) }
        let record = GapRecord(
            storeTag: integer(bytes, at: 16), firstAnchor: integer(bytes, at: 24),
            endAnchor: integer(bytes, at: 32), previousNonce: integer(bytes, at: 40),
            lastNonce: integer(bytes, at: 48))
        guard record.firstAnchor <= record.endAnchor, record.encoded() == copy else { return .damaged }
        return .valid(record)
    }

    private static func checksum(of bytes: [UInt8]) -> UInt32 {
        let covered = Array(bytes[..<8]) + bytes[12...]
        return HKLog.checksum(of: covered.span)
    }

    private static func littleEndian(_ word: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }

    private static func integer(_ bytes: Span<UInt8>, at index: Int) -> UInt64 {
        var word: UInt64 = 0
        for place in 0..<8 { word |= UInt64(bytes[index + place]) << UInt64(8 * place) }
        return word
    }
}

/// What the log consists of: frames, and gaps where frames are lost.
package enum LogRecord: Equatable, Sendable {
    case frame(FrameHeader)
    case gap(GapRecord)

    /// Both begin with a header of this size.
    static let headerByteCount = FrameHeader.byteCount

    /// The header at the front of `bytes`.
    static func read(_ bytes: Span<UInt8>) -> HeaderVerdict<LogRecord> {
        switch FrameHeader.read(bytes) {
        case .valid(let header): return .valid(.frame(header))
        case .zero: return .zero
        case .newerVersion(let version): return .newerVersion(version)
        case .damaged: return .damaged
        case .notAHeader: break
        }
        return switch GapRecord.read(bytes) {
        case .valid(let gap): .valid(.gap(gap))
        case .newerVersion(let version): .newerVersion(version)
        case .damaged: .damaged
        case .zero, .notAHeader: .notAHeader
        }
    }

    package var storeTag: UInt64 {
        switch self {
        case .frame(let header): header.storeTag
        case .gap(let gap): gap.storeTag
        }
    }

    package var firstAnchor: UInt64 {
        switch self {
        case .frame(let header): header.firstAnchor
        case .gap(let gap): gap.firstAnchor
        }
    }

    package var endAnchor: UInt64 {
        switch self {
        case .frame(let header): header.endAnchor
        case .gap(let gap): gap.endAnchor
        }
    }

    package var previousNonce: UInt64 {
        switch self {
        case .frame(let header): header.previousNonce
        case .gap(let gap): gap.previousNonce
        }
    }

    package var lastNonce: UInt64 {
        switch self {
        case .frame(let header): header.lastNonce
        case .gap(let gap): gap.lastNonce
        }
    }

    /// What comes after the header.
    var storedByteCount: Int {
        switch self {
        case .frame(let header): Int(clamping: header.storedByteCount)
        case .gap: 0
        }
    }

    /// Header and stored bytes.
    var byteCount: Int { Self.headerByteCount + storedByteCount }

    /// Whether the stored bytes are the ones the header was made for.
    func matches(_ stored: Span<UInt8>) -> Bool {
        switch self {
        case .frame(let header):
            stored.count == storedByteCount && checksum(of: stored) == header.storedChecksum
        case .gap: stored.isEmpty
        }
    }
}
