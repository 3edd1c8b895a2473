import Foundation
import Testing

/// Damage and what is done about it, compaction and backups.
struct MaintenanceTests {
    private func filled() throws -> Workspace {
        let work = try Workspace()
        try work.run("init", "--time-zone", "Europe/Berlin")
        for index in 1...6 {
            try work.run("append", input: batch("\"anchor\":\"a\(index)\"", added: [sample(index)]))
        }
        return work
    }

    /// The only segment's path and bytes.
    private func segment(of work: Workspace) throws -> (path: String, bytes: Data) {
        let folder = work.store.appending(path: "log")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let path = folder.appending(path: try #require(names.first)).path
        return (path, try Data(contentsOf: URL(filePath: path)))
    }

    /// Turns bits in the middle of the log over.
    private func damage(_ work: Workspace) throws {
        var (path, bytes) = try segment(of: work)
        let size = bytes.lastIndex { $0 != 0 } ?? 0
        for offset in size / 2..<size / 2 + 4 { bytes[offset] ^= 0xFF }
        try bytes.write(to: URL(filePath: path))
        // The checkpoint would answer for what is damaged.
        try? FileManager.default.removeItem(at: work.store.appending(path: "views"))
    }

    @Test func `a sound store is sound`() throws {
        let work = try filled()
        let object = try work.run("verify", "--format", "json")
        #expect(object.status == 0)
        #expect(object.object["sound"] as? Bool == true)
        #expect((object.object["problems"] as? [Any])?.isEmpty == true)
        #expect((object.object["gaps"] as? [Any])?.isEmpty == true)
    }

    @Test func `damage is found, met by readers and writers with 74, and repaired`() throws {
        let work = try filled()
        try damage(work)
        let found = try work.run("verify", "--format", "json")
        #expect(found.status == 1)
        let problem = try #require((found.object["problems"] as? [[String: Any]])?.first)
        #expect(Set(problem.keys) == ["what", "file", "offset", "length", "firstAnchor", "lastAnchor"])
        let before = try segment(of: work).bytes
        let read = try work.run("samples", "--format", "jsonl")
        #expect(read.status == 74)
        #expect((1...4).contains(read.lines.count), "what is sound is printed")
        #expect(read.errorLines.contains { $0.hasPrefix("hklog: error: ") })
        let changes = try work.run("changes", "--since", "0")
        #expect(changes.status == 74)
        #expect(changes.objects.last?["logCheck"] != nil)
        #expect(changes.objects.last?["logAnchor"] as? Int == read.lines.count)
        #expect(try work.run("append", input: batch(added: [sample(9)])).status == 74)
        #expect(try segment(of: work).bytes == before)

        let repaired = try work.run("repair", "--format", "json")
        #expect(repaired.status == 0, "\(repaired.errors)")
        let sound = try work.run("verify", "--format", "json")
        #expect(sound.status == 0, "\(sound.output)")
        #expect((sound.object["gaps"] as? [[Int]])?.isEmpty == false)
        let after = try work.run("changes", "--since", "0")
        #expect(after.status == 0)
        #expect(after.objects.contains { $0["gap"] != nil })
        #expect(after.objects.last?["logAnchor"] as? Int == 6)
        #expect(try work.run("append", input: batch(added: [sample(9)])).status == 0)
    }

    @Test func `a lost store file is an error that repair mends`() throws {
        let work = try filled()
        let digest = try work.run("info", "--format", "json").object["digest"] as? String
        try FileManager.default.removeItem(at: work.store.appending(path: "store.json"))
        #expect(try work.run("stats").status == 74)
        #expect(try work.run("append", input: batch(added: [sample(9)])).status == 74)
        #expect(try work.run("repair").status == 0)
        #expect(try work.run("info", "--format", "json").object["digest"] as? String == digest)
    }

    @Test func `a torn tail is found, and cut by the next writer with a warning`() throws {
        let work = try filled()
        let (path, bytes) = try segment(of: work)
        let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
        try bytes.prefix(end - 5).write(to: URL(filePath: path))
        try? FileManager.default.removeItem(at: work.store.appending(path: "views"))
        #expect(try work.run("verify").status == 1)
        #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == 5)
        let next = try work.run("append", "--format", "jsonl", input: batch(added: [sample(9)]))
        #expect(next.status == 0)
        #expect(next.errors.contains("warning"))
        #expect(next.objects.first?["logAnchor"] as? Int == 6)
        #expect(try work.run("verify").status == 0)
    }

    @Test func `compaction keeps every answer`() throws {
        let work = try filled()
        try work.run("append", input: batch(deleted: [1, 2]))
        let digest = try work.run("info", "--format", "json").object["digest"] as? String
        let outcome = try work.run("compact", "--format", "json")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.object["rowsRemoved"] as? Int == 2)
        #expect(try work.run("verify").status == 0)
        #expect(
            try work.run("replay", "--from", "0", "--format", "json").object["digest"] as? String == digest)
        #expect(
            !(try work.run("changes", "--since", "0").output.contains("\"added\":[{\"uuid\":\"\(uuid(1))\"")))
        let repeated = try work.run(
            "append", "--format", "jsonl", input: batch("\"anchor\":\"a1\"", added: [sample(1)]))
        #expect(repeated.objects.first?["duplicate"] as? Bool == true)
    }

    @Test func `a backup is a store with the same content`() throws {
        let work = try filled()
        let outcome = try work.run("backup", work.path("copy"), "--format", "json")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.object["logAnchor"] as? Int == 6)
        let digests = try [work.store.path, work.path("copy")].map {
            try work.run("info", "--store", $0, "--format", "json").object["digest"] as? String
        }
        #expect(digests[0] == digests[1])
        #expect(try work.run("verify", "--store", work.path("copy")).status == 0)
        #expect(try work.run("backup", work.path("copy")).status != 0)
    }

    @Test func `small segments are sealed at their size`() throws {
        let work = try Workspace()
        try work.run("init", "--segment-bytes", "4096")
        for index in 0..<20 {
            try work.run("append", input: batch(added: (1...40).map { sample(index * 40 + $0) }))
        }
        let info = try work.run("info", "--format", "json").object
        #expect((info["segments"] as? Int ?? 0) > 1)
        #expect(try work.run("verify").status == 0)
    }
}
