import HKLogTestSupport
import Testing

@testable import HKLog

/// Stores to damage.
enum StoreDamage {
    static let count = 14

    /// Three segments and more, single batches and a group.
    static func filled(withCheckpoint: Bool) throws -> SimulatedFileLayer {
        let layer = SimulatedFileLayer()
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
        for index in 0..<count - 3 { try store.append(StoreRehearsal.batch(index)) }
        for index in count - 3..<count - 1 { try store.enqueue(StoreRehearsal.batch(index)) }
        try store.commit()
        try store.append(StoreRehearsal.batch(count - 1))
        if withCheckpoint { try store.checkpoint() }
        try store.close()
        return layer.copy()
    }

    static func segments(of layer: SimulatedFileLayer) -> [String] {
        ((try? layer.names(in: "\(StoreRehearsal.path)/log")) ?? []).filter { $0.hasSuffix(".seg") }.sorted()
    }
}

/// No damage to a log is believed, and repair keeps everything else.
@Suite struct StoreDamageTests {
    enum Finding: Equatable {
        case harmless
        case tail
        case damage
    }

    /// Throws unless damage in `file` is found, or harmless, and repaired.
    static func check(
        _ layer: SimulatedFileLayer, file: String, digest: String, size: Int
    ) throws(HKLogError) -> Finding {
        let files = LogFiles(layer: layer, store: StoreRehearsal.path)
        let report = try Store.verify(files, secondLookAfter: 0)
        if report.sound {
            let store = try StoreRehearsal.open(layer, .read)
            try require(try StoreRehearsal.contents(store).end == StoreDamage.count, "harmless: all batches")
            try require(try store.info().digest == digest, "harmless: the same digest")
            return .harmless
        }
        try require(
            report.problems.contains { $0.file == "log/\(file)" && $0.offset + $0.length <= UInt64(size) },
            "names the file and a range in it: \(report.problems)")
        let bars = report.problems.contains {
            $0.what != LogFinding.Kind.tornTail.rawValue && $0.what != LogFinding.Kind.trailingBytes.rawValue
                && $0.file.hasPrefix("log/")
        }
        let before = layer.copy()
        // Reading gives a beginning of the log, and says so.
        var sound: UInt64 = 0
        do throws(HKLogError) {
            let store = try StoreRehearsal.open(layer, .read)
            let reader = try store.changes(since: 0)
            do throws(HKLogError) {
                while let change = try reader.next() {
                    guard case .batch(let batch, let anchor) = change else { continue }
                    try require(batch.anchor == "a\(anchor - 1)", "anchor \(anchor)")
                    sound = anchor
                }
                try require(!bars, "reading meets what verify finds: \(report.problems)")
            } catch {
                try require(error.code == .damaged && bars, "reading: \(error)")
                try require(try reader.position().logAnchor == sound, "the last sound anchor")
            }
        } catch {
            try require(error.code == .damaged, "opening: \(error)")
        }
        let gapsAsProblems = report.problems.compactMap { problem in
            problem.firstAnchor.flatMap { first in problem.lastAnchor.map { first...$0 } }
        }
        if bars {
            var refusal: HKLogError?
            do throws(HKLogError) {
                let writer = try StoreRehearsal.open(layer)
                // A checkpoint that reaches past the damage answers for it: then appending may go on.
                try writer.append(StoreRehearsal.batch(StoreDamage.count))
                try writer.close()
            } catch {
                refusal = error
            }
            if let refusal { try require(refusal.code == .damaged, "a writer refuses: \(refusal)") }
        }
        let repaired = before
        let repairedFiles = LogFiles(layer: repaired, store: StoreRehearsal.path)
        let repair = try Store.repair(repairedFiles)
        let verified = try Store.verify(repairedFiles, secondLookAfter: 0)
        try require(
            verified.sound,
            "sound after the repair: \(verified.problems)")
        let store = try StoreRehearsal.open(repaired)
        let contents = try StoreRehearsal.contents(store)
        try require(
            contents.gaps == Set(verified.gaps.flatMap { Array($0) }), "gaps listed: \(verified.gaps)")
        let lost = UInt64(StoreDamage.count) - UInt64(contents.batches.count)
        if !bars {
            // Where a checkpoint has seen the batch that the tail held, repair records it as lost.
            try require(
                lost <= 1 && contents.gaps == Set(repair.gaps.flatMap { Array($0) })
                    && contents.gaps.count <= 1,
                "a torn tail is one frame: \(lost), \(contents.gaps)")
        } else {
            try require(contents.gaps == Set(repair.gaps.flatMap { Array($0) }), "gaps told: \(repair.gaps)")
            try require(contents.gaps.count <= 2, "no more is lost than the frame: \(contents.gaps)")
            for anchor in contents.gaps {
                try require(
                    gapsAsProblems.contains { $0.contains(anchor) },
                    "verify named \(anchor): \(report.problems)")
            }
        }
        try StoreRehearsal.requireReplayAgrees(store)
        try store.append(StoreRehearsal.batch(Int(contents.end)))
        let digest = try store.info().digest
        try store.close()
        let again = try StoreRehearsal.open(repaired, .read)
        try require(try again.info().digest == digest, "the same when opened again")
        return bars ? .damage : .tail
    }

