import HKLog
import HKLogTestSupport
import Testing

/// A checkpoint is never truth: whatever becomes of it, answers are those of the log.
@Suite struct `Damaged checkpoints` {
    private let centre: Int64 = 1_772_323_200_000_000

    /// A store whose checkpoint has some layers, and the model of it.
    private func filled(seed: UInt64 = 5) throws -> (TestStore, SlowModel) {
        var maker = HistoryMaker(seed: seed, centre: centre)
        var model = SlowModel()
        let test = try TestStore()
        for step in 0..<70 {
            let batch = maker.batch(for: model)
            guard case .append = model.append(batch) else { continue }
            try test.store.append(batch)
            // Layers merge unless each is much smaller than the one below.
            if [48, 60, 65, 69].contains(step) { try test.store.checkpoint() }
        }
        try test.store.checkpoint()
        return (test, model)
    }

    /// Everything that can be asked, so that each block is used.
    private func check(_ test: TestStore, _ model: SlowModel, _ context: String, isWhole: Bool = true) throws
    {
        let rules = SlowModel.Rules(calendar: test.store.calendar)
        let comparison = ModelComparison(model, test.store, rules, context: context)
        try comparison.samples()
        guard isWhole else { return }
        try comparison.streams()
        try comparison.catalog()
        try comparison.statistics(.day)
    }

    private func path(_ name: String) -> String { "\(TestStore.path)/views/\(name)" }

    @Test func `a chain of layers says the same`() throws {
        var (test, model) = try filled()
        #expect(test.checkpointNames.count > 1)
        try test.reopen()
        try check(test, model, "layers")
        #expect(test.store.takeWarnings() == [])
        try test.store.close()
    }

    @Test func `a flipped bit anywhere is found or does no harm`() throws {
        let (first, model) = try filled()
        let digest = try first.digest()
        try first.store.close()
        var found = 0
        var tried = 0
        var random = SeededGenerator(seed: 11)
        for name in first.checkpointNames {
            let bytes = try #require(first.layer.bytes(at: path(name)))
            // The header's page in a few places, then every block in one, the tables too.
            var places = [0, 9, 300].map { min($0, bytes.count - 1) }
            var start = 4096
            while start < bytes.count {
                places.append(Int.random(in: start..<min(start + 16384, bytes.count), using: &random))
                start += 16384
            }
            places.append(bytes.count - 1)
            for place in places {
                let layer = first.layer.copy()
                var damaged = bytes
                damaged[place] ^= 1 << UInt8(place & 7)
                layer.put(damaged, at: path(name))
                var test = TestStore(
                    layer: layer, store: try Store.open(at: TestStore.path, access: .write, layer: layer))
                let context = "\(name) at \(place)"
                #expect(try test.digest() == digest, "\(context)")
                try check(test, model, context, isWhole: tried % 3 == 0)
                var batch = Batch(stream: "phone", added: [])
                batch.deleted = model.shown.prefix(1).map { Batch.Deletion(uuid: $0.sample.uuid) }
                batch.anchor = "later"
                batch.numbering = model.entries(of: "phone").last.flatMap { entry in
                    entry.batch.numbering.map {
                        .init(epoch: model.epoch(of: "phone"), sequence: $0.sequence + 1000)
                    }
                }
                try test.store.append(batch)
                let after = try test.digest()
                let warned = !test.store.takeWarnings().isEmpty
                tried += 1
                if warned { found += 1 }
                try test.store.checkpoint()
                try test.reopen()
                #expect(try test.digest() == after, "\(context)")
                #expect(try test.store.replay(from: 0).digest == after, "\(context)")
                #expect(test.store.takeWarnings() == [], "\(context): still there after a new checkpoint")
                try test.store.close()
            }
        }
        // Padding and blocks that nothing asks for are few.
        #expect(found * 10 > tried * 6, "\(found) of \(tried) were found")
    }

