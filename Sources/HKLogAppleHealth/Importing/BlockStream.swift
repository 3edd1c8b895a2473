internal import HKLog

/// What is known once a document has been read to its end.
struct ReaderEnding: Sendable {
    var isComplete = false
    /// How many elements are lost of which nothing is known.
    var lostElementCount = 0
    /// The byte at which the document ended, when it is not complete.
    var endOffset = 0
    /// Why the bytes ended before their time.
    var fault: String?
    /// What is wrong with a file beside the document or behind its end, where that alone makes the import incomplete.
    var damage: String?
    /// Workouts that name a file of a route which the input does not hold: it says nothing of those routes.
    var workoutsWithoutRoute: Set<SampleUUID> = []
    var exportDate: Int64?
    var zoneCounts: [[UInt8]: Int] = [:]
    var problems: [ImportReport.Problem] = []
    /// Those cases of them that came after the last block.
    var cases: [ImportReport.Case] = []
}

/// The samples of one pass over an export, read on a thread of its own: while one block is appended, the next one
/// is read.
final class BlockStream {
    private let shared: Shared
    private let thread: WorkerThread

    /// What the two threads share.
    ///
    /// Sound to send: what changes is touched inside of `monitor.change` alone, but `reader` and `source`, which only
    /// the reading thread uses once it has been started.
    private final class Shared: @unchecked Sendable {
        /// Enough to read on through a sync of the log.
        static let blockLimit = 4

        let monitor = Monitor()
        let source: any ByteSource
        let batchStream: String?
        var reader: ExportReader
        var blocks: [RowBlock] = []
        var ending: ReaderEnding?
        var error: HKLogError?
        var isCancelled = false

        init(source: any ByteSource, reader: consuming ExportReader, batchStream: String?) {
            self.source = source
            self.batchStream = batchStream
            self.reader = reader
        }

        /// The reading thread.
        func run() {
            do throws(HKLogError) {
                while var block = try reader.nextBlock() {
                    if let batchStream, !block.rows.isEmpty { block.makeBatch(ofStream: batchStream) }
                    let finished = block
                    let goesOn = monitor.change {
                        while blocks.count >= Shared.blockLimit && !isCancelled { monitor.wait() }
                        if !isCancelled { blocks.append(finished) }
                        return !isCancelled
                    }
                    if !goesOn { return }
                }
                let ending = reader.ending(fault: source.fault)
                monitor.change { self.ending = ending }
            } catch {
                monitor.change { self.error = error }
            }
        }
    }

    /// Starts reading.
    ///
    /// With `batchStream`, blocks come as batches of that stream, ready to be appended.
    init(
        _ export: FoundExport, _ settings: ExportReader.Settings, keepsCases: Bool = false,
        batchStream: String? = nil
    ) throws(HKLogError) {
        let source = try export.open()
        var scanner = ExportScanner(source: source, problems: ProblemLog(keepsCases: keepsCases))
        guard try scanner.readProlog() == .root, scanner.name.equals("HealthData") else {
            // It was read this far when it was looked for: the archive is damaged, or the file is another one by now.
            let reason = source.fault.map { "it cannot be unpacked (\($0)); make the export anew" }
            throw HKLogError(
                .invalidData,
                "\(export.name): \(reason ?? "it changed while it was read; import it again")")
        }
        let shared = Shared(
            source: source,
            reader: ExportReader(scanner: scanner, settings: settings, sideFiles: export.sideFiles),
            batchStream: batchStream)
        self.shared = shared
        thread = try WorkerThread { shared.run() }
    }

    deinit {
        shared.monitor.change { shared.isCancelled = true }
        thread.join()
    }

    /// The next samples; `nil` at the end.
    func next() throws(HKLogError) -> RowBlock? {
        let block: RowBlock? = shared.monitor.change {
            while shared.blocks.isEmpty && shared.ending == nil && shared.error == nil {
                shared.monitor.wait()
            }
            return shared.blocks.isEmpty ? nil : shared.blocks.removeFirst()
        }
        if block == nil, let error = shared.monitor.change({ shared.error }) { throw error }
        return block
    }

    /// What is known of the whole document, after `next` has given `nil`.
    func finish() -> ReaderEnding {
        shared.monitor.change { shared.ending } ?? ReaderEnding()
    }
}
