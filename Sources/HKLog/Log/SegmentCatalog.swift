package import HKLogFormat

/// A segment as its name and its first bytes show it.
package struct Segment: Sendable, Equatable {
    package var firstAnchor: UInt64
    /// The file's name in the log directory.
    package var name: String
    /// The name that the file still bears when a switch to it is not finished.
    var pendingName: String?
    package var header: SegmentHeader
    package var byteCount: Int
}

/// The segments of a log in order, found from their names and headers alone.
package struct SegmentCatalog: Sendable, Equatable {
    /// What can be read, by first anchor.
    package private(set) var segments: [Segment] = []
    /// What is not as it should be.
    package private(set) var findings: [LogFinding] = []
    /// A newest segment whose making was interrupted: no batch stands in it.
    package private(set) var incompleteNewest: String?
    /// Whether the log has a segment file of any kind.
    package private(set) var hasSegmentFiles = false

    /// Reads names and headers.
    ///
    /// A rewrite that switches over in the same moment is waited for.
    package static func read(_ files: LogFiles, storeID: RawUUID) throws(HKLogError) -> SegmentCatalog {
        var last: SegmentCatalog?
        var failure: HKLogError?
        for attempt in 0..<20 {
            if attempt > 1 { Platform.sleep(milliseconds: min(attempt, 10)) }
            do throws(HKLogError) {
                var catalog = SegmentCatalog()
                guard try catalog.fill(files, storeID: storeID) else { continue }
                // What is wrong twice in the same way is wrong.
                if catalog.findings.isEmpty || catalog == last { return catalog }
                last = catalog
                failure = nil
            } catch {
                if error == failure { throw error }
                failure = error
                last = nil
            }
        }
        if let last { return last }
        throw failure
            ?? HKLogError(.inputOutput, "\(files.log): the segments change all the time; try again")
    }

    /// The position in `segments` of the one that holds the anchor, or would hold it if the log went on.
    func index(holding anchor: UInt64) -> Int? {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].firstAnchor <= anchor { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }

    /// False when a file went away in between.
    private mutating func fill(_ files: LogFiles, storeID: RawUUID) throws(HKLogError) -> Bool {
        let record = try files.switchRecord()
        var names: [String]
        do throws(SystemError) {
            names = try files.layer.names(in: files.log)
        } catch {
            throw .system(error, "list the segments", path: files.log)
        }
        guard try files.switchRecord() == record else { return false }
        let present = Set(names)
        names.removeAll { !$0.hasSuffix(LogFiles.segmentSuffix) }
        var pending: [String: String] = [:]
        if let record {
            let removed = Set(record.removed)
            names.removeAll { removed.contains($0) }
            for anchor in record.put {
                let name = LogFiles.segmentName(firstAnchor: anchor)
                let temporary = record.temporaryName(firstAnchor: anchor)
                if present.contains(temporary) { pending[name] = temporary }
                if !present.contains(name) { names.append(name) }
            }
        }
        hasSegmentFiles = !names.isEmpty
        names.sort()
        for (position, name) in names.enumerated() {
            guard
                try add(
                    name, pendingName: pending[name], isNewest: position == names.count - 1, files: files,
                    storeID: storeID)
            else { return false }
        }
        nameDuplicates(names)
        segments.sort { $0.firstAnchor < $1.firstAnchor }
        return try checkOrder(files, storeTag: storeID.first)
    }

    private mutating func add(
        _ name: String, pendingName: String?, isNewest: Bool, files: LogFiles, storeID: RawUUID
    ) throws(HKLogError) -> Bool {
        let anchor = LogFiles.firstAnchor(ofSegmentName: name)
        let start: [UInt8]
        let byteCount: Int
        do throws(SystemError) {
            let file = try files.layer.openFully(files.path(pendingName ?? name), .reading)
            byteCount = try file.status().byteCount
            start = try file.bytes(at: 0, count: SegmentHeader.byteCount)
        } catch {
            if error.isMissing { return false }
            throw .system(error, "read a segment's header", path: files.path(name))
        }
        let verdict =
            start.count == SegmentHeader.byteCount ? SegmentHeader.read(start.span) : .notAHeader
        switch verdict {
        case .valid(let header):
            if header.storeID != storeID {
                report(.foreignSegment, name, anchor ?? header.firstAnchor)
            } else if header.firstAnchor != anchor {
                report(.misnamedSegment, name, header.firstAnchor)
            } else {
                segments.append(
                    Segment(
                        firstAnchor: header.firstAnchor, name: name, pendingName: pendingName,
                        header: header, byteCount: byteCount))
            }
        case .newerVersion: report(.newerVersion, name, anchor ?? 0)
        case .zero, .notAHeader, .damaged:
            if isNewest, let anchor,
                try !holdsFrames(pendingName ?? name, from: anchor, files: files, storeTag: storeID.first)
            {
                incompleteNewest = name
            } else {
                report(.damagedHeader, name, anchor ?? 0)
            }
        }
        return true
    }

    /// Whether a file without a valid header holds a whole frame that would belong into it.
    private func holdsFrames(_ name: String, from anchor: UInt64, files: LogFiles, storeTag: UInt64)
        throws(HKLogError) -> Bool
    {
        do throws(SystemError) {
            let file = try files.layer.openFully(files.path(name), .reading)
            var search = FrameSearch(file, storeTag: storeTag, byteCount: try file.status().byteCount)
            return try search.first(from: 0, atLeast: anchor) != .none
        } catch {
            throw .system(error, "read a segment", path: files.path(name))
        }
    }

    private mutating func report(_ kind: LogFinding.Kind, _ name: String, _ anchor: UInt64) {
        findings.append(
            LogFinding(kind, file: LogFiles.shown(name), firstAnchor: anchor, endAnchor: anchor))
    }

    /// A misnamed segment whose proper place is taken stands twice.
    private mutating func nameDuplicates(_ names: [String]) {
        let present = Set(segments.map(\.firstAnchor))
        for index in findings.indices
        where findings[index].kind == .misnamedSegment && present.contains(findings[index].firstAnchor) {
            findings[index].kind = .duplicateSegment
        }
    }

    private mutating func checkOrder(_ files: LogFiles, storeTag: UInt64) throws(HKLogError) -> Bool {
        if let first = segments.first, first.firstAnchor != 0 {
            missing(first: 0, end: first.firstAnchor)
        }
        for (before, after) in zip(segments, segments.dropFirst())
        where after.header.previousFirstAnchor != before.firstAnchor {
            let end: UInt64
            do throws(SystemError) {
                var scan = try HeaderScan(try files.openSegment(before), storeTag: storeTag)
                var reached = before.firstAnchor
                while let record = try scan.next(), record.firstAnchor == reached {
                    reached = record.endAnchor
                }
                end = reached
            } catch {
                if error.isMissing { return false }
                throw .system(error, "read a segment", path: files.path(before.name))
            }
            let isHeaderKnown = findings.contains {
                $0.kind == .damagedHeader && $0.firstAnchor >= end && $0.firstAnchor < after.firstAnchor
            }
            if isHeaderKnown { continue }
            if end < after.firstAnchor {
                missing(first: end, end: after.firstAnchor)
            } else {
                report(.brokenChain, after.name, after.firstAnchor)
            }
        }
        return true
    }

    private mutating func missing(first: UInt64, end: UInt64) {
        findings.append(
            LogFinding(
                .missingSegment, file: LogFiles.shown(LogFiles.segmentName(firstAnchor: first)),
                firstAnchor: first, endAnchor: end))
    }
}
