/// A stretch of the log as it was read in one go: whole, checked frames and their stored bytes.
///
/// A plain value that owns its bytes: it can be handed to another thread for decoding, and used again for the
/// next stretch, which spares the allocation.
package struct FrameRun: Sendable {
    /// A frame of the run.
    package struct Entry: Sendable {
        package var record: LogRecord
        /// Where the frame starts in its segment's file.
        package var byteOffset: Int
        /// Where its stored bytes start in the run's own.
        var storedIndex: Int
    }

    /// The frames, in order; a gap stands where batches are lost.
    package internal(set) var entries: [Entry] = []
    /// The first anchor of the segment that all frames stand in.
    package internal(set) var segment: UInt64 = 0
    var storage: [UInt8] = []

    package init() {}

    /// Forgets the frames and keeps the memory.
    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    /// How many bytes the frames take in their file, headers and all.
    package var byteCount: Int { entries.reduce(0) { $0 + $1.record.byteCount } }

    /// The stored bytes of one of `entries`.
    @_lifetime(borrow self)
    package func storedBytes(of entry: Entry) -> Span<UInt8> {
        storage.span.extracting(
            entry.storedIndex..<entry.storedIndex + entry.record.storedByteCount)
    }
}
