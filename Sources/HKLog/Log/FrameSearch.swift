internal import HKLogFormat

/// Looks for whole frames of a store anywhere in a file, as one must behind damage.
struct FrameSearch {
    /// What a search has found.
    enum Result: Equatable {
        case none
        /// A whole frame, and where it starts.
        case frame(LogRecord, byteOffset: Int)
        /// More seeming frames than an honest file has: the search was given up.
        case undecided
    }

    private let file: any OpenFile
    private let storeTag: UInt64
    private let byteCount: Int
    /// Bytes that may still be checked: seeming headers that claim long frames, one in the other, must not make
    /// the search take the square of the file's size.
    private var budget: Int
    private static let windowByteCount = 1 << 20

    init(_ file: any OpenFile, storeTag: UInt64, byteCount: Int) {
        self.file = file
        self.storeTag = storeTag
        self.byteCount = byteCount
        budget = (64 << 20) + (byteCount > Int.max / 16 ? Int.max / 2 : byteCount * 8)
    }

    /// The first whole frame at or behind `byteOffset` whose first anchor is at least `anchor`.
    mutating func first(from byteOffset: Int, atLeast anchor: UInt64) throws(SystemError) -> Result {
        let headerByteCount = LogRecord.headerByteCount
        var start = byteOffset
        while byteCount - start >= headerByteCount {
            let window = try file.bytes(at: start, count: min(Self.windowByteCount, byteCount - start))
            guard window.count >= headerByteCount else { return .none }
            let end = window.count - headerByteCount
            var index = 0
            while let candidate = nextMagic(in: window.span, from: index, through: end) {
                index = candidate + 1
                let header = window.span.extracting(candidate..<candidate + headerByteCount)
                guard case .valid(let record) = LogRecord.read(header),
                    record.storeTag == storeTag, record.firstAnchor >= anchor,
                    record.byteCount <= byteCount - start - candidate
                else { continue }
                budget -= record.byteCount
                guard budget >= 0 else { return .undecided }
                let place = start + candidate
                let stored = try file.bytes(at: place + headerByteCount, count: record.storedByteCount)
                guard record.matches(stored.span) else { continue }
                return .frame(record, byteOffset: place)
            }
            start += end + 1
        }
        return .none
    }

    /// The first place from `index` through `last` where a header's first four bytes stand.
    private func nextMagic(in bytes: Span<UInt8>, from index: Int, through last: Int) -> Int? {
        unsafe bytes.withUnsafeBytes { bytes in
            var place = index
            while place <= last {
                // Eight bytes without an "H" are passed over at once: a word with a zero byte where one stands.
                // Sound: a header's length follows `last`.
                let word = unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self) ^ Self.everyH
                if (word &- Self.everyOne) & ~word & Self.everyHigh == 0 {
                    place += 8
                    continue
                }
                // Frames and gaps: "HKFr" and "HKGp".
                if unsafe bytes[place] == UInt8(ascii: "H") && bytes[place + 1] == UInt8(ascii: "K") {
                    let third = unsafe bytes[place + 2]
                    if third == UInt8(ascii: "F") || third == UInt8(ascii: "G") { return place }
                }
                place += 1
            }
            return nil
        }
    }

    private static let everyH = 0x0101_0101_0101_0101 * UInt64(UInt8(ascii: "H"))
    private static let everyOne: UInt64 = 0x0101_0101_0101_0101
    private static let everyHigh: UInt64 = 0x8080_8080_8080_8080
}
