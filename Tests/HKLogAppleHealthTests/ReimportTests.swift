import HKLog
import Testing

@testable import HKLogAppleHealth

@Suite struct ReimportTests {
    /// Step counts, each at a time of its own.
    private func steps(_ count: Int, from first: Int = 0) -> String {
        (first..<first + count).map { index in
            let time = "\(10 + index / 1600):\(10 + index / 40 % 40):\(10 + index % 40)"
            return ExportFixture.record(value: "\(index)", start: "2024-01-02 \(time) +0000", end: nil)
        }.joined()
    }

    @Test func `the same export twice writes nothing`() throws {
        var destination = MemoryDestination()
        let bytes = ExportFixture.document(steps(200))
        let first = try AppleHealthImporter().run(bytes, into: &destination)
        #expect(first.added == 200 && first.wroteAnything)
        let batchCount = destination.batches.count
        let second = try AppleHealthImporter().run(bytes, into: &destination)
        #expect(second.records == 200 && second.same == 200 && !second.wroteAnything)
        #expect(destination.batches.count == batchCount)
    }

    @Test func `another season's offset changes nothing, another unit neither, another name is an update`()
        throws
    {
        var destination = MemoryDestination()
        func weigh(_ start: String, _ value: String, _ unit: String, _ source: String, _ device: String)
            -> [UInt8]
        {
            ExportFixture.document(
                ExportFixture.record(
                    "HKQuantityTypeIdentifierBodyMass", value: value, unit: unit, source: source,
                    start: start,
                    end: start, creation: start,
                    extra: " device=\"&lt;&lt;HKDevice: \(device)&gt;, name:Scale, software:\(device)&gt;\""))
        }
        let importer = AppleHealthImporter()
        _ = try importer.run(
            weigh("2024-01-02 08:00:00 +0100", "150", "lb", "Health", "0x1"), into: &destination)
        let later = try importer.run(
            weigh("2024-01-02 09:00:00 +0200", "68.03885550", "kg", "Health", "0x2"), into: &destination)
        #expect(later.same == 1 && later.changed == 0 && later.added == 0 && !later.wroteAnything)
        let renamed = try importer.run(
            weigh("2024-01-02 09:00:00 +0200", "68.03885550", "kg", "ヘルスケア", "0x3"), into: &destination)
        #expect(renamed.changed == 1 && renamed.added == 0 && renamed.deleted == 0)
        #expect(destination.live.count == 1)
        let heavier = try importer.run(
            weigh("2024-01-02 09:00:00 +0200", "68.1", "kg", "ヘルスケア", "0x3"), into: &destination)
        #expect(heavier.changed == 1)
    }

    @Test func `a newer export adds, changes and deletes`() throws {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(ExportFixture.document(steps(50)), into: &destination)
        let report = try importer.run(ExportFixture.document(steps(50, from: 10)), into: &destination)
        #expect(report.added == 10 && report.same == 40 && report.deleted == 10 && report.records == 50)
        #expect(destination.live.count == 50)
        let type = try #require(report.types.first)
        #expect(type.records == 50 && type.added == 10 && type.deleted == 10 && type.same == 40)
    }

    @Test(arguments: ["NaN", nil])
    func `a sample whose value is no longer usable stays, and its like stay apart`(
        _ value: String?
    ) throws {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        let others = ExportFixture.record(value: "2") + ExportFixture.record(value: "3")
        _ = try importer.run(
            ExportFixture.document(steps(5) + ExportFixture.record(value: "1") + others), into: &destination)
        let live = destination.live
        let report = try importer.run(
            ExportFixture.document(steps(5) + ExportFixture.record(value: value) + others), into: &destination
        )
        #expect(report.skipped == 1 && report.same == 7 && report.deleted == 0 && !report.wroteAnything)
        #expect(report.complete && report.keptMissing == 0 && destination.live == live)
    }

    @Test func `a date in an unknown attribute is kept in UTC and changes with no season`() throws {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        func document(_ date: String) -> [UInt8] {
            ExportFixture.document(ExportFixture.record(extra: " reviewed=\"\(date)\" note=\"2024\""))
        }
        _ = try importer.run(document("2024-01-02 08:00:00 +0100"), into: &destination)
        #expect(destination.live[0].metadataText("reviewed") == "2024-01-02T07:00:00Z")
        #expect(destination.live[0].metadataText("note") == "2024")
        #expect(try importer.run(document("2024-01-02 09:00:00 +0200"), into: &destination).same == 1)
    }

