package import HKLogFormat

/// What a repair has done.
package struct LogRepairReport: Equatable, Sendable {
    /// Batches that are lost; recorded in the log, so that later ones keep their anchors.
    package var gaps: [Range<UInt64>] = []
    /// Files in which bytes were set aside, from the store on.
    package var setAside: [String] = []
    /// Whether `store.json` was made anew.
    package var rebuiltManifest = false
    /// Whether segments were rewritten.
    package var rewroteSegments = false
    /// The anchor at the end of the log.
    package var endAnchor: UInt64 = 0

    package init() {}
}

extension LogFiles {
    /// Makes a damaged log one that can be written again, and keeps every whole batch.
    ///
    /// Damaged bytes go into files of their own; where batches are lost a gap takes their place. A lost or damaged
    /// `store.json` is made anew from the segments' headers, with what `settings` answers for the store's id. May be
    /// interrupted at any point and called again; on a sound log it only does what opening for writing does. The
    /// checkpoints that cover a gap are the caller's to set aside, in `beforeRewrite`: from the rewrite on the log
    /// looks sound, and nothing would tell that they know of batches that are lost.
    /// `furthest` names a point that something else proves the log to have reached: batches up to it that are not
    /// there are recorded as lost.
    package func repair(
        furthest: (RawUUID) -> (anchor: UInt64, nonce: UInt64)? = { _ in nil },
        beforeRewrite: (LogRepairReport) throws(HKLogError) -> Void = { _ throws(HKLogError) in },
        settings: (RawUUID) throws(HKLogError) -> StoreManifest
    ) throws(HKLogError) -> LogRepairReport {
        let lock = try StoreLock(self)
        var report = LogRepairReport()
        do throws(HKLogError) {
            try settle()
        } catch {
            guard error.code == .damaged else { throw error }
            try settleWithoutRecord(&report)
        }
        do throws(SystemError) {
            try placeFirstSegment()
        } catch {
            throw .system(error, "place the first segment", path: log)
        }
        let manifest = try repairedManifest(settings, &report)
        let proven = furthest(manifest.storeID)
        try repairSegments(manifest, &report, beforeRewrite)
        index.forget()
        // What is left is a torn tail at most.
        let writer = try LogWriter(
            self, storeID: manifest.storeID, segmentByteCount: manifest.segmentByteCount, lock: lock)
        if let proven, proven.anchor > writer.nextAnchor {
            report.gaps.append(writer.nextAnchor..<proven.anchor)
            try beforeRewrite(report)
            try writer.append(
                GapRecord(
                    storeTag: writer.storeTag, firstAnchor: writer.nextAnchor, endAnchor: proven.anchor,
                    previousNonce: writer.lastNonce, lastNonce: proven.nonce))
        }
        report.endAnchor = writer.nextAnchor
        try writer.close()
        return report
    }

    /// Without a readable record, the new segments of a switch take their places, and what they replace is
    /// recognised by what stands in it.
    private func settleWithoutRecord(_ report: inout LogRepairReport) throws(HKLogError) {
        do throws(SystemError) {
            for name in try layer.names(in: log).sorted() where SwitchRecord.isTemporaryName(name) {
                try layer.rename(path(name), to: path(name.prefix(20) + Self.segmentSuffix))
            }
            try layer.synchronizeDirectory(log)
            report.setAside.append(Self.shown(try setAsideWhole(Self.switchName, as: "unreadable")))
        } catch {
            throw .system(error, "set a damaged record aside", path: path(Self.switchName))
        }
    }

    private func repairedManifest(
        _ settings: (RawUUID) throws(HKLogError) -> StoreManifest, _ report: inout LogRepairReport
    ) throws(HKLogError) -> StoreManifest {
        do throws(HKLogError) {
            return try readManifest()
        } catch {
            guard error.code == .damaged || error.code == .notFound else { throw error }
        }
        guard let storeID = try storeIDFromSegments() else {
            throw HKLogError(
                .damaged, "\(store): neither \(Self.manifestName) nor a segment's header can be read")
        }
        let manifest = try settings(storeID)
        do throws(SystemError) {
            // What was there may still be of use to someone.
            if let old = try? layer.contents(
                of: "\(store)/\(Self.manifestName)", limit: StoreManifest.sizeLimit), !old.isEmpty
            {
                try layer.writeAtomically(old.span, to: Self.manifestName + ".damaged", in: store)
                report.setAside.append(Self.manifestName + ".damaged")
            }
        } catch {
            throw .system(error, "keep the damaged file", path: "\(store)/\(Self.manifestName)")
        }
        try writeManifest(manifest)
        report.rebuiltManifest = true
        return manifest
    }

