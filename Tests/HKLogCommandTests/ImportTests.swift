import Foundation
import Testing

/// Exports through the command; the importer has tests of its own.
struct ImportTests {
    private func record(_ type: String, _ value: String, minute: Int, attributes: String = "") -> String {
        "<Record type=\"\(type)\" sourceName=\"Anna's Watch\" creationDate=\"2026-03-01 09:00:00 +0100\""
            + " startDate=\"2026-03-01 08:\(minute + 10):00 +0100\" endDate=\"2026-03-01 08:\(minute + 10):30 +0100\""
            + " value=\"\(value)\" unit=\"count\"\(attributes)/>"
    }

    private func export(_ records: [String]) -> String {
        "<?xml version=\"1.0\"?>\n<HealthData locale=\"de_DE\">\n" + records.joined(separator: "\n")
            + "\n</HealthData>\n"
    }

    @Test func `an export is imported once, then only what differs`() throws {
        let work = try Workspace()
        let first = (0..<5).map { record(steps, "\($0 + 1)", minute: $0) }
        let file = try work.write(export(first), to: "export.xml")
        let outcome = try work.run("import", file, "--format", "json")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(
            Set(outcome.object.keys) == [
                "records", "added", "changed", "deleted", "same", "skipped", "complete", "logAnchor",
                "problems",
            ])
        #expect(outcome.object["added"] as? Int == 5)
        #expect(outcome.object["complete"] as? Bool == true)
        let digest = try work.run("info", "--format", "json").object["digest"] as? String
        let again = try work.run("import", file, "--format", "json").object
        #expect(again["same"] as? Int == 5)
        #expect(again["logAnchor"] as? Int == outcome.object["logAnchor"] as? Int)

        let second = [record(steps, "9", minute: 0)] + first[1..<4] + [record(steps, "6", minute: 7)]
        try work.write(export(second), to: "export.xml")
        let dry = try work.run("import", file, "--dry-run", "--format", "json").object
        #expect(try work.run("info", "--format", "json").object["digest"] as? String == digest)
        let changed = try work.run("import", file, "--format", "json").object
        for key in ["added", "changed", "deleted"] {
            #expect(dry[key] as? Int == 1)
            #expect(changed[key] as? Int == 1)
        }
        #expect(
            try work.run("stats", "--format", "jsonl").objects.first?["sum"] as? Double == 9 + 2 + 3 + 4 + 6)

        // What was deleted and is listed again comes back.
        try work.write(export(first), to: "export.xml")
        #expect(try work.run("import", file).status == 0)
        #expect(try work.run("stats", "--format", "jsonl").objects.first?["sum"] as? Double == 15)
        #expect(try work.run("verify").status == 0)
    }

    @Test func `a cut export is imported as far as it goes, deletes nothing, and ends with 65`() throws {
        let work = try Workspace()
        let whole = export((0..<5).map { record(steps, "\($0 + 1)", minute: $0) })
        try work.run("import", try work.write(whole, to: "export.xml"))
        let cut = try work.write(String(whole.prefix(whole.count / 2)), to: "cut.xml")
        let outcome = try work.run("import", cut, "--format", "json", "--report", work.path("report.jsonl"))
        #expect(outcome.status == 65)
        #expect(outcome.object["complete"] as? Bool == false)
        #expect(outcome.object["deleted"] as? Int == 0)
        #expect(outcome.errors.contains("byte"))
        #expect(try work.read("report.jsonl").contains("\"offset\""))
        #expect(try work.run("info", "--format", "json").object["samples"] as? Int == 5)
    }

    @Test func `a report has a line for every case, with its place`() throws {
        let work = try Workspace()
        let odd = record(steps, "NaN", minute: 1)
        let records = [
            record(steps, "1", minute: 0), odd, odd, record(steps, "5", minute: 2, attributes: " new=\"x\""),
            "<Record type=\"\(steps)\" value=\"1\"/>", "<Novelty/>",
            record(steps, "7\" x=\"", minute: 3).dropLast(3) + "/>",
            record(steps, "2", minute: 4),
        ]
        let text = export(records)
        let file = try work.write(text, to: "export.xml")
        let outcome = try work.run("import", file, "--format", "json", "--report", work.path("r.jsonl"))
        #expect(outcome.status == 0 && outcome.object["skipped"] as? Int == 4, "\(outcome.output)")
        let cases = try work.read("r.jsonl").split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        let problems = try #require(outcome.object["problems"] as? [[String: Any]])
        // As many lines as the counts say; the first of each kind stands where the list of kinds says.
        #expect(problems.reduce(0) { $0 + ($1["count"] as? Int ?? 0) } == cases.count)
        for problem in problems {
            let same = cases.filter { $0["what"] as? String == problem["what"] as? String }
            #expect(same.count == problem["count"] as? Int)
            #expect(same.first?["offset"] as? Int == problem["offset"] as? Int)
        }
        let skipped = cases.filter { ($0["what"] as? String)?.hasPrefix("quantity whose value") == true }
        let first = try #require(text.range(of: odd))
        let place = text.utf8.distance(from: text.startIndex, to: first.lowerBound)
        #expect(skipped.map { $0["offset"] as? Int } == [place, place + odd.utf8.count + 1])
        #expect(cases.contains { $0["what"] as? String == "quote that is not closed, its element skipped" })
        // An import that stops leaves its report, too.
        let many = (0..<150).map {
            record(steps, "\($0)", minute: $0 % 50).replacingOccurrences(
                of: "09:00:00", with: "0\($0 / 50):00:00")
        }
        try work.write(export(many), to: "export.xml")
        #expect(try work.run("import", file, "--stream", "other").status == 0)
        try work.write(export([odd]), to: "export.xml")
        #expect(
            try work.run("import", file, "--stream", "other", "--report", work.path("s.jsonl")).status == 65)
        #expect(try work.read("s.jsonl").contains("quantity whose value is missing"))
    }

    @Test func `an import that would delete much stops before it appends`() throws {
        let work = try Workspace()
        let many = (0..<150).map { index in
            record(steps, "1", minute: 0, attributes: "").replacingOccurrences(
                of: "2026-03-01 08:10:00",
                with: "2026-03-01 0\(index % 8):\(10 + index % 50):\(10 + index / 8)")
        }
        let file = try work.write(export(many), to: "export.xml")
        let count = try work.run("import", file, "--format", "json").object["added"] as? Int
        #expect(count == 150)
        try work.write(export(Array(many.prefix(10))), to: "export.xml")
        let stopped = try work.run("import", file)
        #expect(stopped.status == 65)
        #expect(stopped.errors.contains("--allow-deletions"))
        #expect(
            try work.run("import", file, "--keep-missing", "--format", "json").object["deleted"] as? Int == 0)
        let allowed = try work.run("import", file, "--allow-deletions", "--format", "json")
        #expect(allowed.object["deleted"] as? Int == 140)
    }

    @Test func `what is no export is refused with 65`() throws {
        let work = try Workspace()
        let outcome = try work.run("import", try work.write("hello", to: "x.txt"))
        #expect(outcome.status == 65 && outcome.errors.contains("no Apple Health export"))
        #expect(!work.exists("health.hklog"), "no store is left behind")
        #expect(try work.run("import", work.path("none.zip")).status == 66)
        try work.write("x", to: ".cloud.zip.icloud")
        let cloud = try work.run("import", work.path("cloud.zip"))
        #expect(cloud.status == 66 && cloud.errors.contains("iCloud"))
        #expect(!work.exists("health.hklog"))
    }
}
