import Foundation
import HKLog
import Testing

@testable import HKLogAppleHealth

/// A document with something of everything.
private let everything = ExportFixture.document(
    """
     <ExportDate value="2025-01-14 12:00:00 +0100"/>
     <Me HKCharacteristicTypeIdentifierDateOfBirth="1990-01-01"/>
     <!-- <Record type="HKQuantityTypeIdentifierStepCount"/> -->
    \(ExportFixture.record(source: "Caf\u{E9} \u{1F600}"))
    \(ExportFixture.record(value: "0.30000000000000004", start: "2024-01-03 08:00:00 +0100", end: nil))
    stray text <![CDATA[ <Record/> ]]> <?pi <Record ?>
    \(ExportFixture.record(start: "2024-01-04 08:00:00 +0100", end: nil, children: "<MetadataEntry key='a' value='&amp;'/>"))
     <Record
      type='HKCategoryTypeIdentifierSleepAnalysis' value='HKCategoryValueSleepAnalysisAsleepREM'
      startDate="2024-01-02 08:00:00 +0100" endDate="2024-01-02 08:10:00 +0100"></Record>
     <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="30" durationUnit="min" \
    sourceName="Watch" startDate="2024-01-02 08:00:00 +0100" endDate="2024-01-02 08:30:00 +0100">
      <WorkoutStatistics type="HKQuantityTypeIdentifierDistanceWalkingRunning" startDate="2024-01-02 08:00:00 +0100" \
    startDate="2024-01-02 08:30:00 +0100" sum="5.2" unit="km"/>
     </Workout>
     <Correlation type="HKCorrelationTypeIdentifierBloodPressure" sourceName="Cuff" \
    startDate="2024-01-02 08:00:00 +0100" endDate="2024-01-02 08:00:00 +0100">
    \(ExportFixture.record("HKQuantityTypeIdentifierBloodPressureSystolic", value: "120", unit: "mmHg"))
     </Correlation>
     <ActivitySummary dateComponents="2024-01-02" activeEnergyBurned="400.5" activeEnergyBurnedUnit="kcal"/>
     <Novelty><Deep><Deeper x="1"/>text</Deep></Novelty>
    """)

/// Records as exports write them: heads that come again, of which one begins another, metadata and beats.
private let usual: [UInt8] = {
    let watch = " device=\"&lt;&lt;HKDevice: 0x28&gt;, name:Apple Watch, model:Watch&gt;\""
    let rate = "HKQuantityTypeIdentifierHeartRate"
    let variability = "HKQuantityTypeIdentifierHeartRateVariabilitySDNN"
    let beats = """
          <HeartRateVariabilityMetadataList>
           <InstantaneousBeatsPerMinute bpm="61" time="8:07:44.60\u{202F}AM"/>
           <InstantaneousBeatsPerMinute bpm="60" time="8:07:45,60"/>
          </HeartRateVariabilityMetadataList>

        """
    let entry = "  <MetadataEntry key=\"HKMetadataKeyHeartRateMotionContext\" value=\"1\"/>\n"
    let entries =
        entry + "  <MetadataEntry key=\"HKTimeZone\" value=\"Europe/Paris\"/>\n"
        + "  <MetadataEntry key=\"a\\b\" value=\"&lt;\"/>\n" + entry
    var text = ""
    for minute in 10..<16 {
        let start = "2024-01-02 08:\(minute):00 +0100"
        func record(
            _ type: String, _ source: String, unit: String?, extra: String = "", children: String = ""
        ) {
            text += ExportFixture.record(
                type, value: "\(minute).5", unit: unit, source: source, start: start, end: start,
                creation: "2024-01-02 08:\(minute):0\(minute % 7) +0100", extra: extra, children: children)
        }
        record(rate, "Watch", unit: "count/min", extra: watch, children: entries)
        record(rate, "Strap", unit: "count/min", children: entry)
        record(rate, "Watch", unit: nil, extra: watch)
        record(rate, "Watch", unit: nil)
        record(rate, "Source \(minute)", unit: "count/min", extra: watch)
        record(variability, "Watch", unit: "ms", extra: watch, children: entry + beats)
    }
    return ExportFixture.document(text)
}()

