import Foundation
import Testing

/// Words, help and exit statuses.
struct ArgumentTests {
    /// Every command with the options that the contract names.
    static let commands: [(String, [String])] = [
        ("init", ["time-zone", "segment-bytes"]),
        ("append", ["sync", "reject", "max-line", "dry-run"]),
        ("import", ["stream", "keep-missing", "allow-deletions", "dry-run", "report"]),
        ("replay", ["from", "to"]),
        (
            "stats",
            [
                "type", "every", "start", "end", "options", "separate-by-source", "unit", "time-zone",
                "stream", "fill",
            ]
        ),
        ("explain", ["type", "day"]),
        ("samples", ["type", "start", "end", "source", "stream", "limit", "order"]),
        ("changes", ["since", "expect", "type", "limit", "follow"]),
        ("types", ["all"]),
        ("sources", ["type", "prefer"]),
        ("config", ["time-zone", "style"]),
        ("anchors", []), ("info", []), ("verify", []), ("repair", []),
        ("compact", ["purge"]), ("backup", []),
        ("chart", ["type", "every", "start", "end", "svg"]),
        ("generate", ["samples", "days", "batch", "end", "seed", "deletes", "output", "export"]),
    ]

    @Test func `the program's help names every command`() throws {
        let work = try Workspace()
        for word in ["--help", "-h", "help"] {
            let help = try work.run(word)
            #expect(help.status == 0)
            #expect(help.errors.isEmpty)
            for (command, _) in Self.commands {
                #expect(help.output.contains("\n  \(command) "), "\(command)")
            }
        }
    }

    @Test(arguments: commands)
    func `every command has help that names its options and those of all commands`(
        command: String, options: [String]
    ) throws {
        let work = try Workspace()
        for words in [[command, "--help"], [command, "-h"], [command, "--nonsense", "--help"]] {
            let help = try work.run(words)
            #expect(help.status == 0)
            #expect(help.errors.isEmpty)
            #expect(help.output.hasPrefix("usage: hklog \(command)"))
            for option in options + ["store", "format", "quiet", "verbose", "no-color"] {
                #expect(help.output.contains("  --\(option)"), "\(command) --\(option)")
            }
        }
        #expect(!work.exists("health.hklog"))
    }

