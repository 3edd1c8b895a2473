import Foundation
import HKLog
import Testing

@testable import HKLogAppleHealth

/// What real exports have done to other programs, as far as no other test here shows it; see the table in
/// `docs/import.md`.
@Suite struct TrapTests {
    private let dates = "startDate=\"2024-01-02 08:00:00 +0100\" endDate=\"2024-01-02 08:30:00 +0100\""

    // MARK: - Old and new forms

    @Test func `an export of iOS 8 has dates without separators and metadata as attributes`() throws {
        let (samples, report) = try imported(
            """
            <Record type="HKQuantityTypeIdentifierBodyMass" source="Scale" unit="kg" value="70.5" \
            startDate="20150306080000+0100" endDate="20150306080000+0100" Health Mate App Version="2.1"/>
            """)
        #expect(samples.count == 1 && report.skipped == 0)
        #expect(samples[0].start.microseconds == 1_425_625_200_000_000 && samples[0].value == .quantity(70.5))
        #expect(samples[0].metadataText("Health Mate App Version") == "2.1")
        #expect(samples[0].metadataText("source") == "Scale")
    }

    @Test func `a route of iOS 12 has its places in the workout`() throws {
        let (samples, report) = try imported(
            """
            <Workout workoutActivityType="HKWorkoutActivityTypeWalking" \(dates)>
             <WorkoutRoute sourceName="Phone" \(dates)>
              <Location date="2024-01-02 08:00:01 +0100" latitude="47.37" longitude="8.54" altitude="410" \
            horizontalAccuracy="3" verticalAccuracy="2" course="90" speed="1.5"/>
             </WorkoutRoute>
            </Workout>
            """)
        #expect(report.problems.isEmpty)
        #expect(
            samples[0].payload?.text.contains(
                "\"locations\":[{\"date\":\"2024-01-02T07:00:01Z\",\"latitude\":47.37,\"longitude\":8.54,\"altitude\":410,"
                    + "\"horizontalAccuracy\":3,\"verticalAccuracy\":2,\"course\":90,\"speed\":1.5}]")
                == true,
            "\(samples[0].payload?.text ?? "")")
    }

    @Test func `a workout without totals has none, and is not longer than its duration`() throws {
        let (samples, _) = try imported(
            "<Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"20\" durationUnit=\"min\" \(dates)>"
                + "<WorkoutStatistics type=\"HKQuantityTypeIdentifierDistanceWalkingRunning\" sum=\"5.2\" unit=\"km\"/>"
                + "</Workout>")
        let payload = try #require(samples[0].payloadValue)
        #expect(payload["totalDistance"] == nil && payload["totalEnergyBurned"] == nil)
        #expect(payload["duration"]?.doubleValue == 20 && payload["durationUnit"]?.stringValue == "min")
        #expect(samples[0].end!.microseconds - samples[0].start.microseconds == 1_800_000_000)
        #expect(payload["statistics"]?.elements?.first?["sum"]?.doubleValue == 5.2)
    }

    @Test func `two workouts of a kind on a day are two`() throws {
        let later = dates.replacing(" 08:", with: " 18:")
        let (samples, _) = try imported(
            [dates, later, later].map { "<Workout workoutActivityType=\"X\" duration=\"20\" \($0)/>" }
                .joined())
        #expect(samples.count == 3 && Set(samples.map(\.uuid)).count == 3)
    }

    @Test func `what newer systems write of hearing, lenses and the person is kept`() throws {
        let (samples, report) = try imported(
            """
            <Me HKCharacteristicTypeIdentifierDateOfBirth="1990-01-01" \
            HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse="None"/>
            <Audiogram type="HKDataTypeIdentifierAudiogram" sourceName="App" \(dates)>
             <SensitivityPoint frequencyValue="1000" frequencyUnit="Hz" leftEarValue="25" leftEarUnit="dBHL" \
            leftEarMasked="true" leftEarClampingRangeLowerBound="-10" leftEarClampingRangeUpperBound="100"/>
            </Audiogram>
            <VisionPrescription type="Contacts" dateIssued="2024-01-05 00:00:00 +0100" brand="B">
             <LeftEye sphere="-2" sphereUnit="D" baseCurve="8.6" baseCurveUnit="mm"/><Attachment identifier="A"/>
            </VisionPrescription>
            """)
        #expect(samples.count == 3 && report.problems.isEmpty)
        let payloads = samples.compactMap(\.payload?.text).joined()
        #expect(payloads.contains("\"leftEarMasked\":\"true\",\"leftEarClampingRangeLowerBound\":-10"))
        #expect(
            payloads.contains("\"baseCurve\":8.6")
                && payloads.contains("CardioFitnessMedicationsUse\":\"None"))
    }

    @Test func `types of other names, states of mind and sleep goals are kept`() throws {
        let (samples, _) = try imported(
            ExportFixture.record("HKDataTypeSleepDurationGoal", value: "8", unit: "hr")
                + ExportFixture.record(
                    "HKCategoryTypeIdentifierStateOfMind", value: "HKCategoryValueNotApplicable", unit: nil,
                    children:
                        "<MetadataEntry key=\"HKStateOfMindLabels\" value=\"(&#10;    1,&#10;    2&#10;)\"/>")
        )
        let goal = try #require(samples.first { $0.type == "HKDataTypeSleepDurationGoal" })
        #expect(goal.value == .quantity(8) && goal.unit == "hr")
        let mind = try #require(samples.first { $0.type.hasSuffix("StateOfMind") })
        #expect(
            mind.value == .category(0) && mind.metadataText("HKStateOfMindLabels") == "(\n    1,\n    2\n)")
    }

    @Test func `a root with nothing but a record in it is enough`() throws {
        for prolog in ["", "\u{FEFF}"] {
            var destination = MemoryDestination()
            let text =
                "<HealthData><Record type='HKCategoryTypeIdentifierMindfulSession' \(dates)/></HealthData>"
            let report = try AppleHealthImporter().run(Array((prolog + text).utf8), into: &destination)
            #expect(
                report.complete && report.added == 1 && report.exportDate == nil && report.problems.isEmpty)
            #expect(destination.live[0].value == .category(0) && destination.live[0].source == nil)
        }
    }

    // MARK: - Values

    @Test(arguments: [
        ("HeartRate", "count/min"), ("DistanceCycling", "mi"), ("DistanceCycling", "km"), ("Height", "ft"),
        ("Height", "in"), ("Height", "cm"), ("BodyMass", "st"), ("BodyMass", "lb"), ("DietaryProtein", "g"),
        ("DietaryVitaminC", "mg"), ("DietaryVitaminD", "mcg"), ("ActiveEnergyBurned", "kcal"),
        ("ActiveEnergyBurned", "Cal"), ("ActiveEnergyBurned", "kJ"), ("AppleExerciseTime", "min"),
        ("OxygenSaturation", "%"), ("BodyTemperature", "degF"), ("BodyTemperature", "degC"),
        ("BloodPressureSystolic", "mmHg"), ("BloodGlucose", "mg/dL"),
        ("BloodGlucose", "mmol&lt;180.1558800000541&gt;/L"), ("VO2Max", "mL/min\u{B7}kg"),
        ("HeartRateVariabilitySDNN", "ms"), ("DietaryWater", "mL"), ("DietaryWater", "fl_oz_us"),
        ("EnvironmentalAudioExposure", "dBASPL"), ("RunningPower", "W"), ("RunningSpeed", "km/hr"),
        ("RunningSpeed", "mi/hr"), ("RunningSpeed", "m/s"), ("InsulinDelivery", "IU"),
        ("PhysicalEffort", "kcal/hr\u{B7}kg"),
    ])
    func `the units that exports bear are known and fit`(type: String, unit: String) throws {
        let (samples, report) = try imported(
            ExportFixture.record("HKQuantityTypeIdentifier" + type, value: "0.97", unit: unit))
        #expect(samples.count == 1 && report.problems.isEmpty, "\(report.problems)")
        #expect(samples[0].value == .quantity(0.97))
    }

    @Test(arguments: [
        ("BodyMass", "150", "lb", "68.0388555", "kg"),
        ("BodyMass", "68.0388555", "kg", "10.7142857142857", "st"),
        ("ActiveEnergyBurned", "1000", "kJ", "239.005736137667", "kcal"),
        ("ActiveEnergyBurned", "239.005736137667", "kcal", "239.0057361376", "Cal"),
        ("DistanceWalkingRunning", "5", "mi", "8.04672", "km"), ("Height", "6", "ft", "182.88", "cm"),
        ("BodyTemperature", "98.6", "degF", "37", "degC"),
        ("BloodGlucose", "5.4", "mmol&lt;180.1558800000541&gt;/L", "97.2841752", "mg/dL"),
        ("OxygenSaturation", "0.97", "%", "0.9700000001", "%"),
    ])
    func `another unit on the phone changes nothing`(
        type: String, value: String, unit: String, laterValue: String, laterUnit: String
    ) throws {
        func document(_ value: String, _ unit: String) -> [UInt8] {
            ExportFixture.document(
                ExportFixture.record("HKQuantityTypeIdentifier" + type, value: value, unit: unit))
        }
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(document(value, unit), into: &destination)
        let report = try importer.run(document(laterValue, laterUnit), into: &destination)
        #expect(report.same == 1 && !report.wroteAnything)
    }

    @Test func `dates from 1970 to 9999 are instants, whatever order they stand in`() throws {
        let starts = ["2019-06-01", "2030-01-06", "1970-01-01", "2019-05-31", "9999-12-31"]
        let (samples, report) = try imported(
            starts.map { ExportFixture.record(start: "\($0) 12:00:00 +0000", end: nil, creation: nil) }
                .joined())
        #expect(report.problems.isEmpty)
        #expect(
            samples.map { $0.start.microseconds / 1_000_000 }.sorted()
                == [43_200, 1_559_304_000, 1_559_390_400, 1_893_931_200, 253_402_257_600])
    }

    @Test func `control characters of every kind become one mark each`() throws {
        var bytes = ExportFixture.document(
            ExportFixture.record(source: "a\u{1}b\u{1F}c\u{B}d@e")
                + ExportFixture.record(start: "2024-03-01 08:00:00 +0100"))
        let at = try #require(bytes.firstIndex(of: UInt8(ascii: "@")))
        bytes[at] = 0
        var destination = MemoryDestination()
        let report = try AppleHealthImporter().run(bytes, into: &destination)
        let names = destination.live.compactMap(\.source?.name).sorted()
        #expect(names == ["a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e", "iPhone"])
        #expect(report.count(of: "control character replaced") == 1 && report.complete)
    }

    @Test func `a record with many metadata keys keeps them all`() throws {
        let entries = (0..<40).map { "<MetadataEntry key=\"k\($0)\" value=\"\($0)\"/>" }
        let (samples, _) = try imported(ExportFixture.record(children: entries.joined()))
        #expect(try JSONValue(parsing: #require(samples[0].metadata?.text)).members?.count == 41)
        #expect(samples[0].metadataText("k39") == "39")
    }

    @Test func `a value of five megabytes is kept whole`() throws {
        let value = String(repeating: "QUJD", count: 5 << 18)
        let (samples, report) = try imported(
            ExportFixture.record(creation: nil, children: "<MetadataEntry key=\"x\" value=\"\(value)\"/>"))
        #expect(samples[0].metadata?.bytes.count == value.utf8.count + 8 && report.problems.isEmpty)
    }

    @Test func `a tag with too many attributes is skipped`() throws {
        let attributes = String(repeating: " a=\"\"", count: ExportScanner.attributeCountLimit + 1)
        let (samples, report) = try imported("<Novelty\(attributes)/>" + ExportFixture.record())
        #expect(samples.count == 1 && report.complete)
        #expect(report.count(of: "tag longer than the limit skipped") == 1)
    }

    // MARK: - Files and archives

    private let gpx = """
        <gpx><trk><trkseg><trkpt lat="1" lon="2"><time>2024-01-02T07:00:00Z</time></trkpt>\
        <trkpt lat="1.5" lon="2"><time>2024-01-02T07:00:00Z</time></trkpt></trkseg></trk></gpx>
        """

    @Test func `a route that is named twice is one, and two points may share a second`() throws {
        let folder = TestFolder()
        let route =
            "<WorkoutRoute sourceName=\"W\" \(dates)><FileReference path=\"/workout-routes/r.gpx\"/></WorkoutRoute>"
        folder.write(
            ExportFixture.document("<Workout workoutActivityType=\"X\" \(dates)>\(route)\(route)</Workout>"),
            "export.xml")
        folder.write(Array(gpx.utf8), "workout-routes/r.gpx")
        var destination = MemoryDestination()
        let report = try AppleHealthImporter().run(path: folder.path, into: &destination)
        #expect(report.added == 2 && report.problems.isEmpty)
        let sample = try #require(destination.live.first { $0.type == "HKWorkoutRouteTypeIdentifier" })
        #expect(
            sample.payloadValue?["points"]?.elements?.count == 2 && sample.payloadValue?["workout"] != nil)
    }

    @Test(arguments: [
        "apple_health_export/Export.xml", "apple_health_export/exportar.xml",
        "apple_health_export/exportieren.xml",
        "apple_health_export/eksport.xml", "apple_health_export/vienti.xml", "apple_health_export/导出.xml",
        "apple_health_export/書き出したデータ.xml", "apple_health_export/экспорт.xml",
        "apple_health_export/エクスポ\u{30FC}ト.xml", "Desktop/Ordner ä/x", "export",
    ])
    func `the document may have any name`(name: String) throws {
        let folder = TestFolder()
        var writer = ZipWriter()
        writer.add("apple_health_export/export_cda.xml", Array("<ClinicalDocument/>".utf8))
        writer.add(name, ExportFixture.document(ExportFixture.record()))
        var destination = MemoryDestination()
        let path = folder.write(writer.finish(), "esportazione dati.zip")
        #expect(try AppleHealthImporter().run(path: path, into: &destination).added == 1)
    }

    @Test func `what counts is the content, not the name, size or age of a file`() throws {
        let folder = TestFolder()
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        let bytes = ExportFixture.document(ExportFixture.record(value: "100"))
        #expect(try importer.run(path: folder.write(bytes, "a.xml"), into: &destination).added == 1)
        #expect(try importer.run(path: folder.write(bytes, "copy.xml"), into: &destination).same == 1)
        let other = ExportFixture.document(ExportFixture.record(value: "200"))
        #expect(try importer.run(path: folder.write(other, "a.xml"), into: &destination).changed == 1)
    }

    @Test func `paths of an archive are never used to write`() throws {
        let folder = TestFolder()
        let names = [
            "../evil", "../../../../../tmp/evil", "/tmp/evil", "a/../../evil", "C:\\evil", "evil\u{202E}gpx.",
            "",
        ]
        var writer = ZipWriter()
        for name in names { writer.add(name + ".gpx", Array("<gpx/>".utf8)) }
        writer.add("export.xml", ExportFixture.document(ExportFixture.record()))
        let path = folder.write(writer.finish(), "in/export.zip")
        var destination = MemoryDestination()
        let report = try AppleHealthImporter().run(path: path, into: &destination)
        #expect(report.complete && report.added == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["in"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "in") == ["export.zip"])
    }

    @Test func `thousands of files in an archive cost no more than their number`() throws {
        let folder = TestFolder()
        var writer = ZipWriter()
        for index in 0..<4000 { writer.add("n/\(index).txt", [0x78], form: .stored) }
        writer.add("export.xml", ExportFixture.document(ExportFixture.record()))
        var destination = MemoryDestination()
        let report = try AppleHealthImporter().run(
            path: folder.write(writer.finish(), "export.zip"), into: &destination)
        #expect(report.complete && report.added == 1)
        // Named one by one as far as kinds go, then counted.
        #expect(report.problems.count == ProblemLog.kindLimit + 1)
        #expect(report.problems.reduce(0) { $0 + $1.count } == 4000)
    }

    @Test func `a few bytes that unpack to many are read in passing or refused`() throws {
        let folder = TestFolder()
        let record = ExportFixture.record()
        func run(_ writer: ZipWriter) throws -> ImportReport {
            var destination = MemoryDestination()
            return try AppleHealthImporter().run(
                path: folder.write(writer.finish(), "export.zip"), into: &destination)
        }
        var blanks = ZipWriter()
        let head = Array("<HealthData>".utf8)
        blanks.addRun("export.xml", head, of: 0x20, count: 4 << 20, Array("\(record)</HealthData>".utf8))
        let report = try run(blanks)
        #expect(report.complete && report.added == 1 && report.problems.isEmpty)
        var attribute = ZipWriter()
        let open = Array("<HealthData>\(record)<Record type=\"".utf8)
        attribute.addRun("export.xml", open, of: 0x78, count: 17 << 20, Array("\"/></HealthData>".utf8))
        let dropped = try run(attribute)
        #expect(dropped.complete && dropped.added == 1 && dropped.skipped == 1)
        #expect(dropped.count(of: "attribute longer than the limit dropped") == 1)
    }

    // MARK: - Other settings of the phone

    /// An export with something of everything, as the same phone writes it on another day.
    private func phone(
        summer: Bool = false, imperial: Bool = false, german: Bool = false, device: String = "Anna's Watch"
    ) -> [UInt8] {
        func date(_ text: String, _ hour: Int) -> String {
            "\(text) \(String(format: "%02d", summer ? hour + 1 : hour)):05:00 \(summer ? "+0200" : "+0100")"
        }
        let span =
            "startDate=\"\(date("2024-01-02", 8))\" endDate=\"\(date("2024-01-02", 9))\" "
            + "creationDate=\"\(date("2024-01-02", 10))\""
        let address = summer ? "0x2811" : "0x93f2"
        let source = german ? "Geh\u{E4}use" : "Health"
        let from =
            "sourceName=\"\(source)\" sourceVersion=\"\(summer ? "18.1" : "17.0")\" "
            + "device=\"&lt;&lt;HKDevice: \(address)&gt;, name:\(device), hardware:Watch6,7&gt;\""
        func record(
            _ type: String, _ metric: (String, String), _ other: (String, String), _ children: String = ""
        ) -> String {
            let (value, unit) = imperial ? other : metric
            return
                "<Record type=\"HKQuantityTypeIdentifier\(type)\" \(from) unit=\"\(unit)\" \(span) value=\"\(value)\">"
                + "\(children)</Record>\n"
        }
        let zone = "<MetadataEntry key=\"HKTimeZone\" value=\"UTC\"/>"
        let (distance, distanceUnit) = imperial ? ("3.106855961", "mi") : ("5", "km")
        let systolic = record("BloodPressureSystolic", ("120", "mmHg"), ("120", "mmHg"))
        let elements = [
            record("BodyMass", ("68.03885550", "kg"), ("150", "lb"), zone),
            record("BodyTemperature", ("37", "degC"), ("98.6", "degF")),
            record("ActiveEnergyBurned", ("1000", "kJ"), ("239.005736137667", "kcal")), systolic,
            "<Record type=\"HKCategoryTypeIdentifierSleepAnalysis\" \(from) \(span) "
                + "value=\"HKCategoryValueSleepAnalysisAsleepREM\" reviewed=\"\(date("2024-01-02", 11))\"/>",
            "<Correlation type=\"HKCorrelationTypeIdentifierBloodPressure\" \(from) \(span)>\(systolic)</Correlation>",
            "<Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"50\" durationUnit=\"min\" "
                + "totalDistance=\"\(distance)\" totalDistanceUnit=\"\(distanceUnit)\" \(from) \(span)>"
                + "<WorkoutEvent type=\"HKWorkoutEventTypeLap\" date=\"\(date("2024-01-02", 8))\"/>"
                + "<WorkoutActivity uuid=\"A\" startDate=\"\(date("2024-01-02", 8))\"/>"
                + "<WorkoutStatistics type=\"D\" \(span) sum=\"\(distance)\" unit=\"\(distanceUnit)\"/>"
                + "<WorkoutRoute \(from) \(span)><FileReference path=\"/r.gpx\"/></WorkoutRoute></Workout>",
            "<ActivitySummary dateComponents=\"2024-01-02\" activeEnergyBurned=\"\(imperial ? "239.0057361" : "1000")\" "
                + "activeEnergyBurnedGoal=\"\(imperial ? "478.0114723" : "2000")\" "
                + "activeEnergyBurnedUnit=\"\(imperial ? "kcal" : "kJ")\"/>",
            "<Audiogram type=\"HKDataTypeIdentifierAudiogram\" \(from) \(span)/>",
            "<VisionPrescription type=\"Glasses\" dateIssued=\"\(date("2024-01-02", 7))\" "
                + "expirationDate=\"\(date("2026-01-02", 7))\"/>",
            "<ClinicalRecord type=\"X\" identifier=\"C\" receivedDate=\"\(date("2024-01-02", 7))\"/>",
            "<Me HKCharacteristicTypeIdentifierDateOfBirth=\"1990-01-01\"/>",
        ]
        return ExportFixture.document(
            "<ExportDate value=\"\(date(summer ? "2024-07-02" : "2024-01-05", 12))\"/>\n"
                + elements.joined(separator: "\n"))
    }

    @Test func `another season, unit, language or device changes what it says and nothing else`() throws {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        let first = try importer.run(phone(), into: &destination)
        #expect(first.added == 12 && first.records == 12)
        for (what, bytes) in [
            ("season", phone(summer: true)), ("units", phone(imperial: true)),
            ("device", phone(device: "Watch of Anna")),
            ("all", phone(summer: true, imperial: true, device: "x")),
        ] {
            let report = try importer.run(bytes, into: &destination)
            #expect(report.same == 12 && !report.wroteAnything, "\(what): \(report)")
        }
        // Another language renames the system's own sources: updates, and nothing but updates.
        let german = try importer.run(phone(german: true), into: &destination)
        #expect(german.added == 0 && german.deleted == 0 && german.changed == 8 && german.same == 4)
        #expect(destination.live.count == 12)
        #expect(try importer.run(phone(german: true), into: &destination).same == 12)
    }

    @Test func `progress goes up to the whole of the document`() throws {
        let records = (0..<9000).map { ExportFixture.record(value: "\($0)") }.joined()
        let bytes = ExportFixture.document(records)
        var destination = MemoryDestination()
        var seen: [AppleHealthImporter.Progress] = []
        _ = try AppleHealthImporter().run(memoryExport(bytes), into: &destination, rules: .utc) {
            seen.append($0)
        }
        #expect(seen.count == 3 && seen.map(\.records) == [4096, 8192, 9000])
        #expect(
            seen.map(\.bytesRead) == seen.map(\.bytesRead).sorted() && seen[2].bytesRead > bytes.count - 20)
        #expect(seen.allSatisfy { $0.byteCount == bytes.count && $0.pass == 1 })
    }
}
