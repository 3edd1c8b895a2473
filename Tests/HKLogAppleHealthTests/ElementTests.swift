import HKLog
import Testing

@testable import HKLogAppleHealth

@Suite struct ElementTests {
    private let dates = "startDate=\"2024-01-02 08:00:00 +0100\" endDate=\"2024-01-02 08:30:00 +0100\""

    @Test
    func `a workout keeps activity, duration, statistics, events, activities and routes in its payload`()
        throws
    {
        let (samples, report) = try imported(
            """
            <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="28.5" durationUnit="min" \
            sourceName="Watch" sourceVersion="10" creationDate="2024-01-02 08:31:00 +0100" \(dates)>
             <MetadataEntry key="HKIndoorWorkout" value="0"/>
             <WorkoutEvent type="HKWorkoutEventTypePause" date="2024-01-02 08:10:00 +0100"/>
             <WorkoutActivity uuid="AB" startDate="2024-01-02 08:00:00 +0100" duration="1" durationUnit="min">
              <MetadataEntry key="x" value="y"/>
             </WorkoutActivity>
             <WorkoutStatistics type="HKQuantityTypeIdentifierDistanceWalkingRunning" \
            startDate="2024-01-02 08:00:00 +0100" startDate="2024-01-02 08:30:00 +0100" sum="5.2" unit="km"/>
             <WorkoutRoute sourceName="Watch" startDate="2024-01-02 08:00:00 +0100" \
            endDate="2024-01-02 08:30:00 +0100"><FileReference path="/workout-routes/r.gpx"/></WorkoutRoute>
            </Workout>
            """)
        let sample = try #require(samples.first)
        #expect(sample.type == "HKWorkoutTypeIdentifier" && sample.value == nil && sample.unit == nil)
        #expect(sample.source?.name == "Watch")
        #expect(
            sample.metadata?.text
                == "{\"HKLogCreationDate\":\"2024-01-02T07:31:00Z\",\"HKIndoorWorkout\":\"0\"}")
        #expect(
            sample.payload?.text == """
                {"activity":"HKWorkoutActivityTypeRunning","duration":28.5,"durationUnit":"min",\
                "events":[{"type":"HKWorkoutEventTypePause","date":"2024-01-02T07:10:00Z"}],\
                "activities":[{"uuid":"AB","start":"2024-01-02T07:00:00Z","duration":1,"durationUnit":"min",\
                "metadata":{"x":"y"}}],\
                "statistics":[{"type":"HKQuantityTypeIdentifierDistanceWalkingRunning",\
                "start":"2024-01-02T07:00:00Z","end":"2024-01-02T07:30:00Z","sum":5.2,"unit":"km"}],\
                "routes":[{"sourceName":"Watch","start":"2024-01-02T07:00:00Z","end":"2024-01-02T07:30:00Z",\
                "path":"/workout-routes/r.gpx"}]}
                """)
        #expect(report.count(of: "startDate given twice") == 1)
    }

    @Test func `a correlation's children are their twins at the top level, else samples of their own`() throws
    {
        func pressure(_ value: String, _ source: String = "Cuff") -> String {
            ExportFixture.record(
                "HKQuantityTypeIdentifierBloodPressureSystolic", value: value, unit: "mmHg", source: source)
        }
        func correlation(_ children: String) -> String {
            "<Correlation type=\"HKCorrelationTypeIdentifierBloodPressure\" sourceName=\"Cuff\" \(dates)>"
                + "<MetadataEntry key=\"a\" value=\"b\"/>\(children)</Correlation>"
        }
        for elements in [
            pressure("120") + correlation(pressure("120")), correlation(pressure("120")) + pressure("120"),
            correlation(pressure("120")),
        ] {
            let (samples, report) = try imported(elements)
            #expect(samples.count == 2 && report.records == 2 && report.added == 2)
            let outer = try #require(samples.first { $0.type.hasPrefix("HKCorrelation") })
            let inner = try #require(samples.first { $0.type.hasPrefix("HKQuantity") })
            #expect(outer.payload?.text == "{\"members\":[\"\(inner.uuid)\"]}")
            #expect(outer.metadataText("a") == "b")
        }
        // Another value or source is another sample; equal ones meet in whichever order.
        #expect(try imported(pressure("120") + correlation(pressure("121"))).samples.count == 3)
        #expect(try imported(pressure("120") + correlation(pressure("120", "Other"))).samples.count == 3)
        let crossed = try imported(
            pressure("120") + pressure("130") + correlation(pressure("130")) + correlation(pressure("120")))
        #expect(crossed.samples.count == 4 && crossed.report.records == 4)
        let twice = try imported(
            pressure("120") + pressure("120") + correlation(pressure("120")) + correlation(pressure("120")))
        #expect(twice.samples.count == 4)
        #expect(
            try imported(pressure("120")).samples[0].uuid
                == imported(correlation(pressure("120"))).samples
                .first { $0.type.hasPrefix("HKQuantity") }?.uuid)
    }

    @Test(
        arguments: [
            ("BodyMass", "150", "lb", "68.03885550", "kg", true),
            ("BodyMass", "68.03885550", "kg", "150", "lb", true),
            ("BodyMass", "150", "lb", "150", "kg", false),
            ("BodyMass", "70", "kg", "70.00006", "kg", true),
            ("BodyMass", "70", "kg", "70.00014", "kg", false),
            ("BodyTemperature", "98.6", "degF", "37", "degC", true),
            ("BodyTemperature", "98.6", "degF", "37.001", "degC", false),
            ("BloodGlucose", "5.4", "mmol&lt;180.1558800000541&gt;/L", "97.28417520002921", "mg/dL", true),
            ("StepCount", "0", "count", "-0", "count", true),
            ("StepCount", "5", "count", "-5", "count", false),
            ("OfTheFuture", "1", "km", "1000", "m", true), ("OfTheFuture", "1", "km", "1000", "s", false),
            ("OfTheFuture", "1", "wobble", "1", "wobble", true),
            ("OfTheFuture", "1", "wobble", "1", "wibble", false),
        ] as [(String, String, String, String, String, Bool)])
    func `twins meet in other units`(
        type: String, value: String, unit: String, twinValue: String, twinUnit: String, isTwin: Bool
    ) throws {
        func record(_ value: String, _ unit: String) -> String {
            ExportFixture.record(
                "HKQuantityTypeIdentifier" + type, value: value, unit: unit, source: "A &amp; B")
        }
        func correlation(_ member: String) -> String {
            "<Correlation type=\"HKCorrelationTypeIdentifierFood\" \(dates)>\(member)</Correlation>"
        }
        let (top, child) = (record(value, unit), record(twinValue, twinUnit))
        for elements in [top + correlation(child), correlation(child) + top] {
            let (samples, report) = try imported(elements)
            #expect(samples.count == (isTwin ? 2 : 3) && report.records == samples.count)
        }
        // How the source's name is escaped makes no difference.
        let escaped = child.replacing("A &amp; B", with: "&#65; &#38; B")
        #expect(try imported(top + correlation(escaped)).samples.count == (isTwin ? 2 : 3))
        let other = child.replacing("A &amp; B", with: "A &amp; C")
        #expect(try imported(top + correlation(other)).samples.count == 3)
    }

    @Test func `everything else is kept whole as other samples`() throws {
        let (samples, report) = try imported(
            """
            <Me HKCharacteristicTypeIdentifierDateOfBirth="1990-01-01" New="x"/>
            <ActivitySummary dateComponents="2024-01-02" activeEnergyBurned="400.5" activeEnergyBurnedGoal="500" \
            activeEnergyBurnedUnit="kcal" appleMoveTime="0" appleFutureTime="3"/>
            <Audiogram type="HKDataTypeIdentifierAudiogram" sourceName="App" creationDate="2024-01-02 09:00:00 +0100" \
            \(dates)><MetadataEntry key="k" value="v"/>
             <SensitivityPoint frequencyValue="250" frequencyUnit="Hz" leftEarValue="20" leftEarUnit="dBHL"/>
            </Audiogram>
            <VisionPrescription type="Glasses" dateIssued="2024-01-05 00:00:00 +0100">
             <RightEye sphere="-1.25" sphereUnit="D"/>
            </VisionPrescription>
            <ClinicalRecord type="AllergyIntolerance" identifier="A1" sourceName="Clinic" sourceURL="https://x" \
            fhirVersion="4.0.1" receivedDate="2024-01-06 10:00:00 +0100" resourceFilePath="/clinical-records/a.json"/>
            <Thing a="1"><Part b="2">some text</Part></Thing>
            """)
        func sample(_ type: String) throws -> Sample { try #require(samples.first { $0.type == type }) }
        #expect(report.records == 6 && report.added == 6)
        #expect(
            try sample("HKLogMe").payload?.text
                == "{\"HKCharacteristicTypeIdentifierDateOfBirth\":\"1990-01-01\",\"New\":\"x\"}")
        #expect(try sample("HKLogMe").start.microseconds == 0)
        let day = try sample("HKLogActivitySummary")
        #expect(day.start.microseconds == 1_704_153_600_000_000)
        #expect(
            day.payload?.text
                == "{\"dateComponents\":\"2024-01-02\",\"activeEnergyBurned\":400.5,\"activeEnergyBurnedGoal\":500,"
                + "\"activeEnergyBurnedUnit\":\"kcal\",\"appleMoveTime\":0,\"appleFutureTime\":3}")
        let audiogram = try sample("HKLogAudiogram")
        #expect(audiogram.end != nil && audiogram.source?.name == "App" && audiogram.metadataText("k") == "v")
        #expect(audiogram.payload?.text.contains("\"SensitivityPoint\":[{\"frequencyValue\":250,") == true)
        #expect(try sample("HKLogVisionPrescription").start.microseconds == 1_704_409_200_000_000)
        #expect(try sample("HKLogClinicalRecord").start.microseconds == 1_704_531_600_000_000)
        #expect(
            try sample("HKLogThing").payload?.text
                == "{\"a\":\"1\",\"Part\":[{\"b\":\"2\",\"text\":\"some text\"}]}")
        #expect(report.count(of: "unknown element 'Thing'") == 1)
    }

    @Test func `a summary starts at the store's midnight and keeps its uuid in another zone`() throws {
        let bytes = ExportFixture.document("<ActivitySummary dateComponents=\"2024-07-02\"/>")
        var utc = MemoryDestination()
        var zurich = MemoryDestination()
        _ = try AppleHealthImporter().run(memoryExport(bytes), into: &utc, rules: .utc) { _ in }
        let rules = try TimeZoneRules(identifier: "Europe/Zurich")
        _ = try AppleHealthImporter().run(memoryExport(bytes), into: &zurich, rules: rules) { _ in }
        #expect(utc.live[0].uuid == zurich.live[0].uuid)
        #expect(utc.live[0].start.microseconds - zurich.live[0].start.microseconds == 7_200_000_000)
    }

    @Test func `what is known to be another shape of the same sample keeps its uuid`() throws {
        // Golden: identities are frozen.
        let record = try imported(ExportFixture.record()).samples[0]
        #expect(record.uuid.description == goldenRecord)
        let again = try imported(ExportFixture.record() + ExportFixture.record()).samples.map(
            \.uuid.description)
        #expect(Set(again) == [goldenRecord, goldenSecond])
        let me = try imported("<Me a=\"1\"/>").samples[0].uuid.description
        #expect(me == goldenMe)
        let summary = try imported("<ActivitySummary dateComponents=\"2024-01-02\"/>").samples[0].uuid
            .description
        #expect(summary == goldenSummary)
        for text in [goldenRecord, goldenSecond, goldenMe, goldenSummary] {
            let characters = Array(text)
            #expect(characters[14] == "8" && "89AB".contains(characters[19]))
        }
    }

    @Test func `tolerance reaches into payloads`() throws {
        func workout(_ distance: String, _ unit: String, _ duration: String = "30") -> [UInt8] {
            ExportFixture.document(
                "<Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"\(duration)\" "
                    + "durationUnit=\"min\" totalDistance=\"\(distance)\" totalDistanceUnit=\"\(unit)\" \(dates)>"
                    + "<WorkoutStatistics type=\"T\" \(dates) sum=\"\(distance)\" unit=\"\(unit)\"/></Workout>"
            )
        }
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(workout("5", "mi"), into: &destination)
        #expect(try importer.run(workout("8.04672", "km"), into: &destination).same == 1)
        #expect(try importer.run(workout("8.0468", "km"), into: &destination).changed == 1)
        #expect(try importer.run(workout("8.0468", "km", "31"), into: &destination).changed == 1)
    }
}

private let goldenRecord = "41A2E59A-A8A2-859B-A352-F9C2FF54A986"
private let goldenSecond = "7AECC78A-BED5-8F86-8975-415886C9CC36"
private let goldenMe = "54C3E578-EE7D-8733-A17A-239B423109BD"
private let goldenSummary = "2863035C-5D9C-8D9A-802B-83B3A7771983"
