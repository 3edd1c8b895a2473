internal import HKLogFormat

/// Where the files of a store stand, and what they are called.
///
/// The one place that makes their names.
package struct LogFiles: Sendable {
    package let layer: any FileLayer
    /// The store's directory.
    package let store: String
    /// What readers and writers of this store remember of frames' places.
    let index = SparseIndex()

    package init(layer: any FileLayer, store: String) {
        self.layer = layer
        // "store/" and "store" name one place; messages look better without the slash.
        var path = store
        while path.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        self.store = path
    }

    package static let manifestName = "store.json"
    package static let lockName = "lock"
    static let logName = "log"
    static let switchName = "switch"
    static let segmentSuffix = ".seg"
    /// The first segment of a store that is being made, before `store.json` stands.
    static let firstSegmentName = "00000000000000000000.first"

    /// Stands in a copy for as long as it is not whole: see `backup`.
    static let unfinishedCopyName = "unfinished-copy"
    /// What a process that was killed can leave in the store's own directory.
    static let staleNames = ["\(manifestName).tmp", "\(manifestName).damaged.tmp", unfinishedCopyName]

    /// The directory of segments.
    package var log: String { "\(store)/\(Self.logName)" }

    func path(_ name: String) -> String { "\(log)/\(name)" }

    /// The name of a file in the log directory as messages and findings give it.
    static func shown(_ name: String) -> String { "\(logName)/\(name)" }

    /// A segment's name: twenty digits, so that names sort like anchors.
    package static func segmentName(firstAnchor: UInt64) -> String {
        digits(firstAnchor) + segmentSuffix
    }

    static func digits(_ anchor: UInt64) -> String {
        let digits = String(anchor)
        return String(repeating: "0", count: 20 - digits.utf8.count) + digits
    }

    /// The anchor that a segment's name gives; nil when it is not exactly what `segmentName` makes.
    package static func firstAnchor(ofSegmentName name: String) -> UInt64? {
        guard name.utf8.count == 24, name.hasSuffix(segmentSuffix),
            let anchor = UInt64(name.prefix(20)), segmentName(firstAnchor: anchor) == name
        else { return nil }
        return anchor
    }

    /// Removes what a killed process has left in the store's own directory; under the lock alone.
    ///
    /// None of it means anything once `store.json` stands.
    func removeStaleNames() throws(SystemError) {
        for name in try layer.names(in: store) where Self.staleNames.contains(name) {
            try layer.unlinkIfThere("\(store)/\(name)")
        }
    }

    func openSegment(_ segment: Segment) throws(SystemError) -> any OpenFile {
        guard let pending = segment.pendingName else {
            return try layer.openFully(path(segment.name), .reading)
        }
        do throws(SystemError) {
            return try layer.openFully(path(pending), .reading)
        } catch {
            // The switch has come this far in the meantime.
            guard error.isMissing else { throw error }
            return try layer.openFully(path(segment.name), .reading)
        }
    }
}

/// A point in the log: what a checkpoint keeps to find its place again without reading what comes before.
package struct LogPosition: Equatable, Sendable {
    /// How many batches stand before this point.
    package var anchor: UInt64
    /// The nonce of the last of them; 0 at the beginning.
    package var nonce: UInt64
    /// The first anchor of the segment that holds the point.
    package var segment: UInt64
    /// Where in that segment's file the point lies.
    package var byteOffset: Int
    /// Where the frame starts that ends at the point; meaningless when the point is the segment's beginning.
    package var lastFrameByteOffset: Int

    package init(
        anchor: UInt64, nonce: UInt64, segment: UInt64, byteOffset: Int, lastFrameByteOffset: Int
    ) {
        self.anchor = anchor
        self.nonce = nonce
        self.segment = segment
        self.byteOffset = byteOffset
        self.lastFrameByteOffset = lastFrameByteOffset
    }
}
