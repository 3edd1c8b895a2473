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
}
