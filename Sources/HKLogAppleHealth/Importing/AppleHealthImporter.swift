package import HKLog

/// Imports what the Health app's "Export All Health Data" gives.
///
/// A first import streams straight into batches. A later one compares with the live samples of its stream first,
/// and appends only what differs; then, if the document is whole, it deletes what is no longer listed.
public struct AppleHealthImporter: Sendable {
    /// The stream that exports go to unless another one is named.
    public static let defaultStream = "apple-health-export"

    /// The stream to import into.
    ///
    /// Another name than the default one gives other uuids, so that two persons' exports do not meet in one store.
    public var stream = AppleHealthImporter.defaultStream
    /// Keep samples that the export no longer lists.
    public var keepMissing = false
    /// Delete what is no longer listed, however much that is.
    public var allowDeletions = false
    /// Find out what an import would do, and append nothing.
    public var isDryRun = false

    /// Makes an importer with the usual settings.
    public init() {}

    /// How far an import is.
    public struct Progress: Sendable {
        /// Bytes of the uncompressed document that this pass has read.
        public var bytesRead: Int
        /// Bytes that the document has; 0 when the archive does not say.
        public var byteCount: Int
        /// Samples that this pass has read.
        public var records: Int
        /// Which pass, 1 or 2.
        public var pass: Int
    }

    /// Shares of the stream whose disappearance stops an import.
    private static let guardedCount = 100
    private static let guardedDivisor = 10
    /// How many samples and deletions a batch has at most.
    private static let batchCountLimit = 4096

    /// Types of samples that come from files beside the document.
    private static let sideFileTypes = [routeType, "HKDataTypeIdentifierElectrocardiogram"]
    private static let routeType = "HKWorkoutRouteTypeIdentifier"

    /// Imports an export that `FoundExport.find` has found.
    ///
    /// - Parameters:
    ///   - export: The document and what lies beside it.
    ///   - destination: The stream's cells and its log.
    ///   - rules: The store's time zone: an activity summary starts at its midnight.
    ///   - caseWriter: Gets each repair, omission and oddity as it is met.
    ///   - progress: Called after each few thousand samples; may throw to stop.
    /// - Returns: What was done. A document that is not whole is imported as far as it goes, without deletions, and
    ///   has `complete` false: the command line ends with 65 then.
    /// - Throws: `invalidData` when too much of the stream is about to vanish (nothing has been appended then), or the
    ///   export changes while it is read; what the destination throws.
    package func run<Destination: ImportDestination>(
        _ export: FoundExport, into destination: inout Destination, rules: TimeZoneRules,
        reportingTo caseWriter: (any ImportCaseWriter)? = nil,
        progress: (Progress) throws(HKLogError) -> Void
    ) throws(HKLogError) -> ImportReport {
        let settings = ExportReader.Settings(
            streamName: stream.utf8.elementsEqual(AppleHealthImporter.defaultStream.utf8)
                ? [] : Array(stream.utf8),
            calendar: LocalCalendar(rules: rules))
        if destination.isUntouched && !isDryRun {
            return try importFirst(
                export, settings, into: &destination, rules: rules, reportingTo: caseWriter,
                progress: progress)
        }
        return try importLater(
            export, settings, into: &destination, rules: rules, reportingTo: caseWriter, progress: progress)
    }

    // MARK: - A first import

    private func importFirst<Destination: ImportDestination>(
        _ export: FoundExport, _ settings: ExportReader.Settings, into destination: inout Destination,
        rules: TimeZoneRules, reportingTo caseWriter: (any ImportCaseWriter)?,
        progress: (Progress) throws(HKLogError) -> Void
    ) throws(HKLogError) -> ImportReport {
        let blocks = try BlockStream(
            export, settings, keepsCases: caseWriter != nil, batchStream: stream)
        var tally = ImportTally()
        while let block = try blocks.next() {
            if let caseWriter { for met in block.cases { try caseWriter.write(met) } }
            tally.extend(with: block)
            tally.skipped += block.skipped
            for row in block.rows { tally.count(row.shape, .added) }
            if let batch = block.batch {
                try destination.append(batch)
                tally.wroteAnything = true
            }
            try progress(
                Progress(
                    bytesRead: block.byteOffset, byteCount: export.byteCount, records: tally.records, pass: 1)
            )
        }
        let ending = blocks.finish()
        if let caseWriter { for met in ending.cases { try caseWriter.write(met) } }
        return report(tally, ending, export, destination, rules)
    }

    // MARK: - A later import

