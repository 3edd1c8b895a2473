internal import HKLogFormat

extension Store {
    /// Reads the whole log and all checkpoints, and says what is not sound.
    ///
    /// Changes nothing, takes no lock.
    ///
    /// A torn tail is looked at again after a second: a writer may be at work. Throws `notFound` where there
    /// is no store; everything else that is wrong is a finding. `progress` is told bytes done and bytes in all.
    public static func verify(at path: String, progress: ((UInt64, UInt64) -> Void)? = nil) throws(HKLogError)
        -> VerifyReport
    {
        try verify(LogFiles(layer: SystemFiles(), store: path), progress: progress)
    }

    package static func verify(
        _ files: LogFiles, secondLookAfter milliseconds: Int = 1000,
        progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(HKLogError) -> VerifyReport {
        var verification = try Verification(files)
        let report = try verification.run(progress)
        guard report.problems.contains(where: { $0.what == LogFinding.Kind.tornTail.rawValue }) else {
            return report
        }
        // Beside a writer, a frame that was just being written is whole by now. Whether there is one is not asked:
        // that would take the lock away from it.
        Platform.sleep(milliseconds: milliseconds)
        verification = try Verification(files)
        return try verification.run(progress)
    }

    /// Sets damaged bytes of the log aside, keeps every whole batch, and records what is lost, so that later
    /// batches keep their anchors.
    ///
    /// Rebuilds a lost `store.json`. Takes the lock; may be interrupted and called again.
    ///
    /// Throws `notFound` where there is no store, `locked` where another process writes.
    public static func repair(at path: String) throws(HKLogError) -> RepairReport {
        try repair(LogFiles(layer: SystemFiles(), store: path))
    }

    package static func repair(_ files: LogFiles) throws(HKLogError) -> RepairReport {
        do throws(HKLogError) {
            _ = try files.readManifest()
        } catch {
            guard error.code != .notFound else { throw error }
        }
        var settingsFrom = ""
        var checkpoints: [String] = []
        let log = try files.repair(
            beforeRewrite: { log throws(HKLogError) in checkpoints = try setCheckpointsAside(files, log) }
        ) { id throws(HKLogError) in
            let folder = CheckpointFolder(files: files, storeID: id)
            var settings: StoreSettings?
            for name in folder.names() where settings == nil {
                guard let layer = folder.open(name), layer.header.storeID == (id.first, id.second) else {
                    continue
                }
                settings = Views.settings(of: layer)
                if layer.isDamaged { settings = nil }
            }
            settingsFrom =
                settings == nil
                ? "its settings are the defaults (zone \(TimeZoneRules.system().identifier))"
                : "its settings are those of the newest checkpoint"
            let kept = settings ?? StoreSettings(timeZone: TimeZoneRules.system().identifier)
            return StoreManifest(
                storeID: id,
                created: Timestamp(microseconds: Platform.wallClockMicroseconds / 1_000_000 * 1_000_000)
                    .description,
                segmentByteCount: StoreManifest.segmentByteCountDefault, settings: kept.encoded())
        }
        var report = RepairReport(
            actions: [], gaps: log.gaps.filter { !$0.isEmpty }.map { $0.lowerBound + 1...$0.upperBound },
            setAside: log.setAside)
        if log.rebuiltManifest {
            report.actions.append("rebuilt store.json from the segments; \(settingsFrom)")
        }
        if log.rewroteSegments {
            report.actions.append("rewrote the damaged segments with every whole batch")
        }
        for name in log.setAside { report.actions.append("set damaged bytes aside in \(name)") }
        for gap in report.gaps {
            report.actions.append(
                "batches \(gap.lowerBound) to \(gap.upperBound) are lost; the gap is recorded")
        }
        if !report.gaps.isEmpty {
            report.actions.append(
                "a source whose batches are lost goes on from its anchor in 'hklog anchors', or sends a snapshot"
            )
        }
        if !checkpoints.isEmpty {
            report.setAside.append(contentsOf: checkpoints)
            report.actions.append(
                "set \(checkpoints.count) checkpoint file\(checkpoints.count == 1 ? "" : "s") aside: they may hold "
                    + "the only copy of what was lost")
        }
        return report
    }

    /// Checkpoints that cover lost batches may be the only copy of what was in them: they are kept, out of the
    /// way.
    ///
    /// Their new names, from the store on.
    private static func setCheckpointsAside(_ files: LogFiles, _ log: LogRepairReport) throws(HKLogError)
        -> [String]
    {
        let folder = CheckpointFolder(files: files, storeID: RawUUID(first: 0, second: 0))
        let lowest = log.gaps.filter { !$0.isEmpty }.map(\.lowerBound).min() ?? 0
        do throws(SystemError) {
            var moved: [String] = []
            for name in folder.names() {
                // A checkpoint that ends before the first lost batch is as good as before.
                if let layer = folder.open(name), layer.header.toAnchor <= lowest { continue }
                let aside = "\(name).aside"
                try files.layer.rename("\(folder.path)/\(name)", to: "\(folder.path)/\(aside)")
                moved.append("\(CheckpointFolder.name)/\(aside)")
            }
            if !moved.isEmpty { try files.layer.synchronizeDirectory(folder.path) }
            return moved
        } catch {
            throw .system(error, "set checkpoints aside", path: folder.path)
        }
    }

    /// Rewrites the log and the checkpoints without the data of deleted, swept and superseded samples, and merges
    /// small batches into shared frames.
    ///
    /// Batches, anchors and what is known of repeats stay. Needs room for a second log until it is done; may be
    /// interrupted at any point. `purge` also removes files that repair or recovery set aside.
    public func compact(purge: Bool = false, progress: ((UInt64, UInt64) -> Void)? = nil) throws(HKLogError)
        -> CompactReport
    {
        try withCore { core throws(HKLogError) in try core.compact(purge: purge, progress: progress) }
    }

    /// Copies the store as it is now into a new one, beside a running writer.
    ///
    /// Throws `cannotCreate` where the directory is not new or empty, `damaged` where the log is.
    public func backup(to directory: String, progress: ((UInt64, UInt64) -> Void)? = nil) throws(HKLogError) {
        try withCore { core throws(HKLogError) in try core.backup(to: directory, progress: progress) }
    }
}

/// Reads everything that a store has.
private struct Verification {
    let files: LogFiles
    let manifest: StoreManifest?
    private var problems: [VerifyReport.Problem] = []

