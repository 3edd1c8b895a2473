internal import HKLog

/// Cuts a stream of bytes into lines, with no more memory than the longest line needs.
///
/// A line ends with `\n` or `\r\n`, the last one also with the end of the input. Blank lines are counted and skipped.
struct LineReader {
    /// Reads into the buffer and gives the number of bytes, 0 at the end.
    typealias Read = (inout MutableSpan<UInt8>) throws(HKLogError) -> Int

    /// What `next` has found.
    enum Found {
        case line
        /// More bytes than allowed, and no line break yet.
        case lineTooLong
        case end
    }

    /// The number of the present line, from 1.
    private(set) var lineNumber = 0
    let lineByteCountLimit: Int

    private let read: Read
    private var buffer: [UInt8]
    /// What of the buffer has been read and not yet given out.
    private var filled = 0..<0
    /// The present line, without its line break.
    private var current = 0..<0
    private var isAtEnd = false
    /// The present line goes on beyond the buffer: too long, and not yet read to its end.
    private var isCut = false

    private static let firstByteCount = 1 << 17

    init(lineByteCountLimit: Int, read: @escaping Read) {
        self.lineByteCountLimit = max(1, lineByteCountLimit)
        self.read = read
        self.buffer = [UInt8](repeating: 0, count: Self.firstByteCount)
    }

    /// The present line.
    var line: Span<UInt8> {
        @_lifetime(borrow self) borrowing get { buffer.span.extracting(current) }
    }

    /// Moves on to the next line that is not blank.
    mutating func next() throws(HKLogError) -> Found {
        if isCut { try skipRest() }
        while true {
            let found = try nextLine()
            if found != .line || !isBlank() { return found }
        }
    }

    /// Gives the present line piece by piece, the rest of one that is too long as well, without its line break.
    mutating func copyLine(_ body: (Span<UInt8>) throws(HKLogError) -> Void) throws(HKLogError) {
        try body(line)
        while isCut {
            try refill()
            let (count, hasEnded) = restOfLine()
            try body(buffer.span.extracting(0..<count))
            consumeRest(count, hasEnded)
        }
    }

    private mutating func nextLine() throws(HKLogError) -> Found {
        current = filled.lowerBound..<filled.lowerBound
        shrink()
        var searched = filled.lowerBound
        while true {
            if let lineBreak = firstLineBreak(from: searched) {
                lineNumber += 1
                current = filled.lowerBound..<lineBreak
                filled = lineBreak + 1..<filled.upperBound
                // The break may come with the very bytes that were one too many.
                let length = lengthWithoutReturn()
                current = current.lowerBound..<current.lowerBound + length
                return length > lineByteCountLimit ? .lineTooLong : .line
            }
            // One more for a carriage return that may belong to the line break.
            if filled.count > lineByteCountLimit + 1 {
                lineNumber += 1
                current = filled
                isCut = true
                return .lineTooLong
            }
            searched = filled.upperBound
            let start = filled.lowerBound
            let moved = try fill()
            searched -= start - filled.lowerBound
            if !moved {
                if filled.isEmpty { return .end }
                lineNumber += 1
                current = filled
                filled = filled.upperBound..<filled.upperBound
                current = current.lowerBound..<current.lowerBound + lengthWithoutReturn()
                return current.count > lineByteCountLimit ? .lineTooLong : .line
            }
        }
    }

    private func lengthWithoutReturn() -> Int {
        guard let last = current.last, buffer[last] == UInt8(ascii: "\r") else { return current.count }
        return current.count - 1
    }

    private func isBlank() -> Bool {
        for index in current {
            let byte = buffer[index]
            guard byte == 0x20 || byte == 0x09 || byte == 0x0D else { return false }
        }
        return true
    }

    /// Gives the memory of an uncommonly long line back.
    private mutating func shrink() {
        guard buffer.count > Self.firstByteCount << 5, filled.count <= Self.firstByteCount else { return }
        var small = [UInt8](buffer[filled])
        let count = small.count
        small.append(contentsOf: repeatElement(0, count: Self.firstByteCount * 2 - count))
        buffer = small
        filled = 0..<count
        current = 0..<0
    }

    /// Reads more behind what is there; `false` at the end of the input.
    private mutating func fill() throws(HKLogError) -> Bool {
        if isAtEnd { return false }
        if filled.lowerBound > 0, filled.upperBound == buffer.count || filled.isEmpty {
            // Down to the front. What is moved is at most one unfinished line.
            let start = filled.lowerBound
            for index in filled { buffer[index - start] = buffer[index] }
            filled = 0..<filled.count
        }
        if filled.upperBound == buffer.count {
            // Grows by doubling, and never far beyond what a line may need.
            let more = min(buffer.count, max(Self.firstByteCount, lineByteCountLimit + 2 - buffer.count))
            buffer.append(contentsOf: repeatElement(0, count: more))
        }
        let count = try readInto(filled.upperBound..<buffer.count)
        if count == 0 { isAtEnd = true }
        filled = filled.lowerBound..<filled.upperBound + count
        return count > 0
    }

    private mutating func readInto(_ range: Range<Int>) throws(HKLogError) -> Int {
        let read = self.read
        let count: Int
        do {
            var whole = buffer.mutableSpan
            var part = whole._mutatingExtracting(range)
            count = try read(&part)
        }
        return min(max(0, count), range.count)
    }

    // MARK: - The rest of a line that is too long

    private mutating func skipRest() throws(HKLogError) {
        while isCut {
            try refill()
            let (count, hasEnded) = restOfLine()
            consumeRest(count, hasEnded)
        }
    }

    private mutating func refill() throws(HKLogError) {
        current = 0..<0
        let count = try readInto(0..<buffer.count)
        if count == 0 { isAtEnd = true }
        filled = 0..<count
    }

    private func restOfLine() -> (count: Int, hasEnded: Bool) {
        if let lineBreak = firstLineBreak(from: 0) { return (lineBreak, true) }
        return (filled.count, isAtEnd)
    }

    private mutating func consumeRest(_ count: Int, _ hasEnded: Bool) {
        isCut = !hasEnded
        let next = min(count + 1, filled.upperBound)
        filled = next..<filled.upperBound
        current = filled.lowerBound..<filled.lowerBound
    }

    // MARK: - Searching

    private func firstLineBreak(from start: Int) -> Int? {
        let cursor = JSONCursor(buffer.span)
        var index = start
        let ones: UInt64 = 0x0101_0101_0101_0101
        while index &+ 32 <= filled.upperBound {
            var found: UInt64 = 0
            for step in 0..<4 {
                let word = cursor.word(at: index &+ step &* 8) ^ (ones &* 0x0A)
                found |= (word &- ones) & ~word & (ones &* 0x80)
            }
            if found != 0 { break }
            index &+= 32
        }
        while index < filled.upperBound {
            if buffer[index] == UInt8(ascii: "\n") { return index }
            index &+= 1
        }
        return nil
    }
}
