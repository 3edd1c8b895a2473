import Foundation
import Testing

/// `generate --export`: exports that the program itself imports.
struct GenerateExportTests {
    private let options = ["--samples", "2000", "--days", "40", "--seed", "7"]

    /// The files of a workspace but what its calls of the program printed.
    private func files(in work: Workspace) throws -> Set<String> {
        let names = try FileManager.default.contentsOfDirectory(atPath: work.folder.path)
        return Set(names.filter { !$0.hasSuffix(".out") && !$0.hasSuffix(".err") })
    }

    private func permissions(_ path: String) throws -> Int {
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        return try #require(mode)
    }

    @Test func `an export is the same for the same options and another one for another seed`() throws {
        let work = try Workspace()
        for name in ["a.xml", "b.xml", "a.zip", "b.zip"] {
            let outcome = try work.run(["generate"] + options + ["--export", work.path(name)])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.isEmpty)
        }
        let text = try work.read("a.xml")
        #expect(text == (try work.read("b.xml")))
        #expect(text.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE HealthData ["))
        #expect(text.hasSuffix("</HealthData>\n"))
        let zips = try ["a.zip", "b.zip"].map { try Data(contentsOf: work.folder.appending(path: $0)) }
        #expect(zips[0] == zips[1])
        #expect(zips[0].count < text.utf8.count / 4)
        #expect(Array(zips[0].prefix(4)) == [0x50, 0x4B, 3, 4])
        #expect(zips[0].contains(Data("apple_health_export/export.xml".utf8)))
        // It holds health data, though invented: nobody else may read it.
        for name in ["a.xml", "a.zip"] { #expect(try permissions(work.path(name)) == 0o600) }

        try work.run(["generate"] + options.dropLast() + ["8", "--export", work.path("c.xml")])
        #expect(text != (try work.read("c.xml")))
        // What a zip was packed from is gone.
        #expect(try files(in: work) == ["a.xml", "b.xml", "c.xml", "a.zip", "b.zip"])
    }

    @Test func `a generated export is imported whole, from the zip as from the document, and once`() throws {
        let work = try Workspace()
        try work.run(["generate"] + options + ["--export", work.path("export.xml")])
        try work.run(["generate"] + options + ["--export", work.path("export.zip")])
        let first = try work.run("import", work.path("export.zip"), "--format", "json")
        #expect(first.status == 0, "\(first.errors)")
        // The samples, a summary for each of the days, and the person.
        #expect(first.object["added"] as? Int == 2000 + 40 + 1)
        #expect(first.object["skipped"] as? Int == 0)
        #expect((first.object["problems"] as? [Any])?.isEmpty == true)
        let digest = try work.run("info", "--format", "json").object["digest"] as? String
        let second = try work.run("import", work.path("export.xml"), "--format", "json")
        #expect(second.object["same"] as? Int == 2041)
        for key in ["added", "changed", "deleted"] { #expect(second.object[key] as? Int == 0) }
        let replay = try work.run("replay", "--from", "0", "--format", "json").object
        #expect(replay["digest"] as? String == digest)
    }

    @Test(arguments: [
        ["--export", "x.txt"], ["--export", ""], ["--export", "x.xml", "--deletes", "1"],
        ["--export", "x.xml", "--batch", "5"], ["--export", "x.zip", "--output", "y"],
    ])
    func `what does not go with an export is refused with 64 and writes nothing`(words: [String]) throws {
        let work = try Workspace()
        let absolute = words.map { $0.hasPrefix("x.") || $0 == "y" ? work.path($0) : $0 }
        let outcome = try work.run(["generate"] + absolute)
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("--export"))
        #expect(try files(in: work).isEmpty)
    }

    @Test(arguments: ["xml", "zip"])
    func `an export into a folder that is not there ends with 74`(suffix: String) throws {
        let work = try Workspace()
        let outcome = try work.run("generate", "--export", work.path("no/export.\(suffix)"))
        #expect(outcome.status == 74)
        #expect(outcome.errors.contains("cannot make this file"))
    }
}
