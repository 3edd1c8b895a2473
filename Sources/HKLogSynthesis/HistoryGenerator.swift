package import HKLog
internal import HKLogFormat

/// A synthetic history as batches: realistic in its types, sources, overlaps, nights and corrections, and the
/// same to the last bit for the same options on every machine.
///
/// Days are generated one after the other, so memory does not grow with the history. A stream's batch is given
/// out when it is full or when its oldest sample is a month old: batches of all streams come interleaved in the
/// order of time, each with one stream's additions and deletions, numbered from 1 and chained by anchors.
package struct HistoryGenerator {
    /// What a history is made of.
    package struct Options {
        /// How many samples are added in all.
        package var samples = 100_000
        /// How many days they lie in.
        package var days = 365
        /// How many samples a batch adds at most.
        package var batchSize = 1_000
        /// The last day; a fixed one by default, so that a history does not depend on when it is made.
        package var endDay = Options.defaultEndDay
        /// Which history.
        package var seed: UInt64 = 1
        /// How many of the samples are deleted.
        package var deletes = 0
        /// The zone in which its person lives.
        package var calendar = LocalCalendar(rules: .utc)

        package static let defaultEndDay = CivilDate(dayNumber: 20_634)

        package init() {}
    }

    /// One stream's samples that wait for their batch, and what it has sent.
    private struct Pending {
        var builder = RowBuilder()
        var firstDay = 0
        /// How many samples were made so far; the next one's index.
        var made = 0
        var sequence: UInt64 = 0
        var anchor: String?
        var deleted: Set<Int> = []
        /// The shapes' numbers in this batch, by writer, era and unit; `UInt32.max` for none yet.
        var shapeIDs = [UInt32](
            repeating: .max, count: HistoryWriter.allCases.count * HistoryWriter.eraCount * 2)
    }

    package let options: Options
    private let quotas: [Int]
    private var pending = [Pending](repeating: Pending(), count: HistoryStream.allCases.count)
    private var ready: [Batch] = []
    private var readyStart = 0
    /// The next day and the next stream in it.
    private var day = 0
    private var stream = 0
    private var addedCount = 0
    private var deletedCount = 0

    /// Makes a generator; an option out of bounds is refused with its name.
    package init(options: Options) throws(HKLogError) {
        func check(_ name: String, _ value: Int, _ bounds: ClosedRange<Int>) throws(HKLogError) {
            guard !bounds.contains(value) else { return }
            throw HKLogError(
                .invalidArgument,
                "--\(name) must be \(bounds.lowerBound) to \(bounds.upperBound), and is \(value)")
        }
        try check("samples", options.samples, 0...1_000_000_000)
        try check("days", options.days, 1...36_525)
        try check("batch", options.batchSize, 1...1_000_000)
        try check("deletes", options.deletes, 0...options.samples)
        guard options.endDay.year >= 1900 else {
            throw HKLogError(
                .invalidArgument, "--end must be a day from 1900-01-01 on, and is \(options.endDay)")
        }
        self.options = options
        quotas = HistoryStream.quotas(samples: options.samples, days: options.days)
    }

    /// The next batch; `nil` after the last one.
    package mutating func next() -> Batch? {
        while true {
            if readyStart < ready.count {
                readyStart += 1
                return ready[readyStart - 1]
            }
            ready.removeAll(keepingCapacity: true)
            readyStart = 0
            guard day < options.days else { return nextLeftover() }
            makeDay()
        }
    }

    /// Makes one stream's samples of one day.
    private mutating func makeDay() {
        let quota = quotas[stream]
        let count = (day + 1) * quota / options.days - day * quota / options.days
        if count > 0, let kind = HistoryStream(rawValue: stream) {
            HistoryDay(
                kind: kind, day: day, options: options, firstIndex: pending[stream].made
            ).make(count) { row in add(row) }
        }
        if pending[stream].builder.count > 0, day - pending[stream].firstDay >= 30 { finishBatch(of: stream) }
        stream += 1
        if stream == pending.count {
            stream = 0
            day += 1
        }
    }

    /// What is left when all days are done: the batches not full, then deletions that no batch had room for.
    private mutating func nextLeftover() -> Batch? {
        for index in pending.indices where pending[index].builder.count > 0 {
            finishBatch(of: index)
            return ready.popLast()
        }
        guard deletedCount < options.deletes else { return nil }
        for index in pending.indices where pending[index].deleted.count < pending[index].made {
            finishBatch(of: index)
            return ready.popLast()
        }
        return nil
    }

    private mutating func add(_ row: HistoryDay.Row) {
        if pending[stream].builder.count == 0 { pending[stream].firstDay = day }
        let era = HistoryWriter.era(day: day, dayCount: options.days)
        let slot = (row.writer.rawValue * HistoryWriter.eraCount + era) * 2 + (row.usesSecondUnit ? 1 : 0)
        var shapeID = pending[stream].shapeIDs[slot]
        if shapeID == .max, let kind = HistoryStream(rawValue: stream) {
            shapeID = pending[stream].builder.shapeID(
                for: SampleShape(
                    valueKind: !row.hasValue ? .none : row.isInteger ? .integer : .double, type: kind.type,
                    unit: row.usesSecondUnit ? kind.units.second : kind.units.first,
                    source: row.writer.source(era: era), device: row.writer.device(era: era)))
            pending[stream].shapeIDs[slot] = shapeID
        }
        let extraID = pending[stream].builder.extraID(count: 0, metadata: row.metadata, payload: row.payload)
        let uuid = HistoryGenerator.uuid(seed: options.seed, stream: stream, index: pending[stream].made)
        pending[stream].builder.add(
            uuid: uuid.raw, start: row.start, duration: row.duration, hasEnd: row.hasEnd,
            valueBits: row.valueBits,
            shapeID: shapeID, extraID: extraID)
        pending[stream].made += 1
        if pending[stream].builder.count == options.batchSize { finishBatch(of: stream) }
    }

    private mutating func finishBatch(of index: Int) {
        guard let kind = HistoryStream(rawValue: index) else { return }
        var batch = Batch(stream: kind.type)
        addedCount += pending[index].builder.count
        pending[index].sequence += 1
        batch.rows = pending[index].builder.finish()
        batch.deleted = deletions(of: index)
        batch.previousAnchor = pending[index].anchor.map { .anchor($0) } ?? .none
        let anchor = HistoryGenerator.anchor(
            seed: options.seed, stream: index, sequence: pending[index].sequence)
        batch.anchor = anchor
        batch.numbering = Batch.Numbering(epoch: 1, sequence: pending[index].sequence)
        pending[index].anchor = anchor
        for slot in pending[index].shapeIDs.indices { pending[index].shapeIDs[slot] = .max }
        ready.append(batch)
    }

    /// Deletions keep step with the additions of all streams.
    ///
    /// Most are of older samples, some of ones that the same batch adds: a page of a query may hold both.
    private mutating func deletions(of index: Int) -> [Batch.Deletion] {
        let made = pending[index].made
        let due = min(
            options.samples > 0 ? addedCount * options.deletes / options.samples - deletedCount : 0,
            made - pending[index].deleted.count, options.batchSize)
        guard due > 0 else { return [] }
        var random = GeneratorRandom(
            seed: options.seed, stream: index + 1_000, index: Int(truncatingIfNeeded: pending[index].sequence)
        )
        var deletions: [Batch.Deletion] = []
        for _ in 0..<due {
            let recent = min(made, 2 * options.batchSize)
            var chosen =
                random.next(below: 4) == 0 ? made - 1 - random.next(below: recent) : random.next(below: made)
            while !pending[index].deleted.insert(chosen).inserted { chosen = (chosen + 1) % made }
            let metadata = HistoryDay.syncIdentifier(
                kind: HistoryStream(rawValue: index), index: chosen
            ).map {
                JSONText(uncheckedCompactObject: Array("{\"HKMetadataKeySyncIdentifier\":\"\($0)\"}".utf8))
            }
            deletions.append(
                Batch.Deletion(
                    uuid: HistoryGenerator.uuid(seed: options.seed, stream: index, index: chosen),
                    metadata: metadata))
        }
        deletedCount += due
        return deletions
    }

    /// The UUID (version 4 by its form) of a stream's sample, so that members and deletions can name it.
    static func uuid(seed: UInt64, stream: Int, index: Int) -> SampleUUID {
        var random = GeneratorRandom(seed: seed, stream: stream + 2_000, index: index)
        return SampleUUID(
            raw: RawUUID(
                first: random.next() & ~(0xF0 << 48) | (0x40 << 48), second: random.next() & ~0xC0 | 0x80))
    }

    /// Sixteen letters like the beginning of an archived query anchor; different for each batch of a stream.
    private static func anchor(seed: UInt64, stream: Int, sequence: UInt64) -> String {
        var random = GeneratorRandom(
            seed: seed, stream: stream + 3_000, index: Int(truncatingIfNeeded: sequence))
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text = Array("YnBs".utf8)
        // The number first, so that no two are alike; then what nobody can read.
        for shift in stride(from: UInt64(24), through: 0, by: -6) {
            text.append(alphabet[Int(sequence >> shift & 63)])
        }
        for _ in 0..<7 { text.append(alphabet[random.next(below: 64)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
