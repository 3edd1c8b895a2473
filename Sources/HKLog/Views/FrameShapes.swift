private import CHKLogShims
internal import HKLogFormat

/// The numbers that the views have for a frame's shapes.
///
/// Frames that follow each other mostly name the same shapes at the same places, so numbers stay from one frame to the
/// next where the label is the same: a comparison in place of a hash and a look-up.
struct FrameShapes {
    private var labels: [[UInt8]] = []
    /// Stream and shape of each label, in one word; a shape of one stream is not that of another.
    private var numbers: [UInt64] = []

    init() {}

    /// Forgets what is not in the next frame.
    mutating func begin(_ shapes: [RowShape]) {
        for index in shapes.indices {
            if index == labels.count {
                labels.append(shapes[index].label)
                numbers.append(.max)
            } else if !labels[index].equals(shapes[index].label) {
                labels[index] = shapes[index].label
                numbers[index] = .max
            }
        }
    }

    /// The number of a shape of the frame; `nil` when the stream's is not known yet.
    @inline(__always)
    func number(_ index: Int, stream: UInt32) -> UInt32? {
        let number = numbers[index]
        return UInt32(truncatingIfNeeded: number >> 32) == stream && number != .max
            ? UInt32(truncatingIfNeeded: number) : nil
    }

    mutating func note(_ index: Int, stream: UInt32, _ shape: UInt32) {
        numbers[index] = UInt64(stream) << 32 | UInt64(shape)
    }
}

extension [UInt8] {
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
