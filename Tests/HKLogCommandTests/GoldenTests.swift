import Foundation
import Testing

/// Whole outputs, kept as files.
///
/// `HKLOG_RECORD_GOLDEN=1` writes them anew.
struct GoldenTests {
    static let outputs: [(String, [String])] = {
        let lists: [(String, [String])] = [
            ("stats", ["stats"]), ("stats-steps", ["stats", "--type", "stepCount"]),
            ("stats-sources", ["stats", "--type", "stepCount", "--separate-by-source"]),
            ("stats-heart", ["stats", "--type", "heartRate"]),
            ("stats-sleep", ["stats", "--type", "sleepAnalysis"]),
            ("stats-hours", ["stats", "--type", "stepCount", "--every", "hour"]),
            ("samples", ["samples"]), ("types", ["types"]), ("sources", ["sources"]),
            ("anchors", ["anchors"]),
            ("config", ["config"]),
            ("explain-steps", ["explain", "--type", "stepCount", "--day", "2026-03-01"]),
            ("explain-sleep", ["explain", "--type", "sleepAnalysis", "--day", "2026-03-02"]),
        ]
        let formats = ["table", "csv", "json", "jsonl"]
        let all = lists.flatMap { name, words in
            formats.map { ("\(name).\($0)", words + ["--format", $0]) }
        }
        return all + [
            ("chart-steps.txt", ["chart", "--type", "stepCount"]),
            ("chart-heart.txt", ["chart", "--type", "heartRate"]),
            ("chart-sleep.txt", ["chart", "--type", "sleepAnalysis"]),
            ("chart-steps.svg", ["chart", "--type", "stepCount", "--svg", "-"]),
            ("chart-heart.svg", ["chart", "--type", "heartRate", "--svg", "-"]),
            ("chart-sleep.svg", ["chart", "--type", "sleepAnalysis", "--svg", "-"]),
            ("help.txt", ["--help"]), ("help-stats.txt", ["stats", "--help"]),
        ]
    }()

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    @Test func `outputs are as recorded`() throws {
        let work = try Workspace()
        let filled = try work.fill(history)
        #expect(filled.status == 0, "\(filled.errors)")
        let isRecording = ProcessInfo.processInfo.environment["HKLOG_RECORD_GOLDEN"] == "1"
        if isRecording {
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
        }
        for (name, words) in Self.outputs {
            let outcome = try work.run(words)
            #expect(outcome.status == 0, "\(name): \(outcome.errors)")
            let file = Self.folder.appending(path: name)
            if isRecording {
                try outcome.outputBytes.write(to: file)
            } else {
                let recorded = try Data(contentsOf: file)
                #expect(outcome.output == String(decoding: recorded, as: UTF8.self), "\(name)")
            }
        }
    }
}