    @Test(arguments: [false, true])
    func `no flipped bit is believed, and repair keeps everything but its frame`(withCheckpoint: Bool) throws
    {
        let whole = try StoreDamage.filled(withCheckpoint: withCheckpoint)
        let names = StoreDamage.segments(of: whole)
        #expect(names.count >= 3)
        let digest = try StoreRehearsal.open(whole, .read).info().digest
        var counts = (harmless: 0, tail: 0, damage: 0)
        for (segment, name) in names.enumerated() {
            let path = "\(StoreRehearsal.path)/log/\(name)"
            let original = try #require(whole.bytes(at: path))
            let step = max(1, 97 / testScale)
            for place in stride(from: segment, to: original.count, by: step) {
                for bit in 0..<8 where testScale >= 97 || bit == (place &* 5 &+ segment) % 8 {
                    let layer = whole.copy()
                    var bytes = original
                    bytes[place] ^= 1 << UInt8(bit)
                    layer.put(bytes, at: path)
                    do throws(HKLogError) {
                        switch try Self.check(layer, file: name, digest: digest, size: bytes.count) {
                        case .harmless: counts.harmless += 1
                        case .tail: counts.tail += 1
                        case .damage: counts.damage += 1
                        }
                    } catch {
                        Issue.record("\(name) byte \(place) bit \(bit): \(error)")
                        return
                    }
                }
            }
        }
        print("store flips, checkpoint \(withCheckpoint): \(counts)")
        #expect(counts.harmless == 0)
    }

    @Test(arguments: [false, true])
    func `a log cut at any length keeps its whole frames, and repair the rest`(withCheckpoint: Bool) throws {
        let whole = try StoreDamage.filled(withCheckpoint: withCheckpoint)
        let names = StoreDamage.segments(of: whole)
        let digest = try StoreRehearsal.open(whole, .read).info().digest
        var cases = 0
        for (segment, name) in names.enumerated() {
            let path = "\(StoreRehearsal.path)/log/\(name)"
            let original = try #require(whole.bytes(at: path))
            for length in stride(from: segment, to: original.count, by: max(1, 151 / testScale)) {
                cases += 1
                let layer = whole.copy()
                layer.put(Array(original.prefix(length)), at: path)
                do throws(HKLogError) {
                    try Self.checkCut(
                        layer, isLast: segment == names.count - 1, digest: digest, withCheckpoint)
                } catch {
                    Issue.record("\(name) cut to \(length): \(error)")
                    return
                }
            }
        }
        print("store cuts, checkpoint \(withCheckpoint): \(cases)")
    }

    private static func checkCut(
        _ layer: SimulatedFileLayer, isLast: Bool, digest: String, _ withCheckpoint: Bool
    ) throws(HKLogError) {
        let files = LogFiles(layer: layer, store: StoreRehearsal.path)
        let report = try Store.verify(files, secondLookAfter: 0)
        if !isLast || withCheckpoint {
            try require(!report.sound, "a later segment or a checkpoint proves it")
        }
        if isLast {
            let store = try StoreRehearsal.open(layer)
            let contents = try StoreRehearsal.contents(store)
            try require(contents.gaps.isEmpty && contents.end < StoreDamage.count, "whole frames alone")
            try StoreRehearsal.requireReplayAgrees(store)
            if withCheckpoint {
                try require(!store.takeWarnings().isEmpty, "the loss that a checkpoint proves is told")
            }
            try store.append(StoreRehearsal.batch(Int(contents.end)))
            try store.close()
            let verified = try Store.verify(files, secondLookAfter: 0)
            try require(
                verified.problems.allSatisfy { $0.file.hasPrefix("views/") },
                "the log is sound: \(verified.problems)")
            return
        }
        _ = try Store.repair(files)
        let verified = try Store.verify(files, secondLookAfter: 0)
        try require(verified.sound, "sound after the repair: \(verified.problems)")
        let store = try StoreRehearsal.open(layer)
        let contents = try StoreRehearsal.contents(store)
        try require(contents.end == StoreDamage.count, "later batches keep their anchors")
        try require(
            contents.gaps.count + contents.batches.count == StoreDamage.count, "each is there or named")
        try StoreRehearsal.requireReplayAgrees(store)
        try store.close()
    }

