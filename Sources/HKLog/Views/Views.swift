private import CHKLogShims
internal import HKLogFormat

/// All views of one store at one anchor: the sample table, day buckets, streams, catalog and digest.
///
/// A pure function of the log and the settings. What has come since the newest checkpoint stands in memory; what
/// is older is read from mapped layers. Not thread-safe: the store guards it.
///
/// The order of life: `init`, `apply` for each frame in order, `flush` before anything is asked.
final class Views {
    let settings: StoreSettings
    let calendar: LocalCalendar
    var symbols: Symbols
    /// Mapped checkpoints, the oldest first.
    ///
    /// Each builds on the one before it.
    let layers: [LayerFile]
    /// How many rows, batches and extras the layers hold.
    let rowBase: Int
    let batchBase: Int
    let extraBase: Int

    var table: RowTable
    /// Flags of rows of layers that are others now.
    var overrides: [UInt32: UInt8] = [:]
    var batches = Column<BatchRecord>()
    var known = HashSlots()
    var numbered = HashSlots()
    var extras = Column<ExtraRecord>()
    var extraBytes = Column<UInt8>()
    private var recentExtras = RecentExtras()
    var syncMembers: [RawDigest: [SyncMember]] = [:]
    var streams: [StreamState] = []
    /// The stream of the last batch applied: most likely that of the next one.
    private var lastStream: UInt32 = 0
    var buckets: BucketTable
    private var cursor: DayCursor

    /// The log anchor up to which frames were applied.
    var anchor: UInt64 = 0
    /// The nonce of the last batch applied; 0 at the beginning.
    var nonce: UInt64 = 0
    /// Where in the log the next frame begins: a hint for whoever goes on from here.
    var logPosition = LogPosition(anchor: 0, nonce: 0, segment: 0, byteOffset: 0, lastFrameByteOffset: 0)
    /// The sum of the hashes of shown samples, dead cells and buckets.
    var digestSum: UInt128 = 0
    var shownCount = 0
    var tombstoneCount = 0
    /// Non-empty day buckets.
    var bucketCount = 0

    var plain = PlainRows()
    var kernelShapes = Column<KernelShape>()
    private var slowRows: [Int] = []
    /// Rows of the batch being applied that lost to what their cell already was.
    private var lostRows: [Int] = []
    private var frameShapes = FrameShapes()
    private var extraMap: [UInt32] = []
    var kernel = StatisticsKernel()
    var days = DayTable()
    var dayComputer = DayComputer()

    /// Makes views of nothing, or of what layers hold.
    ///
    /// `layers` is the whole chain, the oldest first.
    init(settings: StoreSettings, calendar: LocalCalendar, seed: (UInt64, UInt64), layers: [LayerFile] = []) {
        self.settings = settings
        self.calendar = calendar
        self.layers = layers
        cursor = DayCursor(calendar: calendar)
        table = RowTable(seed: seed)
        buckets = BucketTable(seed: seed.0)
        symbols = Symbols(settings: settings)
        var (rows, batches, extras) = (0, 0, 0)
        for layer in layers {
            rows += layer.rowCount
            batches += layer.batchTable.count
            extras += layer.extraTable.count
        }
        (rowBase, batchBase, extraBase) = (rows, batches, extras)
        if let newest = layers.last { loadState(of: newest) }
    }

    /// A layer had a bad block or index: answers since are not to be believed.
    var isDamaged: Bool { layers.contains { $0.isDamaged } }

    /// Makes room for what a log is known to hold, so that a replay moves nothing.
    func reserve(rows: Int, batches moreBatches: Int) {
        table.reserveMore(rows)
        batches.reserveMore(moreBatches)
        known.reserveMore(moreBatches)
    }

    // MARK: Applying

    /// What applying did, as `replay` reports it.
    struct Counts {
        var batches: UInt64 = 0
        var added: UInt64 = 0
        var deleted: UInt64 = 0
        var suppressed: UInt64 = 0
    }