    /// The id that most segments' headers name.
    package func storeIDFromSegments() throws(HKLogError) -> RawUUID? {
        var counts: [RawUUID: Int] = [:]
        do throws(SystemError) {
            for name in try layer.names(in: log) where name.hasSuffix(Self.segmentSuffix) {
                let bytes = try layer.openFully(path(name), .reading).bytes(
                    at: 0, count: SegmentHeader.byteCount)
                guard case .valid(let header) = SegmentHeader.read(bytes.span) else { continue }
                counts[header.storeID, default: 0] += 1
            }
        } catch {
            throw .system(error, "read the segments' headers", path: log)
        }
        return counts.max {
            ($0.value, $0.key.first, $0.key.second) < ($1.value, $1.key.first, $1.key.second)
        }?.key
    }

    private func repairSegments(
        _ manifest: StoreManifest, _ report: inout LogRepairReport,
        _ beforeRewrite: (LogRepairReport) throws(HKLogError) -> Void
    ) throws(HKLogError) {
        var plan = RepairPlan(self, storeID: manifest.storeID)
        do throws(SystemError) {
            try plan.collect()
            try plan.walk()
        } catch {
            throw .system(error, "read the log", path: log)
        }
        if let name = plan.newerName {
            throw .damaged(LogFinding(.newerVersion, file: Self.shown(name)))
        }
        guard plan.isNeeded else { return }
        let token = try newToken()
        do throws(SystemError) {
            for (name, kind) in plan.wholeFiles {
                report.setAside.append(Self.shown(try setAsideWhole(name, as: kind)))
            }
            for (source, range) in plan.damage {
                let file = try layer.openFully(path(source.name), .reading)
                let digits = Self.digits(source.anchor)
                let name = try setAside(
                    file, range, named: "\(digits).damaged-\(range.lowerBound)-\(range.count)")
                if let name { report.setAside.append(Self.shown(name)) }
            }
        } catch {
            throw .system(error, "set damaged bytes aside", path: log)
        }
        report.gaps = plan.gaps
        let rewritten = plan.segments.filter { !$0.isKept }
        guard !rewritten.isEmpty || !plan.removed.isEmpty else { return }
        report.rewroteSegments = true
        for segment in rewritten {
            try write(segment, token: token, storeID: manifest.storeID)
        }
        let put = rewritten.map(\.firstAnchor)
        let names = Set(put.map(Self.segmentName(firstAnchor:)))
        let removed = plan.removed.filter { !names.contains($0) }
        try beforeRewrite(report)
        try commit(SwitchRecord(token: token, put: put, removed: removed))
        try settle()
    }

    private func write(_ segment: RepairPlan.Target, token: UInt64, storeID: RawUUID) throws(HKLogError) {
        var output = SegmentOutput(
            self, storeID: storeID, token: token, segmentByteCount: .max,
            previousSegment: segment.previousFirstAnchor, anchor: segment.firstAnchor,
            nonce: segment.previousNonce)
        try output.begin()
        for piece in segment.pieces {
            switch piece {
            case .gap(let gap): try output.append(gap)
            case .frame(let source, let byteOffset, let byteCount):
                let bytes: [UInt8]
                do throws(SystemError) {
                    bytes = try layer.openFully(path(source), .reading).bytes(
                        at: byteOffset, count: byteCount)
                } catch {
                    throw .system(error, "read a segment", path: path(source))
                }
                try output.append(bytes.span)
            }
        }
        try output.endSegment()
    }
}

/// How the segments of a damaged log are to look: made by reading alone.
private struct RepairPlan {
    /// A file that holds frames of the store.
    struct Source {
        var name: String
        /// The anchor that its header, else its name, gives.
        var anchor: UInt64
        var header: SegmentHeader?
    }

    enum Piece {
        case frame(source: String, byteOffset: Int, byteCount: Int)
        case gap(GapRecord)
    }

    /// A segment as it is to be.
    struct Target {
        var firstAnchor: UInt64
        var previousFirstAnchor: UInt64
        var previousNonce: UInt64
        var pieces: [Piece] = []
        /// Whether the file that is there is just this.
        var isKept: Bool
    }

