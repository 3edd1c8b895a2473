internal import HKLog
internal import HKLogJSONLines

/// `append`: batches from JSON Lines into the log.
enum AppendCommand {
    static let spec = CommandSpec(
        "append", "appends batches from JSON Lines files or standard input ('-')",
        details: [
            "One batch a line. A line that is not valid ends the append with status 65, after the lines before it"
                + " have been appended; a batch that conflicts with the log ends it with status 75."
                + " What is in the log already is known as a repeat, and is no error.",
            "With --format jsonl it prints one object a batch, once that batch is on stable storage.",
        ],
        operands: .init(
            name: "FILE ...", help: "the files to read; standard input without any", least: 0, most: .max),
        options: [
            OptionSpec(
                .sync, "POLICY",
                "when a batch is acknowledged: batch (once it is on stable storage; the default), group (once its"
                    + " group is), none (once the operating system has it)"),
            OptionSpec(.reject, "FILE", "copy lines that are not valid to this file, and go on"),
            OptionSpec(.maxLine, "N", "the longest line that is read, in bytes; 256 MiB by default"),
            OptionSpec(.dryRun, nil, "decide and print everything, and write nothing"),
        ],
        run: run)

    private enum Sync: String, CaseIterable {
        case batch
        case group
        case none
    }

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let arguments = session.arguments
        let sync = try arguments.choice(.sync, of: Sync.self) ?? .batch
        let lineByteCountLimit = try arguments.count(.maxLine, least: 1) ?? BatchReader.lineByteCountLimit
        let isDryRun = arguments.has(.dryRun)
        let paths = arguments.operands.isEmpty ? ["-"] : arguments.operands
        let rejectPath = arguments.value(.reject)
        // Before a store is made: a misspelt name is no reason for one.
        for path in paths where path != "-" {
            try System.requireReadable(path)
            if let rejectPath, System.isSameFile(path, rejectPath) {
                throw .usage("--reject \(SafeText.line(rejectPath)) would overwrite what is to be read")
            }
        }
        System.catchInterruptions()
        let policy = SyncPolicy(rawValue: sync.rawValue) ?? .batch
        let store = try session.open(
            isDryRun ? .dryRun(StoreOptions()) : .writeOrCreate(StoreOptions()), sync: policy)
        if !isDryRun { session.tellCreation(of: store) }
        let rejected = try isDryRun ? nil : rejectPath.map { path throws(HKLogError) in try OutputFile(path) }
        let run = try AppendRun(
            session: session, store: store, isGrouped: sync == .group, isDryRun: isDryRun,
            lineByteCountLimit: lineByteCountLimit, skipsInvalidLines: rejectPath != nil, rejected: rejected)
        var failure: HKLogError?
        do throws(HKLogError) {
            for path in paths { try run.append(contentsOf: path) }
        } catch {
            failure = error
        }
        return try run.finish(after: failure)
    }
}

/// One call of `append`: what has been decided, acknowledged and rejected so far.
final class AppendRun {
    private let session: Session
    private let store: Store
    private let isGrouped: Bool
    private let isDryRun: Bool
    private let lineByteCountLimit: Int
    private let skipsInvalidLines: Bool
    private let rejected: OutputFile?
    private var printer: RowPrinter<AppendResult>
    /// Decided, but not yet on stable storage.
    private var pending: [AppendResult] = []

    private var batchCount = 0
    private var addedCount = 0
    private var deletedCount = 0
    private var duplicateCount = 0
    private var staleCount = 0
    private var rejectedCount = 0

    private static let columns: [Column<AppendResult>] = [
        Column("logAnchor") { .anchor($0.logAnchor) },
        Column("stream") { .text($0.stream) },
        Column("added") { .unsigned($0.added) },
        Column("deleted") { .unsigned($0.deleted) },
        Column("duplicate") { .boolean($0.duplicate) },
        Column("stale") { .boolean($0.stale) },
    ]

    init(
        session: Session, store: Store, isGrouped: Bool, isDryRun: Bool, lineByteCountLimit: Int,
        skipsInvalidLines: Bool, rejected: OutputFile?
    ) throws(HKLogError) {
        self.session = session
        self.store = store
        self.isGrouped = isGrouped
        self.isDryRun = isDryRun
        self.lineByteCountLimit = lineByteCountLimit
        self.skipsInvalidLines = skipsInvalidLines
        self.rejected = rejected
        self.printer = try RowPrinter(
            columns: Self.columns, format: session.format, output: session.output, style: session.style)
    }

