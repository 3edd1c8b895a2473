import Foundation
import Testing

/// Faults of a real system, met by the program: full disks, limits, failing calls, other users.
///
/// What the machine does not allow (mounting, tracing) is passed over with a line that says so.
@Suite(.serialized) struct RealFaultTests {
    /// Runs a script with `$BIN` as the program; 77 means that it cannot be run here.
    @discardableResult
    private func shell(_ work: Workspace, _ script: String) throws -> (
        status: Int32, output: String, errors: String
    ) {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-c", script]
        process.currentDirectoryURL = work.folder
        process.environment = [
            "BIN": Workspace.binary.path, "HKLOG_STORE": work.store.path, "TZ": "UTC",
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        ].merging(Workspace.sanitizerOptions) { $1 }
        process.standardInput = FileHandle.nullDevice
        for name in ["shell.out", "shell.err"] {
            _ = FileManager.default.createFile(atPath: work.path(name), contents: nil)
        }
        process.standardOutput = FileHandle(forWritingAtPath: work.path("shell.out"))
        process.standardError = FileHandle(forWritingAtPath: work.path("shell.err"))
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, try work.read("shell.out"), try work.read("shell.err"))
    }

    private func lines(_ range: Range<Int>, samples: Int = 8) -> String {
        range.map { index in
            batch(
                "\"anchor\":\"a\(index)\"",
                added: (0..<samples).map {
                    sample(
                        index * 1000 + $0 + 1, value: "\(index)",
                        extra: "\"metadata\":{\"note\":\"\(UUID().uuidString)\"}")
                })
        }.joined(separator: "\n") + "\n"
    }

    /// How many batches the lines of an append have acknowledged.
    private func acknowledged(_ text: String) -> Int {
        text.split(separator: "\n").compactMap { line in
            ((try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any])?["logAnchor"]
                as? Int
        }.max() ?? 0
    }

    /// Whether an outcome is a clear error of the disk, and the log has what was acknowledged.
    private func checkFailed(
        _ work: Workspace, _ status: Int32, _ output: String, _ errors: String, _ context: String
    ) throws {
        #expect(status == 74, "\(context): \(status) \(errors)")
        let said = errors.split(separator: "\n").filter { $0.hasPrefix("hklog: error: ") }
        #expect(said.count == 1, "\(context): \(errors)")
        let info = try work.run("info", "--format", "json").object
        #expect((info["logAnchor"] as? Int ?? -1) >= acknowledged(output), "\(context)")
        #expect(
            try work.run("replay", "--from", "0", "--format", "json").object["digest"] as? String
                == info["digest"] as? String)
    }

    @Test func `a full disk is a clear error, and appending goes on when there is room`() throws {
        let work = try Workspace()
        let mounted = try shell(
            work, "mkdir health.hklog && mount -t tmpfs -o size=1m,mode=700 tmpfs health.hklog || exit 77")
        guard mounted.status == 0 else {
            print("passed over: mounting a small file system is not allowed here (\(mounted.errors))")
            return
        }
        defer { _ = try? shell(work, "umount health.hklog") }
        try work.write(lines(0..<400), to: "in")
        for sync in ["batch", "group"] {
            try shell(work, "rm -rf health.hklog/*")
            #expect(try work.run("init", "--time-zone", "UTC").status == 0)
            try shell(work, "head -c 900000 /dev/zero > health.hklog/ballast")
            let full = try shell(work, "\"$BIN\" append --format jsonl --sync \(sync) in")
            #expect(acknowledged(full.output) > 0, "\(full.errors)")
            #expect(acknowledged(full.output) < 400)
            try checkFailed(work, full.status, full.output, full.errors, sync)
            // Still full: the same error again, nothing is harmed.
            let again = try shell(work, "\"$BIN\" append --format jsonl --sync \(sync) in")
            try checkFailed(work, again.status, again.output, again.errors, sync)
            #expect(try work.run("verify").status == 0)
            // A compaction finds no room, and leaves the log as it was.
            let compact = try work.run("compact")
            #expect(compact.status == 74 || compact.status == 0, "\(compact.errors)")
            #expect(try work.run("verify").status == 0)
            try shell(work, "rm health.hklog/ballast")
            let rest = try shell(work, "\"$BIN\" append --format jsonl --sync \(sync) in")
            #expect(rest.status == 0, "\(rest.errors)")
            #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == 400)
            #expect(try work.run("verify").status == 0)
        }
        // The same file system, read only.
        guard try shell(work, "mount -o remount,ro health.hklog").status == 0 else { return }
        #expect(try work.run("stats").status == 0)
        #expect(try work.run("changes", "--since", "0").status == 0)
        #expect(try work.run("replay", "--from", "0").status == 0)
        let refused = try work.run("append", input: lines(900..<901))
        #expect(refused.status == 74, "\(refused.errors)")
        #expect(refused.errorLines.count == 1)
    }

    @Test func `a limit on the size of files is a clear error`() throws {
        for sync in ["batch", "group"] {
            let work = try Workspace()
            try work.run("init", "--time-zone", "UTC")
            try work.write(lines(0..<200), to: "in")
            let limited = try shell(
                work, "ulimit -f 24; exec \"$BIN\" append --format jsonl --sync \(sync) in > out")
            let output = try work.read("out")
            #expect(acknowledged(output) < 200)
            try checkFailed(work, limited.status, output, limited.errors, sync)
            #expect(try work.run("append", work.path("in")).status == 0)
            #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == 200)
            #expect(try work.run("verify").status == 0)
        }
    }

    @Test(arguments: [
        ("fdatasync", "error=EIO:when=4", true), ("fsync", "error=EIO:when=1+", true),
        ("pwrite64", "error=ENOSPC:when=5", true), ("pwrite64", "error=EIO:when=6", true),
        ("pwrite64", "error=EINTR:when=3+4", false), ("fallocate", "error=EOPNOTSUPP", false),
        ("ftruncate", "error=EINTR:when=1", false), ("flock", "error=ENOLCK", true),
    ])
    func `a call that fails under the program is an error, and nothing acknowledged is lost`(
        call: String, what: String, fails: Bool
    ) throws {
        let work = try Workspace()
        guard try shell(work, "strace -o trace true").status == 0 else {
            print("passed over: strace is not installed, or tracing is not allowed here")
            return
        }
        try work.run("init", "--time-zone", "UTC")
        try work.write(lines(0..<30, samples: 2), to: "in")
        let traced = try shell(
            work,
            "HKLOG_SEGMENT_BYTES=3000 strace -f -o trace -e trace=\(call) -e inject=\(call):\(what) "
                + "\"$BIN\" append --format jsonl in")
        #expect(try work.read("trace").contains("INJECTED"), "\(call) is called at all")
        if fails {
            try checkFailed(work, traced.status, traced.output, traced.errors, "\(call) \(what)")
        } else {
            #expect(traced.status == 0, "\(call) \(what): \(traced.errors)")
            #expect(acknowledged(traced.output) == 30)
        }
        #expect(try work.run("append", work.path("in")).status == 0)
        #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == 30)
        #expect(try work.run("verify").status == 0)
    }

    @Test func `nobody gets in beside a writer: not without its lock file, not by another path`() throws {
        let work = try Workspace()
        try work.run("init", "--time-zone", "UTC")
        let writer = try work.start("append", "--format", "jsonl")
        try writer.write(lines(0..<1))
        #expect(writer.wait { $0.lines.count == 1 })
        let holder = String(writer.process.processIdentifier)
        try FileManager.default.removeItem(at: work.store.appending(path: "lock"))
        try FileManager.default.createSymbolicLink(
            atPath: work.path("other"), withDestinationPath: work.store.path)
        for path in [work.store.path, work.path("other"), work.store.path + "/../health.hklog/"] {
            for command in [["append"], ["compact"], ["repair"], ["config", "--time-zone", "UTC"]] {
                let refused = try work.run(
                    command + ["--store", path], inputBytes: Data(lines(1..<2).utf8))
                #expect(refused.status == 75, "\(path) \(command): \(refused.errors)")
            }
        }
        // A second one names the first where its lock file is there.
        let named = try Workspace()
        try named.run("init", "--time-zone", "UTC")
        let second = try named.start("append", "--format", "jsonl")
        try second.write(lines(0..<1))
        #expect(second.wait { $0.lines.count == 1 })
        #expect(
            try named.run("compact").errors.contains(String(second.process.processIdentifier)))
        #expect(!holder.isEmpty)
        try writer.write(lines(1..<2))
        #expect(writer.wait { $0.lines.count == 2 }, "it goes on: \(writer.errorText)")
        writer.signal(SIGKILL)
        _ = writer.status()
        // A dead process holds nothing.
        #expect(try work.run("append", input: lines(2..<3)).status == 0)
        #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == 3)
    }

    @Test func `who may not write may read`() throws {
        let work = try Workspace()
        try work.run("init", "--time-zone", "UTC")
        try work.run("append", input: lines(0..<20))
        let digest = try work.run("info", "--format", "json").object["digest"] as? String
        try shell(
            work,
            "cp \"$BIN\" hklog; chmod 755 . hklog; chmod -R a+rX health.hklog; chmod -R a-w health.hklog")
        defer { _ = try? shell(work, "chmod -R u+w health.hklog") }
        let isRoot = getuid() == 0
        let other = isRoot ? "setpriv --reuid 65534 --regid 65534 --clear-groups ./hklog" : "./hklog"
        guard try shell(work, "\(other) --version").status == 0 else {
            print("passed over: the program cannot be run as another user here")
            return
        }
        let info = try shell(work, "\(other) info --format json")
        #expect(info.status == 0, "\(info.errors)")
        #expect(digest.map { info.output.contains($0) } == true)
        for command in ["stats", "samples", "changes --since 0", "replay --from 0", "verify"] {
            let outcome = try shell(work, "\(other) \(command)")
            #expect(outcome.status == 0, "\(command): \(outcome.errors)")
        }
        try work.write(lines(20..<21), to: "in")
        let refused = try shell(work, "\(other) append in")
        #expect(refused.status == 74 || refused.status == 73, "\(refused.status) \(refused.errors)")
        #expect(refused.errors.split(separator: "\n").count == 1, "\(refused.errors)")
    }

    @Test func `a store of many segments needs few open files`() throws {
        let work = try Workspace()
        try work.run("init", "--time-zone", "UTC")
        try work.write(lines(0..<150, samples: 1), to: "in")
        let limit = "ulimit -n 32; export HKLOG_SEGMENT_BYTES=1; exec \"$BIN\""
        #expect(try shell(work, "\(limit) append in").status == 0)
        let info = try work.run("info", "--format", "json").object
        #expect((info["segments"] as? Int ?? 0) >= 150)
        for command in [
            "info", "verify", "changes --since 0", "replay --from 0", "backup copy", "compact", "append in",
            "repair",
        ] {
            let outcome = try shell(work, "\(limit) \(command)")
            #expect(outcome.status == 0, "\(command): \(outcome.errors)")
        }
        #expect(
            try work.run("info", "--format", "json").object["digest"] as? String == info["digest"] as? String)
    }

    @Test func `a backup beside a running writer is a whole store of what was there`() throws {
        for sync in ["batch", "group"] {
            let work = try Workspace()
            try work.run("init", "--time-zone", "UTC", "--segment-bytes", "4096")
            let writer = try work.start("append", "--format", "jsonl", "--sync", sync)
            var sent = 0
            for copy in 0..<4 {
                for _ in 0..<15 {
                    try writer.write(lines(sent..<sent + 1, samples: 3))
                    sent += 1
                }
                #expect(writer.wait { !$0.lines.isEmpty })
                let before = acknowledged(writer.text)
                let outcome = try work.run("backup", work.path("copy\(copy)"), "--format", "json")
                #expect(outcome.status == 0, "\(outcome.errors)")
                let anchor = outcome.object["logAnchor"] as? Int ?? -1
                #expect((before...sent).contains(anchor))
                let store = ["--store", work.path("copy\(copy)")]
                #expect(try work.run(["verify"] + store).status == 0)
                let info = try work.run(["info", "--format", "json"] + store).object
                let replay = try work.run(["replay", "--from", "0", "--format", "json"] + store).object
                #expect(info["logAnchor"] as? Int == anchor)
                #expect(info["digest"] as? String == replay["digest"] as? String)
                let original = try work.run("replay", "--from", "0", "--to", "\(anchor)", "--format", "json")
                    .object
                #expect(original["digest"] as? String == info["digest"] as? String)
            }
            try writer.closeInput()
            #expect(writer.status() == 0)
        }
    }
}