    /// Applies the batches of one frame, which begins at the views' anchor.
    ///
    /// Cost: O(rows), plus what a completed snapshot sweeps. `flush` brings buckets up to date.
    func apply(_ frame: borrowing FrameContent, counts: inout Counts) {
        var row = 0
        var deletion = 0
        frameShapes.begin(shapeCount: frame.rows.shapes.count)
        extraMap.removeAll(keepingCapacity: true)
        extraMap.append(contentsOf: repeatElement(0, count: frame.rows.extras.count))
        let batches = frame.batches.span
        for index in batches.indices {
            let facts = BatchFacts(batches, index)
            let stream = streamNumber(batches[index].stream.span)
            keep(facts, stream: stream)
            streams[Int(stream)].note(
                facts, anchor: batches[index].anchor, logAnchor: anchor + 1,
                number: UInt32(batchBase + self.batches.count - 1))
            applyBatch(
                frame, facts, stream: stream, rows: row..<row + facts.addedCount,
                deletions: deletion..<deletion + facts.deletedCount, counts: &counts)
            row += facts.addedCount
            deletion += facts.deletedCount
            anchor += 1
            nonce = facts.nonce
        }
    }

    /// Passes over batches that are lost: epochs that they touch cannot complete.
    func applyGap(to newAnchor: UInt64, lastNonce: UInt64) {
        anchor = newAnchor
        nonce = lastNonce
        for index in streams.indices { streams[index].hasGap = true }
    }

    private func streamNumber(_ name: Span<UInt8>) -> UInt32 {
        if Int(lastStream) < symbols.streams.count, symbols.streams.isEqual(Int(lastStream), name) {
            return lastStream
        }
        lastStream = symbols.internStream(name)
        while streams.count <= Int(lastStream) { streams.append(StreamState()) }
        return lastStream
    }

    private func applyBatch(
        _ frame: borrowing FrameContent, _ facts: BatchFacts, stream: UInt32, rows: Range<Int>,
        deletions: Range<Int>, counts: inout Counts
    ) {
        let batch = UInt32(batchBase + batches.count - 1)
        counts.batches += 1
        counts.added += UInt64(rows.count)
        counts.deleted += UInt64(deletions.count)

        let firstRow = table.count
        for index in deletions { table.prefetch(frame.deletions[index].uuid) }
        applyAdds(frame.rows, rows, stream: stream, batch: batch, facts)
        for index in deletions {
            let hitsOwnAdd = applyDelete(
                frame.deletions[index].uuid, stream: stream, batch: batch, epoch: facts.epoch,
                sequence: facts.sequence, firstOwnRow: UInt32(rowBase + firstRow))
            if hitsOwnAdd { counts.suppressed += 1 }
        }
        for row in lostRows {
            guard let cell = cell(of: table.uuids[row], stream: stream) else { continue }
            if flags(cell) & RowState.dead != 0 { counts.suppressed += 1 }
        }
        lostRows.removeAll(keepingCapacity: true)
        // An `end` that is applied again later has nothing to complete: the epoch that runs by then is another one.
        if facts.flags & BatchFlags.endsSnapshot != 0, facts.epoch == streams[Int(stream)].epoch {
            completeEpoch(stream: stream)
        }
    }

    /// Keeps a batch's record, in the tables of known batches too.
    private func keep(_ facts: BatchFacts, stream: UInt32) {
        let index = batches.count
        batches.append(
            BatchRecord(
                digest: facts.digest, epoch: facts.epoch, sequence: facts.sequence, stream: stream,
                firstRow: UInt32(rowBase + table.count), previousOfStream: streams[Int(stream)].lastBatch,
                flags: UInt32(facts.flags)))
        let isNumbered = facts.flags & BatchFlags.isNumbered != 0
        if isNumbered || facts.flags & BatchFlags.hasAnchor != 0 {
            known.insert(hash: Views.knownHash(stream, facts.digest), index: index)
        }
        if isNumbered {
            numbered.insert(hash: Views.numberHash(stream, facts.epoch, facts.sequence), index: index)
        }
    }

    static func knownHash(_ stream: UInt32, _ digest: RawDigest) -> UInt64 {
        digest.low ^ (UInt64(stream) &* 0x9E37_79B9_7F4A_7C15)
    }

    static func numberHash(_ stream: UInt32, _ epoch: UInt64, _ sequence: UInt64) -> UInt64 {
        var hasher = ContentHasher(domain: UInt64(stream))
        hasher.add(epoch)
        hasher.add(sequence)
        return hasher.finish().low
    }

