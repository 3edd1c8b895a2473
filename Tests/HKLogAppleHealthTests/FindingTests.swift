import Foundation
import HKLog
import Testing

@testable import HKLogAppleHealth

private let gpx = """
    <?xml version="1.0" encoding="UTF-8"?>
    <gpx version="1.1" creator="Apple Health Export" xmlns="http://www.topografix.com/GPX/1/1">
      <metadata><time>2024-01-03T09:00:00Z</time></metadata>
      <trk><name>Route 2024-01-02 8:00am</name><trkseg>
        <trkpt lon="8.541" lat="47.376"><ele>410.2</ele><time>2024-01-02T07:00:00Z</time><extensions>\
    <speed>2.5</speed><course>90.1</course><hAcc>3.1</hAcc><vAcc>2.2</vAcc></extensions></trkpt>
        <trkpt lat="47.377" lon="8.542"><time>2024-01-02T07:10:00Z</time></trkpt>
        <trkpt lon="8.5"><time>2024-01-02T07:11:00Z</time></trkpt>
      </trkseg></trk>
    </gpx>
    """

private let ecg = """
    名前,"Anna, B."
    生年月日,"1990/01/01"
    記録日,2024-01-05 16:32:18 -0700
    分類,洞調律
    症状,
    ソフトウェアバージョン,2.0
    デバイス,"Watch7,12"
    サンプルレート,"511,844 ヘルツ"


    誘導,誘導I
    単位,µV

    -265,868
    "12,5"
    −3
    7.25
    """

private let cda = "<?xml version=\"1.0\"?>\n<ClinicalDocument/><ClinicalDocument/>"

private let elements = """
    \(ExportFixture.record())
    <Workout workoutActivityType="HKWorkoutActivityTypeRunning" startDate="2024-01-02 08:00:00 +0100" \
    endDate="2024-01-02 08:30:00 +0100"><WorkoutRoute sourceName="W" startDate="2024-01-02 08:00:00 +0100" \
    endDate="2024-01-02 08:30:00 +0100"><FileReference path="/workout-routes/route.gpx"/></WorkoutRoute></Workout>
    <ClinicalRecord type="Observation" identifier="O1" sourceName="Clinic" \
    receivedDate="2024-01-06 10:00:00 +0100" resourceFilePath="/clinical-records/Observation-1.json"/>
    """

private let files: [(String, [UInt8])] = [
    ("apple_health_export/export_cda.xml", Array(cda.utf8)),
    ("__MACOSX/apple_health_export/._export.xml", [0, 5, 22, 7]),
    ("apple_health_export/書き出したデータ.xml", ExportFixture.document(elements)),
    ("apple_health_export/workout-routes/route.gpx", Array(gpx.utf8)),
    ("apple_health_export/electrocardiograms/ecg_2024-01-05.csv", Array(ecg.utf8)),
    ("apple_health_export/clinical-records/Observation-1.json", Array("{ \"a\": [1, 2.50] }".utf8)),
    ("apple_health_export/notes.txt", Array("hello".utf8)),
    ("../../../tmp/x", Array("no".utf8)),
]

private func zip(_ form: ZipWriter.Form = .deflated, hasDescriptor: Bool = false, isZip64: Bool = false)
    -> [UInt8]
{
    var writer = ZipWriter()
    for (name, bytes) in files {
        writer.add(name, bytes, form: form, hasDescriptor: hasDescriptor, isZip64: isZip64)
    }
    return writer.finish()
}

private func failure(_ path: String) -> HKLogError? {
    var destination = MemoryDestination()
    return #expect(throws: HKLogError.self) { try AppleHealthImporter().run(path: path, into: &destination) }
}

@Suite struct FindingTests {
    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
    func `a zip is found by its content, in every form, with what lies beside the document`(
        hasDescriptor: Bool, isZip64: Bool
    ) throws {
        let folder = TestFolder()
        for form in [ZipWriter.Form.stored, .deflated] {
            if form == .stored && hasDescriptor { continue }
            let path = folder.write(zip(form, hasDescriptor: hasDescriptor, isZip64: isZip64), "anything")
            try check(path)
        }
    }

