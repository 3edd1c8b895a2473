import HKLogFormat
import Testing

@Suite struct ContentDigestTests {
    private static func digest(_ content: FrameContent, batch: Int = 0) -> RawDigest {
        let rowStart = content.batches[0..<batch].reduce(0) { $0 + $1.addedCount }
        let deletionStart = content.batches[0..<batch].reduce(0) { $0 + $1.deletedCount }
        let entry = content.batches[batch]
        return contentDigest(
            of: entry, rows: content.rows, rowRange: rowStart..<rowStart + entry.addedCount,
            deletions: content.deletions[deletionStart..<deletionStart + entry.deletedCount])
    }

    @Test func `digests are frozen`() {
        #expect(
            Self.digest(GoldenContents.emptyBatch())
                == RawDigest(low: 0xE8AE_FF14_5449_D005, high: 0x0DDB_04C7_0E71_5BDF))
        #expect(
            Self.digest(GoldenContents.oneSample())
                == RawDigest(low: 0x5138_7336_0F2C_ACC8, high: 0x3E92_9FA6_61C0_9E98))
        #expect(
            Self.digest(GoldenContents.mixed(), batch: 1)
                == RawDigest(low: 0xF8DB_DAD5_9E74_8FD9, high: 0x7ABB_3319_1E91_5240))
    }

    @Test func `a digest is the same after the way through a frame`() throws {
        for seed in 0..<UInt64(40 * testScale) {
            var maker = ContentMaker(seed: seed + 500)
            let content = maker.content()
            var decoder = FrameDecoder()
            let decoded = try #require(try HKLogFormatTests.content(of: frame(content), with: &decoder))
            for batch in content.batches.indices {
                #expect(Self.digest(content, batch: batch) == Self.digest(decoded, batch: batch))
            }
        }
    }

    @Test func `a digest agrees with the definition in the document`() {
        for (name, batch) in [("mixed", 0), ("mixed", 1), ("mixed", 2), ("one-sample", 0), ("columns", 0)] {
            let content = GoldenContents.content(name)
            #expect(Self.digest(content, batch: batch) == plainDigest(content, batch: batch))
        }
    }

    @Test func `the place in the frame and the numbers of shapes are not content`() {
        let content = GoldenContents.mixed()
        var alone = FrameContent()
        alone.batches = [content.batches[1]]
        alone.deletions = Array(content.deletions[0..<4])
        alone.rows = content.rows
        for row in 0..<90 { alone.rows.shapeIDs[row] = 7 - alone.rows.shapeIDs[row] }
        alone.rows.shapes.reverse()
        let digest = contentDigest(
            of: alone.batches[0], rows: alone.rows, rowRange: 30..<60, deletions: alone.deletions[...])
        #expect(digest == Self.digest(content, batch: 1))
    }

    @Test func `what is not content does not change the digest`() {
        let changes: [(inout FrameContent) -> Void] = [
            { $0.batches[0].flags |= BatchFlags.confirmsDeletions },
            { $0.batches[0].flags |= BatchFlags.isThinned }, { $0.batches[0].nonce = 1 },
            { $0.batches[0].sequence = 77 }, { $0.batches[0].epoch = 77 }, { $0.rows.flags[0] = 0 },
            {
                // A count of 1 is what none means.
                let extra = RowExtra(count: 1, byteOffset: 0, metadataByteCount: 0, payloadByteCount: 0)
                $0.rows.extras = [extra]
                $0.rows.extraIDs = [1]
            },
        ]
        for change in changes {
            var content = GoldenContents.oneSample()
            change(&content)
            #expect(Self.digest(content) == Self.digest(GoldenContents.oneSample()))
        }
    }

    @Test func `each piece of content changes the digest`() {
        let changes: [(inout FrameContent) -> Void] = [
            { _ in }, { $0.batches[0].stream.append(0) }, { $0.batches[0].anchor.append(0) },
            { $0.batches[0].previousAnchor = [] }, { $0.batches[0].flags |= BatchFlags.isKept },
            { $0.batches[0].flags |= BatchFlags.opensSnapshot },
            { $0.batches[0].flags |= BatchFlags.endsSnapshot },
            { $0.batches[0].flags |= BatchFlags.isNumbered },
            { $0.batches[0].flags ^= BatchFlags.hasPreviousAnchor },
            { $0.batches[0].flags ^= BatchFlags.hasPreviousAnchor | BatchFlags.previousAnchorIsNone },
            { $0.rows.uuids[0].first ^= 1 }, { $0.rows.uuids[0].second ^= 1 << 63 },
            { $0.rows.starts[0] += 1 }, { $0.rows.durations[0] += 1 }, { $0.rows.values[0] ^= 1 },
            { $0.rows.shapes[0].label.append(0) },
            {
                $0.rows.extras = [
                    RowExtra(count: 2, byteOffset: 0, metadataByteCount: 0, payloadByteCount: 0)
                ]
                $0.rows.extraIDs = [1]
            },
            {
                $0.rows.extras = [
                    RowExtra(count: 0, byteOffset: 0, metadataByteCount: 2, payloadByteCount: 0)
                ]
                $0.rows.extraBytes = Array("{}".utf8)
                $0.rows.extraIDs = [1]
            },
            {
                $0.rows.extras = [
                    RowExtra(count: 0, byteOffset: 0, metadataByteCount: 0, payloadByteCount: 2)
                ]
                $0.rows.extraBytes = Array("{}".utf8)
                $0.rows.extraIDs = [1]
            },
            {
                $0.deletions = [DeletionEntry(uuid: RawUUID(first: 1, second: 2))]
                $0.batches[0].deletedCount = 1
            },
            {
                $0.deletions = [DeletionEntry(uuid: RawUUID(first: 1, second: 2), metadata: [0x7B, 0x7D])]
                $0.batches[0].deletedCount = 1
            },
        ]
        var seen: Set<RawDigest> = []
        for (index, change) in changes.enumerated() {
            var content = GoldenContents.oneSample()
            change(&content)
            #expect(seen.insert(Self.digest(content)).inserted, "change \(index)")
        }
    }
}