    @Test(arguments: [0, 4095, 5000, -1])
    func `a cut file is passed over`(size: Int) throws {
        let (first, model) = try filled()
        try first.store.close()
        for name in first.checkpointNames {
            let layer = first.layer.copy()
            let bytes = try #require(layer.bytes(at: path(name)))
            layer.put(Array(bytes.prefix(size < 0 ? bytes.count + size : size)), at: path(name))
            let test = TestStore(
                layer: layer, store: try Store.open(at: TestStore.path, access: .write, layer: layer))
            try check(test, model, "\(name) cut to \(size)")
            #expect(test.store.takeWarnings().count == 1)
            try test.store.close()
        }
    }

    @Test func `damage is gone once the store has been closed`() throws {
        let (first, model) = try filled()
        try first.store.close()
        let name = try #require(first.checkpointNames.sorted().first)
        var bytes = try #require(first.layer.bytes(at: path(name)))
        bytes[4100] ^= 1
        first.layer.put(bytes, at: path(name))
        var test = TestStore(
            layer: first.layer, store: try Store.open(at: TestStore.path, access: .write, layer: first.layer))
        try check(test, model, "damaged")
        #expect(!test.store.takeWarnings().isEmpty)
        try test.reopen()
        try check(test, model, "opened again")
        #expect(test.store.takeWarnings() == [], "the next command reads a sound checkpoint")
        try test.store.close()
    }

    @Test func `other settings and a foreign store's checkpoint are passed over`() throws {
        var (test, model) = try filled()
        let old = test.checkpointNames.map { ($0, test.layer.bytes(at: path($0)) ?? []) }
        try test.store.set(timeZone: "Asia/Kathmandu")
        try check(test, model, "another zone")
        try test.reopen()
        try check(test, model, "another zone, opened again")
        #expect(
            test.store.takeWarnings() == [],
            "a change of settings leaves no checkpoint of the old ones behind")
        try test.store.close()
        for (name, bytes) in old { test.layer.put(bytes, at: path(name)) }
        test.store = try Store.open(at: TestStore.path, access: .write, layer: test.layer)
        try check(test, model, "another zone, old checkpoints")
        try test.store.close()

