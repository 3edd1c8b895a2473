import HKLogFormat
import Testing

/// What happens to bytes that are not what was written: an error, or the same content; never a trap.
@Suite struct DamageTests {
    /// The checksums of `header` and `stored` made right, as an attacker would.
    private static func sealed(_ header: FrameHeader, _ stored: [UInt8]) -> [UInt8] {
        var header = header
        header.storedChecksum = unsafe stored.withUnsafeBytes { unsafe Checksum.crc32c($0) }
        var bytes: [UInt8] = []
        header.encode(into: &bytes)
        return bytes + stored
    }

    /// The header and stored bytes of a golden frame, not compressed, so that damage reaches the columns.
    private static func uncompressed(_ name: String) throws -> (FrameHeader, [UInt8]) {
        let bytes = try GoldenFrameTests.read("v1-\(name).frame")
        guard case .valid(var header) = FrameHeader.read(bytes.span) else { throw CodecError.malformed }
        let raw = try SecondReader(frame: bytes).raw
        let stored = bytes[FrameHeader.byteCount..<FrameHeader.byteCount + Int(header.plainByteCount)] + raw
        header.compression = .none
        header.storedByteCount = UInt64(stored.count)
        header.rawByteCount = UInt64(raw.count)
        return (header, Array(stored))
    }

    private static func decodes(_ bytes: [UInt8], _ decoder: inout FrameDecoder) -> FrameContent? {
        try? content(of: bytes, with: &decoder)
    }

    @Test(arguments: ["one-sample", "empty-batch", "mixed"])
    func `a frame that is cut anywhere is refused`(name: String) throws {
        let bytes = try GoldenFrameTests.read("v1-\(name).frame")
        var decoder = FrameDecoder()
        for length in 0..<bytes.count {
            let cut = Array(bytes.prefix(length))
            if length < FrameHeader.byteCount {
                #expect(FrameHeader.read(cut.span) == .notAHeader)
            } else {
                #expect(throws: CodecError.wrongByteCount) { try content(of: cut, with: &decoder) }
            }
        }
    }

