import HKLog

@testable import HKLogAppleHealth

/// The cells of one stream, kept as samples: what a store answers to an importer, as simply as can be.
struct MemoryDestination: ImportDestination {
    struct Cell {
        var epoch: Int
        var isDead: Bool
        var sample: Sample?
    }

    var cells: [SampleUUID: Cell] = [:]
    var epoch = 1
    var batches: [Batch] = []
    var others: [String: [String]] = [:]
    /// Fails the append of this number, counted from 0.
    var failingAppend: Int?

    /// The live samples as rows, and the shapes, made anew after each append.
    private var rows: [Sample] = []
    private var rowNumbers: [SampleUUID: Int] = [:]

    var live: [Sample] { rows }
    var liveCount: Int { rows.count }
    var rowLimit: Int { rows.count }
    var isUntouched: Bool { cells.isEmpty }

    func find(_ uuids: [SampleUUID], into states: inout [ImportedCell]) {
        states = uuids.map { uuid in
            guard let cell = cells[uuid] else { return .absent }
            if cell.isDead { return cell.epoch == epoch ? .deadInPresentEpoch : .absent }
            return .live(row: rowNumbers[uuid] ?? 0)
        }
    }

    private static func value(_ sample: Sample) -> (ImportedValue, UInt64) {
        switch sample.value {
        case nil: (.none, 0)
        case .quantity(let value): (.quantity, value.bitPattern)
        case .category(let value): (.category, UInt64(bitPattern: value))
        }
    }

    func columns(ofRow row: Int) -> StoredColumns {
        let sample = rows[row]
        return StoredColumns(
            start: sample.start.microseconds,
            duration: (sample.end ?? sample.start).microseconds - sample.start.microseconds,
            valueBits: MemoryDestination.value(sample).1, shape: row)
    }

    func shape(_ number: Int) -> SampleShape {
        let sample = rows[number]
        return SampleShape(
            value: MemoryDestination.value(sample).0, type: sample.type, unit: sample.unit,
            source: sample.source, device: sample.device)
    }

    func hasTexts(_ metadata: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>, row: Int) -> Bool {
        let texts = texts(ofRow: row)
        return metadata.elementsEqual(texts.metadata) && payload.elementsEqual(texts.payload)
    }

    func texts(ofRow row: Int) -> (metadata: [UInt8], payload: [UInt8]) {
        (rows[row].metadata?.bytes ?? [], rows[row].payload?.bytes ?? [])
    }

    func forEachLive(_ body: (Int, SampleUUID, Int) -> Void) {
        for (row, sample) in rows.enumerated() { body(row, sample.uuid, row) }
    }

    func otherStreams(holding types: [String]) -> [[String]] { types.map { others[$0] ?? [] } }

    mutating func append(_ batch: Batch) throws(HKLogError) {
        if batches.count == failingAppend { throw HKLogError(.inputOutput, "no room") }
        if batch.snapshot == .begin { epoch += 1 }
        batches.append(batch)
        var listed: Set<SampleUUID> = []
        for sample in batch.added {
            guard listed.insert(sample.uuid).inserted else {
                throw HKLogError(.invalidData, "\(sample.uuid) twice in a batch")
            }
            if let cell = cells[sample.uuid], cell.isDead, cell.epoch == epoch { continue }
            cells[sample.uuid] = Cell(epoch: epoch, isDead: false, sample: sample)
        }
        for deletion in batch.deleted {
            cells[deletion.uuid] = Cell(epoch: epoch, isDead: true, sample: nil)
        }
        rows = cells.values.compactMap { $0.isDead ? nil : $0.sample }.sorted { $0.uuid < $1.uuid }
        rowNumbers = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($1.uuid, $0) })
    }
}
