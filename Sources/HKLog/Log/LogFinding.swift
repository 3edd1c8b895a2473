/// Something that is not as it should be in a log: what, and exactly where.
package struct LogFinding: Equatable, Sendable {
    /// What is wrong; the raw values are what `verify` prints.
    package enum Kind: String, Sendable {
        /// Bytes that are no whole frame, though frames or segments behind prove that there were some.
        case damaged
        /// The log's last bytes are no whole frame, and nothing behind proves that they ever were.
        case tornTail = "torn tail"
        /// A frame or segment does not follow the one before it.
        case brokenChain = "broken chain"
        /// Batches for which there is no segment.
        case missingSegment = "missing segment"
        /// A segment's first bytes are damaged.
        case damagedHeader = "damaged segment header"
        /// A segment of another store.
        case foreignSegment = "foreign segment"
        /// A segment under a name that is not its own.
        case misnamedSegment = "misnamed segment"
        /// A segment that stands twice.
        case duplicateSegment = "duplicate segment"
        /// Written by a newer version of the program.
        case newerVersion = "newer version"
        /// Bytes that are not zero behind a sealed segment's last frame.
        case trailingBytes = "bytes behind the last frame"
        /// A whole frame whose content cannot be decoded.
        case undecodable
        /// The record of an unfinished rewrite is damaged.
        case damagedSwitch = "damaged switch record"
    }

    package var kind: Kind
    /// The file's path from the store on, `log/00000000000000000000.seg`.
    package var file: String
    package var byteOffset: Int
    package var byteCount: Int
    /// The anchors that the finding touches: batches `firstAnchor ..< endAnchor` (none when they are equal).
    package var firstAnchor: UInt64
    package var endAnchor: UInt64

    package init(
        _ kind: Kind, file: String, byteOffset: Int = 0, byteCount: Int = 0, firstAnchor: UInt64 = 0,
        endAnchor: UInt64 = 0
    ) {
        self.kind = kind
        self.file = file
        self.byteOffset = byteOffset
        self.byteCount = byteCount
        self.firstAnchor = firstAnchor
        self.endAnchor = endAnchor
    }

    /// Whether it bars writing: everything but a torn tail, which a writer cuts, and what is merely untidy.
    package var barsWriting: Bool { kind != .tornTail && kind != .trailingBytes }

    /// One line that names the place.
    package var text: String {
        var text = "\(file): \(kind.rawValue)"
        if byteCount > 0 { text += " at bytes \(byteOffset) to \(byteOffset + byteCount)" }
        if endAnchor > firstAnchor { text += ", batches \(firstAnchor + 1) to \(endAnchor)" }
        return text
    }
}

extension HKLogError {
    /// The log is damaged at `finding`.
    package static func damaged(_ finding: LogFinding) -> HKLogError {
        if finding.kind == .newerVersion {
            return HKLogError(
                .damaged, "\(finding.text): written by a newer version of hklog; use that one")
        }
        return HKLogError(.damaged, "\(finding.text); run 'hklog verify', then 'hklog repair'")
    }
}
