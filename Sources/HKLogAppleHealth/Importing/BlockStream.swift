internal import HKLog

/// What is known once a document has been read to its end.
struct ReaderEnding: Sendable {
    var isComplete = false
    /// The byte at which the document ended, when it is not complete.
    var endOffset = 0
    /// Why the bytes ended before their time.
    var fault: String?
    var exportDate: Int64?
    var zoneCounts: [[UInt8]: Int] = [:]
    var problems: [ImportReport.Problem] = []
}

/// The samples of one pass over an export.
final class BlockStream {
    private var reader: ExportReader
    private let source: any ByteSource

    init(_ export: FoundExport, _ settings: ExportReader.Settings) throws(HKLogError) {
        source = try export.open()
        var scanner = ExportScanner(source: source, problems: ProblemLog())
        guard try scanner.readProlog() == .root, scanner.name.equals("HealthData") else {
            throw HKLogError(.invalidData, "\(export.name): it changed while it was read; import it again")
        }
        reader = ExportReader(scanner: scanner, settings: settings, sideFiles: export.sideFiles)
    }

    func next() throws(HKLogError) -> RowBlock? {
        try reader.nextBlock()
    }

    func finish() throws(HKLogError) -> ReaderEnding {
        reader.ending(fault: source.fault)
    }
}
