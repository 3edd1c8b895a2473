import Foundation
import HKLog
import Testing

@testable import HKLogAppleHealth

/// A quote that is never closed, values that are too long: only the broken element is lost.
@Suite struct RecoveryTests {
    private struct Reading {
        var samples: [Sample]
        var skipped: Int
        var ending: ReaderEnding
        var largestWindow: Int
    }

    /// Reads a document with buffers that cut it anywhere.
    private func read(
        _ bytes: [UInt8], window: Int, piece: Int, limit: Int = ExportScanner.attributeByteCountLimit,
        elementLimit: Int = 64 << 20
    ) throws -> Reading {
        var scanner = ExportScanner(
            source: MemorySource(bytes, pieceByteCount: piece), problems: ProblemLog(),
            windowByteCount: window, attributeByteCountLimit: limit)
        #expect(try scanner.readProlog() == .root)
        var reader = ExportReader(
            scanner: scanner,
            settings: ExportReader.Settings(
                streamName: [], calendar: LocalCalendar(rules: .utc), elementByteCountLimit: elementLimit),
            sideFiles: nil)
        var samples: [Sample] = []
        var skipped = 0
        while let block = try reader.nextBlock() {
            samples +=
                Batch(stream: "s", importing: block.rows, shapes: block.shapes, bytes: block.bytes).added
            skipped += block.skipped
        }
        return Reading(
            samples: samples, skipped: skipped, ending: reader.ending(fault: nil),
            largestWindow: reader.scanner.capacity)
    }

    /// Reads it in one piece, checks that buffers of all sizes give the same, and gives that.
    private func readAnyhow(_ bytes: [UInt8], limit: Int = ExportScanner.attributeByteCountLimit) throws
        -> Reading
    {
        let whole = try read(bytes, window: 1 << 20, piece: 1 << 20, limit: limit)
        for size in Array(1...64) + [99, 128, 129, 257, 300, 511, 1025] {
            for piece in [size, 1 << 20] {
                let cut = try read(bytes, window: size, piece: piece, limit: limit)
                #expect(cut.samples == whole.samples, "window \(size), piece \(piece)")
                #expect(cut.skipped == whole.skipped && cut.ending.problems == whole.ending.problems)
                #expect(cut.ending.endOffset == whole.ending.endOffset)
            }
        }
        return whole
    }

    private func record(_ day: Int, value: String = "100\"", source: String = "\"iPhone\"") -> String {
        " <Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\(source) unit=\"count\" "
            + "startDate=\"2024-01-\(10 + day) 08:00:00 +0100\" endDate=\"2024-01-\(10 + day) 08:10:00 +0100\" "
            + "value=\"\(value)/>\n"
    }

    private func days(_ reading: Reading) -> [Int] {
        reading.samples.filter { $0.type == "HKQuantityTypeIdentifierStepCount" }.map {
            Int(($0.start.microseconds / 1_000_000 - 1_704_870_000) / 86_400)
        }.sorted()
    }

    private let quoteProblem = "quote that is not closed, its element skipped"

    @Test(arguments: ["value", "first", "source", "single", "opening", "empty", "indented", "crlf", "slash"])
    func `a quote that is not closed costs its own record`(_ place: String) throws {
        let broken =
            switch place {
            case "value": record(1, value: "100")
            case "first":
                record(1).replacing("type=\"HK", with: "type=\"HK\n").replacing("Count\"", with: "Count")
            case "source": record(1, source: "\"iPhone")
            case "single": record(1, source: "'iPhone")
            case "opening": record(1).replacing("startDate=\"", with: "startDate=")
            case "empty": record(1, source: "\"")
            case "indented": record(1, value: "100").replacing("/>\n", with: "/>\n\t   \t")
            case "crlf": record(1, value: "100").replacing("\n", with: "\r\n")
            // The next line's first quoted text begins with what would end a tag.
            default:
                record(1, value: "100") + " <FileReference path=\"/>\"/>\n"
            }
        let text = record(0) + broken + record(2) + record(3)
        let bytes = ExportFixture.document(text)
        let reading = try readAnyhow(bytes)
        #expect(days(reading) == [0, 2, 3])
        #expect(reading.ending.isComplete && reading.skipped == 1)
        #expect(reading.ending.lostElementCount == 1)
        let problem = try #require(reading.ending.problems.first { $0.what == quoteProblem })
        #expect(problem.count == 1 && problem.offset == offset(of: broken, in: bytes) + 1)
    }