private func run(
    _ bytes: [UInt8], windowByteCount: Int, pieceByteCount: Int,
    limit: Int = ExportScanner.attributeByteCountLimit
) throws -> (rows: [RowBlock], ending: ReaderEnding) {
    var scanner = ExportScanner(
        source: MemorySource(bytes, pieceByteCount: pieceByteCount), problems: ProblemLog(),
        windowByteCount: windowByteCount, attributeByteCountLimit: limit)
    guard try scanner.readProlog() == .root else { return ([], ReaderEnding()) }
    var reader = ExportReader(
        scanner: scanner,
        settings: ExportReader.Settings(streamName: [], calendar: LocalCalendar(rules: .utc)), sideFiles: nil)
    var blocks: [RowBlock] = []
    while let block = try reader.nextBlock() { blocks.append(block) }
    return (blocks, reader.ending(fault: nil))
}

private func samples(_ blocks: [RowBlock]) -> [Sample] {
    blocks.flatMap { Batch(stream: "s", importing: $0.rows, shapes: $0.shapes, bytes: $0.bytes).added }
}

@Suite struct ScannerTests {
    @Test func `the result does not depend on where buffers end`() throws {
        let whole = try run(everything, windowByteCount: 1 << 20, pieceByteCount: 1 << 20)
        let expected = samples(whole.rows)
        #expect(expected.count == 10)
        #expect(whole.ending.isComplete)
        for size in Array(1...64) + [100, 257, 1000] {
            for piece in [size, 1, 1 << 20] {
                let cut = try run(everything, windowByteCount: size, pieceByteCount: piece)
                #expect(samples(cut.rows) == expected, "window \(size), piece \(piece)")
                #expect(cut.ending.problems == whole.ending.problems, "window \(size), piece \(piece)")
                #expect(cut.ending.isComplete)
            }
        }
    }

    @Test(arguments: [99, 100, 101, 115, 1000])
    func `text beyond its bound is cut and reported wherever buffers end`(_ length: Int) throws {
        func text(_ count: Int) -> String { String(repeating: "x", count: count) }
        let bytes = Array("<HealthData><a>\(text(length))</a><a>\(text(length))</a></HealthData>".utf8)
        let problem = ImportReport.Problem(what: "text longer than 16 MiB cut", count: 2, offset: 15)
        for size in Array(1...130) + [1 << 16] {
            let problems = ProblemLog()
            var scanner = ExportScanner(
                source: MemorySource(bytes, pieceByteCount: size), problems: problems, windowByteCount: size,
                textByteCountLimit: 100)
            #expect(try scanner.next() == .start)
            for _ in 0..<2 {
                #expect(try scanner.next() == .start)
                #expect(try scanner.next() == .end)
                #expect(scanner.takeText() == Array(text(min(length, 100)).utf8))
            }
            #expect(try scanner.next() == .end)
            #expect(problems.problems == (length > 100 ? [problem] : []), "window \(size)")
        }
    }

