private import CHKLogShims
internal import HKLogFormat

/// The numbers that the views have for a frame's shapes.
///
/// Frames that follow each other mostly name the same shapes, so the last ones are remembered by a cheap look at their
/// labels: a comparison in place of a hash over all bytes and a look-up.
struct FrameShapes {
    /// Of the shapes of the present frame, those that are known already; `unknown` for others.
    private var numbers: [UInt64] = []
    private var recent = [Recent](repeating: Recent(), count: 256)
    private static let unknown = UInt64.max

    private struct Recent {
        var label: [UInt8] = []
        /// Stream and shape, in one word; a shape of one stream is not that of another.
        var number = FrameShapes.unknown
    }

    init() {}

    mutating func begin(shapeCount: Int) {
        numbers.removeAll(keepingCapacity: true)
        numbers.append(contentsOf: repeatElement(FrameShapes.unknown, count: shapeCount))
    }

    /// The number of a shape of the frame in a stream; `nil` when it has not been looked at there yet.
    @inline(__always)
    func number(_ index: Int, stream: UInt32) -> UInt32? {
        let number = numbers[index]
        return UInt32(truncatingIfNeeded: number >> 32) == stream && number != FrameShapes.unknown
            ? UInt32(truncatingIfNeeded: number) : nil
    }

    /// The number of a shape that is new in the frame, if an earlier frame named it not long ago.
    mutating func recall(_ index: Int, label: [UInt8], stream: UInt32) -> UInt32? {
        let place = label.place & (recent.count - 1)
        let known = recent[place].number
        guard UInt32(truncatingIfNeeded: known >> 32) == stream, known != FrameShapes.unknown,
            recent[place].label.equals(label)
        else { return nil }
        numbers[index] = known
        return UInt32(truncatingIfNeeded: known)
    }

    /// Remembers the number that a shape has been given.
    mutating func note(_ index: Int, label: [UInt8], stream: UInt32, _ shape: UInt32) {
        numbers[index] = UInt64(stream) << 32 | UInt64(shape)
        recent[label.place & (recent.count - 1)] = Recent(label: label, number: numbers[index])
    }
}

extension [UInt8] {
    /// A place to remember the bytes at.
    fileprivate var place: Int {
        var word = UInt64(truncatingIfNeeded: count)
        unsafe withUnsafeBytes { bytes in
            // Sound: each load lies within the bytes; labels shorter than a word share a place.
            for offset in stride(from: 0, through: bytes.count - 8, by: 8) {
                word ^= unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                word = (word &* 0x9E37_79B9_7F4A_7C15) ^ word >> 29
            }
        }
        return Int(truncatingIfNeeded: word >> 40)
    }

    /// Compares as blocks of memory: `==` goes byte by byte.
    fileprivate func equals(_ other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { own in
            unsafe other.withUnsafeBytes { other in
                guard let left = own.baseAddress, let right = other.baseAddress else { return true }
                // Sound: both have `count` bytes.
                return unsafe left == right || hklog_bytes_equal(left, right, own.count) != 0
            }
        }
    }
}
