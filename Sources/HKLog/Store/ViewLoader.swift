internal import HKLogFormat

/// Brings views up to date with the log: the newest checkpoint that fits, then the frames after it.
///
/// The one code path of replay, of opening and of following.
struct ViewLoader {
    let files: LogFiles
    let storeID: RawUUID
    let settings: StoreSettings
    let calendar: LocalCalendar

    /// What a load has come to.
    struct Outcome {
        var views: Views
        var counts = Views.Counts()
        /// Where reading stopped before the log's end.
        var damage: HKLogError?
        /// Lost batches that were passed over: their `logAnchor`s.
        var gaps: [ClosedRange<UInt64>] = []
        /// A torn tail: unfinished bytes behind the last frame.
        var tornTail: LogFinding?
        /// The views were of another log than the one that goes on here.
        var isForeign = false
        /// Checkpoints that did not fit.
        var passedOver = 0
        /// A checkpoint of this store has seen more batches than the log holds: up to here.
        var lostAfter: UInt64?
        /// What people should know of the log's state, a line each.
        var notices: [String] = []
    }

    var checkpoints: CheckpointFolder { CheckpointFolder(files: files, storeID: storeID) }

    var definition: RawDigest { settings.definition(rules: calendar.rules) }

    /// Views of nothing.
    func emptyViews() throws(HKLogError) -> Views {
        Views(settings: settings, calendar: calendar, seed: try seed())
    }

    private func seed() throws(HKLogError) -> (UInt64, UInt64) {
        do throws(SystemError) {
            return (try files.layer.randomWord(), try files.layer.randomWord())
        } catch {
            throw .system(error, "get random bits", path: files.store)
        }
    }

    /// The newest checkpoint that fits the log, and what comes after it.
    func load(progress: ((UInt64, UInt64) -> Void)? = nil) throws(HKLogError) -> Outcome {
        var passedOver = 0
        var lostAfter: UInt64?
        for name in checkpoints.names() {
            guard let chain = checkpoints.chain(endingWith: name, definition: definition) else {
                passedOver += 1
                continue
            }
            let views = Views(settings: settings, calendar: calendar, seed: try seed(), layers: chain)
            guard !views.isDamaged, let reader = try reader(after: views) else {
                passedOver += 1
                if !views.isDamaged { lostAfter = max(lostAfter ?? 0, views.anchor) }
                continue
            }
            var outcome = Outcome(views: views, passedOver: passedOver)
            try apply(reader, to: &outcome, until: nil, countingFrom: 0, progress: progress)
            if !outcome.views.isDamaged && !outcome.isForeign {
                note(lostAfter, reader.segments.findings, in: &outcome)
                return outcome
            }
            passedOver += 1
        }
        var outcome = Outcome(views: try emptyViews(), passedOver: passedOver)
        try replay(into: &outcome, until: nil, countingFrom: 0, progress: progress)
        note(lostAfter, [], in: &outcome)
        return outcome
    }

    /// Notes what a checkpoint proves to be lost, and what segments' names and headers show.
    private func note(_ lostAfter: UInt64?, _ findings: [LogFinding], in outcome: inout Outcome) {
        if let lostAfter, outcome.damage == nil, lostAfter > outcome.views.anchor {
            outcome.lostAfter = lostAfter
            outcome.notices.append(
                "a checkpoint has seen \(lostAfter) batches, but the log ends at \(outcome.views.anchor): batches "
                    + "\(outcome.views.anchor + 1) to \(lostAfter) are lost; run 'hklog repair' before anything is added"
            )
        }
        for finding in findings where finding.barsWriting {
            outcome.notices.append("\(finding.text); run 'hklog verify', then 'hklog repair'")
        }
    }

    /// Replays the log from its beginning.
    func replay(
        into outcome: inout Outcome, until end: UInt64?, countingFrom: UInt64,
        progress: ((UInt64, UInt64) -> Void)?
    ) throws(HKLogError) {
        let reader: LogReader
        do throws(HKLogError) {
            reader = try LogReader(files, storeID: storeID, runByteCount: 1 << 20)
        } catch {
            guard error.code == .damaged else { throw error }
            outcome.damage = error
            return
        }
        let counts = try reader.totalCounts()
        outcome.views.reserve(
            rows: Int(clamping: min(counts.added + counts.deleted, UInt64(UInt32.max) / 4)),
            batches: Int(clamping: min(counts.batches, UInt64(UInt32.max) / 4)))
        var population: MemoryPopulation?
        if end == nil && counts.added >= UInt64(MemoryPopulation.fewestRows) {
            population = try? MemoryPopulation(of: outcome.views.table)
        }
        defer { withExtendedLifetime(population) {} }
        try apply(reader, to: &outcome, until: end, countingFrom: countingFrom, progress: progress)
    }

    /// A reader at the views' anchor, if the log there is the one that they were made of.
    private func reader(after views: Views) throws(HKLogError) -> LogReader? {
        do throws(HKLogError) {
            let reader = try LogReader(files, storeID: storeID, from: views.anchor, hint: views.logPosition)
            let position = reader.position
            if position.anchor == views.anchor { return position.nonce == views.nonce ? reader : nil }
            // The anchor lies within a frame of several batches: its nonce stands in there.
            return position.anchor < views.anchor ? reader : nil
        } catch {
            guard error.code == .anchorBeyondEnd || error.code == .damaged else { throw error }
            return nil
        }
    }

