import HKLog
import Testing

@testable import HKLogAppleHealth

@Suite struct RecordTests {
    @Test func `a record becomes a sample with its columns and its creation date`() throws {
        let (samples, report) = try imported(ExportFixture.record())
        let sample = try #require(samples.first)
        #expect(samples.count == 1)
        #expect(sample.type == "HKQuantityTypeIdentifierStepCount")
        #expect(sample.value == .quantity(100))
        #expect(sample.unit == "count")
        #expect(sample.start.microseconds == 1_704_178_800_000_000)
        #expect(sample.end?.microseconds == 1_704_179_400_000_000)
        #expect(sample.source == Source(name: "iPhone", version: "17.1"))
        #expect(sample.metadata?.text == "{\"HKLogCreationDate\":\"2024-01-02T07:11:00Z\"}")
        #expect(report.records == 1 && report.added == 1 && report.skipped == 0 && report.complete)
        #expect(report.problems.isEmpty)
    }

    @Test func `attributes in any order, quote and over several lines give the same sample`() throws {
        let usual = try imported(ExportFixture.record()).samples
        let other = try imported(
            """
            <Record
               value = '100'
               endDate='2024-01-02 08:10:00 +0100'
               startDate="2024-01-02 08:00:00 +0100"
               creationDate="2024-01-02 08:11:00 +0100"
               unit="count" sourceVersion="17.1"
               sourceName='iPhone' type="HKQuantityTypeIdentifierStepCount"
            ></Record>
            """
        ).samples
        #expect(usual == other)
    }

