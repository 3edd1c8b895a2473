public import HKLog

/// Reads batches from JSON Lines: cuts the lines, decodes them, and counts.
///
/// ```swift
/// var reader = BatchReader { buffer in try file.read(into: &buffer) }
/// while let event = try reader.next() {
///     switch event {
///     case .batch(let batch): try log.append(batch)
///     case .rejected(let error): print(error)
///     }
/// }
/// ```
public struct BatchReader {
    /// What the next line was.
    public enum Event: Sendable {
        /// A batch.
        case batch(Batch)
        /// A line that is not valid. It is the present line until `next` is called again, which goes on after it.
        case rejected(BatchError)
    }

    /// The longest line unless told otherwise: 256 MiB.
    public static var lineByteCountLimit: Int { JSONLimits.lineByteCount }

    private var lines: LineReader
    private var decoder = BatchDecoder()

    /// Makes a reader of a source of bytes.
    ///
    /// - Parameters:
    ///   - lineByteCountLimit: How long a line may be, without its line break.
    ///   - read: Fills the buffer from its beginning, gives the number of bytes, and 0 at the end of the input.
    public init(
        lineByteCountLimit: Int = BatchReader.lineByteCountLimit,
        read: @escaping (inout MutableSpan<UInt8>) throws(HKLogError) -> Int
    ) {
        self.lines = LineReader(lineByteCountLimit: lineByteCountLimit, read: read)
    }

    /// The number of the present line, from 1; 0 before the first.
    public var lineNumber: Int { lines.lineNumber }

    /// Reads up to the next batch or line that is not valid; `nil` at the end.
    ///
    /// - Throws: What the source of bytes throws.
    public mutating func next() throws(HKLogError) -> Event? {
        while true {
            switch try lines.next() {
            case .end:
                return nil
            case .lineTooLong:
                let fault = LineFault(
                    at: lines.lineByteCountLimit,
                    "a line of at most \(lines.lineByteCountLimit) bytes (--max-line)")
                return .rejected(BatchError(fault, lineNumber: lines.lineNumber))
            case .line:
                do throws(BatchError) {
                    if let batch = try Self.decode(lines, &decoder) { return .batch(batch) }
                } catch {
                    return .rejected(error)
                }
            }
        }
    }

    private static func decode(
        _ lines: borrowing LineReader, _ decoder: inout BatchDecoder
    ) throws(BatchError) -> Batch? {
        guard case .batch(let batch) = try decoder.decode(lines.line, lineNumber: lines.lineNumber) else {
            return nil
        }
        return batch
    }

    /// Gives the present line as it came, without its line break: in one piece, or, if it was too long, in several
    /// (reading on to its end).
    public mutating func copyLine(_ body: (Span<UInt8>) throws(HKLogError) -> Void) throws(HKLogError) {
        try lines.copyLine(body)
    }
}
