import Foundation
import Synchronization
import Testing

/// What one call of the program gave.
struct Outcome {
    let status: Int32
    let outputBytes: Data
    let errors: String

    var output: String { String(decoding: outputBytes, as: UTF8.self) }
    /// The lines of standard output, without their ends.
    var lines: [String] { lineList(output) }
    /// The lines of standard error.
    var errorLines: [String] { lineList(errors) }
    /// Each line of standard output as an object of JSON.
    var objects: [[String: Any]] { lines.map(object) }
    /// The whole of standard output as an object of JSON.
    var object: [String: Any] { object(output) }
    /// The whole of standard output as an array of objects of JSON.
    var array: [[String: Any]] {
        (try? JSONSerialization.jsonObject(with: outputBytes)) as? [[String: Any]] ?? []
    }
    /// CSV as rows of cells.
    var csv: [[String]] { parseCSV(output) }

    private func object(_ text: String) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }

    private func lineList(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map(String.init)
    }
}

/// RFC 4180, read as strictly as it is written.
func parseCSV(_ text: String) -> [[String]] {
    var rows: [[String]] = []
    var row: [String] = []
    var cell = ""
    var isQuoted = false
    var scalars = Array(text.unicodeScalars)[...]
    while let scalar = scalars.popFirst() {
        if isQuoted {
            if scalar != "\"" {
                cell.unicodeScalars.append(scalar)
            } else if scalars.first == "\"" {
                scalars.removeFirst()
                cell += "\""
            } else {
                isQuoted = false
            }
        } else if scalar == "\"" {
            isQuoted = true
        } else if scalar == "," {
            row.append(cell)
            cell = ""
        } else if scalar == "\r", scalars.first == "\n" {
            scalars.removeFirst()
            rows.append(row + [cell])
            (row, cell) = ([], "")
        } else {
            cell.unicodeScalars.append(scalar)
        }
    }
    return rows
}

/// A folder of its own with room for a store, and the built program to work on it.
final class Workspace {
    let folder: URL
    var store: URL { folder.appending(path: "health.hklog") }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "hklog-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// The program that was built beside these tests; `HKLOG_BINARY` names another one.
    static let binary: URL = {
        if let path = ProcessInfo.processInfo.environment["HKLOG_BINARY"] { return URL(filePath: path) }
        var folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while folder.path.count > 1 {
            folder.deleteLastPathComponent()
            let candidate = folder.appending(path: "hklog")
            var isDirectory: ObjCBool = false
            if unsafe FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isDirectory),
                !isDirectory.boolValue
            {
                return candidate
            }
        }
        return URL(filePath: ".build/debug/hklog")
    }()

    /// Where the tests run under a sanitizer, so does the program, with the same options.
    static let sanitizerOptions = ProcessInfo.processInfo.environment.filter {
        ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key)
    }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    /// Writes a file into the folder.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: folder.appending(path: name))
        return path(name)
    }

    func read(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
    }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

    /// Runs the program to its end.
    @discardableResult
    func run(
        _ arguments: String..., input: String? = nil, environment: [String: String] = [:]
    ) throws -> Outcome {
        try run(arguments, inputBytes: input.map { Data($0.utf8) }, environment: environment)
    }

    @discardableResult
    func run(
        _ arguments: [String], inputBytes: Data? = nil, environment: [String: String] = [:],
        outputPath: String? = nil
    ) throws -> Outcome {
        let call = UUID().uuidString
        let outputFile = outputPath ?? path("\(call).out")
        let errorFile = path("\(call).err")
        let process = process(arguments, environment: environment)
        if let inputBytes {
            try inputBytes.write(to: folder.appending(path: "\(call).in"))
            process.standardInput = FileHandle(forReadingAtPath: path("\(call).in"))
        } else {
            process.standardInput = FileHandle.nullDevice
        }
        if outputPath == nil { _ = FileManager.default.createFile(atPath: outputFile, contents: nil) }
        _ = FileManager.default.createFile(atPath: errorFile, contents: nil)
        process.standardOutput = FileHandle(forWritingAtPath: outputFile)
        process.standardError = FileHandle(forWritingAtPath: errorFile)
        try process.run()
        process.waitUntilExit()
        let output = outputPath == nil ? try Data(contentsOf: URL(filePath: outputFile)) : Data()
        let errors = try Data(contentsOf: URL(filePath: errorFile))
        return Outcome(
            status: process.terminationStatus, outputBytes: output,
            errors: String(decoding: errors, as: UTF8.self))
    }

    /// Starts the program with pipes at both ends.
    func start(_ arguments: String...) throws -> Child {
        try Child(process(arguments, environment: [:]))
    }

    private func process(_ arguments: [String], environment: [String: String]) -> Process {
        let process = Process()
        process.executableURL = Self.binary
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = ["HKLOG_STORE": store.path, "TZ": "Europe/Berlin", "PATH": "/usr/bin:/bin"]
            .merging(Self.sanitizerOptions) { $1 }.merging(environment) { $1 }
        return process
    }

    /// Makes a store with days of Berlin and appends the lines.
    @discardableResult
    func fill(_ lines: [String]) throws -> Outcome {
        try run("init", "--time-zone", "Europe/Berlin")
        return try run("append", "--format", "jsonl", input: lines.joined(separator: "\n") + "\n")
    }
}

