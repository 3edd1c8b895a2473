internal import HKLogFormat

/// What stands behind a `Store`: the log's writer or reader, the views, and the group in flight.
///
/// One thread at a time.
final class StoreCore {
    let files: LogFiles
    let sync: SyncPolicy
    private(set) var manifest: StoreManifest
    private(set) var settings: StoreSettings
    private(set) var calendar: LocalCalendar
    private(set) var wasCreated = false
    private let isDryRun: Bool
    /// A dry run has applied batches that stand nowhere but in the views.
    private var hasRehearsed = false
    /// A dry run where there is no store: views of nothing.
    private let isImaginary: Bool
    private var writer: LogWriter?
    private var isClosed = false
    private var loaded: Views?
    var warnings: [String] = []
    private(set) var damage: HKLogError?
    /// The checkpoints on disk do not fit: the next chance to write others is to be taken, however little they save.
    private var checkpointsAreUnfit = false
    private(set) var gaps: [ClosedRange<UInt64>] = []

    private var encoder = FrameEncoder()
    private var repeats: RepeatFinder
    private var frameBytes: [UInt8] = []
    /// Batches that are decided and applied, and wait to be written together.
    private var group = FrameAccumulator()
    private var groupStart: UInt64 = 0
    private var notice: ChangeNotice?
    /// Whether anybody takes notices: they are not made for nobody.
    var isWatched: () -> Bool = { false }

    init(files: LogFiles, access: StoreAccess, sync: SyncPolicy) throws(HKLogError) {
        self.files = files
        self.sync = sync
        do throws(SystemError) {
            repeats = RepeatFinder(seed: (try files.layer.randomWord(), try files.layer.randomWord()))
        } catch {
            throw .system(error, "get random bits", path: files.store)
        }
        var options = StoreOptions()
        var makesStore = false
        var writes = true
        switch access {
        case .read: writes = false
        case .write: break
        case .writeOrCreate(let given): (options, makesStore) = (given, true)
        case .dryRun(let given): (options, writes) = (given, false)
        }
        if case .dryRun = access { isDryRun = true } else { isDryRun = false }
        var isImaginary = false
        do throws(HKLogError) {
            manifest = try files.readManifest()
        } catch {
            guard error.code == .notFound, makesStore || isDryRun else { throw error }
            if try StoreCore.isForeign(files) {
                throw HKLogError(
                    .notFound, "\(files.store) is no store, and it is not empty; name a new or empty folder")
            }
            manifest = try StoreCore.newManifest(files, options)
            if isDryRun {
                isImaginary = true
            } else {
                try files.createStore(manifest)
                wasCreated = true
            }
        }
        self.isImaginary = isImaginary
        guard var settings = StoreSettings(encoded: manifest.settings) else {
            throw HKLogError(
                .damaged,
                "\(files.store)/\(LogFiles.manifestName): the settings cannot be read; run 'hklog repair'")
        }
        settings.segmentByteCount = UInt64(clamping: manifest.segmentByteCount)
        self.settings = settings
        calendar = LocalCalendar(rules: try TimeZoneRules(identifier: settings.timeZone))
        if writes { try openWriter() }
    }

    /// Whether a folder holds something, but no store.
    private static func isForeign(_ files: LogFiles) throws(HKLogError) -> Bool {
        do throws(SystemError) {
            let names = try files.layer.names(in: files.store)
            let own: Set<String> = [LogFiles.lockName, CheckpointFolder.name, "log", "store.json.tmp"]
            return names.contains { !own.contains($0) }
        } catch {
            if error.isMissing && error.number != ErrorNumber.notDirectory { return false }
            throw HKLogError(
                .cannotCreate, "\(files.store): cannot make the store: \(ErrorNumber.text(of: error.number))")
        }
    }