    /// Appends every batch of a file, or of standard input (`-`).
    func append(contentsOf path: String) throws(HKLogError) {
        let isStandardInput = path == "-"
        let name = isStandardInput ? "standard input" : SafeText.line(path)
        let descriptor = isStandardInput ? System.standardInput : try System.openForReading(path)
        defer { if !isStandardInput { System.close(descriptor) } }
        let size = System.fileSize(descriptor)
        var readCount: UInt64 = 0
        var reader = BatchReader(lineByteCountLimit: lineByteCountLimit) {
            (buffer: inout MutableSpan<UInt8>) throws(HKLogError) -> Int in
            try self.prepareToRead(descriptor)
            let count = try System.read(descriptor, into: &buffer, name: name)
            readCount += UInt64(count)
            self.session.messages.progress("appending", done: readCount, total: size, unit: .bytes)
            return count
        }
        while let event = try reader.next() {
            switch event {
            case .batch(let batch): try append(batch, place: "\(name): line \(reader.lineNumber)")
            case .rejected(let error):
                guard skipsInvalidLines else { throw error.error(file: name) }
                rejectedCount += 1
                session.messages.warning("\(name): \(error.description); this line is rejected")
                guard let rejected else { continue }
                try reader.copyLine { (part: Span<UInt8>) throws(HKLogError) in
                    try rejected.writer.write(part)
                }
                try rejected.writer.write("\n")
            }
        }
        session.messages.endProgress()
    }

    /// Before waiting for input: what was decided is made durable and acknowledged.
    private func prepareToRead(_ descriptor: Int32) throws(HKLogError) {
        if System.interruption != nil { throw .interrupted }
        guard !System.hasInput(descriptor) else { return }
        try acknowledge()
        try System.waitForInput(descriptor)
    }

    private func append(_ batch: Batch, place: @autoclosure () -> String) throws(HKLogError) {
        if System.interruption != nil { throw .interrupted }
        do throws(HKLogError) {
            pending.append(try isGrouped ? store.enqueue(batch) : store.append(batch))
        } catch {
            guard error.code == .conflict || error.code == .invalidData else { throw error }
            throw HKLogError(error.code, "\(place()): \(error.message)")
        }
        if !isGrouped || store.groupIsDue { try acknowledge() }
    }

    /// Makes durable what was decided, then says so.
    private func acknowledge() throws(HKLogError) {
        guard !pending.isEmpty else { return }
        // When the commit fails nothing of the group is in the log: it must never be acknowledged later.
        let results = pending
        pending = []
        if isGrouped { try store.commit() }
        for result in results {
            batchCount += 1
            addedCount += result.added
            deletedCount += result.deleted
            if result.duplicate { duplicateCount += 1 }
            if result.stale { staleCount += 1 }
            if !session.isForPeople { try printer.print(result) }
        }
        session.tellWarnings(of: store)
        try session.output.flush()
        store.checkpointIfDue()
    }

    /// Acknowledges what is left, says what was done, closes the store, and gives the exit status.
    func finish(after failure: HKLogError?) throws(HKLogError) -> Int32 {
        var failure = failure
        /// The first failure stands, save that a failure of the disk is worse news than any other.
        func note(_ error: HKLogError) {
            if failure == nil || failure?.code == .invalidData || failure?.code == .interrupted {
                failure = error
            }
        }
        do throws(HKLogError) { try acknowledge() } catch { note(error) }
        session.messages.endProgress()
        // The answer first: closing may save the views, and nobody should wait for that.
        if failure?.code != .closedPipe {
            do throws(HKLogError) {
                try printSummary()
                try session.output.flush()
            } catch {
                note(error)
            }
        }
        do throws(HKLogError) { try rejected?.close() } catch { note(error) }
        do throws(HKLogError) { try store.close() } catch { note(error) }
        session.tellWarnings(of: store)
        if let failure {
            if rejectedCount > 0 { tellRejected() }
            throw failure
        }
        guard rejectedCount == 0 else {
            tellRejected()
            return ExitStatus.invalidData
        }
        return ExitStatus.done
    }

    private func tellRejected() {
        let lines = rejectedCount == 1 ? "1 line was" : "\(rejectedCount) lines were"
        let place = session.arguments.value(.reject).map { isDryRun ? "" : " and copied to \($0)" } ?? ""
        session.messages.error("\(lines) rejected\(place)")
    }

    private func printSummary() throws(HKLogError) {
        guard session.isForPeople else {
            try printer.finish()
            return
        }
        guard !session.messages.isQuiet else { return }
        func count(_ number: Int, _ one: String, _ many: String) -> String {
            "\(NumberText.readable(number)) \(number == 1 ? one : many)"
        }
        var text = isDryRun ? "would append " : "appended "
        text += count(batchCount - duplicateCount - staleCount, "batch", "batches")
        text += ": \(NumberText.readable(addedCount)) added, \(NumberText.readable(deletedCount)) deleted"
        if duplicateCount > 0 { text += "; " + count(duplicateCount, "duplicate", "duplicates") }
        if staleCount > 0 { text += "; \(NumberText.readable(staleCount)) stale" }
        if rejectedCount > 0 { text += "; " + count(rejectedCount, "line rejected", "lines rejected") }
        text += "; the log's anchor is \(store.logAnchor)"
        try session.output.write(text + "\n")
    }
}