    @Test func `every block of a checkpoint is covered by verify, and answers are those of the log`() throws {
        let whole = try StoreDamage.filled(withCheckpoint: true)
        let digest = try StoreRehearsal.open(whole, .read).info().digest
        let folder = "\(StoreRehearsal.path)/views"
        let name = try #require(try whole.names(in: folder).first { $0.hasSuffix(".ckp") })
        let original = try #require(whole.bytes(at: "\(folder)/\(name)"))
        var found = 0
        var tried = 0
        for place in stride(from: 0, to: original.count, by: max(61, 509 / testScale)) {
            tried += 1
            let layer = whole.copy()
            var bytes = original
            bytes[place] ^= 16
            layer.put(bytes, at: "\(folder)/\(name)")
            let files = LogFiles(layer: layer, store: StoreRehearsal.path)
            let report = try Store.verify(files)
            if !report.sound {
                found += 1
                #expect(report.problems.allSatisfy { $0.file == "views/\(name)" })
            }
            let store = try StoreRehearsal.open(layer)
            #expect(try store.info().digest == digest, "byte \(place)")
            try store.append(StoreRehearsal.batch(StoreDamage.count))
            try StoreRehearsal.requireReplayAgrees(store)
            try store.close()
        }
        print("checkpoint flips: \(found) of \(tried) found by verify")
        #expect(found * 10 >= tried * 9)
    }

    @Test func `an epoch with a gap is not complete, the next one is`() throws {
        let layer = SimulatedFileLayer()
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
        func page(_ index: Int, _ snapshot: Batch.Snapshot?) -> Batch {
            var batch = StoreRehearsal.batch(index * 2)
            batch.snapshot = snapshot
            batch.deleted = []
            return batch
        }
        for index in 0..<8 { try store.append(page(index, index == 0 ? .begin : nil)) }
        try store.close()
        let names = StoreDamage.segments(of: layer)
        #expect(names.count >= 2)
        let path = "\(StoreRehearsal.path)/log/\(names[0])"
        var bytes = try #require(layer.bytes(at: path))
        bytes[bytes.count - 40] ^= 1
        layer.put(bytes, at: path)
        let report = try Store.repair(LogFiles(layer: layer, store: StoreRehearsal.path))
        #expect(!report.gaps.isEmpty)
        let mended = try StoreRehearsal.open(layer)
        try mended.append(page(8, .end))
        #expect(try mended.streams().first?.completeEpoch == 0)
        try StoreRehearsal.requireReplayAgrees(mended)
        try mended.append(page(9, .whole))
        #expect(try mended.streams().first?.completeEpoch == mended.streams().first?.epoch)
        // Samples of what was lost are nowhere, those after it are all there after a compaction too.
        let digest = try mended.info().digest
        let samples = try mended.info().samples
        _ = try mended.compact()
        #expect(try mended.info().digest == digest)
        #expect(try mended.info().samples == samples)
        try StoreRehearsal.requireReplayAgrees(mended)
        try mended.close()
        #expect(try Store.verify(LogFiles(layer: layer, store: StoreRehearsal.path)).gaps == report.gaps)
    }