    static func newManifest(_ files: LogFiles, _ options: StoreOptions) throws(HKLogError)
        -> StoreManifest
    {
        let rules: TimeZoneRules
        if let zone = options.timeZone {
            rules = try TimeZoneRules(identifier: zone)
        } else {
            rules = TimeZoneRules.system()
        }
        let settings = StoreSettings(timeZone: rules.identifier)
        do throws(SystemError) {
            let id = RawUUID(first: try files.layer.randomWord(), second: try files.layer.randomWord())
            let now = Timestamp(microseconds: Platform.wallClockMicroseconds / 1_000_000 * 1_000_000)
            let manifest = StoreManifest(
                storeID: id, created: now.description,
                segmentByteCount: options.segmentByteCount.map { Int(clamping: $0) }
                    ?? StoreManifest.segmentByteCountDefault,
                settings: settings.encoded())
            return manifest
        } catch {
            throw .system(error, "get random bits", path: files.store)
        }
    }

    // MARK: Opening

    private func openWriter() throws(HKLogError) {
        Platform.ignoreFileSizeAndPipeSignals()
        var segmentByteCount = manifest.segmentByteCount
        if let text = Platform.environment("HKLOG_SEGMENT_BYTES"), !text.isEmpty {
            guard let value = Int(text), value > 0 else {
                throw HKLogError(
                    .invalidArgument, "HKLOG_SEGMENT_BYTES: expected a number of bytes, 1 or more")
            }
            segmentByteCount = value
        }
        let writer = try LogWriter(
            files, storeID: manifest.storeID, segmentByteCount: segmentByteCount, hint: newestHint())
        warnings.append(contentsOf: writer.warnings)
        self.writer = writer
        loader.checkpoints.removeTemporaries()
    }

    /// Where the newest checkpoint says that the log goes on.
    private func newestHint() -> LogPosition? {
        let folder = loader.checkpoints
        for name in folder.names() {
            guard let layer = folder.open(name), layer.header.segmentByteOffset <= UInt64(Int.max),
                layer.header.lastFrameByteOffset <= UInt64(Int.max)
            else { continue }
            return LogPosition(
                anchor: layer.header.toAnchor, nonce: layer.header.nonce, segment: layer.header.segmentAnchor,
                byteOffset: Int(layer.header.segmentByteOffset),
                lastFrameByteOffset: Int(layer.header.lastFrameByteOffset))
        }
        return nil
    }

    private var loader: ViewLoader {
        ViewLoader(files: files, storeID: manifest.storeID, settings: settings, calendar: calendar)
    }

    var storeID: RawUUID { manifest.storeID }

    /// The views, loaded when they are first needed.
    func views() throws(HKLogError) -> Views {
        if isClosed { throw HKLogError(.writerFinished, "\(files.store): the store has been closed") }
        if let loaded { return loaded }
        if isImaginary {
            let views = try loader.emptyViews()
            loaded = views
            return views
        }
        let outcome = try loader.load()
        // What a dry run has decided stands in memory alone: a block that proves bad later could not be replayed
        // away. So every block is looked at first.
        if isDryRun, outcome.views.layers.contains(where: { !$0.checkAll().isEmpty }) {
            noteDamagedCheckpoint()
            try replaceViews()
            if let loaded { return loaded }
        }
        return try take(outcome)
    }

    private func take(_ outcome: ViewLoader.Outcome) throws(HKLogError) -> Views {
        damage = outcome.damage
        gaps = outcome.gaps
        warnings.append(contentsOf: outcome.notices)
        if outcome.passedOver > 0 && outcome.lostAfter == nil {
            checkpointsAreUnfit = true
            warnings.append(
                "a checkpoint did not fit and was passed over; the views were rebuilt from the log")
        }
        if writer != nil {
            if let damage { throw damage }
        } else if let torn = outcome.tornTail {
            warnings.append("\(torn.text): unfinished bytes at the log's end; the next writer cuts them off")
        }
        loaded = outcome.views
        return outcome.views
    }

    /// Throws the views away, checkpoints too, and replays the log.
    ///
    /// A group that waits is written first: the views that are thrown away are all that knows of it.
    func rebuildViews() throws(HKLogError) {
        if isDryRun, hasRehearsed {
            throw HKLogError(
                .damaged,
                "\(files.store)/\(CheckpointFolder.name): a checkpoint proved damaged in the middle of a dry run; "
                    + "run 'hklog replay', then the dry run again")
        }
        try commit()
        noteDamagedCheckpoint()
        try replaceViews()
    }

    private func noteDamagedCheckpoint() {
        warnings.append("a checkpoint is damaged and was set aside; the views were rebuilt from the log")
        checkpointsAreUnfit = true
    }

