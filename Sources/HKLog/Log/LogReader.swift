package import HKLogFormat

/// What a step of reading has brought.
package enum LogReading: Equatable, Sendable {
    /// The run holds at least one frame.
    case frames
    /// Nothing more stands in the log at the moment. The finding is the torn tail, where there is one.
    case end(tornTail: LogFinding?)
    /// The log goes on behind damage; reading stays before it.
    case damaged(LogFinding)
}

/// Reads frames in order from an anchor on, across segments, and follows a writer.
///
/// Takes no lock and writes nothing. Every frame is checked: header, length, checksum, store, anchor, and the
/// nonce of the batch before it. At the end of the log `read` may be called again, at whatever intervals the
/// caller chooses: it goes on when there is more. Holds one open file, however many segments there are. Not for
/// use from two threads at once.
package final class LogReader {
    package let files: LogFiles
    private let storeID: RawUUID
    private var storeTag: UInt64 { storeID.first }
    private let runByteCount: Int
    private var catalog: SegmentCatalog
    /// The directory's time of change when the catalog was read.
    private var catalogTime: Int64
    private var file: (any OpenFile)?
    private var segment: Segment?
    private var point: LogPosition
    /// Set after a rewrite has moved frames: the frame at the point may begin before this anchor, which was
    /// reached with this nonce.
    private var reached: (anchor: UInt64, nonce: UInt64)?
    /// A place that looked damaged once: a writer may have been at work there, so it is read again first.
    private var suspect: LogPosition?
    /// How far the present segment's bytes are known to be on stable storage.
    private var synchronizedPoint: LogPosition?

    /// Opens the log at `anchor`.
    ///
    /// The frame that holds the batch after `anchor` is the first to be read; it may begin before it (see
    /// `position`). A `hint`, as a checkpoint keeps it, spares the search; one that does not fit is not believed.
    /// Throws `anchorBeyondEnd`, or `damaged` where damage bars the way.
    package init(
        _ files: LogFiles, storeID: RawUUID, from anchor: UInt64 = 0, hint: LogPosition? = nil,
        runByteCount: Int = 4 << 20
    ) throws(HKLogError) {
        self.files = files
        self.storeID = storeID
        self.runByteCount = runByteCount
        catalogTime = try Self.changeTime(files)
        catalog = try SegmentCatalog.read(files, storeID: storeID)
        point = LogPosition(anchor: 0, nonce: 0, segment: 0, byteOffset: 0, lastFrameByteOffset: 0)
        try seek(anchor, hint: hint)
    }

    /// Where the next frame to read starts.
    ///
    /// Right after opening, its anchor is below the one asked for when that
    /// lies within a frame; the nonce is that of the batch before it.
    package var position: LogPosition { point }

    /// The segments as they were last seen.
    package var segments: SegmentCatalog { catalog }

    /// Reads the next frames into the run, which is overwritten.
    package func read(into run: inout FrameRun) throws(HKLogError) -> LogReading {
        while true {
            run.entries.removeAll(keepingCapacity: true)
            let stop = try fill(&run)
            if !run.entries.isEmpty {
                suspect = nil
                return .frames
            }
            switch try settle(stop) {
            case .goOn: continue
            case .answer(.damaged(let finding)):
                guard suspect == point else {
                    suspect = point
                    continue
                }
                return .damaged(finding)
            case .answer(let answer): return answer
            }
        }
    }

    /// Puts everything that was read so far on stable storage.
    ///
    /// Whoever hands out an anchor to go on from calls this before: the writer may not have synced what a reader
    /// already sees.
    package func syncForHandout() throws(HKLogError) {
        guard let file, let segment, synchronizedPoint != point else { return }
        do throws(SystemError) {
            try file.synchronizeDataFully()
            if synchronizedPoint?.segment != segment.firstAnchor {
                try files.layer.synchronizeDirectory(files.log)
            }
        } catch {
            // Where nothing can be written there is nothing that waits to be written.
            guard error.number == ErrorNumber.readOnly || error.number == ErrorNumber.notSupported else {
                throw .system(error, "sync", path: files.path(segment.name))
            }
        }
        synchronizedPoint = point
    }

    // MARK: Reading within a segment

    /// Why no further frame was taken.
    private enum Stop {
        /// The file or its readable part ends here, or the run is full.
        case end
        case zeros
        case bad
        case newer
        /// A whole frame, but not the one that follows.
        case stranger(LogRecord)
    }

    private func fill(_ run: inout FrameRun) throws(HKLogError) -> Stop {
        guard let file, let segment else { return .end }
        run.segment = segment.firstAnchor
        do throws(SystemError) {
            var needed = runByteCount
            while true {
                let remaining = try file.status().byteCount - point.byteOffset
                guard remaining > 0 else { return .end }
                let wanted = min(needed, remaining)
                if run.storage.count < wanted {
                    run.storage = [UInt8](repeating: 0, count: wanted)
                }
                var buffer = run.storage.mutableSpan
                let count = try file.readFully(into: &buffer, limit: wanted, at: point.byteOffset)
                let stop = take(&run, count: count, remaining: remaining)
                guard case .needs(let more) = stop.check else { return stop.reason }
                // A frame that is longer than the buffer; its length lies within the file.
                guard run.entries.isEmpty else { return .end }
                guard more > needed else { return .end }
                needed = more
            }
        } catch {
            throw .system(error, "read", path: files.path(segment.name))
        }
    }

    /// Takes all whole frames at the beginning of the run's bytes.
    private func take(_ run: inout FrameRun, count: Int, remaining: Int) -> (check: FrameCheck, reason: Stop)
    {
        var index = 0
        let start = point.byteOffset
        while true {
            let check = FrameCheck.look(
                at: index, in: run.storage.span.extracting(0..<count), remaining: remaining - index,
                storeTag: storeTag)
            switch check {
            case .whole(let record):
                guard follows(record) else { return (check, .stranger(record)) }
                run.entries.append(
                    FrameRun.Entry(
                        record: record, byteOffset: start + index,
                        storedIndex: index + LogRecord.headerByteCount))
                files.index.remember(
                    SparseIndex.Place(
                        anchor: record.firstAnchor, previousNonce: record.previousNonce,
                        byteOffset: start + index), in: point.segment)
                point.lastFrameByteOffset = start + index
                index += record.byteCount
                point.byteOffset = start + index
                point.anchor = record.endAnchor
                point.nonce = record.lastNonce
            case .needs: return (check, .end)
            case .zeros: return (check, .zeros)
            case .newer: return (check, .newer)
            case .bad: return (check, remaining == index ? .end : .bad)
            }
        }
    }

    private func follows(_ record: LogRecord) -> Bool {
        guard record.firstAnchor == point.anchor, record.previousNonce == point.nonce else { return false }
        if let reached {
            // After a rewrite: the first frame must lead over the anchor that was reached.
            self.reached = nil
            return record.endAnchor > reached.anchor
                && (record.firstAnchor != reached.anchor || record.previousNonce == reached.nonce)
        }
        return true
    }

    // MARK: Between segments, and the end

    private enum Verdict {
        case goOn
        case answer(LogReading)
    }

    /// What it means that no frame stands at the point.
    private func settle(_ stop: Stop) throws(HKLogError) -> Verdict {
        guard let file, let segment else {
            // An empty log: perhaps a writer has begun it in the meantime.
            try refresh()
            if catalog.segments.first?.firstAnchor == 0 {
                try enter(catalog.segments[0])
                return .goOn
            }
            if let finding = catalog.findings.first(where: \.barsWriting) {
                return .answer(.damaged(finding))
            }
            if !catalog.hasSegmentFiles, try !files.isFresh() {
                let first = LogFiles.shown(LogFiles.segmentName(firstAnchor: 0))
                return .answer(.damaged(LogFinding(.missingSegment, file: first)))
            }
            return .answer(.end(tornTail: nil))
        }
        if case .newer = stop {
            return .answer(.damaged(finding(.newerVersion, in: segment, byteCount: 0)))
        }
        // As a rule the next segment was there already when the catalog was read.
        if let next = nextSegment(after: segment), try enterIfThere(next) { return .goOn }
        let isQuiet: Bool
        if case .end = stop { isQuiet = true } else { isQuiet = try isZeroToEnd(file, stop) }
        if isQuiet, proofOfMore == nil, try !hasChanged(),
            catalog.segments.last?.firstAnchor == segment.firstAnchor,
            try !nextIsThere(segment)
        {
            return endOrFinding(tornTail: nil)
        }
        try refresh()
        if let next = nextSegment(after: segment), try enterIfThere(next) { return .goOn }
        if let position = catalog.index(holding: point.anchor),
            let next = catalog.segments[position...].first,
            next.firstAnchor == point.anchor, next.firstAnchor != segment.firstAnchor
        {
            if try relocate(segment, file) { return .goOn }
            return .answer(
                .damaged(
                    LogFinding(
                        .brokenChain, file: LogFiles.shown(next.name), firstAnchor: next.firstAnchor,
                        endAnchor: next.firstAnchor)))
        }
        if try relocate(segment, file) { return .goOn }
        return try endOfNewest(segment, file, stop, isQuiet: isQuiet)
    }

    /// The segment that begins where this one has been read to, and says so itself.
    private func nextSegment(after segment: Segment) -> Segment? {
        guard point.anchor != segment.firstAnchor, let position = catalog.index(holding: point.anchor) else {
            return nil
        }
        let next = catalog.segments[position]
        let follows =
            next.firstAnchor == point.anchor && next.header.previousFirstAnchor == segment.firstAnchor
            && next.header.previousLastNonce == point.nonce
        return follows ? next : nil
    }

    /// False when a rewrite has taken the segment away.
    private func enterIfThere(_ segment: Segment) throws(HKLogError) -> Bool {
        do throws(HKLogError) {
            try enter(segment)
            return true
        } catch {
            guard error.code == .notFound else { throw error }
            return false
        }
    }

    /// The anchor of a later segment, which proves that there was more, and so does the name of one whose making
    /// broke off.
    private var proofOfMore: UInt64? {
        if let later = catalog.segments.first(where: { $0.firstAnchor > point.anchor }) {
            return later.firstAnchor
        }
        let incomplete = catalog.incompleteNewest.flatMap { LogFiles.firstAnchor(ofSegmentName: $0) }
        return incomplete.flatMap { $0 > point.anchor ? $0 : nil }
    }

    private func endOfNewest(_ segment: Segment, _ file: any OpenFile, _ stop: Stop, isQuiet: Bool)
        throws(HKLogError) -> Verdict
    {
        let proof = proofOfMore
        if isQuiet {
            let next = catalog.findings.first { $0.barsWriting && $0.firstAnchor == point.anchor }
            if let next { return .answer(.damaged(next)) }
            if proof == nil { return endOrFinding(tornTail: nil) }
        }
        if case .stranger(let record) = stop, record.firstAnchor >= point.anchor {
            let kind: LogFinding.Kind = record.firstAnchor == point.anchor ? .brokenChain : .damaged
            return .answer(.damaged(finding(kind, in: segment, byteCount: 0, end: record.firstAnchor)))
        }
        do throws(SystemError) {
            let byteCount = try file.status().byteCount
            var search = FrameSearch(file, storeTag: storeTag, byteCount: byteCount)
            let rest = max(0, byteCount - point.byteOffset)
            switch try search.first(from: point.byteOffset, atLeast: point.anchor) {
            case .frame(let record, let byteOffset):
                return .answer(
                    .damaged(
                        finding(
                            .damaged, in: segment, byteCount: byteOffset - point.byteOffset,
                            end: record.firstAnchor)))
            case .undecided:
                return .answer(.damaged(finding(.damaged, in: segment, byteCount: rest)))
            case .none: break
            }
            if let proof {
                return .answer(.damaged(finding(.damaged, in: segment, byteCount: rest, end: proof)))
            }
            return endOrFinding(tornTail: finding(.tornTail, in: segment, byteCount: rest))
        } catch {
            throw .system(error, "read", path: files.path(segment.name))
        }
    }

    /// The end, unless the segments' names and headers show that there is, or was, more.
    private func endOrFinding(tornTail: LogFinding?) -> Verdict {
        let more = catalog.findings.first { $0.barsWriting && $0.firstAnchor >= point.anchor }
        if let more { return .answer(.damaged(more)) }
        return .answer(.end(tornTail: tornTail))
    }

    private func finding(_ kind: LogFinding.Kind, in segment: Segment, byteCount: Int, end: UInt64? = nil)
        -> LogFinding
    {
        LogFinding(
            kind, file: LogFiles.shown(segment.name), byteOffset: point.byteOffset, byteCount: byteCount,
            firstAnchor: point.anchor, endAnchor: end ?? point.anchor)
    }

    /// Whether nothing but zeros follows: preallocated room.
    private func isZeroToEnd(_ file: any OpenFile, _ stop: Stop) throws(HKLogError) -> Bool {
        switch stop {
        case .zeros, .bad: break
        default: return false
        }
        do throws(SystemError) {
            let end = try file.status().byteCount
            var byteOffset = point.byteOffset
            while byteOffset < end {
                let bytes = try file.bytes(at: byteOffset, count: min(1 << 18, end - byteOffset))
                if bytes.isEmpty { break }
                if !isZero(bytes.span) { return false }
                byteOffset += bytes.count
            }
            return true
        } catch {
            throw .system(error, "read", path: files.log)
        }
    }

    private static func changeTime(_ files: LogFiles) throws(HKLogError) -> Int64 {
        do throws(SystemError) {
            return try files.layer.status(of: files.log).modified
        } catch {
            throw .system(error, "look at the log", path: files.log)
        }
    }

    private func hasChanged() throws(HKLogError) -> Bool { try Self.changeTime(files) != catalogTime }

    /// Whether a segment begins where this one has been read to.
    private func nextIsThere(_ segment: Segment) throws(HKLogError) -> Bool {
        guard point.anchor != segment.firstAnchor else { return false }
        do throws(SystemError) {
            return try files.layer.exists(files.path(LogFiles.segmentName(firstAnchor: point.anchor)))
        } catch {
            throw .system(error, "look for the next segment", path: files.log)
        }
    }

    private func refresh() throws(HKLogError) {
        let time = try Self.changeTime(files)
        catalog = try SegmentCatalog.read(files, storeID: storeID)
        catalogTime = time
    }

    /// Finds the way again after a rewrite has put other files in the place of the one being read.
    ///
    /// Follows a refresh. While a switch is not finished, the catalog's file bears its pending name.
    private func relocate(_ segment: Segment, _ file: any OpenFile) throws(HKLogError) -> Bool {
        let listed = catalog.segments.first { $0.firstAnchor == segment.firstAnchor } ?? segment
        do throws(SystemError) {
            let present = try files.layer.status(of: files.path(listed.pendingName ?? listed.name))
            if try file.status().isSameFile(as: present) { return false }
        } catch {
            guard error.isMissing else { throw .system(error, "look at a segment", path: files.log) }
        }
        let (anchor, nonce) = (point.anchor, point.nonce)
        try seek(anchor, hint: nil)
        reached = (anchor, nonce)
        return true
    }

    // MARK: Finding an anchor

    private func enter(_ segment: Segment) throws(HKLogError) {
        do throws(SystemError) {
            file = try files.openSegment(segment)
        } catch {
            throw .system(error, "open a segment", path: files.path(segment.name))
        }
        self.segment = segment
        point = LogPosition(
            anchor: segment.firstAnchor, nonce: segment.header.previousLastNonce,
            segment: segment.firstAnchor, byteOffset: SegmentHeader.byteCount,
            lastFrameByteOffset: SegmentHeader.byteCount)
    }

    private func seek(_ anchor: UInt64, hint: LogPosition?) throws(HKLogError) {
        for _ in 0..<5 {
            do throws(HKLogError) {
                return try seekOnce(anchor, hint: hint)
            } catch {
                // A rewrite may have taken the file away between the listing and the opening.
                guard error.code == .notFound else { throw error }
                try refresh()
            }
        }
        try seekOnce(anchor, hint: hint)
    }

    private func seekOnce(_ anchor: UInt64, hint: LogPosition?) throws(HKLogError) {
        if let hint, hint.anchor == anchor, try believe(hint) { return }
        guard let position = catalog.index(holding: anchor) else {
            if let finding = catalog.findings.first(where: \.barsWriting) { throw .damaged(finding) }
            guard anchor == 0 else { throw .beyondEnd(anchor, end: 0) }
            return
        }
        try enter(catalog.segments[position])
        let place = files.index.place(before: anchor, in: point.segment)
        if let place, try isFrame(at: place.byteOffset, anchor: place.anchor, nonce: place.previousNonce) {
            point.anchor = place.anchor
            point.nonce = place.previousNonce
            point.byteOffset = place.byteOffset
        }
        guard point.anchor < anchor, let file else { return }
        do throws(SystemError) {
            var scan = try HeaderScan(file, storeTag: storeTag, from: point.byteOffset)
            var byteOffset = point.byteOffset
            while point.anchor < anchor, let record = try scan.next() {
                guard record.firstAnchor == point.anchor, record.previousNonce == point.nonce else { break }
                if record.endAnchor > anchor { return }
                files.index.remember(
                    SparseIndex.Place(
                        anchor: point.anchor, previousNonce: point.nonce, byteOffset: byteOffset),
                    in: point.segment)
                point.lastFrameByteOffset = byteOffset
                byteOffset = scan.byteOffset
                point.byteOffset = byteOffset
                point.anchor = record.endAnchor
                point.nonce = record.lastNonce
            }
        } catch {
            throw .system(error, "read", path: files.path(catalog.segments[position].name))
        }
        guard point.anchor < anchor else { return }
        // The headers do not lead there: the frames themselves say whether the log ends or is damaged.
        var run = FrameRun()
        while true {
            switch try read(into: &run) {
            case .frames:
                if point.anchor >= anchor {
                    return point.anchor == anchor ? () : try seekOnce(anchor, hint: nil)
                }
            case .end: throw .beyondEnd(anchor, end: point.anchor)
            case .damaged(let finding): throw .damaged(finding)
            }
        }
    }

    /// Goes to the hinted place if it is one: the frame that ends there, or the segment that begins there, must
    /// lead to the hint's anchor with the hint's nonce.
    private func believe(_ hint: LogPosition) throws(HKLogError) -> Bool {
        guard let segment = catalog.segments.first(where: { $0.firstAnchor == hint.segment }) else {
            return false
        }
        try enter(segment)
        if hint.byteOffset == SegmentHeader.byteCount {
            return hint.anchor == point.anchor && hint.nonce == point.nonce
        }
        guard hint.lastFrameByteOffset >= SegmentHeader.byteCount,
            let record = try record(at: hint.lastFrameByteOffset),
            record.endAnchor == hint.anchor, record.lastNonce == hint.nonce,
            record.byteCount == hint.byteOffset - hint.lastFrameByteOffset
        else { return false }
        point = hint
        return true
    }

    private func isFrame(at byteOffset: Int, anchor: UInt64, nonce: UInt64) throws(HKLogError) -> Bool {
        guard let record = try record(at: byteOffset) else { return false }
        return record.firstAnchor == anchor && record.previousNonce == nonce
    }

    private func record(at byteOffset: Int) throws(HKLogError) -> LogRecord? {
        guard let file else { return nil }
        do throws(SystemError) {
            let bytes = try file.bytes(at: byteOffset, count: LogRecord.headerByteCount)
            guard bytes.count == LogRecord.headerByteCount,
                case .valid(let record) = LogRecord.read(bytes.span), record.storeTag == storeTag,
                record.byteCount <= (try file.status().byteCount) - byteOffset
            else { return nil }
            return record
        } catch {
            throw .system(error, "read a frame's header", path: files.log)
        }
    }
}

