internal import HKLogFormat

/// What becomes of a batch that is offered to the log.
enum Decision {
    case append(epoch: UInt64, sequence: UInt64)
    /// It is in the log already.
    case duplicate
    /// It is of an earlier epoch.
    case stale
    /// It contradicts the log; says why.
    case conflict(String)
}

extension Views {
    /// Decides what becomes of a batch.
    ///
    /// The first rule that decides stands; the numbers are those of the table in `docs/batches.md`, "What append
    /// decides".
    ///
    /// Cost: a few look-ups; for the end of a snapshot one for each of its samples.
    func decide(_ batch: Batch, digest: RawDigest) -> Decision {
        let streamID = symbols.streamID(batch.stream)
        let state = streamID.map { streams[Int($0)] } ?? StreamState()
        let isFirst = !state.hasBatches
        let present = isFirst ? 1 : state.epoch
        let isOpener = batch.snapshot == .begin || batch.snapshot == .whole
        // Made only where something is said.
        var name: String { "stream \(quoted(batch.stream))" }

        let known = streamID.flatMap { knownBatch($0, digest) }
        if let numbering = batch.numbering, numbering.epoch < present { return .stale }  // 1
        if let known {
            return known.epoch < present ? .stale : .duplicate  // 1, 2
        }
        if let numbering = batch.numbering {
            if let streamID, hasNumber(streamID, numbering) {  // 3
                return .conflict(
                    "\(name): epoch \(numbering.epoch), seq \(numbering.sequence) is in the log with other content"
                )
            }
            if numbering.epoch > present && !isOpener {  // 4
                return .conflict(
                    "\(name): epoch \(numbering.epoch) has not been opened; the present one is \(present)")
            }
            if isOpener && numbering.epoch == present && !isFirst {  // 4
                return .conflict(
                    "\(name): a snapshot cannot open epoch \(present) again; give it a later epoch")
            }
        }
        if !isOpener && !isFirst && (batch.numbering != nil) != state.isNumbered {  // 5
            return .conflict(
                state.isNumbered
                    ? "\(name): batches of epoch \(present) are numbered, this one is not"
                    : "\(name): batches of epoch \(present) are not numbered, this one is")
        }
        // A batch that bears its digest is one that compaction has emptied: it has content all the same.
        if batch.snapshot == nil && batch.numbering == nil && batch.digest == nil && batch.addedCount == 0
            && batch.deleted.isEmpty
        {  // 6
            guard let anchor = batch.anchor else { return .duplicate }
            if let own = state.anchor, own.elementsEqual(anchor.utf8) { return .duplicate }
        }
        if batch.snapshot == .end && !state.snapshotIsOpen {  // 7
            return .conflict("\(name): there is no open snapshot to end")
        }
        if !isOpener, let problem = anchorProblem(batch, state) {  // 8
            return .conflict("\(name): \(problem)")
        }
        let epoch: UInt64
        if let numbering = batch.numbering {
            epoch = numbering.epoch
        } else if isOpener && !isFirst {
            guard present < .max else { return .conflict("\(name): there is no epoch after \(present)") }
            epoch = present + 1
        } else {
            epoch = present
        }
        if batch.snapshot == .end || batch.snapshot == .whole, !batch.confirmDeletions,
            let problem = sweepProblem(batch, state, streamID, epoch: epoch)
        {  // 9
            return .conflict("\(name): \(problem)")
        }
        return .append(epoch: epoch, sequence: batch.numbering?.sequence ?? anchor + 1)  // 10
    }

    /// The record of a batch of a stream that has this content.
    private func knownBatch(_ stream: UInt32, _ digest: RawDigest) -> BatchRecord? {
        let hash = Views.knownHash(stream, digest)
        let own = known.find(hash: hash) { batches[$0].digest == digest && batches[$0].stream == stream }
        if let own { return batches[own] }
        for layer in layers.reversed() {
            let found = layer.findBatch(layer.knownSlots, hash: hash) {
                $0.digest == digest && $0.stream == stream
            }
            if let found { return found }
        }
        return nil
    }

    /// Whether the stream has a batch of this number.
    private func hasNumber(_ stream: UInt32, _ numbering: Batch.Numbering) -> Bool {
        let hash = Views.numberHash(stream, numbering.epoch, numbering.sequence)
        func matches(_ record: BatchRecord) -> Bool {
            record.stream == stream && record.epoch == numbering.epoch
                && record.sequence == numbering.sequence
        }
        if numbered.find(hash: hash, matches: { matches(batches[$0]) }) != nil { return true }
        return layers.contains { $0.findBatch($0.numberSlots, hash: hash, matches: matches) != nil }
    }

    private func anchorProblem(_ batch: Batch, _ state: StreamState) -> String? {
        switch batch.previousAnchor {
        case .notGiven: return nil
        case .none:
            guard let own = state.anchor else { return nil }
            return
                "previousAnchor is null, but the log's source anchor is \(quoted(own)); go on from that one"
        case .anchor(let given):
            if let own = state.anchor {
                if own.elementsEqual(given.utf8) { return nil }
                return "previousAnchor is \(quoted(given)), but the log's source anchor is \(quoted(own)); "
                    + "go on from that one"
            }
            return "previousAnchor is \(quoted(given)), but the log has no source anchor yet (null)"
        }
    }

    private func sweepProblem(_ batch: Batch, _ state: StreamState, _ streamID: UInt32?, epoch: UInt64)
        -> String?
    {
        guard let streamID else { return nil }
        let isWhole = batch.snapshot == .whole
        let listed = (isWhole ? 0 : state.snapshotListed) + UInt64(batch.addedCount)
        if listed == 0 && state.liveCells > 0 {
            return "the snapshot listed nothing, but the stream has \(state.liveCells) live samples; "
                + "set confirmDeletions if they are really gone"
        }
        if !isWhole && state.hasGap { return nil }
        let liveAtOpening = isWhole ? UInt64(state.liveCells) : state.liveAtOpening
        var swept = state.liveCells(before: epoch)
        guard swept > 100 else { return nil }
        var seen = Set<RawUUID>()
        func spare(_ uuid: RawUUID) {
            guard seen.insert(uuid).inserted, let row = cell(of: uuid, stream: streamID) else { return }
            if flags(row) & (RowState.dead | RowState.swept) == 0 && batchRecord(of: row).epoch < epoch {
                swept -= 1
            }
        }
        for uuid in batch.rows.uuids { spare(uuid) }
        for deletion in batch.deleted { spare(deletion.uuid.raw) }
        guard swept > 100, UInt64(swept) > liveAtOpening / 10 else { return nil }
        return "the snapshot would sweep \(swept) of \(liveAtOpening) live samples away; "
            + "set confirmDeletions if they are really gone"
    }
}

extension LayerFile {
    /// The first batch record under a hash that `matches` takes.
    func findBatch(_ slots: Section, hash: UInt64, matches: (BatchRecord) -> Bool) -> BatchRecord? {
        guard slots.count > 0 else { return nil }
        let wanted = HashSlots.entry(hash: hash, index: -1) >> 32
        let mask = slots.count - 1
        var place = HashSlots.place(of: wanted << 32) & mask
        for _ in 0..<slots.count {
            let entry: UInt64 = load(slots, place)
            if entry == 0 { return nil }
            if entry >> 32 == wanted {
                let record: BatchRecord = load(batchTable, Int(UInt32(truncatingIfNeeded: entry)) - 1)
                if matches(record) { return record }
            }
            place = (place + 1) & mask
        }
        return nil
    }
}