    @Test func `the unpacked folder gives the same samples`() throws {
        let folder = TestFolder()
        for (name, bytes) in files where !name.hasPrefix("..") { folder.write(bytes, name) }
        try check(folder.path, names: ["file not imported: apple_health_export/notes.txt"])
        try check(folder.path + "apple_health_export", names: ["file not imported: notes.txt"])
    }

    private func check(_ path: String, names: [String] = []) throws {
        var destination = MemoryDestination()
        let report = try AppleHealthImporter().run(path: path, into: &destination)
        #expect(report.complete && report.records == 5 && report.added == 5)
        func sample(_ type: String) throws -> Sample {
            try #require(destination.live.first { $0.type == type })
        }
        let workout = try sample("HKWorkoutTypeIdentifier")
        let route = try sample("HKWorkoutRouteTypeIdentifier")
        #expect(route.start.microseconds == 1_704_178_800_000_000)
        #expect(route.end?.microseconds == 1_704_179_400_000_000)
        #expect(
            route.payload?.text == """
                {"workout":"\(workout.uuid)","points":[{"latitude":47.376,"longitude":8.541,"altitude":410.2,\
                "time":"2024-01-02T07:00:00Z","speed":2.5,"course":90.1,"horizontalAccuracy":3.1,\
                "verticalAccuracy":2.2},{"latitude":47.377,"longitude":8.542,"time":"2024-01-02T07:10:00Z"}]}
                """)
        let heart = try sample("HKDataTypeIdentifierElectrocardiogram")
        #expect(heart.start.microseconds == 1_704_497_538_000_000 && heart.end == nil)
        #expect(heart.device == Device(hardwareVersion: "Watch7,12", softwareVersion: "2.0"))
        #expect(
            heart.payload?.text == """
                {"classification":"洞調律","symptoms":"","sampleRate":511.844,"lead":"誘導I","unit":"µV",\
                "name":"Anna, B.","dateOfBirth":"1990/01/01","voltages":[-265.868,12.5,-3,7.25]}
                """)
        let clinical = try sample("HKLogClinicalRecord")
        #expect(clinical.payload?.text.hasSuffix("\"resource\":{\"a\":[1,2.50]}}") == true)
        #expect(report.count(of: "route point without") == 1)
        #expect(report.count(of: "file not imported: ") >= 2)
        for name in names { #expect(report.count(of: name) == 1, "\(name)") }
        let again = try AppleHealthImporter().run(path: path, into: &destination)
        #expect(again.same == 5 && !again.wroteAnything)
    }

    @Test func `a bare document says nothing of the files that may lie beside it`() throws {
        let folder = TestFolder()
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(path: folder.write(zip(), "export.zip"), into: &destination)
        let report = try importer.run(
            path: folder.write(ExportFixture.document(elements), "export.xml"), into: &destination)
        #expect(report.same == 3 && report.deleted == 0 && !report.wroteAnything)
        let changed = try importer.run(
            path: folder.write(
                ExportFixture.document(elements.replacing("Clinic\"", with: "Hospital\"")), "export.xml"),
            into: &destination)
        #expect(changed.changed == 1 && changed.deleted == 0)
        let clinical = try #require(destination.live.first { $0.type == "HKLogClinicalRecord" })
        #expect(clinical.payload?.text.contains("\"resource\":{\"a\":[1,2.50]}") == true)
        #expect(clinical.source?.name == "Hospital")
    }

    @Test func `what is no export is refused and named`() throws {
        let folder = TestFolder()
        #expect(failure(folder.path + "none.zip")?.code == .notFound)
        folder.write([1], ".cloud.zip.icloud")
        let cloud = failure(folder.path + "cloud.zip")
        #expect(cloud?.code == .notFound && cloud?.message.contains("iCloud") == true)
        let empty = failure(folder.write([], "empty.xml"))
        #expect(empty?.code == .invalidData && empty?.message.contains("empty") == true)
        #expect(
            failure(folder.write(Array(cda.utf8), "export_cda.xml"))?.message.contains("clinical document")
                == true)
        #expect(failure(folder.write(Array("<HealthDataX/>".utf8), "x.xml"))?.code == .invalidData)
        #expect(
            failure(folder.write([0xFF, 0xFE, 0x3C, 0], "utf16.xml"))?.message.contains("UTF-16") == true)
        #expect(failure(folder.write(Array("hello".utf8), "text.xml"))?.code == .invalidData)
        var writer = ZipWriter()
        #expect(failure(folder.write(writer.finish(), "nothing.zip"))?.message.contains("nothing") == true)
        writer.add("apple_health_export/export_cda.xml", Array(cda.utf8))
        writer.add("apple_health_export/Export.xml", [])
        let none = failure(folder.write(writer.finish(), "none.zip"))
        #expect(none?.code == .invalidData && none?.message.contains("Export.xml (it is empty)") == true)
        writer.add("a.xml", ExportFixture.document(""))
        writer.add("b.xml", ExportFixture.document(""))
        let two = failure(folder.write(writer.finish(), "two.zip"))
        #expect(two?.code == .invalidData && two?.message.contains("a.xml, b.xml") == true)
        var locked = ZipWriter()
        locked.add("export.xml", ExportFixture.document(""), isEncrypted: true)
        #expect(failure(folder.write(locked.finish(), "locked.zip"))?.message.contains("password") == true)
        #expect(failure(folder.path)?.code == .invalidData)
    }

    @Test func `a damaged zip never deletes`() throws {
        let folder = TestFolder()
        let whole = zip()
        #expect(failure(folder.write(Array(whole.dropLast(200)), "cut.zip"))?.code == .invalidData)
        var writer = ZipWriter()
        let document = ExportFixture.document(elements)
        writer.add("export.xml", document, checksum: 1)
        let report = try importInto(folder.write(writer.finish(), "checksum.zip"))
        #expect(!report.complete && report.incompleteMessage != nil)
        // A deflate block whose lengths do not agree, far enough in that the document is recognised.
        var broken = ZipWriter()
        let long = ExportFixture.document(String(repeating: ExportFixture.record(), count: 600))
        broken.add("export.xml", long)
        var bytes = broken.finish()
        bytes[broken.lastDataOffset + 65_540 + 2] ^= 0xFF
        let cut = try importInto(folder.write(bytes, "broken.zip"))
        #expect(!cut.complete && cut.added > 0 && cut.deleted == 0)
    }

    private func importInto(_ path: String) throws -> ImportReport {
        var destination = MemoryDestination()
        return try AppleHealthImporter().run(path: path, into: &destination)
    }

    @Test func `zones and streams that differ are warned of`() throws {
        let (_, report) = try imported(
            ExportFixture.record(children: "<MetadataEntry key=\"HKTimeZone\" value=\"Europe/Zurich\"/>"))
        #expect(report.warnings.count == 1 && report.warnings[0].contains("Europe/Zurich"))
        var destination = MemoryDestination()
        destination.others = ["HKQuantityTypeIdentifierStepCount": ["phone"]]
        let warned = try AppleHealthImporter().run(
            ExportFixture.document(ExportFixture.record()), into: &destination)
        #expect(warned.warnings.count == 1 && warned.warnings[0].contains("phone"))
    }
}

