internal import HKLog

/// A run of samples as the reader hands them over, in the order of the document.
struct RowBlock: Sendable {
    var rows: [ImportedRow] = []
    /// The metadata and payloads that the rows point into.
    var bytes: [UInt8] = []
    /// All shapes so far; the rows' numbers are indices.
    var shapes: [ImportedShape] = []
    /// Which table of shapes: numbers of another generation mean other shapes.
    var generation = 0
    /// How many elements could not become samples since the last block.
    var skipped = 0
    /// Which samples the skipped elements stand for, where that is known: they are listed, so they are not deleted.
    var skippedUUIDs: [SampleUUID] = []
    /// What was mended, skipped or kept oddly since the last block, where that is asked for.
    var cases: [ImportReport.Case] = []
    /// How far the document has been read.
    var byteOffset = 0

    /// All rows as a batch, for a first import; their bytes are in it then, and no longer in `bytes`.
    private(set) var batch: Batch?

    /// Makes the batch: on the reading thread, which has less to do than the one that appends.
    mutating func makeBatch(ofStream stream: String) {
        batch = Batch(stream: stream, importing: rows, shapes: shapes, bytes: bytes)
        bytes = []
    }

    /// Adds a row of another block with its bytes; perhaps with another payload.
    mutating func append(_ row: ImportedRow, from block: RowBlock, payload: [UInt8]? = nil) {
        var row = row
        let metadataEnd = row.byteOffset + Int(row.metadataByteCount)
        let offset = bytes.count
        bytes.append(contentsOf: block.bytes[row.byteOffset..<metadataEnd])
        if let payload {
            bytes.append(contentsOf: payload)
            row.payloadByteCount = UInt32(payload.count)
        } else {
            bytes.append(contentsOf: block.bytes[metadataEnd..<metadataEnd + Int(row.payloadByteCount)])
        }
        row.byteOffset = offset
        rows.append(row)
    }

    /// How many rows a block has at most.
    static let rowCountLimit = 4096
    /// How many bytes of texts after which a block is handed over.
    static let byteCountLimit = 4 << 20
}
