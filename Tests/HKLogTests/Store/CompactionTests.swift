import HKLogTestSupport
import Testing

@testable import HKLog

/// What `compact` takes out is gone, and nothing else is.
@Suite struct CompactionTests {
    /// A text that occurs nowhere by chance.
    private static func marker(_ random: inout SeededGenerator) -> String {
        "m" + (0..<3).map { _ in String(random.next(), radix: 36) }.joined()
    }

    private static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let wanted = Array(text.utf8.prefix(20))
        guard bytes.count >= wanted.count else { return false }
        return (0...bytes.count - wanted.count).contains { start in
            bytes[start] == wanted[0] && bytes[start..<start + wanted.count].elementsEqual(wanted)
        }
    }

    /// Every file of the store, its path and bytes.
    private static func files(_ layer: SimulatedFileLayer) throws -> [(String, [UInt8])] {
        var files: [(String, [UInt8])] = []
        for folder in ["", "/log", "/views"] {
            for name in try layer.names(in: StoreRehearsal.path + folder) {
                let path = "\(StoreRehearsal.path)\(folder)/\(name)"
                if try !layer.status(of: path).isDirectory {
                    files.append((path, layer.bytes(at: path) ?? []))
                }
            }
        }
        return files
    }

    private static func isAnywhere(_ text: String, in files: [(String, [UInt8])]) -> Bool {
        files.contains { contains($0.1, text) }
    }

    private static func sample(
        _ uuid: SampleUUID, note: String, source: String, value: Double, hour: Int
    ) throws -> Sample {
        var sample = Sample(
            uuid: uuid, type: StoreRehearsal.streams[0],
            start: Timestamp(microseconds: 1_772_323_200_000_000 + Int64(hour) * 3_600_000_000))
        sample.unit = "count"
        sample.value = .quantity(value)
        sample.source = Source(name: source)
        sample.metadata = try JSONText(parsing: "{\"note\":\"\(note)\"}")
        return sample
    }

    @Test func `deleted, superseded and swept data is in no byte of the store any more`() throws {
        var random = SeededGenerator(seed: 3)
        let layer = SimulatedFileLayer()
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
        var gone: [String] = []
        var kept: [String] = []
        var all: [Batch] = []
        func append(_ batch: Batch) throws {
            all.append(batch)
            #expect(try !store.append(batch).duplicate)
        }
        func item(_ uuid: SampleUUID, _ hour: Int, _ isGone: Bool) throws -> Sample {
            let (note, source) = (Self.marker(&random), Self.marker(&random))
            if isGone { gone += [note, source] } else { kept += [note, source] }
            return try Self.sample(uuid, note: note, source: source, value: Double(hour) + 0.125, hour: hour)
        }
        let uuids = (0..<40).map { _ in HistoryMaker.uuid(&random) }
        // Deleted: 0..<10, one of them in a batch that another sample keeps. Superseded: 10..<15. Swept: 15..<20.
        for index in 0..<10 {
            var batch = Batch(
                stream: "phone",
                added: [try item(uuids[index], index, true), try item(uuids[20 + index], index, false)],
                anchor: "p\(index)")
            batch.confirmDeletions = true
            try append(batch)
        }
        for index in 10..<15 {
            try append(
                Batch(stream: "phone", added: [try item(uuids[index], index, true)], anchor: "p\(index)"))
        }
        for index in 10..<15 {
            try append(
                Batch(stream: "phone", added: [try item(uuids[index], index, false)], anchor: "q\(index)"))
        }
        try store.checkpoint()
        try append(Batch(stream: "phone", added: [], deleted: Array(uuids[0..<10]), anchor: "gone"))
        for index in 15..<20 {
            try append(
                Batch(stream: "watch", added: [try item(uuids[index], index, true)], anchor: "w\(index)"))
        }
        var listing = Batch(stream: "watch", added: [try item(uuids[39], 39, false)], anchor: "listing")
        listing.snapshot = .whole
        listing.confirmDeletions = true
        try append(listing)
        try store.checkpoint()

        let before = try Self.files(layer)
        for text in gone + kept {
            #expect(Self.isAnywhere(text, in: before), "the markers can be found at all")
        }
        let digest = try store.info().digest
        let position = try store.changes(since: 12).position()
        let used = layer.usedByteCount
        let report = try store.compact()
        #expect(report.rowsRemoved == 20)
        let after = try Self.files(layer)
        for text in gone {
            for (path, bytes) in after where Self.contains(bytes, text) {
                Issue.record("\(text) is in \(path)")
            }
        }
        for text in kept { #expect(Self.isAnywhere(text, in: after)) }
        #expect(layer.usedByteCount < used * 3 / 4, "\(layer.usedByteCount) of \(used) bytes")
        #expect(report.bytesAfter < report.bytesBefore)

        #expect(try store.info().digest == digest)
        try StoreRehearsal.requireReplayAgrees(store)
        let reader = try store.changes(since: position.logAnchor, expecting: position.logCheck)
        var anchors: [UInt64] = []
        while case .batch(let batch, let anchor)? = try reader.next() {
            #expect(batch.anchor == all[Int(anchor) - 1].anchor)
            anchors.append(anchor)
        }
        #expect(anchors == Array(13...UInt64(all.count)))
        // Batches of the watch's first epoch are of an earlier life since its listing.
        func isRepeat(_ result: AppendResult) -> Bool { result.duplicate || result.stale }
        for batch in all { #expect(isRepeat(try store.append(batch)), "\(batch.anchor ?? "")") }
        try store.close()
        let reopened = try StoreRehearsal.open(layer)
        #expect(try reopened.info().digest == digest)
        for batch in all { #expect(isRepeat(try reopened.append(batch))) }
        // A second compaction has nothing left to do.
        #expect(try reopened.compact().rowsRemoved == 0)
        #expect(try reopened.info().digest == digest)
        try reopened.close()
        #expect(try Store.verify(LogFiles(layer: layer, store: StoreRehearsal.path)).sound)
    }

    @Test(arguments: 0..<4)
    func `random histories answer the same after a compaction`(seed: Int) throws {
        for seed in stride(from: UInt64(seed), to: UInt64(8 * testScale), by: 4) {
            let layer = SimulatedFileLayer()
            let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
            var maker = HistoryMaker(seed: seed + 900, centre: 1_772_323_200_000_000)
            var model = SlowModel()
            var sent: [Batch] = []
            for round in 0..<3 {
                for _ in 0..<30 {
                    let batch = maker.batch(for: model)
                    guard case .append = model.append(batch) else { continue }
                    sent.append(batch)
                    if maker.random.chance(30) { try store.enqueue(batch) } else { try store.append(batch) }
                }
                try store.commit()
                try StoreRehearsal.requireReplayAgrees(store)
                let digest = try store.info().digest
                _ = try store.compact()
                #expect(try store.info().digest == digest, "seed \(seed), round \(round)")
                try StoreRehearsal.requireReplayAgrees(store)
                for batch in sent {
                    let result = try? store.enqueue(batch)
                    switch model.verdict(on: batch) {
                    case .duplicate: #expect(result?.duplicate == true, "seed \(seed), round \(round)")
                    case .stale: #expect(result?.stale == true, "seed \(seed), round \(round)")
                    case .conflict: #expect(result == nil, "seed \(seed), round \(round)")
                    // What has no anchor and no number may stand in the log twice.
                    case .append: _ = model.append(batch)
                    }
                }
                try store.commit()
                let repeated = try store.info().digest
                try StoreRehearsal.requireReplayAgrees(store)
                try store.checkpoint()
                #expect(try store.info().digest == repeated)
            }
            try store.close()
        }
    }
}