/// What lies beside the document is damaged, cut or not there.
@Suite struct SideFileTests {
    private func zip(
        _ changed: [String: [UInt8]] = [:], without missing: String? = nil, badChecksum: String? = nil,
        elements text: String = elements
    ) -> [UInt8] {
        var writer = ZipWriter()
        for (name, bytes) in files where !name.hasPrefix("..") && !name.hasPrefix("__") {
            let contents = name.hasSuffix("データ.xml") ? ExportFixture.document(text) : bytes
            if name == missing { continue }
            writer.add(name, changed[name] ?? contents, checksum: name == badChecksum ? 1 : nil)
        }
        return writer.finish()
    }

    private let sideNames = [
        "apple_health_export/workout-routes/route.gpx",
        "apple_health_export/electrocardiograms/ecg_2024-01-05.csv",
        "apple_health_export/clinical-records/Observation-1.json",
    ]

    @Test(arguments: [0, 1, 2]) func `a damaged file beside the document deletes and changes nothing`(
        _ place: Int
    ) throws {
        let folder = TestFolder()
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(path: folder.write(zip(), "whole.zip"), into: &destination)
        let live = destination.live
        let name = sideNames[place]
        let report = try importer.run(
            path: folder.write(zip(badChecksum: name), "bad.zip"), into: &destination)
        #expect(!report.complete && !report.wroteAnything && report.deleted == 0 && report.changed == 0)
        #expect(report.incompleteMessage?.contains("cannot be read") == true)
        #expect(report.count(of: "file that cannot be read") == 1)
        #expect(destination.live == live)
    }

