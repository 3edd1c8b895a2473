import Foundation
import Testing

/// What happened after an anchor, also while it happens.
struct ChangesTests {
    private func filled() throws -> Workspace {
        let work = try Workspace()
        let outcome = try work.fill(history)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return work
    }

    @Test func `changes are the batches with their anchors, and last of all where to go on`() throws {
        let work = try filled()
        let outcome = try work.run("changes", "--since", "2")
        #expect(outcome.status == 0)
        #expect(outcome.objects.map { $0["logAnchor"] as? Int } == [3, 4, 4])
        #expect(outcome.objects.first?["stream"] as? String == heartRate)
        let last = try #require(outcome.objects.last)
        #expect(Set(last.keys) == ["logAnchor", "logCheck"])
        #expect((last["logCheck"] as? String)?.isEmpty == false)
        #expect(try work.run("changes", "--since", "4").objects.count == 1)
    }

    @Test func `a copy of the changes is the same store, and the same again changes nothing`() throws {
        let work = try filled()
        let changes = try work.run("changes", "--since", "0").output
        let copy = ["--store", work.path("copy.hklog")]
        try work.run(["init", "--time-zone", "Europe/Berlin"] + copy)
        #expect(try work.run(["append"] + copy, inputBytes: Data(changes.utf8)).status == 0)
        let digest = try work.run("info", "--format", "json").object["digest"] as? String
        #expect(try work.run(["info", "--format", "json"] + copy).object["digest"] as? String == digest)
        #expect(
            try work.run(["changes", "--since", "0"] + copy).lines.dropLast()
                == changes.split(separator: "\n").dropLast().map(String.init))
        let again = try work.run(["append", "--format", "jsonl"] + copy, inputBytes: Data(changes.utf8))
        #expect(again.objects.allSatisfy { $0["duplicate"] as? Bool == true })
    }

    @Test func `limit counts batches, and the last line goes on from there`() throws {
        let work = try filled()
        let first = try work.run("changes", "--since", "0", "--limit", "3").objects
        #expect(first.map { $0["logAnchor"] as? Int } == [1, 2, 3, 3])
        #expect(
            try work.run("changes", "--since", "3", "--limit", "3").objects.map { $0["logAnchor"] as? Int }
                == [4, 4])
        #expect(
            try work.run("changes", "--since", "1", "--limit", "0").objects.map { $0["logAnchor"] as? Int }
                == [1])
    }

    @Test func `type keeps batches of that stream or with such samples`() throws {
        let work = try filled()
        try work.run(
            "append", input: batch(stream: "other", added: [sample(77, type: heartRate, unit: "count/min")]))
        let outcome = try work.run("changes", "--since", "0", "--type", "heartrate")
        #expect(outcome.objects.map { $0["logAnchor"] as? Int } == [3, 5, 5])
    }

    @Test func `expect knows the log from another one`() throws {
        let work = try filled()
        let check = try #require(
            try work.run("changes", "--since", "0", "--limit", "2").objects.last?["logCheck"] as? String)
        #expect(try work.run("changes", "--since", "2", "--expect", check).status == 0)
        #expect(try work.run("changes", "--since", "3", "--expect", check).status == 75)
        #expect(try work.run("changes", "--since", "99", "--expect", check).status == 75)
        #expect(try work.run("changes", "--since", "99").status == 64)
    }

    @Test func `a follower shows a batch within a second and ends promptly when asked`() throws {
        for (number, statuses) in [(SIGINT, [0, 130]), (SIGTERM, [0, 130]), (SIGHUP, [0, 130])]
            as [(Int32, [Int32])]
        {
            let work = try filled()
            let child = try work.start("changes", "--since", "3", "--follow")
            #expect(child.wait { $0.lines.count == 2 })
            try work.run("append", input: batch(added: [sample(50)]))
            #expect(child.wait(seconds: 1) { $0.lines.count == 4 }, "\(child.text)")
            #expect(child.lines[2].contains(uuid(50)))
            #expect(child.lines[3].contains("\"logAnchor\":5"))
            child.signal(number)
            let status = try #require(child.status(within: 2))
            #expect(statuses.contains(status))
            #expect(child.errorText.isEmpty)
        }
    }

    @Test func `a follower ends when its reader goes away`() throws {
        let work = try filled()
        let child = try work.start("changes", "--since", "0", "--follow")
        #expect(child.wait { $0.lines.count == 5 })
        try child.closeOutput()
        #expect(child.status(within: 3) == 0)
        #expect(child.errorText.isEmpty)
    }

    @Test func `a closed pipe ends the program quietly`() throws {
        let work = try Workspace()
        let lines = (0..<200).map { index in
            batch(added: (0..<20).map { sample(index * 20 + $0 + 1) })
        }
        try work.fill(lines)
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        let binary = Workspace.binary.path
        shell.arguments = [
            "-c", "('\(binary)' changes --since 0; echo $? >status) 2>errors | head -n 1 >/dev/null",
        ]
        shell.currentDirectoryURL = work.folder
        shell.environment = ["HKLOG_STORE": work.store.path, "PATH": "/usr/bin:/bin"]
        try shell.run()
        shell.waitUntilExit()
        #expect(try work.read("errors").isEmpty)
        #expect(try work.read("status") == "0\n")
    }

    @Test func `a waiting writer acknowledges what is durable before it waits, and ends when asked`() throws {
        for sync in ["batch", "group", "none"] {
            for number in [SIGINT, SIGTERM, SIGHUP] {
                let work = try Workspace()
                let child = try work.start("append", "--format", "jsonl", "--sync", sync)
                try child.write(history[0] + "\n" + history[1].prefix(20))
                #expect(child.wait { $0.lines.count == 1 }, "\(child.errorText)")
                child.signal(number)
                #expect(child.status(within: 2) == 130)
                #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == 1)
                #expect(try work.run("append", input: history[1]).status == 0)
            }
        }
    }

    @Test func `a second writer is refused at once and told who holds the store; readers are not`() throws {
        let work = try filled()
        let child = try work.start("append", "--format", "jsonl")
        try child.write(batch(added: [sample(60)]) + "\n")
        #expect(child.wait { $0.lines.count == 1 })
        let second = try work.run("append", input: batch(added: [sample(61)]))
        #expect(second.status == 75)
        #expect(second.errorLines.count == 1)
        #expect(second.errors.contains(String(child.process.processIdentifier)))
        #expect(try work.run("compact").status == 75)
        #expect(try work.run("repair").status == 75)
        #expect(try work.run("stats").status == 0)
        #expect(try work.run("replay", "--from", "0").status == 0)
        #expect(try work.run("backup", work.path("copy")).status == 0)
        try child.closeInput()
        #expect(child.status() == 0)
        #expect(try work.run("append", input: batch(added: [sample(61)])).status == 0)
    }
}
