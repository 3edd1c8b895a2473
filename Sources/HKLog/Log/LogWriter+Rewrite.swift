internal import HKLogFormat

/// Turns the frames of a log into those that are to take their place.
///
/// Anchors, nonces and digests of the batches stay as they were; how many batches a frame holds is free.
package protocol LogTransform {
    /// Takes the next frames and gaps; writes what it can. A gap goes to the output as it is.
    mutating func transform(_ run: FrameRun, into output: inout SegmentOutput) throws(HKLogError)
    /// Writes what is left.
    mutating func finish(into output: inout SegmentOutput) throws(HKLogError)
}

extension LogWriter {
    /// Rewrites the whole log through `transform` and puts the result in its place, all at once.
    ///
    /// Readers see the old log or the new one. Needs room for both until the switch; on any error before it the log
    /// is as it was and the writer goes on. `progress` is told how many bytes have been read.
    package func rewrite(
        _ transform: inout some LogTransform, progress: (Int) -> Void = { _ in }
    ) throws(HKLogError) {
        try prepareRewrite()
        let old = try SegmentCatalog.read(files, storeID: storeID)
        if let finding = old.findings.first(where: \.barsWriting) { throw .damaged(finding) }
        var output = SegmentOutput(
            files, storeID: storeID, token: try files.newToken(), segmentByteCount: segmentByteCountLimit)
        do throws(HKLogError) {
            try output.begin()
            let reader = try LogReader(files, storeID: storeID)
            var run = FrameRun()
            reading: while true {
                switch try reader.read(into: &run) {
                case .frames:
                    try transform.transform(run, into: &output)
                    progress(run.byteCount)
                case .end: break reading
                case .damaged(let finding): throw .damaged(finding)
                }
            }
            try transform.finish(into: &output)
            guard output.nextAnchor == nextAnchor, output.lastNonce == lastNonce else {
                throw HKLogError(
                    .internalFault, "\(files.store): the rewritten log ends elsewhere; nothing was changed")
            }
            try output.endSegment()
        } catch {
            files.abandon(output)
            throw error
        }
        let put = output.written
        let kept = Set(put.map(LogFiles.segmentName(firstAnchor:)))
        let removed = old.segments.map(\.name).filter { !kept.contains($0) }
        do throws(HKLogError) {
            try replaceLog(SwitchRecord(token: output.token, put: put, removed: removed), end: output.point)
        } catch {
            if isOpen { files.abandon(output) }
            throw error
        }
    }
}