    @Test func `a route or resource that is cut leaves what is there`() throws {
        let folder = TestFolder()
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(path: folder.write(zip(), "whole.zip"), into: &destination)
        let live = destination.live
        for length in [0, 30, gpx.utf8.count / 2, gpx.utf8.count - 4] {
            let cut = zip([sideNames[0]: Array(gpx.utf8.prefix(length))])
            let report = try importer.run(path: folder.write(cut, "cut.zip"), into: &destination)
            #expect(!report.complete && !report.wroteAnything && destination.live == live, "\(length)")
            let problem = report.problems.first { $0.what.hasPrefix("route file cut before its end") }
            #expect(problem?.count == 1 && (problem?.offset ?? 0) > 300)
        }
        let cut = zip([sideNames[2]: Array("{ \"a\": [1, ".utf8)])
        let report = try importer.run(path: folder.write(cut, "cut.zip"), into: &destination)
        #expect(report.same == 5 && !report.wroteAnything && destination.live == live)
    }

    @Test(arguments: [true, false]) func `a resource that is not in the zip stays in its record`(
        _ keepMissing: Bool
    ) throws {
        let folder = TestFolder()
        var destination = MemoryDestination()
        var importer = AppleHealthImporter()
        _ = try importer.run(path: folder.write(zip(), "whole.zip"), into: &destination)
        importer.keepMissing = keepMissing
        let without = zip(without: sideNames[2])
        let report = try importer.run(path: folder.write(without, "less.zip"), into: &destination)
        #expect(report.complete && report.same == 5 && !report.wroteAnything)
        let text = elements.replacing(" resourceFilePath=\"/clinical-records/Observation-1.json\"", with: "")
            .replacing("Clinic\"", with: "Hospital\"")
        let unnamed = zip(without: sideNames[2], elements: text)
        _ = try importer.run(path: folder.write(unnamed, "unnamed.zip"), into: &destination)
        let clinical = try #require(destination.live.first { $0.type == "HKLogClinicalRecord" })
        #expect(clinical.source?.name == "Hospital")
        #expect(clinical.payload?.text.contains("\"resource\":{\"a\":[1,2.50]}") == keepMissing)
    }

    @Test func `a route whose file is missing is reported where the document names it`() throws {
        let folder = TestFolder()
        var destination = MemoryDestination()
        let path = folder.write(zip(without: sideNames[0]), "export.zip")
        let report = try AppleHealthImporter().run(path: path, into: &destination)
        let problem = try #require(report.problems.first { $0.what.hasPrefix("workout route whose") })
        let document = String(decoding: ExportFixture.document(elements), as: UTF8.self)
        let place = try #require(document.range(of: "<FileReference"))
        #expect(problem.offset == document.utf8.distance(from: document.startIndex, to: place.lowerBound))
    }