    private func importLater<Destination: ImportDestination>(
        _ export: FoundExport, _ settings: ExportReader.Settings, into destination: inout Destination,
        rules: TimeZoneRules, reportingTo caseWriter: (any ImportCaseWriter)?,
        progress: (Progress) throws(HKLogError) -> Void
    ) throws(HKLogError) -> ImportReport {
        var seen = RowSet(limit: destination.rowLimit)
        var opensEpoch = false
        var tally = ImportTally()
        var comparison = SampleComparison(keepsResources: export.sideFiles == nil || keepMissing)
        var blocks = try BlockStream(export, settings, keepsCases: caseWriter != nil)
        var states: [ImportedCell] = []
        while let block = try blocks.next() {
            if let caseWriter { for met in block.cases { try caseWriter.write(met) } }
            tally.extend(with: block)
            tally.skipped += block.skipped
            if !block.skippedUUIDs.isEmpty {
                destination.find(block.skippedUUIDs, into: &states)
                for case .live(let stored) in states { seen.insert(stored) }
            }
            destination.find(block.rows.map(\.uuid), into: &states)
            for (row, state) in zip(block.rows, states) {
                switch state {
                case .absent:
                    tally.count(row.shape, .added)
                case .deadInPresentEpoch:
                    tally.count(row.shape, .added)
                    opensEpoch = true
                case .live(let stored):
                    seen.insert(stored)
                    let result = comparison.compare(row, block, with: stored, in: destination)
                    if case .same = result {
                        tally.count(row.shape, .same)
                    } else {
                        tally.count(row.shape, .changed)
                    }
                }
            }
            try progress(
                Progress(
                    bytesRead: block.byteOffset, byteCount: export.byteCount, records: tally.records, pass: 1)
            )
        }
        var ending = blocks.finish()
        if let caseWriter { for met in ending.cases { try caseWriter.write(met) } }
        let (missing, keptRoutes) = missing(in: destination, but: seen, export, ending)
        tally.keptMissing = keptRoutes
        if keepMissing || !ending.isComplete || ending.lostElementCount > 0 {
            tally.keptMissing += missing.count
        } else {
            try guardAgainst(missing.count, of: destination.liveCount, export)
            for (_, type) in missing { tally.countDeletion(of: type) }
        }
        if isDryRun { return report(tally, ending, export, destination, rules) }
        if tally.hasDifferences {
            blocks = try BlockStream(export, settings)
            try appendDifferences(
                of: blocks, opensEpoch: opensEpoch, to: &destination, comparison: &comparison, export: export,
                progress: progress)
            let isStillComplete = ending.isComplete
            ending = blocks.finish()
            guard ending.isComplete == isStillComplete else {
                throw HKLogError(
                    .invalidData, "\(export.name): it changed while it was read; import it again")
            }
            tally.wroteAnything = true
        }
        if tally.deleted > 0 {
            try delete(missing.map(\.uuid), from: &destination)
            tally.wroteAnything = true
        }
        return report(tally, ending, export, destination, rules)
    }

    /// The live samples that were not listed, but those of kinds that the input cannot list; and how many of them are
    /// routes whose file the document names and the input does not hold, which stay.
    private func missing<Destination: ImportDestination>(
        in destination: Destination, but seen: RowSet, _ export: FoundExport, _ ending: ReaderEnding
    ) -> (missing: [(uuid: SampleUUID, type: String)], keptRoutes: Int) {
        var missing: [(uuid: SampleUUID, type: String)] = []
        var keptRoutes = 0
        var types: [Int: String] = [:]
        destination.forEachLive { row, uuid, shape in
            if seen.contains(row) { return }
            let type = types[shape] ?? destination.shape(shape).type
            types[shape] = type
            if export.sideFiles == nil, AppleHealthImporter.sideFileTypes.contains(type) { return }
            if !ending.workoutsWithoutRoute.isEmpty,
                type.utf8.elementsEqual(AppleHealthImporter.routeType.utf8),
                isRoute(destination.texts(ofRow: row).payload, ofOneOf: ending.workoutsWithoutRoute)
            {
                keptRoutes += 1
            } else {
                missing.append((uuid, type))
            }
        }
        return (missing.sorted { $0.uuid < $1.uuid }, keptRoutes)
    }

    /// Whether a route is that of one of some workouts, or could be, since it names none.
    private func isRoute(_ payload: [UInt8], ofOneOf workouts: Set<SampleUUID>) -> Bool {
        // The first member, if it is there at all.
        guard hasPrefix(payload, "{\"workout\":\"") else { return true }
        let text = String(decoding: payload.dropFirst(12).prefix(36), as: UTF8.self)
        return SampleUUID(text).map { workouts.contains($0) } ?? false
    }

    private func guardAgainst(_ count: Int, of liveCount: Int, _ export: FoundExport) throws(HKLogError) {
        guard count > AppleHealthImporter.guardedCount, !allowDeletions,
            count > liveCount / AppleHealthImporter.guardedDivisor
        else { return }
        throw HKLogError(
            .invalidData,
            "\(export.name): \(count) of the \(liveCount) samples of stream '\(stream)' are not in it and would be "
                + "deleted; nothing was imported: use --allow-deletions, or --keep-missing to only add")
    }

