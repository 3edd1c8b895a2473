import Foundation
import HKLogFormat
import Testing

/// What `docs/format.md` says in numbers is what the code does.
@Suite struct FormatDocumentTests {
    private static func document() throws -> String {
        let root = GoldenFrameTests.folder.appending(path: "../../..").standardizedFileURL
        return String(decoding: try Data(contentsOf: root.appending(path: "docs/format.md")), as: UTF8.self)
    }

    /// The hex bytes at the beginning of each line of the block that holds `marker`.
    private static func hexBlock(with marker: String) throws -> [UInt8] {
        let blocks = try document().components(separatedBy: "```")
        let block = try #require(blocks.first { $0.contains(marker) })
        var bytes: [UInt8] = []
        for line in block.split(separator: "\n") {
            for word in line.split(separator: " ") {
                guard word.count == 2, let byte = UInt8(word, radix: 16) else { break }
                bytes.append(byte)
            }
        }
        return bytes
    }

    @Test func `the worked example is the golden frame`() throws {
        let golden = try GoldenFrameTests.read("v1-one-sample.frame")
        #expect(try Self.hexBlock(with: "48 4b 46 72 01 01") == golden)
        #expect(try Self.hexBlock(with: "streams: 1") == SecondReader(frame: golden).raw)
    }

    @Test func `the constants of the document are those of the code`() throws {
        let document = try Self.document()
        #expect(document.contains("a header of \(FrameHeader.byteCount) bytes"))
        #expect(document.contains("\n\(SegmentHeader.byteCount) bytes.\n"))
        #expect(document.contains("at most \(FrameHeader.expansionLimit) times the\nstored byte count"))
        #expect(FrameHeader.storedByteCountLimit == 1 << 30 && FrameHeader.rawByteCountLimit == 1 << 30)
        #expect(document.contains("mask `\(String(BatchFlags.content, radix: 16))`"))
        #expect(FrameHeader.version == 1 && SegmentHeader.version == 1)
    }
}
