internal import HKLogFormat

extension LogFiles {
    /// Copies the log as it is now into a new store, beside a running writer.
    ///
    /// The copy has the same id, holds whole frames alone, and is on stable storage; its `store.json` comes last, and
    /// a mark stands in it until then, so that an interrupted copy is no store and is not taken for a damaged one.
    /// The target must not exist, or be an empty directory or an interrupted copy. Answers the anchor at the end of
    /// the copy. Throws `damaged` where the log is, and leaves nothing then.
    package func backup(
        to target: LogFiles, manifest: StoreManifest, progress: (Int) -> Void = { _ in }
    ) throws(HKLogError) -> UInt64 {
        try target.requireEmpty()
        do throws(SystemError) {
            try target.makeDurableDirectory(target.store)
            try target.markUnfinished()
            try target.makeDurableDirectory(target.log)
        } catch {
            throw HKLogError(
                .cannotCreate,
                "\(target.store): cannot make the directory: \(ErrorNumber.text(of: error.number))")
        }
        do throws(HKLogError) {
            var end: UInt64?
            // A rewrite that comes in between moves the bounds of frames: then begin again.
            for _ in 0..<5 where end == nil {
                try target.removeCopy()
                end = try copyLog(to: target, storeID: manifest.storeID, progress: progress)
            }
            guard let end else {
                throw HKLogError(.inputOutput, "\(store): the log is being rewritten all the time; try again")
            }
            do throws(SystemError) {
                try target.layer.synchronizeDirectory(target.log)
            } catch {
                throw .system(error, "sync the copy", path: target.log)
            }
            try target.writeManifest(manifest)
            do throws(SystemError) {
                try target.layer.unlink(target.unfinishedPath)
                try target.layer.synchronizeDirectory(target.store)
            } catch {
                throw .system(error, "finish the copy", path: target.store)
            }
            return end
        } catch {
            // The mark goes last: until then what is left is known for what it is.
            try? target.layer.unlinkIfThere("\(target.store)/\(Self.manifestName)")
            try? target.removeCopy()
            try? target.layer.removeDirectory(target.log)
            try? target.layer.unlinkIfThere(target.unfinishedPath)
            try? target.layer.removeDirectory(target.store)
            throw error
        }
    }

    private var unfinishedPath: String { "\(store)/\(Self.unfinishedCopyName)" }

    private func markUnfinished() throws(SystemError) {
        try layer.openFully(unfinishedPath, .writingOrCreating).synchronizeFully()
        try layer.synchronizeDirectory(store)
    }

    /// Whether this is a copy whose making broke off.
    func isUnfinishedCopy() -> Bool { (try? layer.exists(unfinishedPath)) == true }

    private func requireEmpty() throws(HKLogError) {
        do throws(SystemError) {
            let names = Set(try layer.names(in: store))
            let isUnfinished = names.contains(Self.unfinishedCopyName)
            let own = Set(Self.staleNames + [Self.logName])
            guard names.isEmpty || isUnfinished && names.isSubset(of: own) else {
                throw SystemError(.mkdir, ErrorNumber.notEmpty)
            }
        } catch {
            if error.number == ErrorNumber.notFound { return }
            throw HKLogError(
                .cannotCreate, "\(store): cannot copy to there: \(ErrorNumber.text(of: error.number))")
        }
    }

    private func removeCopy() throws(HKLogError) {
        do throws(SystemError) {
            for name in try layer.names(in: log) { try layer.unlink(path(name)) }
        } catch {
            throw .system(error, "remove an incomplete copy", path: log)
        }
    }

    /// Nil when a rewrite came in between.
    private func copyLog(to target: LogFiles, storeID: RawUUID, progress: (Int) -> Void) throws(HKLogError)
        -> UInt64?
    {
        let reader = try LogReader(self, storeID: storeID)
        // What is appended after this moment is left out, so that a fast writer does not keep the copy going.
        let newest = reader.segments.segments.last
        var anchor: UInt64 = 0
        var run = FrameRun()
        var copy: (any OpenFile)?
        var segment = UInt64.max
        while true {
            switch try reader.read(into: &run) {
            case .damaged(let finding): throw .damaged(finding)
            case .end:
                if copy == nil { try write(to: target, &copy, newest?.header ?? .first(of: storeID)) }
                try finish(copy, target)
                return anchor
            case .frames: break
            }
            guard let first = run.entries.first, first.record.firstAnchor == anchor else { return nil }
            if run.segment != segment {
                guard
                    let header = reader.segments.segments.first(where: { $0.firstAnchor == run.segment })?
                        .header,
                    header.firstAnchor == anchor
                else { return nil }
                try finish(copy, target)
                try write(to: target, &copy, header)
                segment = run.segment
            }
            do throws(SystemError) {
                try copy?.writeFully(run.storage.span.extracting(0..<run.byteCount), at: first.byteOffset)
            } catch {
                throw .system(error, "copy the log", path: target.log)
            }
            progress(run.byteCount)
            anchor = reader.position.anchor
            if let newest,
                segment > newest.firstAnchor
                    || segment == newest.firstAnchor && reader.position.byteOffset >= newest.byteCount
            {
                try finish(copy, target)
                return anchor
            }
        }
    }

    private func write(to target: LogFiles, _ copy: inout (any OpenFile)?, _ header: SegmentHeader)
        throws(HKLogError)
    {
        let path = target.path(Self.segmentName(firstAnchor: header.firstAnchor))
        var bytes: [UInt8] = []
        header.encode(into: &bytes)
        do throws(SystemError) {
            let file = try target.layer.openFully(path, .creating)
            try file.writeFully(bytes.span, at: 0)
            copy = file
        } catch {
            throw .system(error, "copy a segment", path: path)
        }
    }

    private func finish(_ copy: (any OpenFile)?, _ target: LogFiles) throws(HKLogError) {
        do throws(SystemError) {
            try copy?.synchronizeFully()
        } catch {
            throw .system(error, "sync the copy", path: target.log)
        }
    }
}

extension SegmentHeader {
    fileprivate static func first(of storeID: RawUUID) -> SegmentHeader {
        var header = SegmentHeader()
        header.storeID = storeID
        return header
    }
}