        let (foreign, foreignModel) = try filled(seed: 6)
        try foreign.store.close()
        for name in foreign.checkpointNames { try foreign.layer.unlink(path(name)) }
        for (name, bytes) in old { foreign.layer.put(bytes, at: path(name)) }
        let opened = TestStore(
            layer: foreign.layer,
            store: try Store.open(at: TestStore.path, access: .write, layer: foreign.layer))
        try check(opened, foreignModel, "a foreign checkpoint")
        try opened.store.close()
    }

    @Test func `a checkpoint of a log that was cut back is passed over`() throws {
        var maker = HistoryMaker(seed: 8, centre: centre)
        var model = SlowModel()
        let test = try TestStore()
        while model.log.count < 20 {
            let batch = maker.batch(for: model)
            if case .append = model.append(batch) { try test.store.append(batch) }
        }
        try test.store.close()
        let early = test.layer.copy()
        let earlyModel = model

        // The log goes on and a checkpoint is taken; then an older copy of the log comes back under it.
        let later = TestStore(
            layer: test.layer, store: try Store.open(at: TestStore.path, access: .write, layer: test.layer))
        while model.log.count < 24 {
            let batch = maker.batch(for: model)
            if case .append = model.append(batch) { try later.store.append(batch) }
        }
        try later.store.checkpoint()
        try later.store.close()
        try early.makeDirectory("\(TestStore.path)/views")
        for name in later.checkpointNames {
            early.put(try #require(later.layer.bytes(at: path(name))), at: path(name))
        }
        var restored = TestStore(
            layer: early, store: try Store.open(at: TestStore.path, access: .write, layer: early))
        model = earlyModel
        try check(restored, model, "cut back")
        #expect(restored.store.takeWarnings().count == 1)
        // With other batches in the place of those that were lost, the nonce tells.
        try restored.store.close()
        for name in later.checkpointNames {
            early.put(try #require(later.layer.bytes(at: path(name))), at: path(name))
        }
        restored.store = try Store.open(at: TestStore.path, access: .write, layer: early)
        while model.log.count < 30 {
            let batch = maker.batch(for: model)
            if case .append = model.append(batch) { try restored.store.append(batch) }
        }
        // Once with a frame that begins at the checkpoint's anchor, once, compacted, with the anchor within a frame.
        for isCompacted in [false, true] {
            if isCompacted { _ = try restored.store.compact(purge: true) }
            try restored.store.close()
            for name in restored.checkpointNames { try early.unlink(path(name)) }
            for name in later.checkpointNames {
                early.put(try #require(later.layer.bytes(at: path(name))), at: path(name))
            }
            restored.store = try Store.open(at: TestStore.path, access: .write, layer: early)
            try check(restored, model, "cut back and gone on, compacted: \(isCompacted)")
            #expect(restored.store.takeWarnings().count == 1)
        }
        try restored.store.close()
    }

    @Test func `a dry run knows its own batches, whatever the checkpoint is like`() throws {
        let (first, model) = try filled()
        try first.store.close()
        let name = try #require(first.checkpointNames.sorted().first)
        let original = try #require(first.layer.bytes(at: path(name)))
        for place in stride(from: 4096, to: original.count, by: 4096) {
            let layer = first.layer.copy()
            var bytes = original
            bytes[place] ^= 4
            layer.put(bytes, at: path(name))
            let rehearsal = try Store.open(
                at: TestStore.path, access: .dryRun(StoreOptions(timeZone: "UTC")), layer: layer)
            for number in 0..<4 {
                var batch = Batch(stream: "dry", added: [], anchor: "dry-\(number)")
                batch.deleted = model.shown.dropFirst(number * 3).prefix(3).map {
                    Batch.Deletion(uuid: $0.sample.uuid)
                }
                let result = try rehearsal.append(batch)
                #expect(result.logAnchor == UInt64(model.log.count + number + 1), "byte \(place)")
                #expect(try rehearsal.append(batch).duplicate, "byte \(place): it is known")
                _ = try rehearsal.samples(SampleQuery())
            }
            #expect(try rehearsal.info().logAnchor == UInt64(model.log.count + 4))
            try rehearsal.close()
            #expect(layer.bytes(at: path(name)) == bytes, "nothing is written")
        }
    }

    /// Behind right checksums anything may stand; see also `tools/fuzz/LayerFuzz.sh`.
    @Test func `a made-up checkpoint harms nobody`() throws {
        let stores = [
            try AttackedStore(seed: 5, layerCount: 1), try AttackedStore(seed: 9, layerCount: 2),
        ]
        #expect(stores.map(\.names.count) == [1, 2])
        var random = SeededGenerator(seed: 21)
        for store in stores {
            for index in store.names.indices {
                let original = store.bytes(index)
                #expect(HostileLayer.sealed(changed: original) == original, "the format is as it was")
                let compact = HostileLayer.compact(original)
                #expect(HostileLayer.sealed(compact, like: original, keepsHeader: false) == original)
                for round in 0..<80 * viewsTestScale {
                    var changed = compact
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        // Often in the numbers of the header, and in whole words.
                        let inHeader = random.chance(25)
                        let place = Int.random(
                            in: inHeader
                                ? 0..<HostileLayer.compactHeaderByteCount
                                : HostileLayer.compactHeaderByteCount..<compact.count, using: &random)
                        switch Int.random(in: 0..<3, using: &random) {
                        case 0: changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                        case 1: changed[place] = random.pick([0, 1, 0x7F, 0x80, 0xFF])
                        default:
                            let fill = random.pick([0, 0x7F, 0xFF] as [UInt8])
                            for byte in place..<min(place & ~7 + 8, compact.count) { changed[byte] = fill }
                        }
                    }
                    let file = HostileLayer.sealed(
                        changed, like: original, keepsHeader: random.chance(70))
                    store.attack(with: file, at: index, writing: round % 2 == 1)
                }
            }
        }
    }
}
