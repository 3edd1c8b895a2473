import HKLog
import HKLogFormat
import Testing

@testable import HKLogSynthesis

@Suite struct HistoryGeneratorTests {
    private func options(
        samples: Int, days: Int, batchSize: Int = 100, deletes: Int = 0, seed: UInt64 = 1
    ) -> HistoryGenerator.Options {
        var options = HistoryGenerator.Options()
        options.samples = samples
        options.days = days
        options.batchSize = batchSize
        options.deletes = deletes
        options.seed = seed
        return options
    }

    private func batches(_ options: HistoryGenerator.Options) throws -> [Batch] {
        var generator = try HistoryGenerator(options: options)
        var batches: [Batch] = []
        while let batch = generator.next() { batches.append(batch) }
        return batches
    }

    @Test(arguments: [
        (0, 1, 1, 0), (1, 1, 1, 1), (7, 30, 3, 7), (5_000, 20, 100, 250), (3_000, 400, 1_000, 3_000),
    ])
    func `a history has exactly what was asked for`(samples: Int, days: Int, batchSize: Int, deletes: Int)
        throws
    {
        let batches = try batches(
            options(samples: samples, days: days, batchSize: batchSize, deletes: deletes))
        #expect(batches.map(\.addedCount).reduce(0, +) == samples)
        #expect(batches.map(\.deleted.count).reduce(0, +) == deletes)
        #expect(batches.allSatisfy { $0.addedCount <= batchSize })
        var listed: Set<SampleUUID> = []
        var deleted: Set<SampleUUID> = []
        let last = HistoryGenerator.Options.defaultEndDay.dayNumber
        let calendar = LocalCalendar(rules: .utc)
        for batch in batches {
            for sample in batch.added {
                #expect(listed.insert(sample.uuid).inserted)
                #expect(sample.type == batch.stream)
                #expect((sample.end ?? sample.start) >= sample.start)
                // A night begins the evening before.
                let day = calendar.dayNumber(containing: sample.start.microseconds)
                #expect((last - Int32(days)...last).contains(day))
            }
            // Only what is listed is deleted, and once.
            for deletion in batch.deleted {
                #expect(listed.contains(deletion.uuid))
                #expect(deleted.insert(deletion.uuid).inserted)
            }
        }
    }

    @Test func `streams are numbered from 1 and chained by anchors`() throws {
        let batches = try batches(options(samples: 5_000, days: 90, deletes: 100))
        var last: [String: Batch] = [:]
        for batch in batches {
            let before = last[batch.stream]
            let sequence = (before?.numbering?.sequence ?? 0) + 1
            #expect(batch.numbering == Batch.Numbering(epoch: 1, sequence: sequence))
            #expect(batch.previousAnchor == before?.anchor.map { .anchor($0) } ?? .none)
            #expect(batch.anchor != nil && batch.anchor != before?.anchor)
            last[batch.stream] = batch
        }
        #expect(last.count == 23)
    }

    @Test func `the same options give the same history and another seed another one`() throws {
        func digest(_ options: HistoryGenerator.Options) throws -> [UInt64] {
            try batches(options).flatMap { batch in
                batch.rows.uuids.map(\.first) + batch.rows.values
                    + batch.rows.starts.map { UInt64(bitPattern: $0) }
            }
        }
        let first = try digest(options(samples: 2_000, days: 30))
        #expect(first == (try digest(options(samples: 2_000, days: 30))))
        #expect(first != (try digest(options(samples: 2_000, days: 30, seed: 2))))
        // On every machine: a change of this number is a change of every generated history.
        let checksum = first.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ $1) &* 0x0000_0100_0000_01B3 }
        #expect(checksum == 16_399_806_995_564_945_113)
    }

    @Test func `a reading's correlation names its two samples`() throws {
        let batches = try batches(options(samples: 20_000, days: 100))
        var uuids: [String: Set<String>] = [:]
        for batch in batches {
            for sample in batch.added { uuids[sample.type, default: []].insert(sample.uuid.description) }
        }
        for batch in batches where batch.stream == "HKCorrelationTypeIdentifierBloodPressure" {
            for sample in batch.added {
                let members = try #require(sample.payload?.text).split(separator: "\"").filter {
                    $0.count == 36
                }
                #expect(members.count == 2)
                #expect(
                    uuids["HKQuantityTypeIdentifierBloodPressureSystolic"]?.contains(String(members[0]))
                        == true)
                #expect(
                    uuids["HKQuantityTypeIdentifierBloodPressureDiastolic"]?.contains(String(members[1]))
                        == true)
            }
        }
    }

    @Test func `options out of bounds are refused by name`() {
        for (options, name) in [
            (options(samples: -1, days: 1), "--samples"), (options(samples: 1, days: 0), "--days"),
            (options(samples: 1, days: 1, batchSize: 0), "--batch"),
            (options(samples: 1, days: 1, deletes: 2), "--deletes"),
        ] {
            let error = #expect(throws: HKLogError.self) { try HistoryGenerator(options: options) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.hasPrefix(name) == true)
        }
    }

    @Test func `an export holds the same samples`() throws {
        let options = options(samples: 3_000, days: 60)
        var bytes: [UInt8] = []
        try ExportGenerator(options: options).write { bytes += $0 }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let top = lines.filter {
            $0.hasPrefix(" <Record ") || $0.hasPrefix(" <Workout ") || $0.hasPrefix(" <Corr")
        }
        // A reading's two samples stand at top level as well.
        #expect(top.count == 3_000)
        #expect(lines.first == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")
        #expect(lines.last == "</HealthData>")
        #expect(lines.filter { $0.hasPrefix(" <ActivitySummary ") }.count == 60)
    }
}
