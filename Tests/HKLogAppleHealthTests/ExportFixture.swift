import Foundation
import HKLog

@testable import HKLogAppleHealth

/// A folder of a test's own that goes away with it.
final class TestFolder {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "hklog-import-" + UUID().uuidString + "/"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file and gives its path back.
    @discardableResult
    func write(_ bytes: [UInt8], _ name: String) -> String {
        let file = path + name
        try? FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        _ = FileManager.default.createFile(atPath: file, contents: Data(bytes))
        return file
    }
}

/// Texts of exports.
enum ExportFixture {
    static let prolog = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE HealthData [
        <!-- HealthKit Export Version: 14 -->
        <!ELEMENT HealthData (ExportDate,Me,(Record|Correlation|Workout)*)>
        <!ATTLIST HealthData
          locale CDATA #REQUIRED
        >
        ]>

        """

    /// A document around some elements.
    static func document(_ elements: String, prolog: String = prolog) -> [UInt8] {
        Array("\(prolog)<HealthData locale=\"en_US\">\n\(elements)\n</HealthData>\n".utf8)
    }

    /// A record of Apple's form.
    static func record(
        _ type: String = "HKQuantityTypeIdentifierStepCount", value: String? = "100", unit: String? = "count",
        source: String = "iPhone", start: String = "2024-01-02 08:00:00 +0100",
        end: String? = "2024-01-02 08:10:00 +0100", creation: String? = "2024-01-02 08:11:00 +0100",
        extra: String = "", children: String = ""
    ) -> String {
        var text = " <Record type=\"\(type)\" sourceName=\"\(source)\" sourceVersion=\"17.1\"\(extra)"
        if let unit { text += " unit=\"\(unit)\"" }
        if let creation { text += " creationDate=\"\(creation)\"" }
        text += " startDate=\"\(start)\""
        if let end { text += " endDate=\"\(end)\"" }
        if let value { text += " value=\"\(value)\"" }
        return children.isEmpty ? text + "/>\n" : text + ">\n\(children)</Record>\n"
    }
}

/// An export whose document is in memory.
func memoryExport(_ bytes: [UInt8], pieceByteCount: Int = 1 << 20) -> FoundExport {
    FoundExport(name: "export.xml", byteCount: bytes.count, sideFiles: nil) { () throws(HKLogError) in
        MemorySource(bytes, pieceByteCount: pieceByteCount)
    }
}

extension AppleHealthImporter {
    /// Imports a document that is in memory.
    func run(_ bytes: [UInt8], into destination: inout MemoryDestination) throws(HKLogError) -> ImportReport {
        try run(memoryExport(bytes), into: &destination, rules: .utc) { _ in }
    }

    /// Imports what lies at a path.
    func run(path: String, into destination: inout MemoryDestination) throws(HKLogError) -> ImportReport {
        try run(FoundExport.find(at: path), into: &destination, rules: .utc) { _ in }
    }
}

/// The samples that a document becomes in an empty stream.
func imported(_ elements: String) throws -> (samples: [Sample], report: ImportReport) {
    var destination = MemoryDestination()
    let report = try AppleHealthImporter().run(ExportFixture.document(elements), into: &destination)
    return (destination.live, report)
}

extension ImportReport {
    /// How often a problem whose words begin so was met.
    func count(of prefix: String) -> Int {
        problems.filter { $0.what.hasPrefix(prefix) }.reduce(0) { $0 + $1.count }
    }
}

extension Sample {
    /// A metadata value that is a string.
    func metadataText(_ key: String) -> String? {
        guard let metadata, case .string(let text)? = try? JSONValue(parsing: metadata.text)[key] else {
            return nil
        }
        return text
    }

    /// The payload taken apart.
    var payloadValue: JSONValue? {
        payload.flatMap { try? JSONValue(parsing: $0.text) }
    }
}
