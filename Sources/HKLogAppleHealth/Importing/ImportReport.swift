public import HKLog

/// What an import did, or would do.
public struct ImportReport: Sendable, Equatable {
    /// One kind of repair, omission or oddity.
    public struct Problem: Sendable, Equatable {
        /// What it is, in words; never a health value.
        public var what: String
        /// How often it came.
        public var count: Int
        /// The byte of the uncompressed XML at which it came first; `nil` for what lies outside of it.
        public var offset: Int?
    }

    /// What happened to the samples of one type.
    public struct TypeCounts: Sendable, Equatable {
        /// The full type identifier.
        public var type: String
        /// How many the export lists.
        public var records = 0
        /// How many of them are new.
        public var added = 0
        /// How many of them differ from what the stream has.
        public var changed = 0
        /// How many are no longer listed and were deleted.
        public var deleted = 0
        /// How many are as the stream has them.
        public var same = 0
    }

    /// Samples listed, and elements that could not be kept: `added + changed + same + skipped`.
    public var records = 0
    /// New samples.
    public var added = 0
    /// Samples that differ from what the stream had.
    public var changed = 0
    /// Samples that a complete export no longer lists.
    public var deleted = 0
    /// Samples that are as the stream has them.
    public var same = 0
    /// Elements that could not become samples; `problems` says why.
    public var skipped = 0
    /// Whether the document was there to its end.
    public var complete = true
    /// Why the document is not complete: one sentence that names the byte at which it ended.
    public var incompleteMessage: String?
    /// The log's anchor after the import; filled in by who owns the log.
    public var logAnchor: UInt64 = 0
    /// Repairs, omissions and oddities, in the order in which each came first.
    public var problems: [Problem] = []
    /// The same counts by type, in the order of the identifiers.
    public var types: [TypeCounts] = []
    /// What people should know: zones that differ, types that other streams hold as well.
    public var warnings: [String] = []
    /// How many samples are no longer listed but were kept, because of `keepMissing` or an incomplete document.
    public var keptMissing = 0
    /// When the phone wrote the export, if the export says so.
    public var exportDate: Timestamp?
    /// Whether anything was appended.
    public var wroteAnything = false

    init() {}

    /// One repair, omission or oddity, where it stands.
    public struct Case: Sendable, Equatable {
        /// What it is, in the words of `Problem`.
        public var what: String
        /// The byte of the uncompressed XML; `nil` for what lies outside of it.
        public var offset: Int?

        /// The case as a line of JSON with its line feed.
        public var line: String {
            var bytes: [UInt8] = []
            bytes.append(contentsOf: "{\"what\":".utf8)
            appendJSONString(Array(what.utf8), to: &bytes)
            bytes.append(contentsOf: ",\"offset\":\(offset.map { String($0) } ?? "null")}\n".utf8)
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

/// Takes the cases of an import's report as they are met.
package protocol ImportCaseWriter: AnyObject {
    /// Takes one; what it throws stops the import.
    func write(_ met: ImportReport.Case) throws(HKLogError)
}