    /// Makes the views anew from the log alone.
    func replaceViews() throws(HKLogError) {
        loaded = nil
        var outcome = ViewLoader.Outcome(views: try loader.emptyViews())
        try loader.replay(into: &outcome, until: nil, countingFrom: 0, progress: nil)
        _ = try take(outcome)
    }

    // MARK: Appending

    func requireWriter() throws(HKLogError) -> LogWriter {
        guard let writer, !isClosed else {
            throw HKLogError(.invalidArgument, "\(files.store): the store was not opened for writing")
        }
        // After a failed sync the log may hold what the views do not: nothing may be decided any more.
        try writer.checkOpen()
        return writer
    }

    /// Decides, writes and applies one batch.
    func enqueue(_ batch: Batch, syncing: Bool) throws(HKLogError) -> AppendResult {
        if !isDryRun { _ = try requireWriter() }
        try check(batch)
        var content = FrameContent()
        content.batches = [try entry(of: batch)]
        content.rows = batch.rows
        content.deletions = batch.deleted.map {
            DeletionEntry(uuid: $0.uuid.raw, metadata: $0.metadata?.bytes ?? [])
        }
        let digest =
            batch.digest?.raw
            ?? contentDigest(
                of: content.batches[0], rows: content.rows, rowRange: 0..<content.rows.count,
                deletions: content.deletions[...])
        content.batches[0].digest = digest

        var views = try views()
        var decision = views.decide(batch, digest: digest)
        if views.isDamaged {
            try rebuildViews()
            views = try self.views()
            decision = views.decide(batch, digest: digest)
        }
        switch decision {
        case .duplicate, .stale:
            var result = AppendResult(
                logAnchor: views.anchor, stream: batch.stream, added: 0, deleted: 0, duplicate: false,
                stale: false)
            if case .stale = decision { result.stale = true } else { result.duplicate = true }
            return result
        case .conflict(let reason):
            throw HKLogError(.conflict, "conflict at log anchor \(views.anchor): \(reason)")
        case .append(let epoch, let sequence):
            content.batches[0].epoch = epoch
            content.batches[0].sequence = sequence
        }
        try write(&content, views: views, syncing: syncing)
        var counts = Views.Counts()
        views.apply(content, counts: &counts)
        hasRehearsed = hasRehearsed || isDryRun
        if let writer, group.isEmpty { views.logPosition = writer.position }
        if isWatched() { note(content, views) }
        if views.isDamaged { try rebuildViews() }
        return AppendResult(
            logAnchor: views.anchor, stream: batch.stream, added: content.rows.count,
            deleted: content.deletions.count, duplicate: false, stale: false)
    }

    private func write(_ content: inout FrameContent, views: Views, syncing: Bool) throws(HKLogError) {
        do throws(SystemError) {
            // A nonce of 0 stands for the log's beginning.
            repeat {
                content.batches[0].nonce = try files.layer.randomWord()
            } while content.batches[0].nonce == 0
        } catch {
            throw .system(error, "get random bits", path: files.store)
        }
        guard let writer else { return }
        let waiting = UInt64(group.content.batches.count)
        guard writer.nextAnchor + waiting == views.anchor else {
            throw HKLogError(
                .internalFault, "the views stand at \(views.anchor), the log at \(writer.nextAnchor)")
        }
        if sync != .none && !syncing {
            // One frame for the whole group: of several frames that are not synced yet, a loss of power could take
            // an earlier one and leave a later one.
            // A large batch goes alone, so that what is too large for a frame fails by itself.
            guard FrameAccumulator.byteCount(of: content) < 4 << 20 else {
                try commit()
                return try write(content, to: writer, syncing: true)
            }
            if group.isEmpty { groupStart = Platform.monotonicNanoseconds }
            group.add(
                content.batches[0], of: content, rows: 0..<content.rows.count,
                deletions: 0..<content.deletions.count)
        } else {
            // What waits was decided first and stands first.
            try commit()
            try write(content, to: writer, syncing: syncing)
        }
    }