    /// Adds rows.
    ///
    /// Those that lost to what their cell already was go to `lostRows`.
    private func applyAdds(
        _ rows: borrowing RowColumns, _ range: Range<Int>, stream: UInt32, batch: UInt32, _ facts: BatchFacts
    ) {
        guard !range.isEmpty else { return }
        let first = table.count
        table.reserveMore(range.count)
        appendColumns(rows, range, stream: stream, batch: batch)
        let inForce = facts.epoch >= streams[Int(stream)].completeEpoch
        slowRows.removeAll(keepingCapacity: true)
        var live = 0
        if inForce {
            live = plain.place(
                first..<first + range.count, table: &table, buckets: &buckets, cursor: &cursor,
                extras: extras,
                extraBase: extraBase, layers: layers, slow: &slowRows)
            addUpPlainRows()
        } else {
            slowRows.append(contentsOf: first..<first + range.count)
        }
        for row in slowRows {
            let wins = placeKnown(
                row, stream: stream, batch: batch, epoch: facts.epoch, sequence: facts.sequence,
                isSwept: !inForce)
            if !wins { lostRows.append(row) } else if inForce { live += 1 }
        }
        streams[Int(stream)].count(epoch: facts.epoch, live: live, dead: 0)
    }

    /// Copies rows into the columns, with shapes and extras renumbered.
    private func appendColumns(
        _ rows: borrowing RowColumns, _ range: Range<Int>, stream: UInt32, batch: UInt32
    ) {
        let first = table.count
        let count = range.count
        let lower = range.lowerBound
        table.uuids.append(contentsOf: rows.uuids, range)
        table.starts.append(contentsOf: rows.starts, range)
        table.durations.append(contentsOf: rows.durations, range)
        table.values.append(contentsOf: rows.values, range)
        table.flags.append(contentsOf: rows.flags, range)
        table.shapes.setCount(first + count)
        table.extras.setCount(first + count)
        table.batches.setCount(first + count)
        table.links.setCount(first + count)
        let shapes = unsafe table.shapes.base
        let batchColumn = unsafe table.batches.base
        // Sound: the columns have been made long enough for `count` rows from `first` on.
        // They are zero bytes until something is written, and no row is ever taken off again: links and extras stay so,
        // and pages of a column that says nothing never come into being.
        for index in first..<first + count { unsafe batchColumn[index] = batch }
        let shapeIDs = rows.shapeIDs.span
        for index in 0..<count {
            let local = Int(shapeIDs[lower + index])
            unsafe shapes[first + index] =
                frameShapes.number(local, stream: stream)
                ?? internShape(rows.shapes[local].label, local, stream: stream)
        }
        if !rows.extraIDs.isEmpty { appendExtras(rows, range, stream: stream) }
        plain.follow(symbols, spreads: spreads)
    }

    private func internShape(_ label: [UInt8], _ local: Int, stream: UInt32) -> UInt32 {
        if let known = frameShapes.recall(local, label: label, stream: stream) { return known }
        // An unreadable label is kept out by the codec's checks in `Store`; dead shape as a last resort.
        let shape =
            symbols.internShape(label.span, stream: stream, isManual: false)
            ?? symbols.deadShape(stream: stream)
        frameShapes.note(local, label: label, stream: stream, shape)
        return shape
    }

    /// Numbers the extras of rows that have just been appended; some extras decide on shape and flags.
    private func appendExtras(_ rows: borrowing RowColumns, _ range: Range<Int>, stream: UInt32) {
        let first = table.count - range.count - range.lowerBound
        for row in range where rows.extraIDs[row] != 0 {
            let local = Int(rows.extraIDs[row]) - 1
            var extra = extraMap[local]
            if extra == 0 {
                extra = internExtra(rows, local)
                extraMap[local] = extra
            }
            table.extras[first + row] = extra
            let bits = extras[Int(extra) - 1 - extraBase].bits
            if bits & ExtraBits.isManual != 0 {
                let label = rows.shapes[Int(rows.shapeIDs[row])].label
                if let manual = symbols.internShape(label.span, stream: stream, isManual: true) {
                    table.shapes[first + row] = manual
                }
            }
            if bits & ExtraBits.hasSync != 0 { table.flags[first + row] |= RowState.hasSync }
        }
    }

