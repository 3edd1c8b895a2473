internal import HKLogFormat

/// The end of a log as a writer finds it, put in order.
struct LogTail {
    var file: any OpenFile
    var point: LogPosition
    var warnings: [String]

    /// Brings the log into the state that a writer builds on.
    ///
    /// May be interrupted anywhere and done again.
    static func recover(_ files: LogFiles, storeID: RawUUID, hint: LogPosition?, note: UnsynchronizedNote?)
        throws(HKLogError) -> LogTail
    {
        try files.settle()
        do throws(SystemError) {
            try files.placeFirstSegment()
        } catch {
            throw .system(error, "place the first segment", path: files.log)
        }
        do throws(SystemError) {
            try files.removeStaleNames()
        } catch {
            throw .system(error, "remove what an interrupted command has left", path: files.store)
        }
        var catalog = try SegmentCatalog.read(files, storeID: storeID)
        if let finding = catalog.findings.first(where: \.barsWriting) { throw .damaged(finding) }
        var warnings: [String] = []
        if catalog.segments.isEmpty {
            guard catalog.incompleteNewest == LogFiles.segmentName(firstAnchor: 0) else {
                throw .damaged(
                    LogFinding(
                        .missingSegment, file: LogFiles.shown(LogFiles.segmentName(firstAnchor: 0))))
            }
        }
        let (point, tornTail) = try end(files, storeID: storeID, catalog: catalog, hint: hint)
        if let name = catalog.incompleteNewest {
            // Its making broke off before anything was acknowledged in it.
            try removeIncomplete(files, storeID: storeID, name: name, warnings: &warnings)
            catalog = try SegmentCatalog.read(files, storeID: storeID)
        }
        let path = files.path(LogFiles.segmentName(firstAnchor: point.segment))
        do throws(SystemError) {
            let file = try files.layer.openFully(path, .writing)
            let byteCount = try file.status().byteCount
            if byteCount > point.byteOffset {
                if tornTail != nil {
                    warnings.append(try setAside(files, file, point: point, byteCount: byteCount))
                }
                try file.truncateFully(to: point.byteOffset)
            }
            try rewrite(file, note: note, point: point)
            // A process that was killed may have left all this in the page cache alone.
            try file.synchronizeFully()
            try files.layer.synchronizeDirectory(files.log)
            return LogTail(file: file, point: point, warnings: warnings)
        } catch {
            throw .system(error, "recover the end of the log", path: path)
        }
    }

    /// Reads to the end, with every check.
    private static func end(
        _ files: LogFiles, storeID: RawUUID, catalog: SegmentCatalog, hint: LogPosition?
    ) throws(HKLogError) -> (LogPosition, tornTail: LogFinding?) {
        guard let newest = catalog.segments.last else {
            return (
                LogPosition(
                    anchor: 0, nonce: 0, segment: 0, byteOffset: SegmentHeader.byteCount,
                    lastFrameByteOffset: SegmentHeader.byteCount), nil
            )
        }
        let useful = hint.flatMap { $0.anchor >= newest.firstAnchor ? $0 : nil }
        let reader: LogReader
        do throws(HKLogError) {
            reader = try LogReader(
                files, storeID: storeID, from: useful?.anchor ?? newest.firstAnchor, hint: useful)
        } catch {
            // A checkpoint that knows more than the log holds is no help.
            guard error.code == .anchorBeyondEnd else { throw error }
            return try end(files, storeID: storeID, catalog: catalog, hint: nil)
        }
        var run = FrameRun()
        while true {
            switch try reader.read(into: &run) {
            case .frames: continue
            case .end(let tornTail): return (reader.position, tornTail)
            case .damaged(let finding): throw .damaged(finding)
            }
        }
    }

    private static func removeIncomplete(
        _ files: LogFiles, storeID: RawUUID, name: String, warnings: inout [String]
    ) throws(HKLogError) {
        let path = files.path(name)
        do throws(SystemError) {
            let file = try files.layer.openFully(path, .writing)
            let byteCount = try file.status().byteCount
            guard name != LogFiles.segmentName(firstAnchor: 0) else {
                // The only segment: given its header again.
                var header = SegmentHeader()
                header.storeID = storeID
                var bytes: [UInt8] = []
                header.encode(into: &bytes)
                try file.writeFully(bytes.span, at: 0)
                try file.synchronizeFully()
                return
            }
            let bytes = try file.bytes(at: 0, count: min(byteCount, 1 << 16))
            if byteCount > SegmentHeader.byteCount, !isZero(bytes.span) {
                try files.layer.rename(path, to: path + ".incomplete")
                warnings.append("\(path): set aside a segment whose making broke off")
            } else {
                try files.layer.unlink(path)
            }
            try files.layer.synchronizeDirectory(files.log)
        } catch {
            throw .system(error, "remove an incomplete segment", path: path)
        }
    }

    /// Keeps the bytes behind the last whole frame in a file beside the log, synced before they are cut.
    private static func setAside(
        _ files: LogFiles, _ file: any OpenFile, point: LogPosition, byteCount: Int
    ) throws(SystemError) -> String {
        let segment = LogFiles.digits(point.segment)
        let name = try files.setAside(
            file, point.byteOffset..<byteCount, named: "\(segment).torn-\(point.anchor)-\(point.byteOffset)")
        let cut = "\(files.path(segment + LogFiles.segmentSuffix)): cut \(byteCount - point.byteOffset) bytes"
        let kept = name.map { ", kept in \(LogFiles.shown($0))" } ?? ""
        return "\(cut) that are no whole batch from the log's end at anchor \(point.anchor)\(kept)"
    }

    /// Writes bytes once more whose sync had failed: the kernel counts their pages as clean, so a sync alone
    /// would not.
    private static func rewrite(_ file: any OpenFile, note: UnsynchronizedNote?, point: LogPosition)
        throws(SystemError)
    {
        guard let note, note.segment == point.segment, note.byteOffset < point.byteOffset else { return }
        var byteOffset = max(note.byteOffset, 0)
        while byteOffset < point.byteOffset {
            let bytes = try file.bytes(at: byteOffset, count: min(1 << 20, point.byteOffset - byteOffset))
            guard !bytes.isEmpty else { return }
            try file.writeFully(bytes.span, at: byteOffset)
            byteOffset += bytes.count
        }
    }
}
