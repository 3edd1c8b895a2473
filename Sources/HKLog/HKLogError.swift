/// What went wrong, where, and what to do next.
///
/// Never holds a health value.
public struct HKLogError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure; open, so that later versions can add some.
    public struct Code: Hashable, Sendable {
        /// A stable name.
        public let name: String
        /// The exit status of the command line for it (`sysexits.h`).
        public let exitStatus: Int32

        package init(_ name: String, _ exitStatus: Int32) {
            self.name = name
            self.exitStatus = exitStatus
        }

        /// An argument is wrong: an unknown type, unit, zone or option, or one that does not fit.
        public static let invalidArgument = Code("invalidArgument", 64)
        /// An anchor beyond the end of the log.
        public static let anchorBeyondEnd = Code("anchorBeyondEnd", 64)
        /// Input data is not valid.
        public static let invalidData = Code("invalidData", 65)
        /// A file or store is not there, or a folder is no store.
        public static let notFound = Code("notFound", 66)
        /// A fault of the program itself.
        public static let internalFault = Code("internalFault", 70)
        /// A store cannot be made.
        public static let cannotCreate = Code("cannotCreate", 73)
        /// Reading or writing failed.
        public static let inputOutput = Code("inputOutput", 74)
        /// Bytes of the store are damaged or missing.
        public static let damaged = Code("damaged", 74)
        /// The writer has failed before and must be opened anew.
        public static let writerFinished = Code("writerFinished", 74)
        /// Another process holds the store.
        public static let locked = Code("locked", 75)
        /// The batch conflicts with the log.
        public static let conflict = Code("conflict", 75)
    }

    /// What kind of failure.
    public var code: Code
    /// One sentence: what happened, where, and what to do.
    public var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