    init(_ files: LogFiles) throws(HKLogError) {
        self.files = files
        do throws(HKLogError) {
            manifest = try files.readManifest()
            if let manifest, StoreSettings(encoded: manifest.settings) == nil {
                addManifest("damaged settings")
            }
        } catch {
            guard error.code == .damaged else { throw error }
            manifest = nil
            addManifest("damaged store.json")
        }
    }

    private mutating func addManifest(_ what: String) {
        problems.append(
            VerifyReport.Problem(
                what: what, file: LogFiles.manifestName, offset: 0, length: 0, firstAnchor: nil,
                lastAnchor: nil))
    }

    mutating func run(_ progress: ((UInt64, UInt64) -> Void)?) throws(HKLogError) -> VerifyReport {
        var storeID = RawUUID(first: 0, second: 0)
        if let manifest {
            storeID = manifest.storeID
        } else if let id = try files.storeIDFromSegments() {
            storeID = id
        }
        var decoder = FrameDecoder()
        var content = FrameContent()
        let total = (try? files.segmentByteCount()) ?? 0
        var done = 0
        let log = try files.verify(
            storeID: storeID,
            progress: { bytes in
                done += bytes
                progress?(UInt64(done), UInt64(max(total, done)))
            },
            decode: { header, stored in
                decoder.decodes(header, stored.span, into: &content)
                    && content.rows.shapes.allSatisfy { SampleShape(label: $0.label) != nil }
            })
        for finding in log.findings {
            let hasBatches = finding.endAnchor > finding.firstAnchor
            problems.append(
                VerifyReport.Problem(
                    what: finding.kind.rawValue, file: finding.file, offset: UInt64(finding.byteOffset),
                    length: UInt64(finding.byteCount),
                    firstAnchor: hasBatches ? finding.firstAnchor + 1 : nil,
                    lastAnchor: hasBatches ? finding.endAnchor : nil))
        }
        let checkpoints = verifyCheckpoints(storeID, end: log.endAnchor, isSound: log.isSound)
        return VerifyReport(
            sound: problems.isEmpty, logAnchor: log.endAnchor, frames: UInt64(log.frames),
            segments: log.segments,
            checkpoints: checkpoints,
            gaps: log.gaps.filter { !$0.isEmpty }.map { $0.lowerBound + 1...$0.upperBound },
            problems: problems)
    }