    /// The number of an extra, the same for equal ones that came not long ago.
    private func internExtra(_ rows: borrowing RowColumns, _ local: Int) -> UInt32 {
        let extra = rows.extras[local]
        let middle = extra.byteOffset + extra.metadataByteCount
        let end = middle + extra.payloadByteCount
        let metadata = rows.extraBytes.span.extracting(extra.byteOffset..<middle)
        let payload = rows.extraBytes.span.extracting(middle..<end)
        var hasher = ContentHasher(domain: DigestDomain.text)
        hasher.add(max(extra.count, 1))
        hasher.add(metadata)
        hasher.add(payload)
        let digest = hasher.finish()
        if let known = recentExtras.find(digest.low) {
            let record = extras[known]
            if record.digest == digest, record.count == extra.count,
                Int(record.metadataByteCount) == metadata.count,
                Int(record.payloadByteCount) == payload.count,
                extraBytes.equals(rows.extraBytes, extra.byteOffset..<end, at: Int(record.byteOffset))
            {
                return UInt32(extraBase + known + 1)
            }
        }
        let scan = MetadataScan(metadata)
        var bits: UInt32 = 0
        if scan.wasUserEntered { bits |= ExtraBits.isManual }
        if scan.hasSyncIdentifier { bits |= ExtraBits.hasSync }
        let record = ExtraRecord(
            digest: digest, count: extra.count, byteOffset: UInt64(extraBytes.count),
            metadataByteCount: UInt32(metadata.count), payloadByteCount: UInt32(payload.count), bits: bits)
        extraBytes.append(contentsOf: rows.extraBytes, extra.byteOffset..<end)
        extras.append(record)
        recentExtras.note(digest.low, index: extras.count - 1)
        return UInt32(extraBase + extras.count)
    }

    // MARK: Rows whose uuid nobody has seen

    /// Takes what plain rows have come to into shapes, counts, digest and the days that intervals reach into.
    private func addUpPlainRows() {
        for shape in plain.touched {
            let found = plain.shapes[Int(shape)]
            countShown(shape, found.count, first: found.first, last: found.last)
        }
        shownCount += plain.total
        digestSum &+= plain.digest
        plain.reset()
        for row in plain.spreading {
            linkLaterDays(
                row, table.starts[row], table.durations[row], symbols.shapes[Int(table.shapes[row])].typeID)
        }
        plain.spreading.removeAll(keepingCapacity: true)
    }

    /// Whether samples of a type count in every day that they touch.
    func spreads(_ type: UInt32) -> Bool {
        switch symbols.types[Int(type)].statistic {
        case .cumulative, .category: true
        case .discrete, .none: false
        }
    }

    private func countShown(_ shape: UInt32, _ count: Int, first: Int64, last: Int64) {
        var mayReorder = false
        var typeID: UInt32 = 0
        symbols.withShape(shape) { entry in
            mayReorder = entry.shownCount == 0 || first < entry.firstStart
            typeID = entry.typeID
            entry.shownCount += count
            entry.firstStart = min(entry.firstStart, first)
            entry.lastStart = max(entry.lastStart, last)
        }
        if mayReorder { symbols.withType(typeID) { $0.rankingIsStale = true } }
    }

    // MARK: Day buckets of a row

    /// Intervals of more than this are looked at for every day in their range instead of being linked from each.
    static let longestLinkedDuration: Int64 = 31 * 86_400 * 1_000_000

    /// Category intervals count in the days of their first hundred years: nothing real lasts longer.
    static let longestSpreadDuration: Int64 = 36_525 * 86_400 * 1_000_000

    /// Links an interval from the days after its first one.
    private func linkLaterDays(_ row: Int, _ start: Int64, _ duration: Int64, _ type: UInt32) {
        let end = start &+ duration
        _ = cursor.dayNumber(containing: start)
        guard end > cursor.end, let limit = spreadLimit(type, duration) else { return }
        if duration > Views.longestLinkedDuration {
            symbols.withType(type) { $0.longRows.append(UInt32(rowBase + row)) }
            markDays(type: type, from: start, to: start &+ limit)
            return
        }
        let firstDay = cursor.dayNumber
        var lastDay = cursor.dayNumber(containing: end &- 1)
        while lastDay > firstDay {
            let bucket = buckets.touch(BucketKey(type: type, day: lastDay))
            buckets.pushSpan(row, bucket: bucket)
            lastDay = cursor.dayNumber(containing: cursor.start &- 1)
        }
    }

