internal import HKLog

/// Ends of a command that the library does not know.
extension HKLogError.Code {
    /// The words of the command line are wrong: usage is shown.
    static let usage = HKLogError.Code("usage", 64)
    /// The reader of standard output has gone: nothing is said.
    static let closedPipe = HKLogError.Code("closedPipe", 0)
    /// A signal asked to end: nothing is said.
    static let interrupted = HKLogError.Code("interrupted", 130)
}

extension HKLogError {
    static let closedPipe = HKLogError(.closedPipe, "the reader of standard output has gone")
    static let interrupted = HKLogError(.interrupted, "interrupted")

    static func usage(_ message: String) -> HKLogError { HKLogError(.usage, message) }
}

/// The exit statuses that no error carries; the others stand in `HKLogError.Code`.
enum ExitStatus {
    static let done: Int32 = 0
    /// `verify` found something.
    static let foundSomething: Int32 = 1
    /// Lines of the input were rejected.
    static let invalidData = HKLogError.Code.invalidData.exitStatus
}