    private func write(_ content: FrameContent, to writer: LogWriter, syncing: Bool) throws(HKLogError) {
        // Taken out, so that its memory is used again and nothing is copied.
        var frame: [UInt8] = []
        swap(&frame, &frameBytes)
        defer { swap(&frame, &frameBytes) }
        frame.removeAll(keepingCapacity: true)
        do {
            try encoder.encode(
                content, storeTag: writer.storeTag, firstAnchor: writer.nextAnchor,
                previousNonce: writer.lastNonce, into: &frame)
        } catch {
            throw HKLogError(
                .invalidData, "the batch is too large for a frame of the log; send it in smaller pages")
        }
        _ = try writer.append(frame.span, syncing: syncing)
    }

    /// What the library checks of any batch, wherever it comes from.
    private func check(_ batch: Batch) throws(HKLogError) {
        if let index = repeats.firstRepeat(in: batch.rows.uuids) {
            throw HKLogError(.invalidData, "added[\(index)].uuid: the same uuid stands twice in added")
        }
        for shape in batch.rows.shapes { try check(shape, kept: batch.kept) }
        if batch.stream.isEmpty { throw HKLogError(.invalidData, "stream: expected a name") }
        if let anchor = batch.anchor, anchor.utf8.count > 64 << 10 {
            throw HKLogError(.invalidData, "anchor: expected at most 64 KiB")
        }
        if let numbering = batch.numbering, numbering.epoch < 1 || numbering.sequence < 1 {
            throw HKLogError(.invalidData, "epoch, seq: expected numbers from 1")
        }
        try checkRows(batch.rows)
    }

    private func checkRows(_ rows: borrowing RowColumns) throws(HKLogError) {
        let (starts, durations, values) = (rows.starts.span, rows.durations.span, rows.values.span)
        // Nearly always all is well: whether it is is asked of all rows at once, and where it is not only then.
        var isBad = false
        for index in 0..<starts.count {
            isBad = !StoreCore.isTime(starts[index], durations[index]) || isBad
        }
        if isBad {
            let index = (0..<rows.count).first { !StoreCore.isTime(rows.starts[$0], rows.durations[$0]) } ?? 0
            throw HKLogError(
                .invalidData,
                "added[\(index)]: expected start and end between the years 1 and 9999, end not before start")
        }
        let isDouble = rows.shapes.map { $0.valueKind == .double }
        guard isDouble.contains(true) else { return }
        for index in 0..<values.count where !Double(bitPattern: values[index]).isFinite { isBad = true }
        // Among integers there may be some that would be no finite numbers.
        guard isBad else { return }
        for index in 0..<values.count
        where isDouble[Int(rows.shapeIDs[index])] && !Double(bitPattern: values[index]).isFinite {
            throw HKLogError(.invalidData, "added[\(index)].value: expected a finite number")
        }
    }

    @inline(__always)
    private static func isTime(_ start: Int64, _ duration: Int64) -> Bool {
        start >= Timestamp.earliest.microseconds && start <= Timestamp.latest.microseconds && duration >= 0
            && duration <= Timestamp.latest.microseconds &- start
    }

    /// A type's samples bear the kind of value that it has.
    private func check(_ shape: RowShape, kept: Bool) throws(HKLogError) {
        guard let outline = LabelOutline(label: shape.label.span), !outline.type.isEmpty else {
            throw HKLogError(.invalidData, "added: expected a type for each sample")
        }
        var type: String { String(decoding: shape.label[outline.type], as: UTF8.self) }
        switch SampleKind.of(utf8: shape.label.span.extracting(outline.type)) {
        case .category where shape.valueKind != .integer:
            throw HKLogError(.invalidData, "added: \(type) is a category: expected a category value")
        case .quantity where shape.valueKind != .double || !outline.hasUnit && !kept:
            throw HKLogError(.invalidData, "added: \(type) is a quantity: expected a value and a unit")
        default: break
        }
    }

