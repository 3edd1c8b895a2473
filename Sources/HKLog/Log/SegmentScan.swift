internal import HKLogFormat

/// Takes a segment's file apart into whole frames and what stands between them, however damaged it is.
///
/// Where `LogReader` stops, this goes on: it is what `verify` and `repair` see with.
struct SegmentScan {
    /// A part of the file.
    enum Part {
        /// A whole record that leads on from the anchor reached. When `isLinked` is false it does not follow what
        /// stands before it: batches are missing between, or the nonces differ.
        case record(LogRecord, byteOffset: Int, isLinked: Bool)
        /// Bytes that are no whole record, or one that was there already.
        case damage(Range<Int>)
        /// Nothing but zeros up to the end of the file.
        case padding(Range<Int>)
        /// A header of a newer format version; the scan ends.
        case newer(byteOffset: Int)
    }

    private let file: any OpenFile
    private let storeTag: UInt64
    private let byteCount: Int
    /// No batch from this anchor on belongs into the segment.
    private let anchorLimit: UInt64
    private(set) var anchor: UInt64
    private(set) var nonce: UInt64
    private(set) var byteOffset: Int
    private var search: FrameSearch
    private var window: [UInt8] = []
    private var windowOffset = 0
    private var isAtEnd = false

    init(
        _ file: any OpenFile, storeTag: UInt64, from byteOffset: Int, anchor: UInt64, nonce: UInt64,
        anchorLimit: UInt64 = .max
    ) throws(SystemError) {
        self.file = file
        self.storeTag = storeTag
        self.byteOffset = byteOffset
        self.anchor = anchor
        self.nonce = nonce
        self.anchorLimit = anchorLimit
        byteCount = try file.status().byteCount
        search = FrameSearch(file, storeTag: storeTag, byteCount: byteCount)
    }

    mutating func next() throws(SystemError) -> Part? {
        guard !isAtEnd, byteOffset < byteCount else { return nil }
        let start = byteOffset
        while true {
            switch try look() {
            case .needs, .bad, .zeros:
                if byteOffset == start, try isZeroToEnd() {
                    isAtEnd = true
                    return .padding(start..<byteCount)
                }
                guard case .frame(_, let place) = try search.first(from: byteOffset, atLeast: anchor) else {
                    isAtEnd = true
                    byteOffset = byteCount
                    return .damage(start..<byteCount)
                }
                byteOffset = place
            case .newer:
                isAtEnd = true
                return byteOffset > start ? .damage(start..<byteCount) : .newer(byteOffset: start)
            case .whole(let record):
                if record.firstAnchor < anchor || record.endAnchor > anchorLimit {
                    byteOffset += record.byteCount
                    if byteOffset >= byteCount { return .damage(start..<byteCount) }
                    continue
                }
                if byteOffset > start { return .damage(start..<byteOffset) }
                let isLinked = record.firstAnchor == anchor && record.previousNonce == nonce
                byteOffset += record.byteCount
                anchor = record.endAnchor
                nonce = record.lastNonce
                return .record(record, byteOffset: start, isLinked: isLinked)
            }
        }
    }

    /// The stored bytes of the record that `next` has just answered.
    func storedBytes(of record: LogRecord, at byteOffset: Int) throws(SystemError) -> [UInt8] {
        let start = byteOffset + LogRecord.headerByteCount
        let index = start - windowOffset
        if index >= 0, index + record.storedByteCount <= window.count {
            return Array(window[index..<index + record.storedByteCount])
        }
        return try file.bytes(at: start, count: record.storedByteCount)
    }

    private mutating func look() throws(SystemError) -> FrameCheck {
        let remaining = byteCount - byteOffset
        var needed = LogRecord.headerByteCount
        while true {
            let index = byteOffset - windowOffset
            if index >= 0, index + needed <= window.count {
                let check = FrameCheck.look(
                    at: index, in: window.span, remaining: remaining, storeTag: storeTag)
                guard case .needs(let more) = check else { return check }
                needed = more
            } else if remaining < needed {
                return .bad
            }
            let count = min(remaining, max(needed, 1 << 20))
            window = try file.bytes(at: byteOffset, count: count)
            windowOffset = byteOffset
            guard window.count >= needed else { return .bad }
        }
    }

    private func isZeroToEnd() throws(SystemError) -> Bool {
        var place = byteOffset
        while place < byteCount {
            let bytes = try file.bytes(at: place, count: min(1 << 18, byteCount - place))
            if bytes.isEmpty { return true }
            if !isZero(bytes.span) { return false }
            place += bytes.count
        }
        return true
    }
}
