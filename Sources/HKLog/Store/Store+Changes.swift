internal import HKLogFormat

/// Reads what happened in a log after an anchor, batch by batch, and goes on when there is more.
///
/// Takes no lock and needs no views. For one thread at a time.
public final class ChangeReader {
    private let reader: LogReader
    private var run = FrameRun()
    private var entryIndex = 0
    private var decoder = FrameDecoder()
    private var content = FrameContent()
    private var batchIndex = 0
    private var rowStart = 0
    private var deletionStart = 0
    private var anchor: UInt64
    private var nonce: UInt64

    /// Opens the log at an anchor; `expected` is the check that was given with it.
    init(files: LogFiles, storeID: RawUUID, since anchor: UInt64, expecting expected: String?)
        throws(HKLogError)
    {
        do throws(HKLogError) {
            reader = try LogReader(files, storeID: storeID, from: anchor)
        } catch {
            guard expected != nil, error.code == .anchorBeyondEnd else { throw error }
            throw ChangeReader.otherLog(anchor)
        }
        self.anchor = reader.position.anchor
        nonce = reader.position.nonce
        // The anchor may lie within a frame: batches before it are passed over.
        while self.anchor < anchor {
            guard try step(skipping: true) != nil else {
                throw expected == nil
                    ? HKLogError.beyondEnd(anchor, end: self.anchor) : ChangeReader.otherLog(anchor)
            }
        }
        if let expected, expected != hexadecimal(nonce) { throw ChangeReader.otherLog(anchor) }
    }

    private static func otherLog(_ anchor: UInt64) -> HKLogError {
        HKLogError(
            .conflict,
            "the log at anchor \(anchor) is not the one that the check was given for: the store was restored or "
                + "cut back; begin again from 0")
    }

    /// The next change.
    ///
    /// `nil` at the present end. Asked again later, it goes on with what has come.
    ///
    /// Throws `damaged` where reading meets damage; `position` then names the last sound anchor.
    public func next() throws(HKLogError) -> Change? { try step(skipping: false) }

    /// Where to go on from, and the check that proves later that the log is still the same.
    ///
    /// Puts what was read on stable storage first: no anchor is handed out that a loss of power could take back.
    public func position() throws(HKLogError) -> (logAnchor: UInt64, logCheck: String) {
        try reader.syncForHandout()
        return (anchor, hexadecimal(nonce))
    }

    /// Whether the batch before the present anchor has this nonce.
    func isAt(nonce expected: UInt64) -> Bool { nonce == expected }

    private func step(skipping: Bool) throws(HKLogError) -> Change? {
        while true {
            if batchIndex < content.batches.count { return nextBatch(skipping: skipping) }
            if entryIndex < run.entries.count {
                let entry = run.entries[entryIndex]
                entryIndex += 1
                switch entry.record {
                case .gap(let gap):
                    guard gap.endAnchor > anchor else { continue }
                    let lost = max(anchor, gap.firstAnchor) + 1...gap.endAnchor
                    anchor = gap.endAnchor
                    nonce = gap.lastNonce
                    return .gap(lost)
                case .frame(let header):
                    guard decoder.decodes(header, run.storedBytes(of: entry), into: &content) else {
                        content = FrameContent()
                        throw HKLogError.undecodable(
                            header, segment: run.segment, byteOffset: entry.byteOffset)
                    }
                    // After a compaction the place reached may lie within a frame: what was given before is passed over.
                    batchIndex = min(
                        Int(clamping: anchor - min(anchor, header.firstAnchor)), content.batches.count)
                    guard batchIndex == 0 || content.batches[batchIndex - 1].nonce == nonce else {
                        content = FrameContent()
                        throw ChangeReader.otherLog(anchor)
                    }
                    rowStart = content.batches[..<batchIndex].reduce(0) { $0 + $1.addedCount }
                    deletionStart = content.batches[..<batchIndex].reduce(0) { $0 + $1.deletedCount }
                }
                continue
            }
            switch try reader.read(into: &run) {
            case .frames: entryIndex = 0
            case .end: return nil
            case .damaged(let finding): throw .damaged(finding)
            }
        }
    }

    private func nextBatch(skipping: Bool) -> Change {
        let entry = content.batches[batchIndex]
        let rows = rowStart..<rowStart + entry.addedCount
        let deletions = deletionStart..<deletionStart + entry.deletedCount
        batchIndex += 1
        rowStart = rows.upperBound
        deletionStart = deletions.upperBound
        anchor += 1
        nonce = entry.nonce
        if skipping { return .gap(anchor...anchor) }
        return .batch(
            Batch(entry, rows: content.rows.slice(rows), deletions: content.deletions[deletions]),
            logAnchor: anchor)
    }
}

extension Batch {
    /// A batch as the log has it.
    init(_ entry: BatchEntry, rows: RowColumns, deletions: ArraySlice<DeletionEntry>) {
        self.init(stream: String(decoding: entry.stream, as: UTF8.self))
        let flags = entry.flags
        if flags & BatchFlags.hasAnchor != 0 { anchor = String(decoding: entry.anchor, as: UTF8.self) }
        if flags & BatchFlags.hasPreviousAnchor != 0 {
            previousAnchor = .anchor(String(decoding: entry.previousAnchor, as: UTF8.self))
        } else if flags & BatchFlags.previousAnchorIsNone != 0 {
            previousAnchor = .none
        }
        switch (flags & BatchFlags.opensSnapshot != 0, flags & BatchFlags.endsSnapshot != 0) {
        case (true, true): snapshot = .whole
        case (true, false): snapshot = .begin
        case (false, true): snapshot = .end
        case (false, false): snapshot = nil
        }
        confirmDeletions = flags & BatchFlags.confirmsDeletions != 0
        if flags & BatchFlags.isNumbered != 0 {
            numbering = Numbering(epoch: entry.epoch, sequence: entry.sequence)
        }
        if flags & BatchFlags.isThinned != 0 { digest = ContentDigest(raw: entry.digest) }
        kept = flags & BatchFlags.isKept != 0
        deleted = deletions.map { deletion in
            Deletion(
                uuid: SampleUUID(raw: deletion.uuid),
                metadata: deletion.metadata.isEmpty
                    ? nil : JSONText(uncheckedCompactObject: deletion.metadata))
        }
        self.rows = rows
    }
}

extension Store {
    /// What happened after an anchor, as whole batches.
    ///
    /// Throws `anchorBeyondEnd`, and `conflict` where `check` was given and the log at the anchor is another one
    /// than gave it.
    public func changes(since anchor: UInt64, expecting check: String? = nil) throws(HKLogError)
        -> ChangeReader
    {
        let (files, storeID) = try withCore { core throws(HKLogError) in
            try core.commit()
            return (core.files, core.storeID)
        }
        return try ChangeReader(files: files, storeID: storeID, since: anchor, expecting: check)
    }
}