    @Test func `a device text is taken apart and its address dropped`() throws {
        let text =
            " device=\"&lt;&lt;HKDevice: 0x283c5a1b0&gt;, name:Apple Watch, manufacturer:Apple Inc., model:Watch, "
            + "hardware:Watch6,7, software:9.1, creation date:2023-01-01 00:00:00 +0000&gt;\""
        let sample = try #require(try imported(ExportFixture.record(extra: text)).samples.first)
        #expect(
            sample.device
                == Device(
                    name: "Apple Watch", manufacturer: "Apple Inc.", model: "Watch",
                    hardwareVersion: "Watch6,7",
                    softwareVersion: "9.1"))
        let free = try #require(
            try imported(ExportFixture.record(extra: " device=\"&lt;Watch6,4&gt;\"")).samples.first)
        #expect(free.device == Device(name: "<Watch6,4>"))
    }

    @Test(
        arguments: [
            ("&lt;HKDevice: 0x28&gt;", nil), ("<HKDevice: 0x28>", nil),
            ("&amp;lt;HKDevice: 0x28&amp;gt;", nil),
            ("&lt;&lt;HKDevice: 0x28", nil), ("HKDevice: 0x28, name:Watch", "Watch"),
            ("&lt;HKDevice: 0x28, name:Watch&gt;", "Watch"), ("&lt;HKDevice: 0x28&gt;, name:Watch", "Watch"),
            ("&amp;lt;&amp;lt;HKDevice: 0x28&amp;gt;, name:Watch&amp;gt;", "Watch"),
            ("&#60;&#60;HKDevice: 0x28&#62;, name:Watch&#62;", "Watch"),
        ] as [(String, String?)])
    func `the address of a device is dropped in whatever form it is written`(text: String, name: String?)
        throws
    {
        let samples = try imported(ExportFixture.record(extra: " device=\"\(text)\"")).samples
        #expect(try #require(samples.first).device == name.map { Device(name: $0) })
    }

    @Test func `a category value is read by name or number, and is 0 when it is missing`() throws {
        func value(_ type: String, _ text: String?) throws -> Sample.Value? {
            try imported(
                ExportFixture.record("HKCategoryTypeIdentifier" + type, value: text, unit: nil)
            ).samples.first?.value
        }
        #expect(try value("SleepAnalysis", "HKCategoryValueSleepAnalysisAsleepCore") == .category(3))
        #expect(try value("SleepAnalysis", "HKCategoryValueSleepAnalysisAsleep") == .category(1))
        #expect(try value("AppleStandHour", "HKCategoryValueAppleStandHourStood") == .category(0))
        #expect(try value("AppleStandHour", "1") == .category(1))
        #expect(try value("MindfulSession", nil) == .category(0))
        #expect(try value("SleepAnalysis", "HKCategoryValueSleepAnalysisDreaming") == .category(-1))
    }

    @Test(arguments: ["NaN", "inf", "1e309", "", "1,5", "0x10", "five", "-", "."])
    func `a quantity whose value is no finite number is skipped and counted`(text: String) throws {
        let (samples, report) = try imported(
            ExportFixture.record(value: text)
                + ExportFixture.record(start: "2024-01-03 08:00:00 +0100", end: nil))
        #expect(samples.count == 1)
        #expect(report.records == 2 && report.skipped == 1 && report.added == 1)
        #expect(report.count(of: "quantity whose value is missing or no finite number") == 1)
    }

    @Test(arguments: [
        ("100", 100), ("-0", -0.0), ("0.1", 0.1), ("1e3", 1000), ("+5", 5),
        ("123456789012345678", 123456789012345680),
        ("0.12345678901234567", 0.12345678901234567), ("9007199254740993", 9007199254740992), (" 7 ", 7),
        ("1234567890.12345", 1234567890.12345), ("&#52;2", 42),
    ])
    func `a value is the nearest double`(text: String, value: Double) throws {
        #expect(try imported(ExportFixture.record(value: text)).samples.first?.value == .quantity(value))
    }

    @Test func `a record without a start or a type is skipped, one without an end ends at its start`() throws
    {
        let (samples, report) = try imported(
            """
            <Record type="HKQuantityTypeIdentifierHeartRate" unit="count/min" value="60" \
            endDate="2024-01-02 08:00:00 +0100"/>
            <Record unit="count/min" value="60" startDate="2024-01-02 08:00:00 +0100"/>
            <Record type="HKQuantityTypeIdentifierHeartRate" unit="count/min" value="60" \
            startDate="2024-01-02 08:00:00 +0100"/>
            """)
        #expect(samples.count == 1 && report.skipped == 2)
        #expect(samples[0].end == nil && samples[0].source == nil && samples[0].metadata == nil)
        #expect(report.count(of: "record without a start") == 1)
        #expect(report.count(of: "record without a type") == 1)
    }

    @Test func `odd ends and units are kept and counted`() throws {
        let (samples, report) = try imported(
            ExportFixture.record(end: "2024-01-01 08:10:00 +0100")
                + ExportFixture.record(unit: "kg", start: "2030-01-06 08:00:00 +0100", end: nil)
                + ExportFixture.record(unit: "wobble", start: "2031-01-06 08:00:00 +0100", end: nil)
                + ExportFixture.record(unit: nil, start: "2032-01-06 08:00:00 +0100", end: nil)
                + ExportFixture.record(
                    "HKQuantityTypeIdentifierOxygenSaturation", value: "97", unit: "%",
                    end: "9999-12-31 23:59:59 +0000"))
        #expect(samples.count == 5 && report.skipped == 0)
        #expect(samples.contains { $0.end == $0.start })
        #expect(report.count(of: "end before the start") == 1)
        #expect(report.count(of: "unit that does not fit") == 1)
        #expect(report.count(of: "unit that does not parse") == 1)
        #expect(report.count(of: "quantity without a unit") == 1)
        #expect(report.count(of: "percent value above 1.5") == 1)
    }

    @Test func `metadata stays text, and a repeated key is an array`() throws {
        let sample = try #require(
            try imported(
                ExportFixture.record(
                    creation: nil,
                    children: """
                          <MetadataEntry key="Foo" value="a &lt;b&gt; ]&gt; &quot;c&quot;"/>
                          <MetadataEntry key="foo" value="56 degF"></MetadataEntry>
                          <MetadataEntry value='2' key='Foo'/>
                          <MetadataEntry key="HKWasUserEntered" value="1"/>

                        """)
            ).samples.first)
        #expect(
            sample.metadata?.text
                == "{\"Foo\":[\"a <b> ]> \\\"c\\\"\",\"2\"],\"foo\":\"56 degF\",\"HKWasUserEntered\":\"1\"}")
    }

    @Test func `heart beats go to the payload, unknown parts are kept and counted`() throws {
        let (samples, report) = try imported(
            ExportFixture.record(
                "HKQuantityTypeIdentifierHeartRateVariabilitySDNN", value: "40.5", unit: "ms",
                extra: " Health Mate App Version=\"2.1\"",
                children: """
                      <HeartRateVariabilityMetadataList>
                       <InstantaneousBeatsPerMinute bpm="61" time="6:14:48.94 PM"/>
                       <InstantaneousBeatsPerMinute bpm="63" time="6:14:49.92 PM"/>
                      </HeartRateVariabilityMetadataList>
                      <Novelty a="1"><Part>text</Part></Novelty>

                    """))
        let sample = try #require(samples.first)
        #expect(
            sample.payload?.text
                == "{\"beats\":[{\"bpm\":61,\"time\":\"6:14:48.94 PM\"},{\"bpm\":63,\"time\":\"6:14:49.92 PM\"}],"
                + "\"Novelty\":[{\"a\":\"1\",\"Part\":[{\"text\":\"text\"}]}]}")
        #expect(sample.metadataText("Health Mate App Version") == "2.1")
        #expect(report.count(of: "unknown attribute 'Health Mate App Version'") == 1)
        #expect(report.count(of: "unknown element 'Novelty'") == 1)
    }

    @Test func `damage stays in its own value`() throws {
        var bytes = ExportFixture.document(
            ExportFixture.record(
                creation: nil, children: "<MetadataEntry key=\"HKFoodType\" value=\"Soup\u{B}(hot)\"/>")
                + ExportFixture.record(source: "Caf\u{E9}", start: "2024-02-02 08:00:00 +0100", end: nil)
                + ExportFixture.record(source: "B@D", start: "2024-03-02 08:00:00 +0100", end: nil))
        let at = try #require(bytes.firstIndex(of: UInt8(ascii: "@")))
        bytes[at] = 0xFF
        var destination = MemoryDestination()
        let report = try AppleHealthImporter().run(bytes, into: &destination)
        let samples = destination.live.sorted { $0.start < $1.start }
        #expect(samples[0].metadataText("HKFoodType") == "Soup\u{FFFD}(hot)")
        #expect(samples[1].source?.name == "Caf\u{E9}")
        #expect(samples[2].source?.name == "B\u{FFFD}D")
        #expect(report.problems.first { $0.what == "invalid UTF-8 replaced" }?.offset == at)
        #expect(report.count(of: "control character replaced") == 1)
        #expect(
            report.problems.first { $0.what == "control character replaced" }?.offset
                == bytes.firstIndex(of: 0x0B))
    }

    @Test func `dates of iOS 8 are read, whatever is no date is not`() {
        func instant(_ text: String) -> Int64? { ExportDate.instant(Array(text.utf8)) }
        #expect(instant("20150306080000+0100") == 1_425_625_200_000_000)
        #expect(instant("2015-03-06 08:00:00 +0100") == 1_425_625_200_000_000)
        #expect(instant("2015-03-06T07:00:00.25Z") == 1_425_625_200_250_000)
        #expect(instant("1970-01-01 00:00:00 -0130") == 5_400_000_000)
        for text in [
            "", "2015-02-29 08:00:00 +0100", "2015-03-06 24:00:00 +0100", "2015-03-06 08:00:00", "2015-03-06",
            "0000-01-01 00:00:00 +0000", "0001-01-01 00:00:00 +0100", "2015-03-06 08:00:00 +01000",
            "2015-03-06 08:0a:00 +0100",
        ] {
            #expect(instant(text) == nil, "\(text)")
        }
    }

    @Test func `the fast way reads a date as the other one does, whatever it read before`() {
        var dates = ExportDate()
        func fast(_ text: [UInt8]) -> Int64? {
            unsafe text.withUnsafeBufferPointer { unsafe dates.fast($0.baseAddress.unsafelyUnwrapped) }
        }
        #expect(fast([UInt8](repeating: 0, count: 16) + Array(":00 +0000".utf8)) == nil)
        #expect(fast(Array("1970-01-01 00:00:00 +0000".utf8)) == 0)
        #expect(fast(Array("2015-03-06 08:00:07 +0100".utf8)) == 1_425_625_207_000_000)
        var text = Array("2015-03-06 08:00:07 +0100".utf8)
        var generator = SystemRandomNumberGenerator()
        let bytes = Array("0123456789 :-+/;\0\u{FF}".utf8)
        for round in 0..<4000 {
            if round % 4 == 0 { text = Array("20\(10 + round % 20)-03-06 08:00:07 +0100".utf8) }
            text[Int.random(in: 0..<25, using: &generator)] = bytes.randomElement(using: &generator) ?? 0
            // The other way reads more forms than this one.
            let isOfThisForm = text[10] == 0x20 && text[19] == 0x20 && text[16] == UInt8(ascii: ":")
            #expect(fast(text) == (isOfThisForm ? ExportDate.instant(text) : nil))
        }
    }
}