    /// Applies what a reader brings, up to an anchor or to the end.
    ///
    /// Batches below `countingFrom` are not counted.
    func apply(
        _ reader: LogReader, to outcome: inout Outcome, until end: UInt64?, countingFrom: UInt64,
        progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(HKLogError) {
        let stream = FrameStream(reader)
        defer { stream.stop() }
        var frames = DecodedFrames()
        var skipped = Views.Counts()
        while true {
            if let end, outcome.views.anchor >= end { return }
            stream.next(&frames)
            switch frames.ending {
            case .none: break
            case .end(let torn):
                outcome.tornTail = torn
                if let position = frames.position { outcome.views.logPosition = position }
                return
            case .damaged(let finding):
                outcome.damage = .damaged(finding)
                return
            case .failed(let error): throw error
            }
            for index in frames.items.indices {
                let item = frames.items[index]
                switch item.record {
                case .gap(let gap):
                    if gap.endAnchor > gap.firstAnchor {
                        outcome.gaps.append(gap.firstAnchor + 1...gap.endAnchor)
                    }
                    if gap.endAnchor > outcome.views.anchor {
                        outcome.views.applyGap(to: gap.endAnchor, lastNonce: gap.lastNonce)
                    }
                case .frame(let header):
                    guard item.isDecoded else {
                        outcome.damage = .undecodable(
                            header, segment: frames.segment, byteOffset: item.byteOffset)
                        return
                    }
                    let isPlain =
                        outcome.views.anchor == header.firstAnchor && outcome.views.anchor >= countingFrom
                        && header.endAnchor <= end ?? .max
                    if isPlain {
                        outcome.views.apply(frames.contents[index], counts: &outcome.counts)
                        break
                    }
                    var content = frames.contents[index]
                    let already =
                        outcome.views.anchor > header.firstAnchor
                        ? Int(outcome.views.anchor - header.firstAnchor) : 0
                    if already > 0 {
                        guard already < content.batches.count,
                            content.batches[already - 1].nonce == outcome.views.nonce
                        else {
                            if already >= content.batches.count { continue }
                            outcome.isForeign = true
                            return
                        }
                        content.removeFirst(already)
                    }
                    if let end, header.endAnchor > end {
                        content.keepFirst(Int(end - max(header.firstAnchor, outcome.views.anchor)))
                    }
                    if outcome.views.anchor < countingFrom {
                        // Where counting begins within the frame, its first batches are applied by themselves.
                        var before = content
                        let uncounted = Int(clamping: countingFrom - outcome.views.anchor)
                        before.keepFirst(uncounted)
                        outcome.views.apply(before, counts: &skipped)
                        if uncounted >= content.batches.count { break }
                        content.removeFirst(uncounted)
                    }
                    outcome.views.apply(content, counts: &outcome.counts)
                }
                if let end, outcome.views.anchor >= end { return }
            }
            if let position = frames.position { outcome.views.logPosition = position }
            progress?(outcome.views.anchor, 0)
        }
    }
}

extension HKLogError {
    static func undecodable(_ header: FrameHeader, segment: UInt64, byteOffset: Int) -> HKLogError {
        HKLogError(
            .damaged,
            "log/\(LogFiles.segmentName(firstAnchor: segment)):\(byteOffset): the frame of batches "
                + "\(header.firstAnchor + 1) to \(header.endAnchor) cannot be decoded; run 'hklog verify'")
    }
}

extension FrameContent {
    /// Drops the first batches with their rows and deletions.
    mutating func removeFirst(_ count: Int) {
        let rowCount = batches[..<count].reduce(0) { $0 + $1.addedCount }
        let deletionCount = batches[..<count].reduce(0) { $0 + $1.deletedCount }
        batches.removeFirst(count)
        deletions.removeFirst(deletionCount)
        rows = rows.slice(rowCount..<rows.count)
    }

    /// Drops all but the first batches.
    mutating func keepFirst(_ count: Int) {
        let kept = batches.prefix(max(count, 0))
        let rowCount = kept.reduce(0) { $0 + $1.addedCount }
        let deletionCount = kept.reduce(0) { $0 + $1.deletedCount }
        batches = Array(kept)
        deletions = Array(deletions.prefix(deletionCount))
        rows = rows.slice(0..<rowCount)
    }
}

extension RowColumns {
    /// The rows of some numbers, with all shapes and extras.
    func picking(_ rows: [Int]) -> RowColumns {
        var part = self
        part.uuids = rows.map { uuids[$0] }
        part.starts = rows.map { starts[$0] }
        part.durations = rows.map { durations[$0] }
        part.values = rows.map { values[$0] }
        part.shapeIDs = rows.map { shapeIDs[$0] }
        part.flags = rows.map { flags[$0] }
        part.extraIDs = extraIDs.isEmpty ? [] : rows.map { extraIDs[$0] }
        return part
    }

    /// A part of the rows, with all shapes and extras.
    func slice(_ range: Range<Int>) -> RowColumns {
        if range == 0..<count { return self }
        var part = self
        part.uuids = Array(uuids[range])
        part.starts = Array(starts[range])
        part.durations = Array(durations[range])
        part.values = Array(values[range])
        part.shapeIDs = Array(shapeIDs[range])
        part.flags = Array(flags[range])
        part.extraIDs = extraIDs.isEmpty ? [] : Array(extraIDs[range])
        return part
    }
}

extension FrameDecoder {
    /// Decodes a frame whose bytes were checked; false when they are no content all the same.
    mutating func decodes(_ header: FrameHeader, _ stored: Span<UInt8>, into content: inout FrameContent)
        -> Bool
    {
        do {
            try unsafe stored.withUnsafeBytes { bytes in
                try unsafe decode(header, stored: bytes, into: &content)
            }
            return true
        } catch {
            return false
        }
    }
}