    @Test func `a checkpoint whose anchor lies in a frame of another history is passed over`() throws {
        let layer = SimulatedFileLayer()
        let store = try StoreRehearsal.open(layer, StoreRehearsal.creating)
        for index in 0..<3 { try store.append(StoreRehearsal.batch(index)) }
        try store.close()
        let restored = layer.copy()
        let later = try StoreRehearsal.open(layer)
        try later.append(StoreRehearsal.batch(3))
        try later.checkpoint()
        try later.close()
        // An older copy of the log goes on with a group, and the newer checkpoint comes back.
        let other = try StoreRehearsal.open(restored)
        // Two histories have no random numbers in common.
        for _ in 0..<5 { _ = try restored.randomWord() }
        for index in 3..<6 { try other.enqueue(StoreRehearsal.batch(index + 100)) }
        try other.commit()
        let digest = try other.info().digest
        try other.close()
        try? restored.makeDirectory("\(StoreRehearsal.path)/views")
        for name in try layer.names(in: "\(StoreRehearsal.path)/views") {
            restored.put(
                try #require(layer.bytes(at: "\(StoreRehearsal.path)/views/\(name)")),
                at: "\(StoreRehearsal.path)/views/\(name)")
        }
        let opened = try StoreRehearsal.open(restored)
        #expect(try opened.info().digest == digest)
        #expect(opened.damage == nil)
        #expect(opened.takeWarnings().count == 1)
        try opened.append(StoreRehearsal.batch(6))
        try opened.close()
    }

    @Test func `a checkpoint that turns out damaged within a group loses nothing of the group`() throws {
        let whole = try StoreDamage.filled(withCheckpoint: true)
        let folder = "\(StoreRehearsal.path)/views"
        let name = try #require(try whole.names(in: folder).first { $0.hasSuffix(".ckp") })
        let original = try #require(whole.bytes(at: "\(folder)/\(name)"))
        for place in stride(from: 4096, to: original.count, by: max(61, 1021 / testScale)) {
            let layer = whole.copy()
            var bytes = original
            bytes[place] ^= 16
            layer.put(bytes, at: "\(folder)/\(name)")
            let store = try StoreRehearsal.open(layer, sync: .group)
            do throws(HKLogError) {
                for index in StoreDamage.count..<StoreDamage.count + 6 {
                    let result = try store.enqueue(StoreRehearsal.batch(index))
                    try require(result.logAnchor == UInt64(index) + 1, "anchor \(result.logAnchor)")
                }
                try store.commit()
                try require(
                    try StoreRehearsal.contents(store).end == StoreDamage.count + 6, "all of the group")
                try StoreRehearsal.requireReplayAgrees(store)
                try store.close()
            } catch {
                Issue.record("byte \(place): \(error)")
                return
            }
        }
    }

    @Test func `a segment that is missing below the checkpoint is named, and nobody writes over the hole`()
        throws
    {
        let whole = try StoreDamage.filled(withCheckpoint: true)
        let digest = try StoreRehearsal.open(whole, .read).info().digest
        let names = StoreDamage.segments(of: whole)
        #expect(names.count >= 3)
        for name in names.dropLast() {
            let layer = whole.copy()
            try layer.unlink("\(StoreRehearsal.path)/log/\(name)")
            let files = LogFiles(layer: layer, store: StoreRehearsal.path)
            // Readers answer from the checkpoint, which has seen it, and say so.
            let reader = try StoreRehearsal.open(layer, .read)
            #expect(try reader.info().digest == digest)
            let warnings = reader.takeWarnings()
            #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains(name) }, "\(warnings)")
            try reader.close()
            for access in [StoreAccess.write, .dryRun(StoreOptions())] {
                do throws(HKLogError) {
                    let writer = try StoreRehearsal.open(layer, access)
                    guard case .dryRun = access else {
                        Issue.record("a writer opened a log without \(name)")
                        return
                    }
                    try writer.close()
                } catch {
                    #expect(error.code == .damaged && error.message.contains(name), "\(error)")
                }
            }
            let report = try Store.verify(files, secondLookAfter: 0)
            #expect(report.problems.contains { $0.what == "missing segment" && $0.file == "log/\(name)" })
            let repair = try Store.repair(files)
            #expect(repair.gaps.count == 1)
            #expect(repair.setAside.contains { $0.hasPrefix("views/") }, "the only copy is kept")
            #expect(try Store.verify(files, secondLookAfter: 0).gaps == repair.gaps)
            let mended = try StoreRehearsal.open(layer)
            let contents = try StoreRehearsal.contents(mended)
            #expect(contents.end == StoreDamage.count)
            #expect(contents.gaps == Set(repair.gaps.flatMap { Array($0) }))
            try StoreRehearsal.requireReplayAgrees(mended)
            try mended.append(StoreRehearsal.batch(StoreDamage.count))
            try mended.close()
        }
    }
}