    private func entry(of batch: Batch) throws(HKLogError) -> BatchEntry {
        var entry = BatchEntry()
        entry.stream = Array(batch.stream.utf8)
        var flags: UInt16 = 0
        if let anchor = batch.anchor {
            flags |= BatchFlags.hasAnchor
            entry.anchor = Array(anchor.utf8)
        }
        switch batch.previousAnchor {
        case .notGiven: break
        case .none: flags |= BatchFlags.previousAnchorIsNone
        case .anchor(let anchor):
            flags |= BatchFlags.hasPreviousAnchor
            entry.previousAnchor = Array(anchor.utf8)
        }
        switch batch.snapshot {
        case nil: break
        case .begin: flags |= BatchFlags.opensSnapshot
        case .end: flags |= BatchFlags.endsSnapshot
        case .whole: flags |= BatchFlags.opensSnapshot | BatchFlags.endsSnapshot
        }
        if batch.confirmDeletions { flags |= BatchFlags.confirmsDeletions }
        if let numbering = batch.numbering {
            flags |= BatchFlags.isNumbered
            entry.epoch = numbering.epoch
            entry.sequence = numbering.sequence
        }
        if batch.kept { flags |= BatchFlags.isKept }
        if batch.digest != nil { flags |= BatchFlags.isThinned }
        entry.flags = flags
        entry.addedCount = batch.rows.count
        entry.deletedCount = batch.deleted.count
        return entry
    }

    private func note(_ content: FrameContent, _ views: Views) {
        var noted = notice ?? ChangeNotice()
        noted.merge(content, anchor: views.anchor, calendar: calendar)
        notice = noted
    }

    /// What has changed since the last call, once it is acknowledged.
    func takeNotice() -> ChangeNotice? {
        defer { notice = nil }
        return notice
    }

    /// A group ends after 100 batches, 8 MiB or 10 ms, whichever is first.
    var groupIsDue: Bool {
        !group.isEmpty
            && (group.content.batches.count >= 100 || group.byteCount >= 8 << 20
                || Platform.monotonicNanoseconds &- groupStart >= 10_000_000)
    }

    /// Whether as much waits as one frame should hold: for whoever needs nothing durable before its own end.
    var frameIsDue: Bool { group.content.rows.count >= 32_768 || group.byteCount >= 8 << 20 }

    /// Writes the group as one frame and syncs it.
    ///
    /// When that fails nothing of it is in the log, and the views are loaded again without it.
    func commit() throws(HKLogError) {
        guard !group.isEmpty else { return }
        let content = group.content
        group.removeAll()
        do throws(HKLogError) {
            let writer = try requireWriter()
            try write(content, to: writer, syncing: true)
            loaded?.logPosition = writer.position
        } catch {
            loaded = nil
            notice = nil
            throw error
        }
    }

    // MARK: Checkpoints

    /// Whether more has been replayed or appended since the newest checkpoint than opening should have to replay:
    /// 64 Ki rows or a 32nd of the store.
    private func isCheckpointDue(_ views: Views) -> Bool {
        if checkpointsAreUnfit { return true }
        let rows = views.rowBase + views.table.count
        let batches = views.batchBase + views.batches.count
        return views.table.count > max(65_536, rows / 32) || views.batches.count > max(65_536, batches / 32)
    }

    func checkpointIfDue() {
        guard !isDryRun, !isClosed, damage == nil, let loaded, isCheckpointDue(loaded) else { return }
        try? checkpoint(whole: false, required: false)
    }

    func checkpoint(whole: Bool, required: Bool) throws(HKLogError) {
        guard !isDryRun else { return }
        try commit()
        let views = try views()
        if let damage { throw damage }
        guard whole || checkpointsAreUnfit || views.table.count > 0 || views.batches.count > 0 else { return }
        // A checkpoint may not reach further than what is on stable storage.
        if let writer, !writer.isSynchronized, sync != .none { try writer.synchronize() }
        let folder = loader.checkpoints
        let definition = loader.definition
        do throws(SystemError) {
            guard let name = try folder.write(views, definition: definition, whole: whole) else { return }
            checkpointsAreUnfit = false
            if let chain = folder.chain(endingWith: name, definition: definition) {
                let seed = (try files.layer.randomWord(), try files.layer.randomWord())
                let fresh = Views(settings: settings, calendar: calendar, seed: seed, layers: chain)
                if !fresh.isDamaged { loaded = fresh }
            }
        } catch {
            if views.isDamaged {
                try rebuildViews()
                return try checkpoint(whole: whole, required: required)
            }
            guard required else { return }
            throw .system(error, "write a checkpoint", path: folder.path)
        }
    }

    private static let rowsWorthALayer = 4096