    /// How much of an interval is spread over days; `nil` when it counts as a point.
    private func spreadLimit(_ type: UInt32, _ duration: Int64) -> Int64? {
        if symbols.types[Int(type)].statistic == .category {
            return min(duration, Views.longestSpreadDuration)
        }
        return UInt64(bitPattern: duration) > KernelSample.longestSplitMicroseconds ? nil : duration
    }

    /// Marks every day of an interval as one to compute again.
    private func markDays(type: UInt32, from start: Int64, to end: Int64) {
        var day = cursor.dayNumber(containing: start)
        let lastDay = calendar.dayNumber(containing: end &- 1)
        while day <= lastDay {
            _ = buckets.touch(BucketKey(type: type, day: day))
            day += 1
        }
    }

    /// Marks the days that a row touches.
    private func markDays(of view: RowView) {
        let type = symbols.shapes[Int(view.shape)].typeID
        guard spreads(type), view.duration > 0, let limit = spreadLimit(type, view.duration) else {
            _ = buckets.touch(BucketKey(type: type, day: cursor.dayNumber(containing: view.start)))
            return
        }
        markDays(type: type, from: view.start, to: view.start &+ limit)
    }

    // MARK: Cells

    /// Places a row whose uuid is known, or that needs more than the plain way.
    ///
    /// False when it lost to what its cell already was.
    private func placeKnown(
        _ row: Int, stream: UInt32, batch: UInt32, epoch: UInt64, sequence: UInt64, isSwept: Bool
    ) -> Bool {
        let uuid = table.uuids[row]
        let number = UInt32(rowBase + row)
        if let old = cell(of: uuid, stream: stream, before: number) {
            let oldFlags = flags(old)
            let oldBatch = batchRecord(of: old)
            let isDead = oldFlags & RowState.dead != 0
            let wins: Bool
            if epoch != oldBatch.epoch {
                wins = epoch > oldBatch.epoch
            } else {
                wins = !isDead && sequence > oldBatch.sequence
            }
            guard wins else {
                table.flags[row] |= RowState.gone
                return false
            }
            retire(old, oldFlags, oldBatch, stream: stream)
        }
        if isSwept { table.flags[row] |= RowState.swept }
        table.insert(row)
        if table.flags[row] & RowState.hasSync != 0 { addSyncMember(row) }
        refresh(uuid)
        return true
    }

    /// Takes a cell out because a later one of the same pair has come.
    private func retire(_ row: UInt32, _ rowFlags: UInt8, _ batch: BatchRecord, stream: UInt32) {
        if rowFlags & RowState.chosen != 0 { unchoose(row) }
        let isDead = rowFlags & RowState.dead != 0
        let isSwept = rowFlags & RowState.swept != 0
        if isDead {
            tombstoneCount -= 1
            if !isSwept { digestSum &-= deadDigest(view(row).uuid, stream: stream) }
        }
        if !isSwept {
            streams[Int(stream)].count(epoch: batch.epoch, live: isDead ? 0 : -1, dead: isDead ? -1 : 0)
        }
        setFlags(row, flags(row) | RowState.gone)
    }

    /// Puts a tombstone into a cell, unless the cell is newer.
    ///
    /// Returns whether that killed a row from `firstOwnRow` on: one that the same batch brought.
    private func applyDelete(
        _ uuid: RawUUID, stream: UInt32, batch: UInt32, epoch: UInt64, sequence: UInt64, firstOwnRow: UInt32
    ) -> Bool {
        var hitsOwnAdd = false
        let inForce = epoch >= streams[Int(stream)].completeEpoch
        if let old = cell(of: uuid, stream: stream) {
            let oldFlags = flags(old)
            let oldBatch = batchRecord(of: old)
            let isDead = oldFlags & RowState.dead != 0
            let wins: Bool
            if epoch != oldBatch.epoch {
                wins = epoch > oldBatch.epoch
            } else {
                wins = !isDead || sequence > oldBatch.sequence
            }
            guard wins else { return false }
            hitsOwnAdd = !isDead && old >= firstOwnRow
            retire(old, oldFlags, oldBatch, stream: stream)
        }
        let shape = symbols.deadShape(stream: stream)
        _ = table.append(
            uuid: uuid, start: 0, duration: 0, value: 0, shape: shape, extra: 0, batch: batch,
            flags: RowState.dead | (inForce ? 0 : RowState.swept))
        tombstoneCount += 1
        if inForce {
            digestSum &+= deadDigest(uuid, stream: stream)
            streams[Int(stream)].count(epoch: epoch, live: 0, dead: 1)
        }
        refresh(uuid)
        return hitsOwnAdd
    }

