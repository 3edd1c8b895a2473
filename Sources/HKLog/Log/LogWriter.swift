package import HKLogFormat

/// Appends frames to the log: the store's one writer.
///
/// Holds the store's lock until it is closed or dropped. Every frame goes to a tracked offset and is written whole
/// or cut off again. After a failed sync, or a failed cut, nothing more can be done: every call throws
/// `writerFinished`, and opening anew decides by what is there. Not for use from two threads at once.
package final class LogWriter {
    package let files: LogFiles
    package let storeID: RawUUID
    let segmentByteCountLimit: Int
    let lock: StoreLock
    private var file: any OpenFile
    /// The end of the log: where the next frame goes.
    private var point: LogPosition
    /// Up to here the present segment is on stable storage.
    private var synchronizedByteCount: Int
    /// Where the room ends that was asked for in advance.
    private var allocatedByteCount: Int
    private var syncCount = 0
    private var state = State.open
    /// What opening had to put right, one line each, for people.
    package private(set) var warnings: [String] = []

    private enum State {
        case open
        case finished
        case closed
    }

    /// Room is asked for in steps of this size, and never before the second sync: a short append stays short.
    static let allocationStep = 4 << 20

    /// Takes the lock, settles what an interrupted writer left, cuts a torn tail, and syncs what is there.
    ///
    /// A `hint`, as a checkpoint keeps it, spares reading what comes before it in the newest segment.
    /// Throws `locked`, or `damaged` where the log is damaged: then nothing has been changed.
    package convenience init(
        _ files: LogFiles, storeID: RawUUID, segmentByteCount: Int, hint: LogPosition? = nil
    ) throws(HKLogError) {
        try self.init(
            files, storeID: storeID, segmentByteCount: segmentByteCount, hint: hint,
            lock: try StoreLock(files))
    }

    /// The same under a lock that is held already.
    package init(
        _ files: LogFiles, storeID: RawUUID, segmentByteCount: Int, hint: LogPosition? = nil, lock: StoreLock
    ) throws(HKLogError) {
        self.files = files
        self.storeID = storeID
        self.lock = lock
        segmentByteCountLimit = max(1, segmentByteCount)
        let tail = try LogTail.recover(files, storeID: storeID, hint: hint, note: lock.note)
        file = tail.file
        point = tail.point
        synchronizedByteCount = tail.point.byteOffset
        allocatedByteCount = tail.point.byteOffset
        warnings = tail.warnings
        if lock.note != nil { lock.clearNote() }
    }

    deinit {
        // What was acknowledged is synced; this only gives back room that is not used.
        if case .open = state { try? trim() }
    }

    /// The end of the log: the next frame's `firstAnchor` and `previousNonce` are its anchor and nonce.
    package var position: LogPosition { point }
    package var nextAnchor: UInt64 { point.anchor }
    package var lastNonce: UInt64 { point.nonce }
    package var storeTag: UInt64 { storeID.first }
    /// Whether all that was appended is on stable storage.
    package var isSynchronized: Bool { synchronizedByteCount == point.byteOffset }

    /// Writes one frame, header and stored bytes, to the end of the log; with `syncing` also to stable storage.
    ///
    /// Answers the log's end after it. When there is no room (`inputOutput`) the log is as it was, and the call may
    /// be repeated once there is. After a failed sync the writer is finished.
    @discardableResult
    package func append(_ frame: Span<UInt8>, syncing: Bool) throws(HKLogError) -> LogPosition {
        try checkOpen()
        let header = try checked(frame)
        if point.byteOffset >= segmentByteCountLimit, point.byteOffset > SegmentHeader.byteCount {
            try roll()
        }
        allocateAhead(frame.count)
        do throws(SystemError) {
            try file.writeFully(frame, at: point.byteOffset)
        } catch {
            throw cutBack(after: error)
        }
        point.lastFrameByteOffset = point.byteOffset
        point.byteOffset += frame.count
        point.anchor = header.endAnchor
        point.nonce = header.lastNonce
        if syncing { try synchronize() }
        return point
    }

    /// Records that batches are lost at the end of the log, so that their anchors are never given again; synced.
    func append(_ gap: GapRecord) throws(HKLogError) {
        try checkOpen()
        guard gap.firstAnchor == point.anchor, gap.previousNonce == point.nonce else {
            throw HKLogError(.internalFault, "\(files.store): a gap does not fit the end of the log")
        }
        let bytes = gap.encoded()
        do throws(SystemError) {
            try file.writeFully(bytes.span, at: point.byteOffset)
        } catch {
            throw cutBack(after: error)
        }
        point.lastFrameByteOffset = point.byteOffset
        point.byteOffset += bytes.count
        point.anchor = gap.endAnchor
        point.nonce = gap.lastNonce
        try synchronize()
    }

    /// Puts all that was appended on stable storage.
    ///
    /// A failure finishes the writer.
    package func synchronize() throws(HKLogError) {
        try checkOpen()
        guard synchronizedByteCount != point.byteOffset else { return }
        do throws(SystemError) {
            try file.synchronizeDataFully()
        } catch {
            throw finish(
                .system(error, "sync the log", path: path), unsynchronizedFrom: synchronizedByteCount)
        }
        synchronizedByteCount = point.byteOffset
        syncCount += 1
    }

    /// Seals the present segment and begins the next, so that all that was appended stands in sealed files.
    ///
    /// Does nothing when the present segment is empty.
    package func roll() throws(HKLogError) {
        try checkOpen()
        guard point.byteOffset > SegmentHeader.byteCount else { return }
        // The old segment is on stable storage before the new one exists: whoever sees the new one may
        // conclude that the old one is whole.
        try trim()
        try synchronize()
        let name = LogFiles.segmentName(firstAnchor: point.anchor)
        var header = SegmentHeader()
        header.storeID = storeID
        header.firstAnchor = point.anchor
        header.previousFirstAnchor = point.segment
        header.previousLastNonce = point.nonce
        var bytes: [UInt8] = []
        header.encode(into: &bytes)
        let next: any OpenFile
        do throws(SystemError) {
            next = try files.layer.openFully(files.path(name), .creating)
        } catch {
            throw .system(error, "begin a new segment", path: files.path(name))
        }
        do throws(SystemError) {
            try next.writeFully(bytes.span, at: 0)
            try next.synchronizeFully()
            try files.layer.synchronizeDirectory(files.log)
        } catch {
            let failure = HKLogError.system(error, "begin a new segment", path: files.path(name))
            // Should the header be in the page cache alone, the next writer writes it once more.
            lock.leave(UnsynchronizedNote(segment: point.anchor, byteOffset: 0))
            // With no room for the header the file goes again, and the old segment is still the last.
            guard error.isOutOfSpace, error.call == .pwrite else { throw finish(failure) }
            do throws(SystemError) {
                try files.layer.unlink(files.path(name))
            } catch { _ = finish(failure) }
            throw failure
        }
        file = next
        point.segment = point.anchor
        point.byteOffset = SegmentHeader.byteCount
        point.lastFrameByteOffset = SegmentHeader.byteCount
        synchronizedByteCount = SegmentHeader.byteCount
        allocatedByteCount = SegmentHeader.byteCount
    }

    /// Syncs, gives back room that was not used, and lets go of the lock.
    package func close() throws(HKLogError) {
        guard case .open = state else { return }
        try trim()
        try synchronize()
        state = .closed
        lock.release()
    }

    /// Brings everything into the files before they are rewritten.
    func prepareRewrite() throws(HKLogError) {
        try checkOpen()
        try trim()
        try synchronize()
    }

    /// Switches to rewritten segments and goes on at their end.
    func replaceLog(_ record: SwitchRecord, end: LogPosition) throws(HKLogError) {
        do throws(HKLogError) {
            try files.commit(record)
        } catch {
            // Without the record the old log stands, and this writer goes on with it. Where that cannot be told, it
            // is for the next opening to see.
            if (try? files.layer.exists(files.path(LogFiles.switchName))) == false { throw error }
            throw finish(error)
        }
        do throws(HKLogError) {
            try files.settle()
        } catch {
            throw finish(error)
        }
        let path = files.path(LogFiles.segmentName(firstAnchor: end.segment))
        do throws(SystemError) {
            file = try files.layer.openFully(path, .writing)
        } catch {
            throw finish(.system(error, "open the rewritten log", path: path))
        }
        point = end
        synchronizedByteCount = end.byteOffset
        allocatedByteCount = end.byteOffset
    }

    private var path: String { files.path(LogFiles.segmentName(firstAnchor: point.segment)) }

    /// Whether no failure has ended the writer.
    var isOpen: Bool { if case .open = state { true } else { false } }

    func checkOpen() throws(HKLogError) {
        guard isOpen else {
            throw HKLogError(
                .writerFinished,
                "\(files.store): an earlier failure has ended this writer; open the store anew")
        }
    }

    /// A frame that a reader would not take is never written.
    private func checked(_ frame: Span<UInt8>) throws(HKLogError) -> FrameHeader {
        guard
            case .whole(.frame(let header)) = FrameCheck.look(
                at: 0, in: frame, remaining: frame.count, storeTag: storeTag),
            FrameHeader.byteCount + Int(clamping: header.storedByteCount) == frame.count,
            header.firstAnchor == point.anchor,
            header.previousNonce == point.nonce
        else {
            throw HKLogError(
                .internalFault, "\(files.store): a frame does not fit the end of the log; it was not written")
        }
        return header
    }

    private func allocateAhead(_ byteCount: Int) {
        let end = point.byteOffset + byteCount
        guard syncCount >= 2, end > allocatedByteCount, byteCount < Self.allocationStep else { return }
        let limit = max(segmentByteCountLimit, end)
        let target = min(point.byteOffset + Self.allocationStep, limit)
        guard target > allocatedByteCount else { return }
        do throws(SystemError) {
            try file.allocate(from: point.byteOffset, byteCount: target - point.byteOffset)
            allocatedByteCount = target
        } catch {
            // Only a convenience. What it may have allocated all the same goes with the next trim.
            allocatedByteCount = max(allocatedByteCount, end + 1)
        }
    }

    private func trim() throws(HKLogError) {
        guard allocatedByteCount > point.byteOffset else { return }
        do throws(SystemError) {
            try file.truncateFully(to: point.byteOffset)
        } catch {
            throw finish(.system(error, "trim the log", path: path))
        }
        allocatedByteCount = point.byteOffset
        // The new size is to be synced too.
        synchronizedByteCount = min(synchronizedByteCount, point.byteOffset - 1)
    }

    private func cutBack(after error: SystemError) -> HKLogError {
        let failure = HKLogError.system(error, "append to the log", path: path)
        do throws(SystemError) {
            try file.truncateFully(to: point.byteOffset)
            allocatedByteCount = point.byteOffset
        } catch {
            return finish(failure)
        }
        return error.isOutOfSpace ? failure : finish(failure)
    }

    private func finish(_ failure: HKLogError, unsynchronizedFrom byteOffset: Int? = nil) -> HKLogError {
        state = .finished
        if let byteOffset {
            lock.leave(UnsynchronizedNote(segment: point.segment, byteOffset: byteOffset))
        }
        return failure
    }
}
