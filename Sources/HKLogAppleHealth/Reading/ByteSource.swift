internal import HKLog

/// Where a document's bytes come from, in order.
protocol ByteSource: AnyObject {
    /// Fills the front of `buffer` and says how far; 0 is the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HKLogError) -> Int

    /// Why the bytes ended before their time, for example a checksum that does not fit. Known once `read` has
    /// said 0.
    var fault: String? { get }
}

/// Bytes that are in memory already, handed out in pieces of at most `pieceByteCount`.
final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private let pieceByteCount: Int
    private var position = 0
    var fault: String? { nil }

    init(_ bytes: [UInt8], pieceByteCount: Int = 1 << 20) {
        self.bytes = bytes
        self.pieceByteCount = max(pieceByteCount, 1)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HKLogError) -> Int {
        let count = min(buffer.count, bytes.count - position, pieceByteCount)
        guard count > 0 else { return 0 }
        unsafe bytes.withUnsafeBytes { all in
            // Sound: `count` is no more than what either side has left.
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[position..<position + count]))
        }
        position += count
        return count
    }
}

/// Reads into an array from a position on and says how many bytes; 0 is the end.
func readBytes(from source: any ByteSource, into bytes: inout [UInt8], at position: Int) throws(HKLogError)
    -> Int
{
    var failure: HKLogError?
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
        do throws(HKLogError) {
            return try unsafe source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[position...]))
        } catch {
            failure = error
            return 0
        }
    }
    if let failure { throw failure }
    return count
}