    private let files: LogFiles
    private let storeID: RawUUID
    private var sources: [Source] = []
    /// Files that hold nothing for the log, and why.
    private(set) var wholeFiles: [(String, String)] = []
    private(set) var damage: [(Source, Range<Int>)] = []
    private(set) var segments: [Target] = []
    private(set) var gaps: [Range<UInt64>] = []
    /// Files whose frames stand in segments of other names.
    private(set) var removed: [String] = []
    private(set) var newerName: String?
    private var anchor: UInt64 = 0
    private var nonce: UInt64 = 0

    init(_ files: LogFiles, storeID: RawUUID) {
        self.files = files
        self.storeID = storeID
    }

    var isNeeded: Bool {
        !wholeFiles.isEmpty || !removed.isEmpty || segments.contains { !$0.isKept }
    }

    /// Finds out which file is which part of the log.
    mutating func collect() throws(SystemError) {
        var found: [UInt64: Source] = [:]
        var misnamed: [Source] = []
        for name in try files.layer.names(in: files.log).sorted()
        where name.hasSuffix(LogFiles.segmentSuffix) {
            let named = LogFiles.firstAnchor(ofSegmentName: name)
            let bytes = try files.layer.openFully(files.path(name), .reading).bytes(
                at: 0, count: SegmentHeader.byteCount)
            switch SegmentHeader.read(bytes.span) {
            case .valid(let header) where header.storeID != storeID: wholeFiles.append((name, "foreign"))
            case .valid(let header):
                let source = Source(name: name, anchor: header.firstAnchor, header: header)
                if named == header.firstAnchor {
                    found[header.firstAnchor] = source
                } else {
                    misnamed.append(source)
                }
            case .newerVersion: newerName = name
            case .zero, .notAHeader, .damaged:
                guard let named else {
                    wholeFiles.append((name, "unreadable"))
                    continue
                }
                if found[named] == nil { found[named] = Source(name: name, anchor: named, header: nil) }
            }
        }
        for source in misnamed {
            // A name that is free, or held by a file whose header cannot be read.
            if let present = found[source.anchor], present.header != nil {
                wholeFiles.append((source.name, "duplicate"))
            } else {
                if let present = found[source.anchor] { wholeFiles.append((present.name, "unreadable")) }
                found[source.anchor] = source
            }
        }
        sources = found.values.sorted { $0.anchor < $1.anchor }
    }

    /// Lays the frames of all files one after the other.
    mutating func walk() throws(SystemError) {
        try dropCovered()
        for (position, source) in sources.enumerated() {
            let limit = position + 1 < sources.count ? sources[position + 1].anchor : nil
            try take(source, limit: limit)
        }
    }

    /// Sets aside segments whose batches all stand in the one before, as after a switch whose record was lost.
    private mutating func dropCovered() throws(SystemError) {
        var kept: [Source] = []
        var covered: UInt64 = 0
        for source in sources {
            let reach = try reach(of: source)
            if reach <= covered, source.anchor < covered {
                wholeFiles.append((source.name, "duplicate"))
            } else {
                kept.append(source)
                covered = max(covered, reach)
            }
        }
        sources = kept
    }

    /// The anchor to which a segment's headers lead without a break.
    private func reach(of source: Source) throws(SystemError) -> UInt64 {
        guard let header = source.header else { return source.anchor }
        var scan = try HeaderScan(
            try files.layer.openFully(files.path(source.name), .reading), storeTag: storeID.first)
        var (anchor, nonce) = (source.anchor, header.previousLastNonce)
        while let record = try scan.next(), record.firstAnchor == anchor, record.previousNonce == nonce {
            (anchor, nonce) = (record.endAnchor, record.lastNonce)
        }
        return anchor
    }