    private func appendDifferences<Destination: ImportDestination>(
        of blocks: BlockStream, opensEpoch: Bool, to destination: inout Destination,
        comparison: inout SampleComparison, export: FoundExport,
        progress: (Progress) throws(HKLogError) -> Void
    ) throws(HKLogError) {
        var opensEpoch = opensEpoch
        var pending = RowBlock()
        var states: [ImportedCell] = []
        var records = 0
        func flush() throws(HKLogError) {
            guard !pending.rows.isEmpty else { return }
            var batch = Batch(
                stream: stream, importing: pending.rows, shapes: pending.shapes, bytes: pending.bytes)
            if opensEpoch {
                // Within an epoch a deletion wins; what comes back has to come in a later one.
                batch.snapshot = .begin
                opensEpoch = false
            }
            pending.rows.removeAll(keepingCapacity: true)
            pending.bytes.removeAll(keepingCapacity: true)
            try destination.append(batch)
        }
        while let block = try blocks.next() {
            if block.generation != pending.generation {
                try flush()
                pending.generation = block.generation
            }
            pending.shapes = block.shapes
            destination.find(block.rows.map(\.uuid), into: &states)
            for (row, state) in zip(block.rows, states) {
                guard case .live(let stored) = state else {
                    pending.append(row, from: block)
                    continue
                }
                switch comparison.compare(row, block, with: stored, in: destination) {
                case .same: break
                case .changed: pending.append(row, from: block)
                case .changedWithPayload(let payload): pending.append(row, from: block, payload: payload)
                }
            }
            records += block.rows.count
            if pending.rows.count >= AppleHealthImporter.batchCountLimit
                || pending.bytes.count >= RowBlock.byteCountLimit
            {
                try flush()
            }
            try progress(
                Progress(bytesRead: block.byteOffset, byteCount: export.byteCount, records: records, pass: 2))
        }
        try flush()
    }

    private func delete<Destination: ImportDestination>(
        _ uuids: [SampleUUID], from destination: inout Destination
    ) throws(HKLogError) {
        var index = 0
        while index < uuids.count {
            let end = min(index + AppleHealthImporter.batchCountLimit, uuids.count)
            var batch = Batch(stream: stream)
            batch.kept = true
            batch.deleted = uuids[index..<end].map { Batch.Deletion(uuid: $0) }
            try destination.append(batch)
            index = end
        }
    }

    // MARK: - The report

    private func report<Destination: ImportDestination>(
        _ tally: ImportTally, _ ending: ReaderEnding, _ export: FoundExport, _ destination: Destination,
        _ rules: TimeZoneRules
    ) -> ImportReport {
        var report = ImportReport()
        report.types = tally.types
        report.records = tally.records
        report.added = tally.added
        report.changed = tally.changed
        report.deleted = tally.deleted
        report.same = tally.same
        report.skipped = tally.skipped
        report.keptMissing = tally.keptMissing
        report.wroteAnything = tally.wroteAnything
        report.complete = ending.isComplete
        report.problems = ending.problems
        report.exportDate = ending.exportDate.map { Timestamp(microseconds: $0) }
        if !ending.isComplete {
            let reason = ending.fault.map { " (\($0))" } ?? ""
            let what = ending.damage ?? "it ended at byte \(ending.endOffset)\(reason)"
            report.incompleteMessage =
                "\(export.name): incomplete: \(what); what is whole was imported, nothing was deleted"
        }
        if ending.isComplete, ending.lostElementCount > 0, tally.keptMissing > 0, !keepMissing {
            report.warnings.append(
                "nothing was deleted: what is no longer listed may stand in the \(ending.lostElementCount) elements "
                    + "that could not be read")
        }
        if let warning = zoneWarning(ending.zoneCounts, rules) { report.warnings.append(warning) }
        if let warning = streamWarning(tally.types, destination) { report.warnings.append(warning) }
        return report
    }

    private func zoneWarning(_ counts: [[UInt8]: Int], _ rules: TimeZoneRules) -> String? {
        let most = counts.max { left, right in
            (left.value, right.key) < (right.value, left.key)
        }
        guard let most else { return nil }
        let name = String(decoding: most.key, as: UTF8.self)
        if name.utf8.elementsEqual(rules.identifier.utf8) { return nil }
        if let named = try? TimeZoneRules(identifier: name), named.checksum == rules.checksum { return nil }
        return "most samples that name a zone name \(printable(most.key)), but the store's days are cut in "
            + "\(rules.identifier); change that with 'hklog config --time-zone'"
    }

    private func streamWarning<Destination: ImportDestination>(
        _ types: [ImportReport.TypeCounts], _ destination: Destination
    ) -> String? {
        var streams: Set<String> = []
        var count = 0
        let listed = types.filter { $0.records > 0 }.map(\.type)
        for others in destination.otherStreams(holding: listed) where !others.isEmpty {
            count += 1
            streams.formUnion(others)
        }
        guard count > 0 else { return nil }
        let names = streams.sorted().prefix(5).map { printable(Array($0.utf8)) }.joined(separator: ", ")
        return "\(count) of the imported types have live samples under other streams as well (\(names)"
            + "\(streams.count > 5 ? ", …" : "")): counts of discrete and category types hold both"
    }
}

/// One array compared with another, for a total order among equal counts.
private func < (left: (Int, [UInt8]), right: (Int, [UInt8])) -> Bool {
    if left.0 != right.0 { return left.0 < right.0 }
    return left.1.lexicographicallyPrecedes(right.1)
}