/// A program that is running, with what it has printed so far.
final class Child {
    let process: Process
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private let received = Buffer()
    private let receivedErrors = Buffer()

    /// Bytes that a background thread collects.
    private final class Buffer: Sendable {
        let bytes = Mutex(Data())
    }

    init(_ process: Process) throws {
        self.process = process
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        collect(output, into: received)
        collect(errors, into: receivedErrors)
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    private func collect(_ pipe: Pipe, into buffer: Buffer) {
        pipe.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            buffer.bytes.withLock { $0.append(data) }
        }
    }

    var text: String { received.bytes.withLock { String(decoding: $0, as: UTF8.self) } }
    var errorText: String { receivedErrors.bytes.withLock { String(decoding: $0, as: UTF8.self) } }
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    func write(_ text: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    func closeInput() throws {
        try input.fileHandleForWriting.close()
    }

    func closeOutput() throws {
        output.fileHandleForReading.readabilityHandler = nil
        try output.fileHandleForReading.close()
    }

    /// Waits until something holds; `false` when it does not within the time.
    func wait(seconds: Double = 5, until condition: (Child) -> Bool) -> Bool {
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            if condition(self) { return true }
            Thread.sleep(forTimeInterval: 0.01)
        }
        return condition(self)
    }

    /// Waits for the end; `nil` when it does not come within the time.
    func status(within seconds: Double = 5) -> Int32? {
        guard wait(seconds: seconds, until: { !$0.process.isRunning }) else { return nil }
        return process.terminationStatus
    }

    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }
}

// MARK: Batches

let steps = "HKQuantityTypeIdentifierStepCount"
let heartRate = "HKQuantityTypeIdentifierHeartRate"
let sleep = "HKCategoryTypeIdentifierSleepAnalysis"

/// A uuid of a small number.
func uuid(_ number: Int) -> String {
    let digits = String(number, radix: 16, uppercase: true)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
}

/// A sample as JSON; `extra` are further members, such as `"unit":"count"`.
func sample(
    _ number: Int, type: String = steps, start: String = "2026-03-01T08:00:00+01:00", end: String? = nil,
    value: String = "10", unit: String? = "count", source: String? = nil, extra: String = ""
) -> String {
    var text = "{\"uuid\":\"\(uuid(number))\",\"type\":\"\(type)\",\"start\":\"\(start)\""
    if let end { text += ",\"end\":\"\(end)\"" }
    text += ",\"value\":\(value)"
    if let unit { text += ",\"unit\":\"\(unit)\"" }
    if let source { text += ",\"source\":\(source)" }
    return text + (extra.isEmpty ? "" : "," + extra) + "}"
}

/// A batch as a line of JSON; `members` are everything but stream and samples.
func batch(_ members: String = "", stream: String = "s", added: [String] = [], deleted: [Int] = []) -> String
{
    var text = "{\"stream\":\"\(stream)\""
    if !members.isEmpty { text += "," + members }
    if !added.isEmpty { text += ",\"added\":[" + added.joined(separator: ",") + "]" }
    if !deleted.isEmpty {
        text += ",\"deleted\":[" + deleted.map { "\"\(uuid($0))\"" }.joined(separator: ",") + "]"
    }
    return text + "}"
}

let watch = #"{"name":"Anna's Watch","bundleIdentifier":"com.apple.health.1","productType":"Watch7,1"}"#
let phone = #"{"name":"Anna's iPhone","bundleIdentifier":"com.apple.health.2","productType":"iPhone17,1"}"#

/// A small history that has something of everything: two sources that overlap, readings, a night, a deletion.
let history: [String] = [
    batch(
        #""previousAnchor":null,"anchor":"a1""#, stream: steps,
        added: [
            sample(
                1, start: "2026-03-01T08:00:00+01:00", end: "2026-03-01T08:10:00+01:00", value: "600",
                source: phone),
            sample(
                2, start: "2026-03-01T08:05:00+01:00", end: "2026-03-01T08:15:00+01:00", value: "400",
                source: watch),
            sample(
                3, start: "2026-03-01T23:50:00+01:00", end: "2026-03-02T00:10:00+01:00", value: "100",
                source: phone),
            sample(4, start: "2026-03-02T12:00:00+01:00", value: "7", source: nil),
        ]),
    batch(#""previousAnchor":"a1","anchor":"a2""#, stream: steps, deleted: [4]),
    batch(
        #""previousAnchor":null,"anchor":"b1""#, stream: heartRate,
        added: [
            sample(
                11, type: heartRate, start: "2026-03-01T08:00:00Z", value: "60", unit: "count/min",
                source: watch),
            sample(
                12, type: heartRate, start: "2026-03-01T09:00:00Z", value: "90.5", unit: "count/min",
                source: watch),
            sample(
                13, type: heartRate, start: "2026-03-02T09:00:00Z", value: "1.5", unit: "count/s",
                source: watch),
        ]),
    batch(
        #""previousAnchor":null,"anchor":"c1""#, stream: sleep,
        added: [
            sample(
                21, type: sleep, start: "2026-03-01T22:00:00Z", end: "2026-03-02T06:00:00Z",
                value: "\"HKCategoryValueSleepAnalysisInBed\"", unit: nil, source: phone),
            sample(
                22, type: sleep, start: "2026-03-01T23:30:00Z", end: "2026-03-02T05:00:00Z", value: "3",
                unit: nil,
                source: watch),
        ]),
]
