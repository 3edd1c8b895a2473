import Foundation
import HKLogFormat
import Testing

/// The golden files of format version 1.
///
/// `HKLOG_WRITE_GOLDEN=1` writes those that are missing; a file that is there is never rewritten, because
/// logs with these bytes are out in the world.
@Suite struct GoldenFrameTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    static func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: name)))
    }

    private static func writeIfMissing(_ name: String, _ bytes: [UInt8]) throws {
        let file = folder.appending(path: name)
        guard ProcessInfo.processInfo.environment["HKLOG_WRITE_GOLDEN"] != nil,
            !FileManager.default.fileExists(atPath: file.path())
        else { return }
        try Data(bytes).write(to: file)
    }

    @Test(arguments: GoldenContents.names)
    func `a golden frame decodes to the content it was made of`(name: String) throws {
        let content = GoldenContents.content(name)
        try Self.writeIfMissing("v1-\(name).frame", frame(content))
        var decoder = FrameDecoder()
        let decoded = try HKLogFormatTests.content(of: Self.read("v1-\(name).frame"), with: &decoder)
        #expect(decoded.map { differences(content, $0) } == [])
    }

    @Test(arguments: GoldenContents.names)
    func `the same content is encoded to the same bytes`(name: String) throws {
        let golden = try Self.read("v1-\(name).frame")
        let bytes = try frame(GoldenContents.content(name))
        guard case .valid(let header) = FrameHeader.read(golden.span), header.compression == .lz4 else {
            #expect(bytes == golden)
            return
        }
        // Another release of LZ4 may pack otherwise; what it packs, and all before it, is the same.
        let plainEnd = FrameHeader.byteCount + Int(header.plainByteCount)
        #expect(bytes[FrameHeader.byteCount..<plainEnd] == golden[FrameHeader.byteCount..<plainEnd])
        #expect(bytes[16..<64] == golden[16..<64])
        #expect(bytes[80..<96] == golden[80..<96])
    }

    @Test func `the golden segment header is read and written`() throws {
        let header = SegmentHeader(
            storeID: RawUUID(first: 0x0706_0504_0302_0100, second: 0x0F0E_0D0C_0B0A_0908), firstAnchor: 4096,
            previousFirstAnchor: 0, previousLastNonce: 0xABCD)
        var bytes: [UInt8] = []
        header.encode(into: &bytes)
        try Self.writeIfMissing("v1-segment-header.bin", bytes)
        let golden = try Self.read("v1-segment-header.bin")
        #expect(bytes == golden)
        #expect(SegmentHeader.read(golden.span) == .valid(header))
    }

    @Test(arguments: GoldenContents.names)
    func `a reader written from the document reads the golden frames`(name: String) throws {
        let content = GoldenContents.content(name)
        let reader = try SecondReader(frame: Self.read("v1-\(name).frame"))
        #expect(reader.batches == content.batches.map(plainBatch))
        #expect(reader.rows == plainRows(content.rows))
        #expect(
            reader.deletions.map(\.uuid) == content.deletions.map { bytes($0.uuid.first, $0.uuid.second) })
        #expect(reader.deletions.map(\.metadata) == content.deletions.map(\.metadata))
    }

    @Test func `the golden frames use each form that the format has`() throws {
        var forms: Set<String> = []
        for name in GoldenContents.names {
            forms.formUnion(try SecondReader(frame: Self.read("v1-\(name).frame")).forms)
        }
        let expected: Set = [
            "raw", "lz4", "constant", "planes", "unary", "stride", "sparse", "exceptions", "zigzag",
            "order 0",
            "order 1", "order 2", "chained anchor", "anchor step", "starts follow ends", "values 0",
            "values 1",
            "values 2",
        ]
        #expect(expected.subtracting(forms) == [])
    }

    @Test func `the reader written from the document agrees over many seeds`() throws {
        for seed in 0..<UInt64(40 * testScale) {
            var maker = ContentMaker(seed: seed + 100_000)
            let content = maker.content()
            let reader = try SecondReader(frame: frame(content))
            #expect(reader.rows == plainRows(content.rows), "seed \(seed)")
            #expect(reader.batches == content.batches.map(plainBatch), "seed \(seed)")
        }
    }
}

private func bytes(_ words: UInt64...) -> [UInt8] {
    words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
}

private func plainBatch(_ batch: BatchEntry) -> SecondReader.Batch {
    SecondReader.Batch(
        stream: batch.stream, flags: Int(batch.flags), epoch: batch.epoch, sequence: batch.sequence,
        addedCount: batch.addedCount, deletedCount: batch.deletedCount,
        previousAnchor: batch.flags & BatchFlags.hasPreviousAnchor != 0 ? batch.previousAnchor : nil,
        anchor: batch.flags & BatchFlags.hasAnchor != 0 ? batch.anchor : nil,
        digest: bytes(batch.digest.low, batch.digest.high), nonce: bytes(batch.nonce))
}

private func plainRows(_ rows: RowColumns) -> [SecondReader.Row] {
    (0..<rows.count).map { index in
        let shape = rows.shapes[Int(rows.shapeIDs[index])]
        var row = SecondReader.Row(
            uuid: bytes(rows.uuids[index].first, rows.uuids[index].second), start: rows.starts[index],
            duration: rows.durations[index], valueBits: rows.values[index], label: shape.label,
            kind: Int(shape.valueKind.rawValue), flags: Int(rows.flags[index]))
        guard !rows.extraIDs.isEmpty, rows.extraIDs[index] != 0 else { return row }
        let extra = rows.extras[Int(rows.extraIDs[index]) - 1]
        let middle = extra.byteOffset + extra.metadataByteCount
        row.count = extra.count
        row.metadata = Array(rows.extraBytes[extra.byteOffset..<middle])
        row.payload = Array(rows.extraBytes[middle..<middle + extra.payloadByteCount])
        return row
    }
}
