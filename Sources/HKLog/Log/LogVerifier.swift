package import HKLogFormat

/// What reading a whole log has shown.
package struct LogReport: Equatable, Sendable {
    package var segments = 0
    package var frames = 0
    package var batches: UInt64 = 0
    /// The anchor at the end of what can be read.
    package var endAnchor: UInt64 = 0
    /// Batches that `repair` found lost.
    package var gaps: [Range<UInt64>] = []
    package var findings: [LogFinding] = []
    /// Files beside the segments with bytes that were set aside.
    package var setAside: [String] = []

    package init() {}

    /// Whether nothing is wrong; gaps and set-aside files are what repair leaves, and known.
    package var isSound: Bool { findings.isEmpty }
}

extension LogFiles {
    /// Reads every byte of the log and reports all that is not as it should be; changes nothing, takes no lock.
    ///
    /// `decode` is asked about each whole frame's stored bytes, and answers false where they cannot be decoded.
    /// `progress` is told how many bytes have been read.
    package func verify(
        storeID: RawUUID,
        progress: (Int) -> Void = { _ in },
        decode: (FrameHeader, [UInt8]) throws(HKLogError) -> Bool
    ) throws(HKLogError) -> LogReport {
        var report = LogReport()
        report.setAside = try setAsideNames()
        let catalog: SegmentCatalog
        do throws(HKLogError) {
            catalog = try SegmentCatalog.read(self, storeID: storeID)
        } catch {
            guard error.code == .damaged else { throw error }
            report.findings.append(LogFinding(.damagedSwitch, file: Self.shown(Self.switchName)))
            return report
        }
        report.findings = catalog.findings
        report.segments = catalog.segments.count
        if !catalog.hasSegmentFiles, try !isFresh() {
            report.findings.append(
                LogFinding(.missingSegment, file: Self.shown(Self.segmentName(firstAnchor: 0))))
        }
        var walk = Walk(storeTag: storeID.first)
        for (position, segment) in catalog.segments.enumerated() {
            let next = position + 1 < catalog.segments.count ? catalog.segments[position + 1] : nil
            // Also the name of a segment whose making broke off says how far this one went.
            let proof =
                next?.firstAnchor ?? catalog.incompleteNewest.flatMap(Self.firstAnchor(ofSegmentName:))
            do throws(SystemError) {
                let file = try openSegment(segment)
                walk.enter(segment, &report)
                var scan = try SegmentScan(
                    file, storeTag: storeID.first, from: SegmentHeader.byteCount, anchor: walk.anchor,
                    nonce: walk.nonce, anchorLimit: proof ?? .max)
                while let part = try scan.next() {
                    if case .record(.frame(let header), let byteOffset, _) = part {
                        let stored = try scan.storedBytes(of: .frame(header), at: byteOffset)
                        walk.isDecodable = (try? decode(header, stored)) ?? false
                    }
                    walk.take(part, in: segment, &report)
                }
                walk.leave(segment, end: proof, isNewest: next == nil, &report)
                progress(segment.byteCount)
            } catch {
                throw .system(error, "read a segment", path: path(segment.name))
            }
        }
        report.endAnchor = walk.anchor
        return report
    }

    /// Whether the log was made and nothing more: no segment is expected.
    func isFresh() throws(HKLogError) -> Bool {
        do throws(SystemError) {
            return try layer.exists(path(Self.firstSegmentName))
        } catch {
            throw .system(error, "look at the log", path: log)
        }
    }
}

/// Follows the log from record to record and notes what does not fit.
private struct Walk {
    let storeTag: UInt64
    var anchor: UInt64 = 0
    var nonce: UInt64 = 0
    /// Whether the present frame could be decoded.
    var isDecodable = true
    /// Damaged bytes of which is not known yet whether anything follows.
    private var pending: Range<Int>?
    private var reached: Int = 0

    init(storeTag: UInt64) { self.storeTag = storeTag }

    mutating func enter(_ segment: Segment, _ report: inout LogReport) {
        let isKnown = report.findings.contains { finding in
            finding.kind == .missingSegment && finding.endAnchor == segment.firstAnchor
        }
        if segment.firstAnchor != anchor || segment.header.previousLastNonce != nonce, !isKnown,
            !report.findings.contains(where: { $0.endAnchor == segment.firstAnchor && $0.kind == .damaged })
        {
            report.findings.append(
                LogFinding(
                    .brokenChain, file: LogFiles.shown(segment.name), firstAnchor: segment.firstAnchor,
                    endAnchor: segment.firstAnchor))
        }
        anchor = segment.firstAnchor
        nonce = segment.header.previousLastNonce
        pending = nil
        reached = SegmentHeader.byteCount
    }

    mutating func take(_ part: SegmentScan.Part, in segment: Segment, _ report: inout LogReport) {
        let file = LogFiles.shown(segment.name)
        switch part {
        case .record(let record, let byteOffset, let isLinked):
            if let range = pending ?? (isLinked ? nil : byteOffset..<byteOffset) {
                let isOnlyChain = range.isEmpty && record.firstAnchor == anchor
                report.findings.append(
                    LogFinding(
                        isOnlyChain ? .brokenChain : .damaged, file: file, byteOffset: range.lowerBound,
                        byteCount: range.count, firstAnchor: anchor, endAnchor: record.firstAnchor))
            }
            pending = nil
            switch record {
            case .frame(let header):
                report.frames += 1
                report.batches += UInt64(header.batchCount)
                if !isDecodable {
                    report.findings.append(
                        LogFinding(
                            .undecodable, file: file, byteOffset: byteOffset, byteCount: record.byteCount,
                            firstAnchor: record.firstAnchor, endAnchor: record.endAnchor))
                }
            case .gap(let gap): report.gaps.append(gap.firstAnchor..<gap.endAnchor)
            }
            anchor = record.endAnchor
            nonce = record.lastNonce
            reached = byteOffset + record.byteCount
        case .damage(let range): pending = range
        case .padding: break
        case .newer(let byteOffset):
            report.findings.append(
                LogFinding(
                    .newerVersion, file: file, byteOffset: byteOffset, firstAnchor: anchor, endAnchor: anchor)
            )
        }
    }

    mutating func leave(_ segment: Segment, end: UInt64?, isNewest: Bool, _ report: inout LogReport) {
        let file = LogFiles.shown(segment.name)
        let range = pending ?? reached..<reached
        if let end, anchor < end {
            let isKnown = report.findings.contains { $0.kind == .missingSegment && $0.endAnchor == end }
            guard !isKnown || pending != nil else { return }
            report.findings.append(
                LogFinding(
                    .damaged, file: file, byteOffset: range.lowerBound, byteCount: range.count,
                    firstAnchor: anchor, endAnchor: end))
        } else if pending != nil {
            report.findings.append(
                LogFinding(
                    isNewest && end == nil ? .tornTail : .trailingBytes, file: file,
                    byteOffset: range.lowerBound, byteCount: range.count, firstAnchor: anchor,
                    endAnchor: anchor))
        }
    }
}
