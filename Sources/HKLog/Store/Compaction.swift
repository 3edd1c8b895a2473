internal import HKLogFormat

/// Rewrites frames without the rows that no view shows any more, and merges small ones.
///
/// A row stays when it is its cell's present payload: not deleted, not replaced by a later one, not swept by a
/// snapshot. Batches stay all of them, with anchors, nonces and digests, so that repeats stay known and bindings
/// hold; deletions stay, because they are what keeps deleted samples dead.
struct Compaction: LogTransform {
    private let views: Views
    private var batchNumber = 0
    private var decoder = FrameDecoder()
    private var encoder = FrameEncoder()
    private var content = FrameContent()
    private var pending = FrameAccumulator()
    private(set) var rowsRemoved: UInt64 = 0
    private(set) var framesBefore: UInt64 = 0
    private(set) var framesAfter: UInt64 = 0

    /// `views` must be up to date with the log.
    init(views: Views) {
        self.views = views
    }

    mutating func transform(_ run: FrameRun, into output: inout SegmentOutput) throws(HKLogError) {
        for entry in run.entries {
            switch entry.record {
            case .gap(let gap):
                try flush(into: &output)
                try output.append(gap)
            case .frame(let header):
                framesBefore += 1
                guard decoder.decodes(header, run.storedBytes(of: entry), into: &content) else {
                    throw HKLogError.undecodable(header, segment: run.segment, byteOffset: entry.byteOffset)
                }
                try take(into: &output)
            }
        }
    }

    private mutating func take(into output: inout SegmentOutput) throws(HKLogError) {
        var row = 0
        var deletion = 0
        for entry in content.batches {
            var entry = entry
            let rows = row..<row + entry.addedCount
            let deletions = deletion..<deletion + entry.deletedCount
            (row, deletion) = (rows.upperBound, deletions.upperBound)
            let stream = views.symbols.streamID(String(decoding: entry.stream, as: UTF8.self))
            let kept = rows.filter { isPresent(content.rows.uuids[$0], stream: stream) }
            if kept.count < rows.count {
                rowsRemoved += UInt64(rows.count - kept.count)
                entry.flags |= BatchFlags.isThinned
                entry.addedCount = kept.count
                var thinned = FrameContent()
                thinned.rows = content.rows.picking(kept)
                thinned.deletions = Array(content.deletions[deletions])
                pending.add(entry, of: thinned, rows: 0..<kept.count, deletions: 0..<deletions.count)
            } else {
                pending.add(entry, of: content, rows: rows, deletions: deletions)
            }
            batchNumber += 1
            if pending.isFull { try flush(into: &output) }
        }
    }

    private func isPresent(_ uuid: RawUUID, stream: UInt32?) -> Bool {
        guard let stream, let row = views.cell(of: uuid, stream: stream) else { return false }
        return views.flags(row) & (RowState.dead | RowState.swept) == 0
            && views.batchNumber(of: row) == batchNumber
    }

    mutating func finish(into output: inout SegmentOutput) throws(HKLogError) {
        try flush(into: &output)
    }

    private mutating func flush(into output: inout SegmentOutput) throws(HKLogError) {
        guard !pending.isEmpty else { return }
        var bytes: [UInt8] = []
        do {
            try encoder.encode(
                pending.content, storeTag: output.storeTag, firstAnchor: output.nextAnchor,
                previousNonce: output.lastNonce, into: &bytes)
        } catch {
            throw HKLogError(
                .internalFault, "batches from anchor \(output.nextAnchor) cannot be encoded again")
        }
        try output.append(bytes.span)
        framesAfter += 1
        pending.removeAll()
    }
}