extension HKLogError {
    static func beyondEnd(_ anchor: UInt64, end: UInt64) -> HKLogError {
        HKLogError(.anchorBeyondEnd, "anchor \(anchor) is beyond the end of the log, which is at \(end)")
    }
}

/// How much stands in a part of the log.
package struct LogCounts: Equatable, Sendable {
    package var frames = 0
    package var batches: UInt64 = 0
    package var added: UInt64 = 0
    package var deleted: UInt64 = 0
    package var byteCount = 0

    package init() {}
}

extension LogReader {
    /// The sums of the counts in all headers from the reader's segment on, without reading what is stored.
    ///
    /// Good for sizing tables before a replay: costs a read of the headers alone, and stops at the first place
    /// that is no header.
    package func totalCounts() throws(HKLogError) -> LogCounts {
        var counts = LogCounts()
        for segment in segments.segments where segment.firstAnchor >= position.segment {
            do throws(SystemError) {
                let start = segment.firstAnchor == position.segment ? position.byteOffset : nil
                var scan = try HeaderScan(
                    try files.openSegment(segment), storeTag: segment.header.storeID.first,
                    from: start ?? SegmentHeader.byteCount)
                while let record = try scan.next() {
                    guard case .frame(let header) = record else { continue }
                    counts.frames += 1
                    counts.batches += UInt64(header.batchCount)
                    counts.added += UInt64(header.addedCount)
                    counts.deleted += UInt64(header.deletedCount)
                    counts.byteCount += record.byteCount
                }
            } catch {
                throw .system(error, "read a segment's headers", path: files.path(segment.name))
            }
        }
        return counts
    }
}