    @Test func `each flipped bit of a frame is found`() throws {
        let bytes = try GoldenFrameTests.read("v1-one-sample.frame")
        var decoder = FrameDecoder()
        for bit in 0..<8 * bytes.count {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            if bit / 8 < FrameHeader.byteCount {
                let verdict = FrameHeader.read(flipped.span)
                #expect(verdict == (bit / 8 < 4 ? .notAHeader : .damaged), "bit \(bit)")
            } else {
                #expect(throws: CodecError.checksumMismatch, "bit \(bit)") {
                    try content(of: flipped, with: &decoder)
                }
            }
        }
    }

    @Test(arguments: ["one-sample", "small-batches", "empty-batch"])
    func `a flipped bit under a right checksum does no harm`(name: String) throws {
        let (header, stored) = try Self.uncompressed(name)
        var decoder = FrameDecoder()
        #expect(Self.decodes(Self.sealed(header, stored), &decoder) != nil)
        var refused = 0
        for bit in 8 * Int(header.plainByteCount)..<8 * stored.count {
            var flipped = stored
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            if Self.decodes(Self.sealed(header, flipped), &decoder) == nil { refused += 1 }
        }
        #expect(refused > 0)
    }

    @Test func `header fields that lie are refused before anything is allocated`() throws {
        let (honest, stored) = try Self.uncompressed("one-sample")
        let lies: [(inout FrameHeader) -> Void] = [
            { $0.addedCount = .max }, { $0.deletedCount = .max }, { $0.batchCount = .max },
            { $0.batchCount = 0 }, { $0.addedCount += 1 }, { $0.rawByteCount = 1 << 30 },
            { $0.rawByteCount = .max }, { $0.rawByteCount = 0 }, { $0.storedByteCount = .max },
            { $0.storedByteCount = FrameHeader.storedByteCountLimit + 1 }, { $0.plainByteCount = .max },
            { $0.plainByteCount = 0 }, { $0.firstAnchor = .max },
            {
                $0.compression = .lz4
                $0.rawByteCount = 64 * $0.storedByteCount + 1
            },
        ]
        var decoder = FrameDecoder()
        for (index, lie) in lies.enumerated() {
            var header = honest
            lie(&header)
            let bytes = Self.sealed(header, stored)
            #expect(FrameHeader.read(bytes.span) == .damaged, "lie \(index)")
            var content = FrameContent()
            #expect(throws: CodecError.malformed, "lie \(index)") {
                try unsafe stored.withUnsafeBytes {
                    try unsafe decoder.decode(header, stored: $0, into: &content)
                }
            }
        }
    }

    @Test func `a column cannot claim more texts than the frame has bytes for`() throws {
        // One batch, one row, one shape whose label is said to be as long as the whole address space.
        let (header, stored) = try Self.uncompressed("one-sample")
        var decoder = FrameDecoder()
        for offset in Int(header.plainByteCount)..<stored.count {
            for filler: [UInt8] in [
                [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], [0xFF], [0x80], [0],
            ] {
                var changed = stored
                for (index, byte) in filler.enumerated() where offset + index < changed.count {
                    changed[offset + index] = byte
                }
                let decoded = Self.decodes(Self.sealed(header, changed), &decoder)
                #expect((decoded?.rows.shapes.first?.label.count ?? 0) <= stored.count)
            }
        }
    }

    @Test(arguments: GoldenContents.names)
    func `seeded mutations are refused or decode, and never trap`(name: String) throws {
        let (header, stored) = try Self.uncompressed(name)
        var numbers = SeededNumbers(seed: 99)
        var decoder = FrameDecoder()
        var decodedCount = 0
        let plain = Int(header.plainByteCount)
        for _ in 0..<200 * testScale {
            var changed = stored
            var changedHeader = header
            for _ in 0...numbers.below(4) {
                let offset = plain + numbers.below(max(1, changed.count - plain))
                switch numbers.below(4) {
                case 0: changed[offset] = UInt8(truncatingIfNeeded: numbers.next())
                case 1: changed[offset] ^= 1 << UInt8(numbers.below(8))
                case 2: changed.insert(UInt8(truncatingIfNeeded: numbers.next()), at: offset)
                default: if changed.count > plain + 1 { changed.remove(at: offset) }
                }
            }
            changedHeader.storedByteCount = UInt64(changed.count)
            changedHeader.rawByteCount = UInt64(changed.count - plain)
            guard let decoded = Self.decodes(Self.sealed(changedHeader, changed), &decoder) else { continue }
            decodedCount += 1
            #expect(decoded.rows.count == Int(header.addedCount))
            #expect(decoded.rows.shapeIDs.allSatisfy { $0 < decoded.rows.shapes.count })
            #expect(decoded.rows.extraIDs.allSatisfy { $0 <= decoded.rows.extras.count })
            // What was decoded is content like any other.
            _ = try frame(decoded, firstAnchor: 0)
        }
        #expect(decodedCount < 200 * testScale)
    }

    @Test func `mutations of the compressed bytes are refused or decode, and never trap`() throws {
        let bytes = try GoldenFrameTests.read("v1-mixed.frame")
        guard case .valid(let header) = FrameHeader.read(bytes.span) else { throw CodecError.malformed }
        #expect(header.compression == .lz4)
        var numbers = SeededNumbers(seed: 7)
        var decoder = FrameDecoder()
        let stored = Array(bytes[FrameHeader.byteCount...])
        for _ in 0..<500 * testScale {
            var changed = stored
            let packedCount = stored.count - Int(header.plainByteCount)
            for _ in 0...numbers.below(3) {
                changed[Int(header.plainByteCount) + numbers.below(packedCount)] = UInt8(
                    truncatingIfNeeded: numbers.next())
            }
            _ = Self.decodes(Self.sealed(header, changed), &decoder)
        }
    }

    @Test func `content whose columns contradict each other is refused`() throws {
        let mistakes: [(inout FrameContent) -> Void] = [
            { $0.batches = [] }, { $0.rows.starts.removeLast() }, { $0.rows.values.append(0) },
            { $0.rows.shapeIDs[0] = 99 }, { $0.batches[0].addedCount = 2 }, { $0.batches[0].addedCount = -1 },
            { $0.batches[0].deletedCount = 1 }, { $0.rows.extraIDs = [1] }, { $0.rows.flags = [] },
            {
                let extra = RowExtra(
                    count: 0, byteOffset: 1, metadataByteCount: Int.max, payloadByteCount: 0)
                $0.rows.extras = [extra]
                $0.rows.extraIDs = [1]
            },
        ]
        for (index, mistake) in mistakes.enumerated() {
            var content = GoldenContents.oneSample()
            mistake(&content)
            var encoder = FrameEncoder()
            var output: [UInt8] = [7]
            #expect(throws: CodecError.inconsistentContent, "mistake \(index)") {
                try encoder.encode(content, storeTag: 0, firstAnchor: 0, previousNonce: 0, into: &output)
            }
            #expect(output == [7])
        }
    }
}