    private func deadDigest(_ uuid: RawUUID, stream: UInt32) -> UInt128 {
        symbols.deadHashes[Int(stream)].of(uuid, start: 0, duration: 0, value: 0, extra: nil)
    }

    /// Decides anew which cell of a uuid, if any, is its payload.
    private func refresh(_ uuid: RawUUID) {
        var chosen: UInt32?
        var wanted: UInt32?
        var isDead = false
        forEachCell(of: uuid) { row in
            let rowFlags = flags(row)
            if rowFlags & RowState.chosen != 0 { chosen = row }
            if rowFlags & RowState.swept != 0 { return }
            if rowFlags & RowState.dead != 0 {
                isDead = true
            } else if let other = wanted {
                if streamPrecedes(row, other) { wanted = row }
            } else {
                wanted = row
            }
        }
        if isDead { wanted = nil }
        guard chosen != wanted else { return }
        if let chosen { unchoose(chosen) }
        if let wanted { choose(wanted) }
    }

    /// Whether the stream of one row has the lower name, as bytes.
    private func streamPrecedes(_ row: UInt32, _ other: UInt32) -> Bool {
        let one = symbols.streams.bytes(Int(symbols.shapes[Int(view(row).shape)].streamID))
        let two = symbols.streams.bytes(Int(symbols.shapes[Int(view(other).shape)].streamID))
        return one.lexicographicallyPrecedes(two)
    }

    private func choose(_ row: UInt32) {
        setFlags(row, flags(row) | RowState.chosen)
        if flags(row) & RowState.hasSync != 0 { refreshSyncGroup(of: row) } else { show(row) }
    }

    private func unchoose(_ row: UInt32) {
        let rowFlags = flags(row)
        setFlags(row, rowFlags & ~RowState.chosen)
        if rowFlags & RowState.shown != 0 { hide(row) }
        if rowFlags & RowState.hasSync != 0 { refreshSyncGroup(of: row) }
    }

    private func show(_ row: UInt32) {
        let view = view(row)
        setFlags(row, flags(row) | RowState.shown)
        shownCount += 1
        digestSum &+= digest(view)
        countShown(view.shape, 1, first: view.start, last: view.start)
        if Int(row) >= rowBase && flags(row) & RowState.linked == 0 {
            link(Int(row) - rowBase, view)
        } else {
            markDays(of: view)
        }
    }

    func link(_ local: Int, _ view: RowView) {
        let type = symbols.shapes[Int(view.shape)].typeID
        table.flags[local] |= RowState.linked
        let day = cursor.dayNumber(containing: view.start)
        let before = buckets.push(local, bucket: buckets.touch(BucketKey(type: type, day: day)))
        if before > 0 { table.links[Int(before) - 1] = UInt32(local + 1) }
        if spreads(type) && view.duration > 0 { linkLaterDays(local, view.start, view.duration, type) }
    }

    private func hide(_ row: UInt32) {
        let view = view(row)
        setFlags(row, flags(row) & ~RowState.shown)
        shownCount -= 1
        digestSum &-= digest(view)
        var mayReorder = false
        symbols.withShape(view.shape) { entry in
            entry.shownCount -= 1
            if view.start == entry.firstStart || view.start == entry.lastStart {
                entry.extremesAreStale = true
            }
            if entry.shownCount == 0 {
                entry.firstStart = .max
                entry.lastStart = .min
                entry.extremesAreStale = false
            }
            mayReorder = entry.shownCount == 0 || view.start == entry.firstStart
        }
        if mayReorder {
            let type = symbols.shapes[Int(view.shape)].typeID
            symbols.withType(type) { $0.rankingIsStale = true }
        }
        markDays(of: view)
    }