/// SipHash-1-3-128 over words as the document says, one step at a time.
private struct PlainHasher {
    var state: [UInt64] = [
        0x736F_6D65_7073_6575, 0x646F_7261_6E64_6F83, 0x6C79_6765_6E65_7261, 0x7465_6462_7974_6573,
    ]
    var count: UInt64 = 0

    init(domain: UInt64) { add(domain) }

    mutating func add(_ word: UInt64) {
        state[3] ^= word
        round()
        state[0] ^= word
        count += 1
    }

    mutating func add(_ text: [UInt8]) {
        add(UInt64(text.count))
        for start in stride(from: 0, to: text.count, by: 8) {
            var word: UInt64 = 0
            for index in start..<min(start + 8, text.count) {
                word |= UInt64(text[index]) << UInt64(8 * (index - start))
            }
            add(word)
        }
    }

    mutating func round() {
        func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
        state[0] &+= state[1]
        state[1] = rotated(state[1], 13) ^ state[0]
        state[0] = rotated(state[0], 32)
        state[2] &+= state[3]
        state[3] = rotated(state[3], 16) ^ state[2]
        state[0] &+= state[3]
        state[3] = rotated(state[3], 21) ^ state[0]
        state[2] &+= state[1]
        state[1] = rotated(state[1], 17) ^ state[2]
        state[2] = rotated(state[2], 32)
    }

    func finish() -> RawDigest {
        var copy = self
        copy.add(count)
        copy.state[2] ^= 0xEE
        for _ in 0..<3 { copy.round() }
        let low = copy.state.reduce(0, ^)
        copy.state[1] ^= 0xDD
        for _ in 0..<3 { copy.round() }
        return RawDigest(low: low, high: copy.state.reduce(0, ^))
    }
}

/// The content digest from its definition in `docs/format.md`.
private func plainDigest(_ content: FrameContent, batch index: Int) -> RawDigest {
    let batch = content.batches[index]
    var hasher = PlainHasher(domain: 0x3174_6142_4C4B_4801)
    hasher.add(batch.stream)
    hasher.add(UInt64(batch.flags & 0b0_1101_1111))
    if batch.flags & 64 != 0 {
        hasher.add(batch.epoch)
        hasher.add(batch.sequence)
    }
    if batch.flags & 2 != 0 { hasher.add(batch.previousAnchor) }
    if batch.flags & 1 != 0 { hasher.add(batch.anchor) }
    let deletionStart = content.batches[0..<index].reduce(0) { $0 + $1.deletedCount }
    hasher.add(UInt64(batch.deletedCount))
    for deletion in content.deletions[deletionStart..<deletionStart + batch.deletedCount] {
        hasher.add(deletion.uuid.first)
        hasher.add(deletion.uuid.second)
        hasher.add(deletion.metadata)
    }
    let rows = content.rows
    let rowStart = content.batches[0..<index].reduce(0) { $0 + $1.addedCount }
    hasher.add(UInt64(batch.addedCount))
    for row in rowStart..<rowStart + batch.addedCount {
        hasher.add(rows.uuids[row].first)
        hasher.add(rows.uuids[row].second)
        hasher.add(UInt64(bitPattern: rows.starts[row]))
        hasher.add(UInt64(bitPattern: rows.durations[row]))
        hasher.add(rows.values[row])
        var shape = PlainHasher(domain: 0x3174_6142_4C4B_4802)
        shape.add(rows.shapes[Int(rows.shapeIDs[row])].label)
        var word = shape.finish().low
        let extraID = rows.extraIDs.isEmpty ? 0 : rows.extraIDs[row]
        if extraID != 0 {
            let extra = rows.extras[Int(extraID) - 1]
            let text = Array(rows.extraBytes[extra.byteOffset...])
            let metadata = Array(text.prefix(extra.metadataByteCount))
            let payload = Array(text.dropFirst(extra.metadataByteCount).prefix(extra.payloadByteCount))
            let count = max(1, extra.count)
            if count != 1 || !metadata.isEmpty || !payload.isEmpty {
                var hasher = PlainHasher(domain: 0x3174_6142_4C4B_4803)
                hasher.add(count)
                hasher.add(metadata)
                hasher.add(payload)
                word ^= hasher.finish().low
            }
        }
        hasher.add(word)
    }
    return hasher.finish()
}
