/// The fixed part before a frame's stored bytes.
///
/// See `docs/format.md`, "Frames".
///
/// The header stands under a checksum of its own, so no length in it is believed before that has been checked.
package struct FrameHeader: Equatable, Sendable {
    /// Size of the encoded header.
    package static let byteCount = 96
    /// `HKFr`, little-endian.
    package static let magic: UInt32 = 0x7246_4B48
    /// The format version that this program writes, and the newest it reads.
    package static let version: UInt8 = 1
    /// The most stored bytes a frame may have: a writer refuses more, a reader believes no more.
    package static let storedByteCountLimit: UInt64 = 1 << 30
    /// The most bytes that a frame's compressed part may unpack to.
    package static let rawByteCountLimit: UInt64 = 1 << 30

    /// How the part after the raw identifiers is stored.
    package enum Compression: UInt8, Sendable {
        case none = 0
        case lz4 = 1
    }

    package var compression: Compression = .none
    /// First eight bytes of the store's id: a frame of another store is none of ours.
    package var storeTag: UInt64 = 0
    /// How many batches stand in the log before this frame.
    package var firstAnchor: UInt64 = 0
    package var batchCount: UInt32 = 0
    package var addedCount: UInt32 = 0
    package var deletedCount: UInt32 = 0
    /// The nonce of the last batch before this frame; 0 at the beginning of the log.
    package var previousNonce: UInt64 = 0
    /// The nonce of the last batch in this frame.
    package var lastNonce: UInt64 = 0
    /// All bytes after the header that belong to the frame.
    package var storedByteCount: UInt64 = 0
    /// Of those, the leading ones that are never compressed (uuids, digests, nonces).
    package var plainByteCount: UInt64 = 0
    /// What the rest unpacks to.
    package var rawByteCount: UInt64 = 0
    /// CRC32C over all `storedByteCount` stored bytes.
    package var storedChecksum: UInt32 = 0

    package init() {}

    /// The log anchor after this frame.
    package var endAnchor: UInt64 { firstAnchor &+ UInt64(batchCount) }
}