    private mutating func take(_ source: Source, limit: UInt64?) throws(SystemError) {
        let file = try files.layer.openFully(files.path(source.name), .reading)
        let start = source.header == nil ? 0 : SegmentHeader.byteCount
        var parts: [SegmentScan.Part] = []
        var scan = try SegmentScan(
            file, storeTag: storeID.first, from: start, anchor: max(anchor, source.anchor),
            nonce: source.header?.previousLastNonce ?? nonce, anchorLimit: limit ?? .max)
        while let part = try scan.next() { parts.append(part) }
        let records = parts.compactMap { part -> LogRecord? in
            if case .record(let record, _, _) = part { record } else { nil }
        }
        guard source.anchor >= anchor, !records.isEmpty || source.header != nil else {
            if records.isEmpty {
                if source.header == nil, limit == nil,
                    source.anchor <= anchor || segments.isEmpty && anchor == 0
                {
                    // The newest, with nothing in it: left to the writer, which knows that its making broke off.
                    return
                }
                wholeFiles.append((source.name, source.header == nil ? "unreadable" : "duplicate"))
                // Its name alone proves that there were batches before it.
                if source.anchor > anchor { recordGap(upTo: source.anchor, nonce: nonce) }
                return
            }
            // Overlaps what comes before: only what leads on is taken.
            open(source, at: anchor, nonce: records[0].previousNonce, isKept: false)
            add(parts, from: source, limit: limit)
            return
        }
        let expectedNonce = source.header?.previousLastNonce ?? records.first?.previousNonce ?? nonce
        open(source, at: source.anchor, nonce: expectedNonce, isKept: true)
        add(parts, from: source, limit: limit)
    }

    /// Begins the segment at `first`, and records a gap where batches before it are lost.
    private mutating func open(_ source: Source, at first: UInt64, nonce expected: UInt64, isKept: Bool) {
        if anchor != first || nonce != expected {
            recordGap(
                upTo: first, nonce: expected,
                inOwnSegment: source.header?.previousFirstAnchor == anchor && first > anchor)
        }
        var target = Target(
            firstAnchor: first, previousFirstAnchor: segments.last?.firstAnchor ?? SegmentHeader.noPrevious,
            previousNonce: nonce, isKept: isKept)
        let name = LogFiles.segmentName(firstAnchor: first)
        target.isKept =
            isKept && source.name == name && source.header?.previousFirstAnchor == target.previousFirstAnchor
            && source.header?.previousLastNonce == nonce && source.header?.firstAnchor == first
        if source.name != name { removed.append(source.name) }
        segments.append(target)
    }

    private mutating func recordGap(upTo first: UInt64, nonce expected: UInt64, inOwnSegment: Bool = false) {
        let gap = GapRecord(
            storeTag: storeID.first, firstAnchor: anchor, endAnchor: first, previousNonce: nonce,
            lastNonce: expected)
        if segments.isEmpty || inOwnSegment && segments.last?.firstAnchor != anchor {
            // A whole segment is missing: one that holds nothing but the gap takes its place.
            segments.append(
                Target(
                    firstAnchor: anchor,
                    previousFirstAnchor: segments.last?.firstAnchor ?? SegmentHeader.noPrevious,
                    previousNonce: nonce, pieces: [.gap(gap)], isKept: false))
        } else {
            segments[segments.count - 1].pieces.append(.gap(gap))
            segments[segments.count - 1].isKept = false
        }
        gaps.append(anchor..<first)
        (anchor, nonce) = (first, expected)
    }

    private mutating func add(_ parts: [SegmentScan.Part], from source: Source, limit: UInt64?) {
        let last = segments.count - 1
        for (position, part) in parts.enumerated() {
            switch part {
            case .record(let record, let byteOffset, _):
                if record.firstAnchor != anchor || record.previousNonce != nonce {
                    let gap = GapRecord(
                        storeTag: storeID.first, firstAnchor: anchor, endAnchor: record.firstAnchor,
                        previousNonce: nonce, lastNonce: record.previousNonce)
                    segments[last].pieces.append(.gap(gap))
                    segments[last].isKept = false
                    gaps.append(anchor..<record.firstAnchor)
                }
                segments[last].pieces.append(
                    .frame(source: source.name, byteOffset: byteOffset, byteCount: record.byteCount))
                anchor = record.endAnchor
                nonce = record.lastNonce
            case .damage(let range):
                // What is left of a header that cannot be read is of no use.
                let isHeader = source.header == nil && range.upperBound <= SegmentHeader.byteCount
                if position == parts.count - 1, limit == nil, segments[last].isKept {
                    // A torn tail: the writer cuts it.
                    continue
                }
                if !isHeader { damage.append((source, range)) }
                segments[last].isKept = false
            case .padding: break
            case .newer: newerName = source.name
            }
        }
    }
}