    /// Where a text begins in a document.
    private func offset(of text: String, in bytes: [UInt8]) -> Int {
        Data(bytes).range(of: Data(text.utf8))?.lowerBound ?? -1
    }

    @Test func `the last element and several ones may be broken`() throws {
        let last = try readAnyhow(ExportFixture.document(record(0) + record(1, value: "100")))
        #expect(days(last) == [0] && last.ending.isComplete && last.skipped == 1)
        let many = (0..<6).map { record($0, value: $0 % 2 == 0 ? "1" : "1\"") }.joined()
        let reading = try readAnyhow(ExportFixture.document(many))
        #expect(days(reading) == [1, 3, 5] && reading.skipped == 3)
        // Nothing that could be recognised follows: the rest cannot be told from the value.
        let end = try readAnyhow(
            Array(
                (String(decoding: ExportFixture.document(record(0)), as: UTF8.self)
                    .replacing("</HealthData>\n", with: record(1, value: "100"))).utf8))
        #expect(days(end) == [0] && !end.ending.isComplete)
    }

    @Test func `a value over several lines, with markup in it, is still read`() throws {
        let text = "one\n  two <b>three</b>\n <Records a='b'> <Record \n<Recordx/>"
        let reading = try readAnyhow(
            ExportFixture.document(
                record(0, source: "\"\(text)\"") + record(1)))
        #expect(days(reading) == [0, 1] && reading.ending.problems.isEmpty)
        #expect(
            reading.samples[0].source?.name
                == "one   two <b>three</b>  <Records a='b'> <Record  <Recordx/>")
    }

    @Test func `children of a broken element are lost with it, its neighbours are not`() throws {
        let entry = "  <MetadataEntry key=\"a\" value=\"b\"/>\n"
        let open = record(1, value: "100").replacing("/>", with: ">") + entry + " </Record>\n"
        let reading = try readAnyhow(ExportFixture.document(record(0) + open + record(2)))
        #expect(days(reading) == [0, 2] && reading.samples.count == 2 && reading.skipped == 1)
        let brokenEntry =
            record(1).replacing("/>", with: ">") + entry
            + "  <MetadataEntry key=\"c\" value=\"d/>\n" + entry.replacing("\"a\"", with: "\"e\"")
            + " </Record>\n"
        let inner = try readAnyhow(ExportFixture.document(record(0) + brokenEntry + record(2)))
        #expect(days(inner) == [0, 1, 2] && inner.skipped == 0 && inner.ending.lostElementCount == 0)
        #expect(inner.samples.contains { $0.metadata?.text == "{\"a\":\"b\",\"e\":\"b\"}" })
        let dates = "startDate=\"2024-01-02 08:00:00 +0100\" endDate=\"2024-01-02 08:30:00 +0100\""
        let workout =
            " <Workout workoutActivityType=\"X\" \(dates) duration=\"5>\n"
            + "  <WorkoutStatistics type=\"A\" sum=\"1\" unit=\"km\"/>\n </Workout>\n"
        let lost = try readAnyhow(ExportFixture.document(record(0) + workout + record(2)))
        #expect(lost.samples.count == 2 && lost.skipped == 1)
        let statistics =
            " <Workout workoutActivityType=\"X\" \(dates)>\n"
            + "  <WorkoutStatistics type=\"A\" sum=\"1\" unit=\"km/>\n"
            + "  <WorkoutStatistics type=\"B\" sum=\"2\" unit=\"km\"/>\n </Workout>\n"
        let part = try readAnyhow(ExportFixture.document(record(0) + statistics + record(2)))
        #expect(part.samples.count == 3 && part.skipped == 0)
        #expect(
            part.samples.contains {
                $0.payload?.text.contains("{\"type\":\"B\",\"sum\":2,\"unit\":\"km\"}]") == true
            })
        // The members of a broken correlation still meet their twins.
        let correlation =
            " <Correlation type=\"HKCorrelationTypeIdentifierFood\" \(dates) sourceName=\"x>\n"
            + record(0) + " </Correlation>\n"
        let members = try readAnyhow(ExportFixture.document(record(0) + correlation + record(2)))
        #expect(members.samples.count == 2 && members.skipped == 1)
    }

    @Test func `what may stand in a lost element is not deleted`() throws {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        let whole = record(0) + record(1) + record(2)
        _ = try importer.run(ExportFixture.document(whole), into: &destination)
        let damaged = ExportFixture.document(record(0) + record(1, value: "100") + record(3))
        let report = try importer.run(damaged, into: &destination)
        #expect(report.complete && report.deleted == 0 && report.keptMissing == 2 && report.added == 1)
        #expect(report.records == 3 && report.skipped == 1)
        #expect(report.warnings.contains { $0.contains("nothing was deleted") })
        let mended = try importer.run(ExportFixture.document(record(0) + record(1)), into: &destination)
        #expect(mended.deleted == 2 && destination.live.count == 2)
    }

    @Test func `a value that is too long is dropped and does not stay in memory`() throws {
        let long = String(repeating: "x", count: 60_000)
        func document(_ length: Int) -> [UInt8] {
            let value = String(long.prefix(length))
            return ExportFixture.document(
                ExportFixture.record(
                    creation: nil,
                    children:
                        "<MetadataEntry key=\"a\" value=\"1\"/><MetadataEntry key=\"b\" value=\"\(value)\"/>"
                        + "<MetadataEntry key=\"c\" value=\"\u{B}\" extra=\"2\"/>\n")
                    + ExportFixture.record(
                        source: value, start: "2024-03-01 08:00:00 +0100", extra: " q=\"\u{B}\""))
        }
        let limit = 1000
        let bytes = document(1001)
        let dropped = try readAnyhow(bytes, limit: limit)
        #expect(dropped.samples.count == 2 && dropped.ending.isComplete)
        #expect(dropped.samples[0].metadata?.text == "{\"a\":\"1\",\"c\":\"\u{FFFD}\"}")
        #expect(dropped.samples[1].source?.name == nil && dropped.samples[1].value == .quantity(100))
        let problem = try #require(
            dropped.ending.problems.first { $0.what.contains("longer than the limit") })
        #expect(problem.count == 2)
        #expect(problem.offset == offset(of: "xxxx", in: bytes))
        // Offsets behind what was taken out are those of the document.
        let control = try #require(dropped.ending.problems.first { $0.what == "control character replaced" })
        #expect(control.offset == bytes.firstIndex(of: 0x0B))
        #expect(
            try readAnyhow(document(1000), limit: limit).ending.problems.allSatisfy {
                !$0.what.contains("limit")
            })
        let large = try read(document(60_000), window: 256, piece: 100, limit: limit)
        #expect(large.samples.count == 2 && large.ending.isComplete && large.largestWindow <= 4096)
        #expect(large.ending.problems.contains { $0.what.contains("longer than the limit") && $0.count == 2 })
    }

    @Test(arguments: [990, 1000, 1001, 1500, 5000])
    func `a quote is found open behind a value that is too long`(_ length: Int) throws {
        let long = String(repeating: "y\n", count: length / 2)
        let bytes = ExportFixture.document(record(0) + record(1, source: "\"\(long)") + record(2))
        let reading = try readAnyhow(bytes, limit: 1000)
        #expect(days(reading) == [0, 2] && reading.skipped == 1)
        #expect(reading.ending.problems.map(\.what) == [quoteProblem])
    }

    @Test func `an element without bounds is cut to what fits`() throws {
        let dates = "startDate=\"2024-01-02 08:00:00 +0100\" endDate=\"2024-01-02 08:30:00 +0100\""
        let entries = String(repeating: "<MetadataEntry key=\"a\" value=\"x\"/>", count: 1000)
        let novelties = String(repeating: "<n><m/></n>", count: 1000)
        for element in [
            record(0).replacing("/>", with: ">\(entries)</Record>"),
            record(0).replacing("/>", with: ">\(novelties)</Record>"),
            "<Correlation type=\"C\" \(dates)>\(novelties)</Correlation>",
            "<Workout \(dates)>\(entries)</Workout>",
        ] {
            let bytes = ExportFixture.document(element + record(2))
            let reading = try read(bytes, window: 4096, piece: 4096, elementLimit: 100_000)
            #expect(reading.samples.count == 2 && reading.ending.isComplete && reading.skipped == 0)
            let problem = reading.ending.problems.first { $0.what == "element too large, its rest skipped" }
            #expect((problem?.count ?? 0) > 500)
            let whole = try read(bytes, window: 4096, piece: 4096)
            #expect(!whole.ending.problems.contains { $0.what.hasPrefix("element too large") })
        }
    }

    @Test(arguments: [
        // A list costs 512 bytes, a beat 531: what comes when nothing is left of the limit is skipped.
        (lists: 1, beats: 100, limit: 2000, kept: 3, problems: 97),
        (lists: 10, beats: 2, limit: 1573, kept: 2, problems: 27),
        (lists: 10, beats: 2, limit: 1574, kept: 2, problems: 27),
        (lists: 10, beats: 2, limit: 1575, kept: 2, problems: 26),
        (lists: 10, beats: 2, limit: 3148, kept: 4, problems: 24),
        (lists: 10, beats: 2, limit: 15_740, kept: 20, problems: 0),
        (lists: 20, beats: 0, limit: 5120, kept: 0, problems: 10),
    ])
    func `beats count towards what an element may hold wherever buffers end`(
        _ example: (lists: Int, beats: Int, limit: Int, kept: Int, problems: Int)
    ) throws {
        let times = ["8:07:44,60", "8:07\u{202F}a.m"]
        let beats = (0..<example.beats).map { index in
            "   <InstantaneousBeatsPerMinute bpm=\"61\" time=\"\(times[index % 2])\"/>\n"
        }.joined()
        let list =
            "  <HeartRateVariabilityMetadataList>\n\(beats)  </HeartRateVariabilityMetadataList>\n"
        let lists = String(repeating: list, count: example.lists)
        let bytes = ExportFixture.document(ExportFixture.record(children: lists) + record(2))
        for window in [64, 300, 4096, 1 << 20] {
            let reading = try read(bytes, window: window, piece: window, elementLimit: example.limit)
            #expect(reading.samples.count == 2 && reading.ending.isComplete)
            let payload = reading.samples.first?.payload?.text ?? ""
            #expect(payload.components(separatedBy: "\"bpm\":61").count - 1 == example.kept)
            #expect(payload.isEmpty == (example.kept == 0))
            let expected = example.problems == 0 ? [] : ["element too large, its rest skipped"]
            #expect(reading.ending.problems.map(\.what) == expected, "window \(window)")
            #expect(reading.ending.problems.map(\.count) == expected.map { _ in example.problems })
            let small = try read(bytes, window: 64, piece: 64, elementLimit: example.limit)
            #expect(reading.samples == small.samples, "window \(window)")
            #expect(reading.ending.problems == small.ending.problems, "window \(window)")
        }
    }
}