    @Test func `the version is a name and a number`() throws {
        let outcome = try Workspace().run("--version")
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("hklog "))
        #expect(outcome.lines.count == 1)
    }

    @Test(arguments: [
        [], ["sats"], ["--store", "x", "stats"], ["stats", "--tpye", "stepCount"], ["stats", "-x"],
        ["stats", "word"],
        ["stats", "--type"], ["stats", "--fill=yes"], ["replay"], ["changes"],
        ["explain", "--type", "stepCount"],
        ["chart"], ["backup"], ["backup", "a", "b"], ["import"], ["sources", "--prefer", "A"],
        ["stats", "--format"], ["info", "--store="],
    ])
    func `wrong words end with 64, one line that says why, and usage`(words: [String]) throws {
        let work = try Workspace()
        let outcome = try work.run(words)
        #expect(outcome.status == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errorLines.first?.hasPrefix("hklog: error: ") == true)
        #expect(outcome.errors.contains("usage: hklog"))
        #expect(!work.exists("health.hklog"))
    }

    @Test(arguments: [
        ["stats", "--every", "dya"], ["stats", "--options", "summ"], ["stats", "--format", "xml"],
        ["stats", "--type", "stepCuont"], ["stats", "--unit", "florps", "--type", "stepCount"],
        ["stats", "--time-zone", "Europe/Atlantis"], ["stats", "--start", "yesterday"],
        ["stats", "--type", "stepCount", "--options", "average"],
        ["stats", "--type", "heartRate", "--options", "sum"],
        ["stats", "--type", "stepCount", "--unit", "kg"],
        ["samples", "--limit", "-1"], ["samples", "--limit", "many"], ["samples", "--order", "random"],
        ["changes", "--since", "99"], ["replay", "--from", "99"], ["replay", "--from", "0", "--to", "99"],
        ["replay", "--from", "2", "--to", "1"], ["config", "--time-zone", "Mars/Base"],
        ["config", "--style", "stepCount"], ["config", "--style", "stepCount=round"],
        ["explain", "--type", "stepCount", "--day", "sometime"], ["append", "--sync", "often"],
        ["append", "--max-line", "0"], ["init", "--time-zone", "America/New_York"],
    ])
    func `values that do not fit end with 64 and one line`(words: [String]) throws {
        let work = try Workspace()
        try work.fill(history)
        let outcome = try work.run(words)
        #expect(outcome.status == 64, "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
        #expect(outcome.errorLines.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.hasPrefix("hklog: error: "))
    }

    @Test(arguments: [
        (["stats", "--tpye", "x"], "did you mean --type?"), (["stast"], "did you mean stats?"),
        (["stats", "--every", "dya"], "did you mean day?"), (["stats", "--type", "stepCuont"], "stepCount"),
        (["append", "--sync", "grup"], "did you mean group?"),
    ])
    func `a near miss gets a hint`(words: [String], hint: String) throws {
        let work = try Workspace()
        try work.fill(history)
        #expect(try work.run(words).errors.contains(hint))
    }

    @Test func `options stand anywhere, with a space or an equals sign, and two dashes end them`() throws {
        let work = try Workspace()
        let file = try work.write(history[0] + "\n", to: "in.jsonl")
        try work.write(history[1] + "\n", to: "--odd")
        let outcome = try work.run("append", file, "--format=json", "--sync", "group", "--", "--odd")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.array.count == 2)
    }

    @Test func `the store is the option, else the environment, else health hklog here`() throws {
        let work = try Workspace()
        let here = try work.run("init", environment: ["HKLOG_STORE": ""])
        #expect(here.status == 0)
        #expect(work.exists("health.hklog/store.json"))
        try work.run("init", environment: ["HKLOG_STORE": work.path("env.hklog")])
        #expect(work.exists("env.hklog/store.json"))
        try work.run("init", "--store", "option.hklog", environment: ["HKLOG_STORE": work.path("no.hklog")])
        #expect(work.exists("option.hklog/store.json"))
        #expect(!work.exists("no.hklog"))
    }

    @Test(arguments: [
        ["replay", "--from", "0"], ["stats"], ["explain", "--type", "stepCount", "--day", "2026-03-01"],
        ["samples"],
        ["changes", "--since", "0"], ["types"], ["sources"], ["config"], ["anchors"], ["info"], ["verify"],
        ["compact"], ["repair"], ["backup", "copy"], ["chart", "--type", "stepCount"],
        ["config", "--time-zone", "Europe/Berlin"], ["append", "missing.jsonl"], ["import", "missing.zip"],
    ])
    func `where nothing is there the status is 66 and nothing is made`(words: [String]) throws {
        let work = try Workspace()
        let outcome = try work.run(words)
        #expect(outcome.status == 66, "\(outcome.errors)")
        #expect(outcome.errorLines.count == 1)
        #expect(!work.exists("health.hklog"))
        #expect(!work.exists("copy"))
    }

    @Test func `a folder that is no store is 66 to read and is not written over`() throws {
        let work = try Workspace()
        try FileManager.default.createDirectory(at: work.store, withIntermediateDirectories: true)
        try work.write("mine", to: "health.hklog/notes.txt")
        #expect(try work.run("info").status == 66)
        #expect(try work.read("health.hklog/notes.txt") == "mine")
    }

    @Test func `a store that cannot be made is 73`() throws {
        let work = try Workspace()
        try work.write("a file", to: "file")
        let outcome = try work.run("init", "--store", work.path("file/x.hklog"))
        #expect(outcome.status == 73)
        #expect(outcome.errorLines.count == 1)
    }

    @Test func `a full disk behind standard output is 74`() throws {
        guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
        let outcome = try Workspace().run(["--help"], outputPath: "/dev/full")
        #expect(outcome.status == 74)
        #expect(outcome.errors.contains("standard output"))
    }

    @Test func `quiet says nothing on success, verbose says more`() throws {
        let work = try Workspace()
        let quiet = try work.run("append", "--quiet", input: history[0] + "\n")
        #expect(quiet.status == 0)
        #expect(quiet.errors.isEmpty)
        #expect(quiet.output.isEmpty)
        #expect(try work.run("info", "--verbose").errors.contains("log anchor 1"))
    }

    @Test func `init makes a store once, and then says that it is there`() throws {
        let work = try Workspace()
        let first = try work.run(
            "init", "--time-zone", "Asia/Tokyo", "--segment-bytes", "65536", "--format", "json")
        #expect(first.status == 0)
        #expect(first.object["created"] as? Bool == true)
        let second = try work.run("init", "--format", "json")
        #expect(second.status == 0)
        #expect(second.object["created"] as? Bool == false)
        #expect(second.object["timeZone"] as? String == "Asia/Tokyo")
        #expect(second.object["segmentBytes"] as? Int == 65536)
        #expect(try work.run("init", "--time-zone", "Asia/Tokyo").status == 0)
        let other = try work.run("init", "--time-zone", "Europe/Berlin")
        #expect(other.status == 64)
        #expect(other.errors.contains("config --time-zone"))
    }

    @Test func `append makes a store in the system's zone and says where and with which`() throws {
        let work = try Workspace()
        let outcome = try work.run("append", input: history[0] + "\n")
        #expect(outcome.status == 0)
        #expect(outcome.errors.contains("health.hklog"))
        #expect(outcome.errors.contains("Europe/Berlin"))
        #expect(outcome.lines.count == 1)
        #expect(outcome.output.contains("4 added"))
    }
}