    @Test func `a route that the document names and the zip does not hold stays, another one goes`() throws {
        let folder = TestFolder()
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        let second =
            elements + "\n"
            + elements.replacing("08:30:00", with: "08:40:00")
            .replacing("/route.gpx", with: "/second.gpx").replacing(ExportFixture.record(), with: "")
            .replacing("O1", with: "O2")
        func zip(_ text: String, _ routes: [String]) -> String {
            var writer = ZipWriter()
            writer.add("e/export.xml", ExportFixture.document(text))
            for route in routes {
                let points =
                    route == "route" ? gpx : gpx.replacing("07:00:00", with: "07:0\(route.utf8.count):00")
                writer.add("e/workout-routes/\(route).gpx", Array(points.utf8))
            }
            return folder.write(writer.finish(), "export.zip")
        }
        func routes() -> Int { destination.live.count { $0.type == "HKWorkoutRouteTypeIdentifier" } }
        let first = try importer.run(path: zip(second, ["route", "second", "no"]), into: &destination)
        #expect(first.count(of: "workout route whose") == 0 && routes() == 3)
        // The folder of routes was taken out: what the document names stays, and so does what could be it.
        let without = try importer.run(path: zip(second, []), into: &destination)
        #expect(
            without.complete && without.deleted == 0 && without.keptMissing == 3 && !without.wroteAnything)
        #expect(without.count(of: "workout route whose file is missing") == 2)
        // Every file that is named is there: the others were deleted on the phone.
        let unnamed = try importer.run(path: zip(second, ["route", "second"]), into: &destination)
        #expect(unnamed.deleted == 1 && routes() == 2)
        // A workout that no longer names a route has none.
        let less = try importer.run(path: zip(elements, []), into: &destination)
        #expect(less.count(of: "workout route whose file is missing") == 1 && less.keptMissing == 1)
        #expect(routes() == 1)
        #expect(destination.live.count { $0.type == "HKWorkoutTypeIdentifier" } == 1)
    }

    @Test func `a link that leads out of the folder is not followed`() throws {
        let folder = TestFolder()
        let outside = TestFolder()
        folder.write(ExportFixture.document(elements), "export.xml")
        let target = outside.write(Array(gpx.utf8), "route.gpx")
        folder.write([], "workout-routes/.keep")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "workout-routes/route.gpx", withDestinationPath: target)
        var destination = MemoryDestination()
        let report = try AppleHealthImporter().run(path: folder.path, into: &destination)
        #expect(report.count(of: "workout route whose file is missing") == 1)
        folder.write(Array(gpx.utf8), "inside.gpx")
        try FileManager.default.removeItem(atPath: folder.path + "workout-routes/route.gpx")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "workout-routes/route.gpx", withDestinationPath: "../inside.gpx")
        let inside = try AppleHealthImporter().run(path: folder.path, into: &destination)
        #expect(inside.count(of: "workout route whose file is missing") == 0)
    }

    @Test func `a file that is still in iCloud Drive is told of`() {
        let folder = TestFolder()
        folder.write([1], ".export.zip.icloud")
        let error = #expect(throws: HKLogError.self) {
            try FoundExport.find(at: folder.path + "export.zip")
        }
        #expect(error?.code == .notFound && error?.message.contains("iCloud") == true)
    }

    @Test func `a file is found where its name is composed in another way`() throws {
        let folder = TestFolder()
        var destination = MemoryDestination()
        var writer = ZipWriter()
        writer.add(
            "export.xml",
            ExportFixture.document(
                elements.replacing("/workout-routes/route.gpx", with: "/routes/Z\u{FC}rich.gpx")))
        writer.add("routes/Zu\u{308}rich.gpx", Array(gpx.utf8))
        let report = try AppleHealthImporter().run(
            path: folder.write(writer.finish(), "export.zip"), into: &destination)
        #expect(report.count(of: "workout route whose") == 0)
        let route = destination.live.first { $0.type == "HKWorkoutRouteTypeIdentifier" }
        #expect(route?.payload?.text.hasPrefix("{\"workout\":") == true)
    }
}
