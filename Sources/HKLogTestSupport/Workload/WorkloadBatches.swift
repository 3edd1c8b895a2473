package import HKLog
internal import HKLogFormat

/// Makes the workload's batches.
package struct WorkloadBatches {
    private var workload: Workload
    private let batchSize: Int
    /// Times are whole multiples of this many microseconds.
    private let unit: Int64
    private let shapes: [SampleShape]
    private var made = 0

    package init(sampleCount: Int, seed: UInt64, batchSize: Int = 1000, wholeSeconds: Bool = false) {
        workload = Workload(sampleCount: sampleCount, seed: seed)
        self.batchSize = batchSize
        unit = wholeSeconds ? 1_000_000 : 1
        shapes = WorkloadType.all.flatMap { type in
            Workload.sources.map {
                SampleShape(valueKind: .double, type: type.identifier, unit: type.unit, source: $0)
            }
        }
    }

    /// The next batch; `nil` at the end.
    package mutating func next() -> Batch? {
        let records = workload.nextRecords(size: batchSize)
        guard !records.isEmpty else { return nil }
        var batch = Batch(stream: Workload.stream)
        var builder = RowBuilder()
        var shapeIDs = [UInt32](repeating: .max, count: shapes.count)
        for record in records {
            if record.isDeletion {
                batch.deleted.append(Batch.Deletion(uuid: SampleUUID(raw: record.uuid)))
                continue
            }
            let shape = record.type * Workload.sources.count + record.source
            if shapeIDs[shape] == .max { shapeIDs[shape] = builder.shapeID(for: shapes[shape]) }
            let start = record.start / unit * unit
            let end = record.end / unit * unit
            builder.add(
                uuid: record.uuid, start: start, duration: end - start, hasEnd: true,
                valueBits: record.value.bitPattern, shapeID: shapeIDs[shape])
        }
        batch.rows = builder.finish()
        made += 1
        batch.anchor = "anchor-\(made)"
        return batch
    }

    /// All batches that are left, or the first of them: until they have so many samples.
    package mutating func all(upTo limit: Int = .max) -> [Batch] {
        var batches: [Batch] = []
        var count = 0
        while count < limit, let batch = next() {
            batches.append(batch)
            count += batch.addedCount
        }
        return batches
    }
}