    private func digest(_ view: RowView) -> UInt128 {
        symbols.shapes[Int(view.shape)].hash.of(
            view.uuid, start: view.start, duration: view.duration, value: view.value,
            extra: view.extra == 0 ? nil : extraRecord(view.extra).hashed)
    }

    // MARK: Sync identifiers

    private func syncGroup(of view: RowView) -> (group: RawDigest, version: Double)? {
        guard view.extra != 0 else { return nil }
        let bytes = metadata(of: view.extra)
        let scan = MetadataScan(bytes.span)
        guard let identifier = scan.syncIdentifier(in: bytes.span) else { return nil }
        let shape = symbols.shapes[Int(view.shape)]
        var hasher = ContentHasher(domain: DigestDomain.syncGroup)
        let source = symbols.sources[Int(shape.ownSourceID)]
        for text in [symbols.types[Int(shape.typeID)].identifier, source?.name, source?.bundleIdentifier] {
            let copy = text.map { Array($0.utf8) } ?? []
            hasher.add(text == nil ? 0 : 1)
            hasher.add(copy.span)
        }
        hasher.add(identifier.span)
        return (hasher.finish(), scan.syncVersion ?? -.infinity)
    }

    private func addSyncMember(_ row: Int) {
        let number = UInt32(rowBase + row)
        guard let (group, version) = syncGroup(of: view(number)) else { return }
        syncMembers[group, default: []].append(SyncMember(group: group, version: version, row: number))
    }

    /// Shows the chosen member of a group that has the highest version, and hides the others.
    private func refreshSyncGroup(of row: UInt32) {
        guard let group = syncGroup(of: view(row))?.group else { return }
        var members = syncMembers[group] ?? []
        for layer in layers { layer.forEachSyncMember(of: group) { members.append($0) } }
        var winner: SyncMember?
        for member in members where flags(member.row) & (RowState.chosen | RowState.gone) == RowState.chosen {
            guard let best = winner else {
                winner = member
                continue
            }
            let uuids = (SampleUUID(raw: view(member.row).uuid), SampleUUID(raw: view(best.row).uuid))
            if member.version > best.version || member.version == best.version && uuids.0 < uuids.1 {
                winner = member
            }
        }
        for member in members {
            let memberFlags = flags(member.row)
            let isShown = memberFlags & RowState.shown != 0
            let shouldShow = member.row == winner?.row
            if isShown && !shouldShow { hide(member.row) }
        }
        if let winner, flags(winner.row) & RowState.shown == 0 { show(winner.row) }
    }

    // MARK: Snapshots

    /// Completes the present epoch of a stream: cells of earlier ones are in force no longer.
    private func completeEpoch(stream: UInt32) {
        var state = streams[Int(stream)]
        state.snapshotIsOpen = false
        guard !state.hasGap else {
            streams[Int(stream)] = state
            return
        }
        let epoch = state.epoch
        let hasOlder = state.cells.contains { $0.epoch < epoch && ($0.live != 0 || $0.dead != 0) }
        state.completeEpoch = epoch
        // Whatever came before the epoch that was complete until now has been swept when that one was completed.
        let firstInForce = state.firstCompleteBatch
        state.firstCompleteBatch = state.firstBatch
        state.cells.removeAll { $0.epoch < epoch }
        streams[Int(stream)] = state
        guard hasOlder else { return }
        var batch = state.lastBatch
        while batch > firstInForce {
            let record = batchRecord(Int(batch) - 1)
            for row in rows(ofBatch: Int(batch) - 1) {
                let rowFlags = flags(row)
                guard rowFlags & (RowState.gone | RowState.swept) == 0 else { continue }
                guard batchRecord(of: row).epoch < epoch else { continue }
                setFlags(row, rowFlags | RowState.swept)
                if rowFlags & RowState.dead != 0 { digestSum &-= deadDigest(view(row).uuid, stream: stream) }
                refresh(view(row).uuid)
            }
            guard record.previousOfStream < batch else { break }
            batch = record.previousOfStream
        }
    }
}

extension RawDigest {
    /// As one number, for sums.
    @inline(__always)
    var sum: UInt128 { UInt128(truncatingIfNeeded: high) << 64 | UInt128(truncatingIfNeeded: low) }
}
