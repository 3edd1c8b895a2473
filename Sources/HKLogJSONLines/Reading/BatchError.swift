public import HKLog

/// Why a line is refused: which line, which field, and what was expected there.
///
/// It never holds what was found: an error message may go to a log, and health values may not.
public struct BatchError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The number of the line, from 1.
    public var lineNumber: Int
    /// The field, such as `added[3].start`; empty for the line as a whole.
    public var path: String
    /// What was expected.
    public var expected: String
    /// The byte of the line at which the fault was met, from 0.
    public var byteOffset: Int

    init(_ fault: LineFault, lineNumber: Int) {
        self.lineNumber = lineNumber
        self.path = fault.path
        self.expected = fault.expected
        self.byteOffset = fault.byteOffset
    }

    /// `line 7: added[3].start: expected a date …`, in one line.
    public var description: String {
        let place = path.isEmpty ? "line \(lineNumber)" : "line \(lineNumber): \(path)"
        if expected.hasPrefix("malformed") {
            return "\(place): \(expected) at byte \(byteOffset) of the line"
        }
        return "\(place): expected \(expected)"
    }

    /// The same as the library's error, with the name of the file in front where there is one.
    public func error(file: String?) -> HKLogError {
        HKLogError(.invalidData, file.map { "\($0): \(description)" } ?? description)
    }
}