    @Test func `every truncation is incomplete and holds the whole elements before it`() throws {
        let all = samples(try run(everything, windowByteCount: 1 << 16, pieceByteCount: 1 << 16).rows)
        let root = try #require(String(decoding: everything, as: UTF8.self).range(of: "<HealthData locale"))
        let rootEnd = String(decoding: everything, as: UTF8.self).utf8.distance(
            from: String(decoding: everything, as: UTF8.self).startIndex, to: root.upperBound)
        var last = 0
        for length in 0..<everything.count {
            let cut = Array(everything[..<length])
            let result = try run(cut, windowByteCount: 4096, pieceByteCount: 4096)
            let found = samples(result.rows)
            if length < rootEnd { #expect(found.isEmpty) }
            // The last line feed is not part of the root.
            #expect(result.ending.isComplete == (length == everything.count - 1), "at \(length)")
            if length > rootEnd + 20 {
                #expect(result.ending.isComplete || result.ending.endOffset == length)
            }
            #expect(found.count >= last && found == Array(all[..<found.count]), "at \(length)")
            last = found.count
        }
    }

    @Test(arguments: [
        "", "<!DOCTYPE HealthData>\n", "<?xml version='1.0'?>\n", "\u{FEFF}",
        "\u{FEFF}<?xml version=\"1.0\"?>",
        "<!-- <HealthData> -->",
        // iOS 16.0: an ATTLIST without an end, a stray line, and a '>' too many.
        """
        <!DOCTYPE HealthData [
        <!ATTLIST VisionPrescription
          type CDATA #REQUIRED
          expirationDate CDATA #REQUIRED
        <!ELEMENT RightEye EMPTY>
          device CDATA #IMPLIED
        <!ELEMENT MetadataEntry EMPTY>
        >
        ]>
        """,
        "<!DOCTYPE HealthData [ <!ENTITY a \"]><HealthData >\"> <!-- it's ]> here --> ]>",
        "<!DOCTYPE HealthData [ <!ENTITY quote \" unbalanced> ]>",
        "<!DOCTYPE HealthData [\n<!ENTITY f SYSTEM \"file:///etc/passwd\"> ] >\n<!-- after -->\n",
    ])
    func `whatever comes before the root is passed over`(prolog: String) throws {
        var destination = MemoryDestination()
        let bytes = ExportFixture.document(ExportFixture.record(), prolog: prolog)
        let report = try AppleHealthImporter().run(bytes, into: &destination)
        #expect(report.added == 1 && report.complete && report.problems.isEmpty)
    }

    @Test func `entities of the document's own are never expanded`() throws {
        let prolog = """
            <!DOCTYPE HealthData [
            <!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">
            <!ENTITY f SYSTEM "file:///etc/passwd">
            ]>
            """
        var destination = MemoryDestination()
        let report = try AppleHealthImporter().run(
            ExportFixture.document(
                ExportFixture.record(
                    source: "&c;&f;",
                    children: "<MetadataEntry key=\"k\" value=\"&f; &#x41;&#66;&#0;&apos;\"/>"),
                prolog: prolog), into: &destination)
        let sample = try #require(destination.live.first)
        #expect(sample.source?.name == "&c;&f;")
        #expect(sample.metadataText("k") == "&f; AB\u{FFFD}'")
        #expect(report.count(of: "unknown entity") == 2)
    }

    @Test func `text that is no tag, broken tags and wrong ends lose nothing beside them`() throws {
        let (samples, report) = try imported(
            """
            a < b & c > d
            \(ExportFixture.record(start: "2024-01-01 08:00:00 +0100", end: nil))
            </Foo>
            <Record type="HKQuantityTypeIdentifierStepCount" value=7 unit="count" startDate="2024-02-01 08:00:00 +0100"/>
            <Record type="HKQuantityTypeIdentifierStepCount" value="8" unit="count" startDate="2024-03-01 08:00:00 +0100">
            <Record type="HKQuantityTypeIdentifierStepCount" value="9" value="10" unit="count" \
            startDate="2024-04-01 08:00:00 +0100" "loose" alone />
            """)
        #expect(samples.count == 4 && report.complete)
        #expect(samples.compactMap { $0.value }.contains(.quantity(7)))
        #expect(samples.compactMap { $0.value }.contains(.quantity(9)))
        #expect(report.count(of: "stray '<'") == 1)
        #expect(report.count(of: "end tag without its start") == 1)
        #expect(report.count(of: "attribute value without quotes") == 1)
        #expect(report.count(of: "element without its end tag") == 1)
        #expect(report.count(of: "attribute given twice") == 1)
    }

    @Test func `a value of a megabyte is kept whole`() throws {
        let value = String(repeating: "A", count: 1 << 20)
        let (samples, report) = try imported(
            ExportFixture.record(creation: nil, children: "<MetadataEntry key=\"x\" value=\"\(value)\"/>")
                + ExportFixture.record(start: "2024-03-01 08:00:00 +0100", end: nil))
        #expect(samples.count == 2 && report.problems.isEmpty)
        #expect(samples.contains { $0.metadata?.bytes.count == value.utf8.count + 8 })
    }

    @Test func `depth is bounded`() throws {
        let depth = 5000
        let (samples, report) = try imported(
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
                + ExportFixture.record())
        #expect(samples.count == 2 && report.complete)
        #expect(report.count(of: "element nested too deep") == depth - ExportElement.depthLimit)
    }

    @Test func `many attributes and many equal records cost no more than their size`() throws {
        let attributes = (0..<20_000).map { " a\($0)=\"\($0)\"" }.joined()
        let entries = (0..<5_000).map { "<MetadataEntry key=\"k\($0 % 2500)\" value=\"\($0)\"/>" }.joined()
        let (samples, _) = try imported(
            "<Novelty\(attributes)/>" + ExportFixture.record(children: entries)
                + String(repeating: ExportFixture.record(start: "2024-03-01 08:00:00 +0100"), count: 5_000))
        #expect(samples.count == 5_002)
        #expect(Set(samples.map(\.uuid)).count == 5_002)
    }

    @Test func `what is read by its usual form is what the general way makes of it`() throws {
        let whole = try run(usual, windowByteCount: 1 << 16, pieceByteCount: 1 << 16)
        let expected = samples(whole.rows)
        #expect(expected.count == 36)
        #expect(expected[0].device?.model == "Watch" && expected[1].device == nil)
        #expect(expected[2].unit == nil && expected[2].device != nil && expected[3].device == nil)
        #expect(
            expected[0].metadata?.text
                == "{\"HKLogCreationDate\":\"2024-01-02T07:10:03Z\",\"HKMetadataKeyHeartRateMotionContext\":[\"1\",\"1\"],"
                + "\"HKTimeZone\":\"Europe/Paris\",\"a\\\\b\":\"<\"}")
        #expect(
            expected[5].payload?.text
                == "{\"beats\":[{\"bpm\":61,\"time\":\"8:07:44.60\u{202F}AM\"},{\"bpm\":60,\"time\":\"8:07:45,60\"}]}"
        )
        #expect(whole.ending.zoneCounts == [Array("Europe/Paris".utf8): 6])
        // A blank before each end of a tag is nothing that exports write.
        let text = String(decoding: usual, as: UTF8.self)
        let general = Array(text.replacingOccurrences(of: "\"/>", with: "\" />").utf8)
        #expect(samples(try run(general, windowByteCount: 1 << 16, pieceByteCount: 1 << 16).rows) == expected)
        for size in [1, 64, 300, 301, 302, 303, 1000, 4096] {
            let cut = try run(usual, windowByteCount: size, pieceByteCount: size)
            #expect(samples(cut.rows) == expected, "window \(size)")
        }
    }

    @Test(arguments: [everything, usual])
    func `random damage never traps`(document: [UInt8]) throws {
        var generator = SystemRandomNumberGenerator()
        let scale = Int(ProcessInfo.processInfo.environment["HKLOG_TEST_SCALE"] ?? "1") ?? 1
        for _ in 0..<150 * scale {
            var bytes = document
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: place)
                case 2:
                    bytes.insert(
                        contentsOf: Array("<\"'>=&/]".utf8).shuffled(using: &generator).prefix(2), at: place)
                default:
                    let end = min(place + Int.random(in: 1...40, using: &generator), bytes.count)
                    bytes.insert(
                        contentsOf: Array(bytes[place..<end]),
                        at: Int.random(in: 0..<bytes.count, using: &generator))
                }
            }
            // Values above 256 bytes come about where a quote is lost.
            let limit = Bool.random(using: &generator) ? 256 : ExportScanner.attributeByteCountLimit
            let whole = try run(bytes, windowByteCount: 1 << 16, pieceByteCount: 1 << 16, limit: limit)
            let cut = try run(bytes, windowByteCount: 7, pieceByteCount: 3, limit: limit)
            #expect(samples(whole.rows) == samples(cut.rows))
            #expect(whole.ending.problems == cut.ending.problems)
        }
    }
}
