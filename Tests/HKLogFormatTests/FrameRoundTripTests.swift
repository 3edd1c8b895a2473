import Foundation
import HKLogFormat
import Testing

/// `HKLOG_TEST_SCALE` multiplies how much the seeded tests do.
let testScale = ProcessInfo.processInfo.environment["HKLOG_TEST_SCALE"].flatMap(Int.init) ?? 1

/// Encodes one content as a frame.
func frame(_ content: FrameContent, firstAnchor: UInt64 = 7) throws -> [UInt8] {
    var encoder = FrameEncoder()
    var bytes: [UInt8] = []
    try encoder.encode(content, storeTag: 11, firstAnchor: firstAnchor, previousNonce: 13, into: &bytes)
    return bytes
}

/// Decodes one frame that fills `bytes`; nil where the header is not valid.
func content(of bytes: [UInt8], with decoder: inout FrameDecoder) throws -> FrameContent? {
    guard case .valid(let header) = FrameHeader.read(bytes.span) else { return nil }
    var content = FrameContent()
    try unsafe bytes.withUnsafeBytes { bytes in
        let stored = unsafe UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.byteCount...])
        try unsafe decoder.decode(header, stored: stored, into: &content)
    }
    return content
}

@Suite struct FrameRoundTripTests {
    @Test func `what is encoded comes back, over many seeds`() throws {
        var encoder = FrameEncoder()
        var decoder = FrameDecoder()
        var decoded = FrameContent()
        for seed in 0..<UInt64(150 * testScale) {
            var maker = ContentMaker(seed: seed)
            let content = maker.content()
            var bytes: [UInt8] = [1, 2, 3]
            try encoder.encode(content, storeTag: 11, firstAnchor: seed, previousNonce: 13, into: &bytes)
            #expect(bytes.prefix(3) == [1, 2, 3])
            guard case .valid(let header) = FrameHeader.read(Array(bytes.dropFirst(3)).span) else {
                Issue.record("seed \(seed): the header is not valid")
                return
            }
            #expect(header.firstAnchor == seed && header.storeTag == 11 && header.previousNonce == 13)
            #expect(Int(header.storedByteCount) == bytes.count - 3 - FrameHeader.byteCount)
            try unsafe bytes.withUnsafeBytes { bytes in
                let stored = unsafe UnsafeRawBufferPointer(rebasing: bytes[(3 + FrameHeader.byteCount)...])
                let isWhole = unsafe FrameDecoder.checkStored(header, stored)
                #expect(isWhole)
                try unsafe decoder.decode(header, stored: stored, into: &decoded)
            }
            let names = differences(content, decoded)
            #expect(names.isEmpty, "seed \(seed): \(names)")
            if !names.isEmpty { return }
        }
    }

    @Test func `texts that share nearly everything stay within what a reader takes`() throws {
        // Each anchor is 20 000 bytes and one byte from the last: shared, a frame would unpack to 400 times its size.
        var content = FrameContent()
        var anchor = [UInt8](repeating: 0x61, count: 20_000)
        for index in 0..<100 {
            anchor[10_000 + index] = 0x62
            var batch = BatchEntry()
            batch.stream = [0x73]
            batch.flags = BatchFlags.hasAnchor
            batch.anchor = anchor
            content.batches.append(batch)
        }
        try expectRoundTrip(content)
    }

    @Test func `content that would pack too well is stored as it is`() throws {
        var content = FrameContent()
        var batch = BatchEntry()
        batch.deletedCount = 1
        content.batches = [batch]
        let metadata = [UInt8](repeating: 0x20, count: 1 << 20)
        content.deletions = [DeletionEntry(uuid: RawUUID(first: 1, second: 2), metadata: metadata)]
        try expectRoundTrip(content)
        let bytes = try frame(content)
        guard case .valid(let header) = FrameHeader.read(bytes.span) else {
            Issue.record("the header is not valid")
            return
        }
        #expect(header.compression == .none)
    }

    @Test func `shapes and extras that no row names are left out`() throws {
        var content = GoldenContents.oneSample()
        content.rows.shapes.insert(RowShape(label: [1], valueKind: .none, group: 9), at: 0)
        content.rows.shapeIDs[0] = 1
        content.rows.extraBytes = Array("{}{\"a\":1}".utf8)
        content.rows.extras = [
            RowExtra(count: 0, byteOffset: 0, metadataByteCount: 2, payloadByteCount: 0),
            RowExtra(count: 5, byteOffset: 2, metadataByteCount: 0, payloadByteCount: 7),
        ]
        content.rows.extraIDs = [2]
        var decoder = FrameDecoder()
        let decoded = try #require(try HKLogFormatTests.content(of: frame(content), with: &decoder))
        #expect(decoded.rows.shapes.map(\.label) == [Array("StepCount|count|iPhone".utf8)])
        #expect(decoded.rows.shapeIDs == [0])
        #expect(decoded.rows.extraIDs == [1])
        #expect(decoded.rows.extras.map(\.count) == [5])
        #expect(decoded.rows.extraBytes == Array("{\"a\":1}".utf8))
    }

    private func expectRoundTrip(_ content: FrameContent) throws {
        var decoder = FrameDecoder()
        let decoded = try #require(try HKLogFormatTests.content(of: frame(content), with: &decoder))
        #expect(differences(content, decoded) == [])
    }
}