    private mutating func verifyCheckpoints(_ storeID: RawUUID, end: UInt64, isSound: Bool) -> Int {
        let folder = CheckpointFolder(files: files, storeID: storeID)
        let names = folder.names()
        for name in names {
            func add(_ what: String, _ range: Range<Int> = 0..<0) {
                problems.append(
                    VerifyReport.Problem(
                        what: what, file: "\(CheckpointFolder.name)/\(name)",
                        offset: UInt64(range.lowerBound),
                        length: UInt64(range.count), firstAnchor: nil, lastAnchor: nil))
            }
            guard let layer = folder.open(name) else {
                add("damaged checkpoint")
                continue
            }
            guard layer.header.storeID == (storeID.first, storeID.second) else {
                add("foreign checkpoint")
                continue
            }
            let bad = layer.checkAll()
            for range in bad { add("damaged checkpoint", range) }
            if !bad.isEmpty { continue }
            guard folder.chain(endingWith: name, definition: nil) != nil else {
                add("checkpoint without the one below it")
                continue
            }
            if layer.header.toAnchor > end {
                if isSound { add("checkpoint newer than the log") }
            } else if !bindsToLog(layer) {
                add("foreign checkpoint")
            }
        }
        return names.count
    }

    /// Whether the log at the checkpoint's anchor is the one that it was made of.
    private func bindsToLog(_ layer: LayerFile) -> Bool {
        guard
            let reader = try? ChangeReader(
                files: files,
                storeID: RawUUID(first: layer.header.storeID.low, second: layer.header.storeID.high),
                since: layer.header.toAnchor, expecting: nil)
        else { return true }
        return reader.isAt(nonce: layer.header.nonce)
    }
}

extension LogFiles {
    /// Bytes of all segment files, preallocated room too.
    func segmentByteCount() throws(HKLogError) -> Int {
        do throws(SystemError) {
            var count = 0
            for name in try layer.names(in: log) where name.hasSuffix(LogFiles.segmentSuffix) {
                count += try layer.status(of: path(name)).byteCount
            }
            return count
        } catch {
            throw .system(error, "look at the log", path: log)
        }
    }
}

extension StoreCore {
    func compact(purge: Bool, progress: ((UInt64, UInt64) -> Void)?) throws(HKLogError) -> CompactReport {
        let writer = try requireWriter()
        try commit()
        let before = try logSize().bytes
        let views = try views()
        views.flush()
        if views.isDamaged { try rebuildViews() }
        var compaction = Compaction(views: try self.views())
        var done: UInt64 = 0
        try writer.rewrite(
            &compaction,
            progress: { bytes in
                done += UInt64(bytes)
                progress?(done, max(before, done))
            })
        // Checkpoints hold what the log held: they are made anew of what is left.
        try replaceViews()
        try checkpoint(whole: true, required: true)
        let after = try logSize().bytes
        var report = CompactReport(
            bytesBefore: before, bytesAfter: after, rowsRemoved: compaction.rowsRemoved,
            framesBefore: compaction.framesBefore, framesAfter: compaction.framesAfter,
            setAside: try files.setAsideNames().map { "log/\($0)" })
        let aside = setAsideCheckpoints()
        report.setAside.append(contentsOf: aside.map { "\(CheckpointFolder.name)/\($0)" })
        if purge {
            try files.purgeSetAside()
            for name in aside {
                try? files.layer.unlinkIfThere("\(files.store)/\(CheckpointFolder.name)/\(name)")
            }
        }
        return report
    }

    private func setAsideCheckpoints() -> [String] {
        let names = (try? files.layer.names(in: "\(files.store)/\(CheckpointFolder.name)")) ?? []
        return names.filter { $0.hasSuffix(".aside") }.sorted()
    }

    func backup(to directory: String, progress: ((UInt64, UInt64) -> Void)?) throws(HKLogError) {
        try commit()
        let total = try UInt64(files.segmentByteCount())
        var done: UInt64 = 0
        _ = try files.backup(
            to: LogFiles(layer: files.layer, store: directory), manifest: manifest,
            progress: { bytes in
                done += UInt64(bytes)
                progress?(done, max(total, done))
            })
    }
}
