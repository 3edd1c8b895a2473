import Foundation
import Testing

/// Instructions and allocations of the release build's workers are counted: they do not flicker as times do.
///
/// Slow, and in need of valgrind, strip and cc: runs where `HKLOG_BENCHMARKS` names a release build of
/// `hklog-benchmarks` (`tools/test --guards` makes one).
@Suite(.enabled(if: ProcessInfo.processInfo.environment["HKLOG_BENCHMARKS"] != nil))
struct ReleaseGuardTests {
    private let program = ProcessInfo.processInfo.environment["HKLOG_BENCHMARKS"] ?? ""

    @Test func `a replayed sample takes no more instructions than its bound`() throws {
        #expect(try instructionsBySample("replay") <= 1700)
    }

    @Test func `an appended sample takes no more instructions than its bound`() throws {
        #expect(try instructionsBySample("append") <= 1000)
    }

    @Test(arguments: [("append", 25.0), ("store", 45.0)])
    func `a batch of a thousand samples takes no more allocations than its bound`(
        worker: String, bound: Double
    ) throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let counter = "\(folder)/allocations.so"
        _ = try run(["cc", "-O2", "-shared", "-fPIC", "-o", counter, "Benchmarks/counting/allocations.c"])
        var counts: [Double] = []
        for samples in [10_000, 30_000] {
            let text = try run(
                [
                    "env", "LD_PRELOAD=\(counter)", program, "worker", worker, "samples=\(samples)",
                    "history=1000000", "seed=42", "batchSize=1000", "runs=1", "path=\(folder)/store",
                ], readingOutput: true)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("allocations ") })
            counts.append(try #require(Double(line.split(separator: " ").last ?? "")))
        }
        #expect((counts[1] - counts[0]) / 20 <= bound)
    }

    private func temporaryFolder() throws -> String {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("hklog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        return folder
    }

    /// What a further sample costs: the difference between two sizes, by which start-up and set-up cancel out.
    private func instructionsBySample(_ worker: String) throws -> Double {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Valgrind cannot read the debug information that Swift writes.
        let stripped = "\(folder)/program"
        _ = try run(["strip", "-g", "-o", stripped, program])
        var totals: [Double] = []
        for samples in [10_000, 30_000] {
            let settings = [
                "samples=\(samples)", "history=1000000", "seed=42", "batchSize=1000", "path=\(folder)/store",
            ]
            if worker == "replay" { _ = try run([stripped, "worker", "make"] + settings) }
            var counts: [Double] = []
            for runs in [1, 3] {
                let command =
                    [
                        "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", stripped, "worker",
                        worker,
                    ]
                    + settings + ["runs=\(runs)"]
                let text = try run(command)
                let line = try #require(text.split(separator: "\n").first { $0.contains("Collected :") })
                counts.append(try #require(Double(line.split(separator: " ").last ?? "")))
            }
            totals.append((counts[1] - counts[0]) / 2)
        }
        return (totals[1] - totals[0]) / 20_000
    }

    /// What a command says: on standard error, or on standard output.
    private func run(_ command: [String], readingOutput: Bool = false) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        let pipe = Pipe()
        process.standardError = readingOutput ? FileHandle.nullDevice : pipe
        process.standardOutput = readingOutput ? pipe : FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self)
    }
}