    func close() throws(HKLogError) {
        guard !isClosed else { return }
        try commit()
        // A writer that ends leaves little to replay: a layer for a few thousand rows costs less than they did.
        if writer != nil, let loaded, damage == nil,
            loaded.table.count >= StoreCore.rowsWorthALayer
                || loaded.batches.count >= StoreCore.rowsWorthALayer
        {
            try? checkpoint(whole: false, required: false)
        } else if writer != nil {
            checkpointIfDue()
        }
        isClosed = true
        loaded = nil
        try writer?.close()
        writer = nil
    }

    /// Bytes of the log without preallocation, and its segments.
    func logSize() throws(HKLogError) -> (bytes: UInt64, segments: Int) {
        if isImaginary { return (0, 0) }
        try commit()
        let reader: LogReader
        do throws(HKLogError) {
            reader = try LogReader(files, storeID: manifest.storeID)
        } catch {
            guard error.code == .damaged else { throw error }
            return (0, 0)
        }
        var bytes: UInt64 = 0
        let segments = reader.segments.segments
        for segment in segments { bytes += UInt64(segment.byteCount) }
        // The newest segment may have room that was asked for in advance: what counts are its frames.
        if let last = segments.last {
            let end = try views().logPosition
            if end.segment == last.firstAnchor, end.byteOffset < last.byteCount {
                bytes -= UInt64(last.byteCount - end.byteOffset)
            }
        }
        return (bytes, segments.count)
    }

    // MARK: Settings

    func change(
        timeZone: String?, styles: [String: AggregationStyle?], priorities: [String: [String]?]
    ) throws(HKLogError) {
        _ = try requireWriter()
        try commit()
        var changed = settings
        if let timeZone { changed.timeZone = try TimeZoneRules(identifier: timeZone).identifier }
        for (type, style) in styles {
            guard Catalog.quantityType(type) != nil || style == nil else {
                throw HKLogError(
                    .invalidArgument,
                    "\(type) is no quantity type of the catalog, so it has no aggregation style")
            }
            changed.styles[type] = style
        }
        for (type, names) in priorities { changed.priorities[type] = names }
        guard changed != settings else { return }
        var next = manifest
        next.settings = changed.encoded()
        try files.writeManifest(next)
        manifest = next
        settings = changed
        calendar = LocalCalendar(rules: try TimeZoneRules(identifier: changed.timeZone))
        checkpointsAreUnfit = !loader.checkpoints.names().isEmpty
        try replaceViews()
    }

    // MARK: Replay

    /// Saves what a replay has made; that it cannot be saved is a warning, since the answer stands without.
    private func saveReplayed() {
        do throws(HKLogError) {
            try checkpoint(whole: true, required: true)
        } catch {
            warnings.append("the views could not be saved: \(error.message)")
        }
    }

    func replay(from start: UInt64, to end: UInt64?, progress: ((UInt64, UInt64) -> Void)?) throws(HKLogError)
        -> ReplayReport
    {
        try commit()
        let began = Platform.monotonicNanoseconds
        var outcome = ViewLoader.Outcome(views: try loader.emptyViews())
        try loader.replay(into: &outcome, until: end, countingFrom: start, progress: progress)
        let views = outcome.views
        views.flush()
        let seconds = Double(Platform.monotonicNanoseconds &- began) / 1e9
        let reached = views.anchor
        if outcome.damage == nil {
            for anchor in [start, end ?? 0] where anchor > reached {
                throw HKLogError(
                    .anchorBeyondEnd, "anchor \(anchor) is beyond the end of the log, which is at \(reached)")
            }
        }
        damage = outcome.damage
        gaps = outcome.gaps
        let report = ReplayReport(
            from: start, to: reached, batches: outcome.counts.batches, added: outcome.counts.added,
            deleted: outcome.counts.deleted, suppressed: outcome.counts.suppressed, samples: views.shownCount,
            buckets: views.bucketCount, digest: views.digestText, seconds: seconds,
            samplesPerSecond: seconds > 0 ? Double(outcome.counts.added) / seconds : 0)
        if end == nil {
            loaded = views
            if outcome.damage == nil, !isDryRun { saveReplayed() }
        }
        return report
    }
}