    @Test func `what follows the end makes an import incomplete, but white space and comments do not`() throws
    {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(ExportFixture.document(steps(9)), into: &destination)
        let document = ExportFixture.document(steps(2))
        for rest in [ExportFixture.record(), "text", "<HealthData></HealthData>"] {
            let report = try importer.run(document + Array(rest.utf8), into: &destination)
            #expect(!report.complete && report.deleted == 0 && report.same == 2, "\(rest)")
            #expect(report.incompleteMessage?.contains("follows the end") == true)
        }
        let nested = "<HealthData>\(steps(3))</HealthData>\(steps(2, from: 3))"
        let report = try importer.run(ExportFixture.document(nested), into: &destination)
        #expect(report.complete && report.same == 5 && report.deleted == 4)
        let end = Array(" \n<!-- end --><?x?>\0\0".utf8)
        #expect(try importer.run(document + end, into: &destination).complete)
    }

    @Test func `keepMissing only adds`() throws {
        var destination = MemoryDestination()
        var importer = AppleHealthImporter()
        importer.keepMissing = true
        _ = try importer.run(ExportFixture.document(steps(50)), into: &destination)
        let report = try importer.run(ExportFixture.document(steps(5, from: 48)), into: &destination)
        #expect(report.deleted == 0 && report.keptMissing == 48 && report.added == 3)
        #expect(destination.live.count == 53)
    }

    @Test func `too much about to vanish stops the import before it appends anything`() throws {
        var destination = MemoryDestination()
        var importer = AppleHealthImporter()
        _ = try importer.run(ExportFixture.document(steps(400)), into: &destination)
        let batchCount = destination.batches.count
        let smaller = ExportFixture.document(steps(250, from: 299))
        let error = #expect(throws: HKLogError.self) { try importer.run(smaller, into: &destination) }
        #expect(error?.code == .invalidData)
        #expect(error?.message.contains("--allow-deletions") == true)
        #expect(destination.batches.count == batchCount)
        importer.allowDeletions = true
        let report = try importer.run(smaller, into: &destination)
        #expect(report.deleted == 299 && report.added == 149)
        #expect(destination.live.count == 250)
    }

    @Test func `a hundred samples, or a tenth, may vanish`() throws {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(ExportFixture.document(steps(150)), into: &destination)
        #expect(try importer.run(ExportFixture.document(steps(50)), into: &destination).deleted == 100)
    }

    @Test func `a sample that was deleted and is listed again comes back in a new epoch`() throws {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(ExportFixture.document(steps(20)), into: &destination)
        _ = try importer.run(ExportFixture.document(steps(15)), into: &destination)
        #expect(destination.live.count == 15 && destination.epoch == 1)
        let report = try importer.run(ExportFixture.document(steps(20)), into: &destination)
        #expect(report.added == 5 && destination.live.count == 20 && destination.epoch == 2)
        #expect(destination.batches.last?.snapshot == .begin)
        _ = try importer.run(ExportFixture.document(steps(22)), into: &destination)
        #expect(destination.epoch == 2)
    }

    @Test func `an import that was interrupted is completed by running it again`() throws {
        let elements = steps(9000)
        var whole = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(ExportFixture.document(elements), into: &whole)
        var broken = MemoryDestination()
        broken.failingAppend = 1
        #expect(throws: HKLogError.self) { try importer.run(ExportFixture.document(elements), into: &broken) }
        #expect(broken.live.count > 0 && broken.live.count < 9000)
        broken.failingAppend = nil
        _ = try importer.run(ExportFixture.document(elements), into: &broken)
        #expect(broken.live == whole.live)
    }

    @Test func `a dry run says what would happen and appends nothing`() throws {
        var destination = MemoryDestination()
        var importer = AppleHealthImporter()
        importer.isDryRun = true
        let report = try importer.run(ExportFixture.document(steps(20)), into: &destination)
        #expect(report.added == 20 && !report.wroteAnything && destination.batches.isEmpty)
    }

    @Test func `an incomplete document adds but deletes nothing`() throws {
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        _ = try importer.run(ExportFixture.document(steps(20)), into: &destination)
        let cut = Array(ExportFixture.document(steps(20, from: 15)).dropLast(60))
        let report = try importer.run(cut, into: &destination)
        #expect(!report.complete && report.deleted == 0 && report.keptMissing == 15)
        #expect(report.added == 14 && destination.live.count == 34)
        #expect(report.incompleteMessage?.contains("byte \(cut.count)") == true)
    }

