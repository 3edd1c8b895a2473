import HKLogFormat
import Testing

@Suite struct HeaderTests {
    private static func frameHeader() -> FrameHeader {
        var header = FrameHeader()
        header.batchCount = 2
        header.addedCount = 3
        header.deletedCount = 1
        header.plainByteCount = 112
        header.storedByteCount = 150
        header.rawByteCount = 38
        header.firstAnchor = 1 << 40
        header.previousNonce = 5
        header.lastNonce = 6
        header.storeTag = 7
        header.storedChecksum = 8
        return header
    }

    /// Bytes with the header's own checksum made right again.
    private static func resealed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let sum = crc32c(Array(bytes[0..<8] + bytes[12...]))
        for index in 0..<4 { bytes[8 + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * index)) }
        return bytes
    }

    @Test func `a frame header has 96 bytes and comes back`() {
        var bytes: [UInt8] = []
        Self.frameHeader().encode(into: &bytes)
        #expect(bytes.count == FrameHeader.byteCount)
        #expect(FrameHeader.read(bytes.span) == .valid(Self.frameHeader()))
        #expect(FrameHeader.read((bytes + [1, 2, 3]).span) == .valid(Self.frameHeader()))
    }

    @Test func `96 zero bytes are space that nothing was written to`() {
        #expect(FrameHeader.read([UInt8](repeating: 0, count: 96).span) == .zero)
        #expect(FrameHeader.read([UInt8](repeating: 0, count: 95).span) == .notAHeader)
        #expect(SegmentHeader.read([UInt8](repeating: 0, count: 128).span) == .zero)
    }

    @Test func `a later version is named`() {
        var bytes: [UInt8] = []
        Self.frameHeader().encode(into: &bytes)
        bytes[4] = 2
        #expect(FrameHeader.read(bytes.span) == .damaged)
        #expect(FrameHeader.read(Self.resealed(bytes).span) == .newerVersion(2))
        bytes[4] = 0
        #expect(FrameHeader.read(Self.resealed(bytes).span) == .damaged)
        var segment: [UInt8] = []
        SegmentHeader().encode(into: &segment)
        segment[4] = 9
        #expect(SegmentHeader.read(Self.resealed(segment).span) == .newerVersion(9))
    }

    @Test(arguments: [5, 6, 7, 44, 47, 88, 95])
    func `bytes that must be zero are checked`(offset: Int) {
        var bytes: [UInt8] = []
        Self.frameHeader().encode(into: &bytes)
        bytes[offset] = 0x80
        #expect(FrameHeader.read(Self.resealed(bytes).span) == .damaged)
    }

    @Test(arguments: [5, 7, 12, 15, 56, 100, 127])
    func `bytes of a segment header that must be zero are checked`(offset: Int) {
        var bytes: [UInt8] = []
        SegmentHeader(
            storeID: RawUUID(first: 1, second: 2), firstAnchor: 3, previousFirstAnchor: 2,
            previousLastNonce: 4
        ).encode(into: &bytes)
        #expect(bytes.count == SegmentHeader.byteCount)
        bytes[offset] = 0x80
        #expect(SegmentHeader.read(Self.resealed(bytes).span) == .damaged)
    }

    @Test func `each flipped bit of a segment header is found`() throws {
        let bytes = try GoldenFrameTests.read("v1-segment-header.bin")
        for bit in 0..<8 * bytes.count {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(SegmentHeader.read(flipped.span) == (bit / 8 < 4 ? .notAHeader : .damaged))
        }
    }

    @Test func `a segment does not come before the one before it`() {
        var bytes: [UInt8] = []
        SegmentHeader(
            storeID: RawUUID(first: 1, second: 2), firstAnchor: 3, previousFirstAnchor: 3,
            previousLastNonce: 4
        ).encode(into: &bytes)
        #expect(SegmentHeader.read(bytes.span) == .damaged)
    }

    @Test func `the checksum is CRC32C, whichever way it is computed`() {
        #expect(crc32c(Array("123456789".utf8)) == 0xE306_9283)
        var numbers = SeededNumbers(seed: 4)
        for length in [0, 1, 7, 8, 9, 63, 64, 65, 1000, 1535, 1536, 1537, 5000] {
            let bytes = numbers.bytes(length)
            let expected = crc32c(bytes)
            let hardware = unsafe bytes.withUnsafeBytes { unsafe Checksum.crc32c($0) }
            let table = unsafe bytes.withUnsafeBytes { unsafe Checksum.crc32cByTable($0) }
            #expect(hardware == expected)
            #expect(table == expected)
        }
    }
}
