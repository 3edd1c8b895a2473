internal import HKLogFormat

/// Walks a segment's frames by their headers alone, without reading what is stored between.
struct HeaderScan {
    private let file: any OpenFile
    private let storeTag: UInt64
    private let fileByteCount: Int
    /// Where the next header is expected.
    private(set) var byteOffset: Int
    private var window: [UInt8] = []
    private var windowOffset = 0
    private var windowByteCount = 1 << 16

    init(_ file: any OpenFile, storeTag: UInt64, from byteOffset: Int = SegmentHeader.byteCount)
        throws(SystemError)
    {
        self.file = file
        self.storeTag = storeTag
        self.byteOffset = byteOffset
        fileByteCount = try file.status().byteCount
    }

    /// The next header, its frame lying within the file; nil where there is none, and the scan stays there.
    mutating func next() throws(SystemError) -> LogRecord? {
        guard fileByteCount - byteOffset >= LogRecord.headerByteCount else { return nil }
        var index = byteOffset - windowOffset
        if index < 0 || index > window.count - LogRecord.headerByteCount {
            window = try file.bytes(at: byteOffset, count: min(windowByteCount, fileByteCount - byteOffset))
            windowOffset = byteOffset
            index = 0
            guard window.count >= LogRecord.headerByteCount else { return nil }
        }
        guard let record = record(at: index), record.storeTag == storeTag,
            record.byteCount <= fileByteCount - byteOffset
        else { return nil }
        let end = byteOffset + record.byteCount
        byteOffset = end
        // Between large frames it is the headers alone that are worth reading.
        windowByteCount = record.byteCount > 1 << 13 ? 512 : 1 << 16
        return record
    }

    private func record(at index: Int) -> LogRecord? {
        let header = window.span.extracting(index..<index + LogRecord.headerByteCount)
        guard case .valid(let record) = LogRecord.read(header) else { return nil }
        return record
    }
}