    @Test func `another stream gives other uuids`() throws {
        var destination = MemoryDestination()
        var other = MemoryDestination()
        var importer = AppleHealthImporter()
        _ = try importer.run(ExportFixture.document(steps(1)), into: &destination)
        importer.stream = "anna"
        _ = try importer.run(ExportFixture.document(steps(1)), into: &other)
        #expect(destination.live[0].uuid != other.live[0].uuid)
        #expect(other.batches[0].stream == "anna" && destination.batches[0].stream == "apple-health-export")
    }
}

extension ReimportTests {
    @Test
    func
        `an export in which every record is its own source is read in linear time and compares as any other`()
        throws
    {
        func document(_ suffix: String) -> [UInt8] {
            ExportFixture.document(
                (0..<20_000).map { index in
                    ExportFixture.record(
                        source: "S\(index)\(index == 19_000 ? suffix : "")",
                        start:
                            "20\(10 + index / 2000)-01-02 1\(index % 10):\(10 + index / 10 % 40):\(10 + index / 400 % 5) +0000",
                        end: nil)
                }.joined())
        }
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        #expect(try importer.run(document(""), into: &destination).added == 20_000)
        let again = try importer.run(document("x"), into: &destination)
        #expect(again.same == 19_999 && again.changed == 1)
    }

    @Test func `the order of metadata, attributes, members and statistics means nothing`() throws {
        func entry(_ key: String, _ value: String) -> String {
            "<MetadataEntry key=\"\(key)\" value=\"\(value)\"/>"
        }
        func pressure(_ type: String, _ value: String) -> String {
            ExportFixture.record("HKQuantityTypeIdentifierBloodPressure" + type, value: value, unit: "mmHg")
        }
        func distance(_ type: String, _ sum: String, _ unit: String) -> String {
            "<WorkoutStatistics type=\"\(type)\" sum=\"\(sum)\" unit=\"\(unit)\"/>"
        }
        let dates = "startDate=\"2024-01-02 08:00:00 +0100\" endDate=\"2024-01-02 08:30:00 +0100\""
        func document(_ entries: [String], _ members: [String], _ statistics: [String], _ workout: [String])
            -> [UInt8]
        {
            ExportFixture.document(
                ExportFixture.record(children: entries.joined())
                    + "<Correlation type=\"HKCorrelationTypeIdentifierBloodPressure\" \(dates)>"
                    + members.joined() + "</Correlation>"
                    + "<Workout \(workout.joined(separator: " ")) \(dates)>" + statistics.joined()
                    + "<WorkoutEvent type=\"T\" date=\"2024-01-02 08:10:00 +0100\">"
                    + entries.reversed().joined() + "</WorkoutEvent></Workout>")
        }
        let entries = [entry("a", "1"), entry("b", "2"), entry("c", "3"), entry("a", "4")]
        let members = [pressure("Systolic", "120"), pressure("Diastolic", "80")]
        let statistics = [distance("A", "5", "km"), distance("B", "7", "kcal")]
        let workout = ["workoutActivityType=\"X\"", "duration=\"5\"", "durationUnit=\"min\""]
        var destination = MemoryDestination()
        let importer = AppleHealthImporter()
        let first = try importer.run(document(entries, members, statistics, workout), into: &destination)
        #expect(first.added == 5)
        let shuffled = [entries[2], entries[0], entries[1], entries[3]]
        let other = try importer.run(
            document(shuffled, members.reversed(), statistics.reversed(), workout.reversed()),
            into: &destination)
        #expect(other.same == 5 && !other.wroteAnything)
        // Another text, and another order of the texts of one key, are changes.
        let swapped = [entries[3], entries[1], entries[2], entries[0]]
        let changed = try importer.run(document(swapped, members, statistics, workout), into: &destination)
        #expect(changed.changed == 2 && changed.same == 3)
        let nearby = try importer.run(
            document(swapped, members, [distance("B", "7", "kcal"), distance("A", "6", "km")], workout),
            into: &destination)
        #expect(nearby.changed == 1 && nearby.same == 4)
    }

    @Test func `new attributes of known elements are kept and counted`() throws {
        let (samples, report) = try imported(
            "<ActivitySummary dateComponents=\"2024-01-02\" appleMoveTime=\"3\" appleFutureTime=\"4\"/>")
        #expect(samples[0].payload?.text.contains("\"appleFutureTime\":4") == true)
        #expect(report.count(of: "unknown attribute 'appleFutureTime' of ActivitySummary") == 1)
        #expect(report.problems.count == 1)
    }
}
