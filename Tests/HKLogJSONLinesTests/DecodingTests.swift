import HKLog
import HKLogFormat
import HKLogJSONLines
import Testing

@Suite struct DecodingTests {
    @Test func `the example of the design is read whole`() throws {
        let batch = try decode(
            """
            {"stream":"HKQuantityTypeIdentifierStepCount","previousAnchor":"YnBsaXN0MDA=","anchor":"YnBsaXN0MDE=",\
            "deleted":["6b0f0f7c-55a1-4a8c-8e1b-0b6e0c1b4e11"],\
            "added":[{"uuid":"\(uuidA)","type":"HKQuantityTypeIdentifierStepCount",\
            "start":"2026-03-01T08:00:00+09:00","end":"2026-03-01T08:10:00+09:00","value":512,"unit":"count",\
            "source":{"name":"iPhone","bundleIdentifier":"com.apple.health","version":"26.1",\
            "productType":"iPhone17,1"},"metadata":{"HKWasUserEntered":false}}]}
            """)
        #expect(batch.stream == "HKQuantityTypeIdentifierStepCount")
        #expect(batch.previousAnchor == .anchor("YnBsaXN0MDA="))
        #expect(batch.anchor == "YnBsaXN0MDE=")
        #expect(batch.deleted.map(\.uuid.description) == [uuidB])
        let sample = try #require(batch.added.first)
        #expect(batch.addedCount == 1)
        #expect(sample.uuid.description == uuidA)
        #expect(sample.type == "HKQuantityTypeIdentifierStepCount")
        #expect(sample.start.description == "2026-02-28T23:00:00Z")
        #expect(sample.end?.description == "2026-02-28T23:10:00Z")
        #expect(sample.value == .quantity(512))
        #expect(sample.unit == "count")
        #expect(
            sample.source
                == Source(
                    name: "iPhone", bundleIdentifier: "com.apple.health", version: "26.1",
                    productType: "iPhone17,1"))
        #expect(sample.metadata?.text == #"{"HKWasUserEntered":false}"#)
        #expect(sample.device == nil && sample.count == nil && sample.payload == nil)
        #expect(batch.numbering == nil && batch.snapshot == nil && batch.digest == nil && !batch.kept)
    }

    @Test func `the stream is told, else the batch's type, else the one type of all samples`() throws {
        #expect(try decode(#"{"stream":"stepCount"}"#).stream == "stepCount")
        #expect(try decode(#"{"type":"stepCount"}"#).stream == "HKQuantityTypeIdentifierStepCount")
        #expect(try decode(sampleLine()).stream == "HKQuantityTypeIdentifierStepCount")
        // Both spellings are one type.
        let both = """
            {"added":[{"uuid":"\(uuidA)","type":"stepCount","start":0,"value":1,"unit":"count"},\
            {"uuid":"\(uuidB)","type":"HKQuantityTypeIdentifierStepCount","start":0,"value":1,"unit":"count"}]}
            """
        #expect(try decode(both).stream == "HKQuantityTypeIdentifierStepCount")
    }

    @Test func `type and kept may stand behind the samples that need them`() throws {
        let batch = try decode(
            """
            {"added":[{"uuid":"\(uuidA)","start":0,"value":1}],"kept":true,"type":"stepCount"}
            """)
        #expect(batch.kept)
        #expect(batch.added.first?.type == "HKQuantityTypeIdentifierStepCount")
        #expect(batch.added.first?.unit == nil)
    }

    @Test func `kept lifts the checks of units and of string length`() throws {
        let long = String(repeating: "x", count: (1 << 20) + 1)
        let misfits = sampleLine(unit: "\"kg\"", batch: #""kept":true,"#)
        #expect(try decode(misfits).added.first?.unit == "kg")
        let noUnit = sampleLine(unit: "\"no unit\"", more: #","source":"\#(long)""#, batch: #""kept":true,"#)
        #expect(try decode(noUnit).added.first?.source?.name?.utf8.count == long.utf8.count)
        // What a kept batch has taught the decoder does not slip into the next.
        var decoder = BatchDecoder()
        _ = try decoder.decode(Array(noUnit.utf8).span, lineNumber: 1)
        let strict = sampleLine(more: #","source":"\#(long)""#)
        #expect(throws: BatchError.self) { try decoder.decode(Array(strict.utf8).span, lineNumber: 2) }
    }

    @Test(arguments: [
        (#""2026-03-01T08:00:00+09:00""#, "2026-02-28T23:00:00Z"),
        (#""2026-03-01 08:00:00 +0900""#, "2026-02-28T23:00:00Z"),
        (#""2026-03-01T08:00:00.1234565Z""#, "2026-03-01T08:00:00.123456Z"),
        (#""2026-03-01T08:00:00.1234575Z""#, "2026-03-01T08:00:00.123458Z"),
        (#""2026\u002d03-01T08:00:00Z""#, "2026-03-01T08:00:00Z"),
        ("0", "1970-01-01T00:00:00Z"), ("-0.5", "1969-12-31T23:59:59.5Z"),
        ("1772323200.25", "2026-03-01T00:00:00.25Z"), ("1.7723232e9", "2026-03-01T00:00:00Z"),
        ("0.0000005", "1970-01-01T00:00:00Z"), ("0.0000015", "1970-01-01T00:00:00.000002Z"),
    ])
    func `a date has three forms`(text: String, instant: String) throws {
        #expect(try decode(sampleLine(start: text)).added.first?.start.description == instant)
    }

    @Test(arguments: [
        ("1", 1.0), ("-0", -0.0), ("1E2", 100), ("1.5e-3", 0.0015), ("0.1", 0.1), ("\"72.5\"", 72.5),
        ("9007199254740993", 9_007_199_254_740_992),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("1e-400", 0), ("2.2250738585072014e-308", 2.2250738585072014e-308),
        ("4.9e-324", Double.leastNonzeroMagnitude),
        ("1.7976931348623157e308", Double.greatestFiniteMagnitude), ("0e99999999999999999999", 0),
        ("0.30000000000000004", 0.30000000000000004), ("63.4567890123456", 63.4567890123456),
    ])
    func `a quantity is the nearest double`(text: String, value: Double) throws {
        let sample = try #require(try decode(sampleLine(value: text)).added.first)
        guard case .quantity(let read) = sample.value else { throw NoBatch() }
        #expect(read.bitPattern == value.bitPattern)
    }

    @Test(arguments: [
        ("3", 3), ("\"3\"", 3), ("3.0", 3), ("-9223372036854775808", Int64.min), ("1e1", 10), ("4711", 4711),
        ("\"HKCategoryValueSleepAnalysisAsleepCore\"", 3), ("\"HKCategoryValueSleepAnalysisInBed\"", 0),
    ])
    func `a category value is an integer or a name of its type`(text: String, value: Int64) throws {
        let line = sampleLine(type: "\"sleepAnalysis\"", value: text, unit: "null")
        let sample = try #require(try decode(line).added.first)
        #expect(sample.type == "HKCategoryTypeIdentifierSleepAnalysis")
        #expect(sample.value == .category(value))
    }

    @Test func `other kinds need no value and keep one as a number`() throws {
        for type in ["HKWorkoutTypeIdentifier", "HKCorrelationTypeIdentifierFood", "somethingElse"] {
            let without = sampleLine(type: "\"\(type)\"", value: "null", unit: "null")
            #expect(try decode(without).added.first?.value == nil)
            let with = sampleLine(type: "\"\(type)\"", value: "\"2.5\"", unit: "null")
            #expect(try decode(with).added.first?.value == .quantity(2.5))
        }
        // The prefix tells the kind of what the catalog does not know; any unit fits there.
        let unknown = try decode(sampleLine(type: "\"HKQuantityTypeIdentifierTomorrow\"", unit: "\"kg\""))
        #expect(unknown.added.first?.value == .quantity(512))
    }

    @Test func `metadata and payload keep their numbers to the letter and lose only white space`() throws {
        let sample = try #require(
            try decode(
                sampleLine(
                    more: """
                        , "metadata" : { "a" : [ 1 , 2.50 , -0 , 1E400 , 18446744073709551616 ] , \
                        "b\\u0041\\/" : "\\u00e4\\ud83d\\ude00\\n\\u001F\\u007f" , "c" : { } , "d" : [ ] , "e" : null },\
                        "payload":{"x":{"y":[{"z":true}]}},"count":18446744073709551615
                        """)
            ).added.first)
        #expect(
            sample.metadata?.text == """
                {"a":[1,2.50,-0,1E400,18446744073709551616],"bA/":"ä😀\\n\\u001F\u{7f}","c":{},"d":[],"e":null}
                """)
        #expect(sample.payload?.text == #"{"x":{"y":[{"z":true}]}}"#)
        #expect(sample.count == .max)
    }

    @Test func `null is absent everywhere but in previousAnchor`() throws {
        let batch = try decode(
            """
            {"stream":"s","type":null,"previousAnchor":null,"anchor":null,"snapshot":null,"confirmDeletions":null,\
            "epoch":null,"seq":null,"deleted":null,"digest":null,"kept":null,"logAnchor":null,"logCheck":null,\
            "gap":null,"added":[{"uuid":"\(uuidA)","type":"workout","start":0,"end":null,"value":null,\
            "unit":null,"source":{"name":null},"device":null,"metadata":null,"count":null,"payload":null}]}
            """)
        #expect(batch.previousAnchor == .none)
        #expect(batch.anchor == nil && batch.numbering == nil && batch.deleted.isEmpty)
        let sample = try #require(batch.added.first)
        #expect(sample.end == nil && sample.value == nil && sample.metadata == nil && sample.count == nil)
        #expect(sample.source == Source())
    }

    @Test func `deletions are uuids or objects, and one may stand twice`() throws {
        let batch = try decode(
            """
            {"stream":"s","deleted":["\(uuidA)",{"metadata":{"k": 1},"uuid":"\(uuidB.lowercased())"},"\(uuidA)"],\
            "epoch":1,"seq":18446744073709551615,"snapshot":"whole","confirmDeletions":true,\
            "digest":"0123456789ABCDEF0123456789abcdef"}
            """)
        #expect(batch.deleted.map(\.uuid.description) == [uuidA, uuidB, uuidA])
        #expect(batch.deleted[1].metadata?.text == #"{"k":1}"#)
        #expect(batch.numbering == Batch.Numbering(epoch: 1, sequence: .max))
        #expect(batch.snapshot == .whole && batch.confirmDeletions)
        #expect(batch.digest?.description == "0123456789abcdef0123456789abcdef")
    }

    @Test(arguments: [
        #"{"logAnchor":17,"logCheck":"abc"}"#, #"{"logAnchor":17}"#, #"{"logCheck":{"x":[1]}}"#,
        #"{"gap":[3,7]}"#, #"{"gap":[3,7],"logAnchor":7}"#, #" {"logAnchor":17,"stream":null} "#,
    ])
    func `a line without a batch is nothing`(line: String) throws {
        var decoder = BatchDecoder()
        guard case .nothing = try decoder.decode(Array(line.utf8).span, lineNumber: 1) else {
            Issue.record("a batch came out")
            return
        }
    }

    @Test func `texts that differ in normalisation alone stay apart`() throws {
        let batch = try decode(
            """
            {"type":"workout","added":[{"uuid":"\(uuidA)","start":0,"source":"caf\u{e9}"},\
            {"uuid":"\(uuidB)","start":0,"source":"cafe\u{301}"}]}
            """)
        #expect(batch.rows.shapes.count == 2)
    }

    @Test func `one decoder serves many sources`() throws {
        var decoder = BatchDecoder()
        for line in 0..<3 {
            let samples = (0..<6000).map { (index: Int) -> String in
                let uuid = "00000000-0000-0000-0000-" + String(1_000_000_000_000 + index).suffix(12)
                return
                    #"{"uuid":"\#(uuid)","start":\#(index),"source":{"name":"\#(line) \#(index)"},"unit":"count"}"#
            }
            let text = #"{"added":["# + samples.joined(separator: ",") + #"],"type":"workout"}"#
            guard case .batch(let batch) = try decoder.decode(Array(text.utf8).span, lineNumber: 1) else {
                throw NoBatch()
            }
            #expect(batch.stream == "HKWorkoutTypeIdentifier")
            let names = batch.added.compactMap { $0.source?.name }
            #expect(names == (0..<6000).map { "\(line) \($0)" })
        }
    }
}
