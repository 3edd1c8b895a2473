internal import HKLogFormat

/// New segments on their way into the log: written beside it, and put in place all at once.
package struct SegmentOutput: ~Copyable {
    private let files: LogFiles
    private let storeID: RawUUID
    let token: UInt64
    private let segmentByteCountLimit: Int
    private var file: (any OpenFile)?
    private var segment: UInt64 = 0
    private var previousSegment: UInt64
    /// First anchors of the segments written so far.
    private(set) var written: [UInt64] = []
    /// Where the next record goes.
    private(set) var point: LogPosition

    init(
        _ files: LogFiles, storeID: RawUUID, token: UInt64, segmentByteCount: Int,
        previousSegment: UInt64 = SegmentHeader.noPrevious, anchor: UInt64 = 0, nonce: UInt64 = 0
    ) {
        self.files = files
        self.storeID = storeID
        self.token = token
        segmentByteCountLimit = segmentByteCount
        self.previousSegment = previousSegment
        point = LogPosition(
            anchor: anchor, nonce: nonce, segment: 0, byteOffset: 0, lastFrameByteOffset: 0)
    }

    /// The anchor and nonce that the next frame must have as `firstAnchor` and `previousNonce`.
    package var nextAnchor: UInt64 { point.anchor }
    package var lastNonce: UInt64 { point.nonce }
    package var storeTag: UInt64 { storeID.first }

    /// Writes a whole frame, header and stored bytes.
    package mutating func append(_ frame: Span<UInt8>) throws(HKLogError) {
        guard
            case .whole(let record) = FrameCheck.look(
                at: 0, in: frame, remaining: frame.count, storeTag: storeID.first),
            record.byteCount == frame.count, record.firstAnchor == point.anchor,
            record.previousNonce == point.nonce
        else {
            throw HKLogError(
                .internalFault,
                "\(files.store): a rewritten frame does not fit the one before; nothing was changed")
        }
        // A segment holds a frame at least: two that begin at one anchor would bear one name.
        if file != nil, point.byteOffset >= segmentByteCountLimit, point.byteOffset > SegmentHeader.byteCount
        {
            try endSegment()
        }
        try begin()
        try write(frame)
        point.lastFrameByteOffset = point.byteOffset
        point.byteOffset += frame.count
        point.anchor = record.endAnchor
        point.nonce = record.lastNonce
    }

    /// Carries a gap over.
    package mutating func append(_ gap: GapRecord) throws(HKLogError) {
        let bytes = gap.encoded()
        try append(bytes.span)
    }

    /// Opens a segment at the present anchor when none is open.
    mutating func begin() throws(HKLogError) {
        guard file == nil else { return }
        segment = point.anchor
        let name = SwitchRecord.temporaryName(firstAnchor: segment, token: token)
        do throws(SystemError) {
            try files.layer.unlinkIfThere(files.path(name))
            file = try files.layer.openFully(files.path(name), .creating)
        } catch {
            throw .system(error, "write a new segment", path: files.path(name))
        }
        written.append(segment)
        var bytes: [UInt8] = []
        SegmentHeader(
            storeID: storeID, firstAnchor: segment, previousFirstAnchor: previousSegment,
            previousLastNonce: point.nonce
        ).encode(into: &bytes)
        point.segment = segment
        point.byteOffset = 0
        try write(bytes.span)
        point.byteOffset = bytes.count
        point.lastFrameByteOffset = bytes.count
    }

    /// Syncs and closes the present segment.
    mutating func endSegment() throws(HKLogError) {
        guard let file else { return }
        do throws(SystemError) {
            try file.synchronizeFully()
        } catch {
            throw .system(error, "sync a new segment", path: files.log)
        }
        self.file = nil
        previousSegment = segment
    }

    private func write(_ bytes: Span<UInt8>) throws(HKLogError) {
        do throws(SystemError) {
            try file?.writeFully(bytes, at: point.byteOffset)
        } catch {
            throw .system(error, "write a new segment", path: files.log)
        }
    }
}

extension LogFiles {
    /// Removes new segments that were not put in place.
    func abandon(_ output: borrowing SegmentOutput) {
        for anchor in output.written {
            try? layer.unlinkIfThere(
                path(SwitchRecord.temporaryName(firstAnchor: anchor, token: output.token)))
        }
    }

    /// The moment of a rewrite: from here on the log is the new segments.
    ///
    /// They must be synced.
    func commit(_ record: SwitchRecord) throws(HKLogError) {
        do throws(SystemError) {
            try layer.synchronizeDirectory(log)
            let bytes = record.encoded()
            try layer.writeAtomically(bytes.span, to: Self.switchName, in: log)
        } catch {
            throw .system(error, "switch to the rewritten log", path: log)
        }
    }

    func newToken() throws(HKLogError) -> UInt64 {
        do throws(SystemError) {
            return try layer.randomWord()
        } catch {
            throw .system(error, "get a random number", path: store)
        }
    }
}
