package import HKLog
internal import HKLogFormat

/// A layer file of a checkpoint that somebody has made up: any bytes, under checksums that are right.
///
/// Flipped bits never get past the checksums. This is for what stands behind them: numbers that lead nowhere,
/// sections that overlap, states that contradict each other.
package struct HostileLayer {
    private static let headerByteCount = 4096
    private static let blockByteCount = 16384
    private static let words = 16..<160
    private static let sectionTable = 512..<1136
    /// Store and definition: another checkpoint than the store's own is not even opened.
    private static let identity = 16..<48

    /// What a fuzzer changes: the numbers of the header, the table of sections, the data.
    package static let compactHeaderByteCount = words.count + sectionTable.count

    /// A layer file in the short form that a fuzzer works on.
    package static func compact(_ file: [UInt8]) -> [UInt8] {
        let tableOffset = Int(word(15, of: file))
        return Array(file[words]) + Array(file[sectionTable]) + Array(file[headerByteCount..<tableOffset])
    }

    /// Makes a layer file of the short form.
    ///
    /// What binds it to a store is taken from `original`, and all else of the header too where `keepsHeader` is set.
    package static func sealed(_ compact: [UInt8], like original: [UInt8], keepsHeader: Bool) -> [UInt8] {
        var file = Array(original[..<headerByteCount])
        if !keepsHeader {
            file.replaceSubrange(words, with: compact[..<words.count])
            file.replaceSubrange(identity, with: original[identity])
        }
        file.replaceSubrange(sectionTable, with: compact[words.count..<compactHeaderByteCount])
        file += compact[compactHeaderByteCount...]
        return sealed(file, dataEnd: file.count)
    }

    /// The same file with its checksums made right, after its data was changed in place.
    package static func sealed(changed file: [UInt8]) -> [UInt8] {
        let end = Int(clamping: word(15, of: file))
        return sealed(file, dataEnd: min(max(end, headerByteCount), file.count))
    }

    private static func sealed(_ file: [UInt8], dataEnd: Int) -> [UInt8] {
        var sealed = Array(file[..<dataEnd])
        var table: [UInt8] = []
        var start = headerByteCount
        while start < dataEnd {
            let end = min(start + blockByteCount, dataEnd)
            append(checksum(sealed[start..<end]), to: &table)
            start = end
        }
        var top: [UInt8] = []
        start = 0
        while start < table.count {
            let end = min(start + blockByteCount, table.count)
            append(checksum(table[start..<end]), to: &top)
            start = end
        }
        sealed += table
        sealed += top
        put(UInt64(dataEnd), word: 15, in: &sealed)
        put(UInt64(table.count / 4), word: 16, in: &sealed)
        put(UInt64(sealed.count), word: 14, in: &sealed)
        put(checksum(top[...]), at: 12, in: &sealed)
        return withChecksum(sealed)
    }

    /// A layer above another, bound to the other's present header.
    package static func bound(_ file: [UInt8], to below: [UInt8]) -> [UInt8] {
        var bound = file
        bound.replaceSubrange(256..<260, with: below[8..<12])
        return withChecksum(bound)
    }

    private static func withChecksum(_ file: [UInt8]) -> [UInt8] {
        var file = file
        put(checksum(file[12..<headerByteCount]), at: 8, in: &file)
        return file
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe Checksum.crc32c($0) }
    }

    private static func word(_ index: Int, of file: [UInt8]) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(file[16 + index * 8 + $1]) << UInt64($1 * 8) }
    }

    private static func put(_ value: UInt64, word index: Int, in file: inout [UInt8]) {
        for byte in 0..<8 {
            file[16 + index * 8 + byte] = UInt8(truncatingIfNeeded: value >> UInt64(byte * 8))
        }
    }

    private static func put(_ value: UInt32, at offset: Int, in file: inout [UInt8]) {
        for byte in 0..<4 { file[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt32(byte * 8)) }
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        for byte in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(byte * 8))) }
    }
}

/// A small store with checkpoints of one or two layers, for attacks on them.
package struct AttackedStore {
    private static let path = "/store"
    private static let centre: Int64 = 1_772_323_200_000_000
    private let layer: SimulatedFileLayer
    private let model: SlowModel
    /// The layer files, the lowest first.
    package let names: [String]

    /// Makes one of some random batches.
    package init(seed: UInt64, layerCount: Int) throws(HKLogError) {
        var maker = HistoryMaker(seed: seed, centre: AttackedStore.centre, poolSize: 30)
        var model = SlowModel()
        layer = SimulatedFileLayer()
        let store = try Store.open(
            at: AttackedStore.path, access: .writeOrCreate(StoreOptions(timeZone: "UTC")), sync: .none,
            layer: layer)
        // The upper layer stays one of its own while it is smaller than the one below it.
        for goal in layerCount == 1 ? [26] : [20, 25] {
            while model.log.count < goal {
                let batch = maker.batch(for: model)
                if case .append = model.append(batch) { try store.append(batch) }
            }
            try store.checkpoint()
        }
        try store.close()
        self.model = model
        let folder = "\(AttackedStore.path)/views"
        names = ((try? layer.names(in: folder)) ?? []).filter { $0.hasSuffix(".ckp") }.sorted()
    }

    private func path(_ name: String) -> String { "\(AttackedStore.path)/views/\(name)" }

    /// The bytes of a layer file.
    package func bytes(_ index: Int) -> [UInt8] { layer.bytes(at: path(names[index])) ?? [] }

    /// Puts a made-up layer in the place of one of its own and uses the store: asks everything, or writes.
    ///
    /// Answers may be wrong, since nothing tells such a layer from a true one; that it returns is what counts.
    package func attack(with file: [UInt8], at index: Int, writing: Bool) {
        let attacked = layer.copy()
        attacked.put(file, at: path(names[index]))
        if index + 1 < names.count {
            attacked.put(
                HostileLayer.bound(bytes(index + 1), to: file), at: path(names[index + 1]))
        }
        guard writing else {
            _ = try? Store.verify(
                LogFiles(layer: attacked, store: AttackedStore.path), secondLookAfter: 0)
            let reader = try? Store.open(at: AttackedStore.path, access: .read, layer: attacked)
            if let reader { askEverything(of: reader) }
            return
        }
        let writer = try? Store.open(at: AttackedStore.path, access: .write, sync: .none, layer: attacked)
        guard let writer else { return }
        write(to: writer)
        _ = try? writer.samples(SampleQuery())
        try? writer.checkpoint()
        _ = try? writer.info()
        if index == 0 { _ = try? writer.compact(purge: true) }
        try? writer.close()
    }

    /// The last batches of each stream again in other numbers, with deletions of what is there.
    private func write(to store: Store) {
        let shown = model.shown
        for (number, stream) in HistoryMaker.streams.enumerated() {
            let samples = shown.enumerated().filter { $0.offset % 5 == number }.map(\.element.sample)
            var batch = Batch(stream: stream, added: samples)
            batch.deleted = shown.prefix(3).map { Batch.Deletion(uuid: $0.sample.uuid) }
            batch.anchor = "attack-\(number)"
            if number == 4 { batch.snapshot = .whole }
            batch.confirmDeletions = true
            _ = try? store.append(batch)
        }
    }

    private func askEverything(of store: Store) {
        _ = try? store.info()
        _ = try? store.streams()
        _ = try? store.sources()
        let types = (try? store.types()) ?? []
        _ = try? store.samples(SampleQuery())
        var some = SampleQuery()
        some.metadataKey = "note"
        some.source = "iPhone"
        some.limit = 3
        _ = try? store.samples(some)
        try? store.forEachDay { _, _ in }
        let start = Timestamp(microseconds: AttackedStore.centre - 3 * 86_400_000_000)
        let end = Timestamp(microseconds: AttackedStore.centre + 3 * 86_400_000_000)
        for type in Set(HistoryMaker.types + types.map(\.type).prefix(20)).sorted() {
            var samples = SampleQuery()
            samples.types = [type]
            samples.start = start
            _ = try? store.samples(samples)
            _ = try? store.statistics(StatisticsQuery(type: type))
            var query = StatisticsQuery(type: type, every: .hour)
            (query.start, query.end, query.fill) = (start, end, true)
            query.separateBySource = true
            _ = try? store.statistics(query)
            query.stream = "phone"
            query.every = .month
            _ = try? store.statistics(query)
            _ = try? store.explain(type: type, day: "2026-03-01")
            _ = try? store.streams(holding: [type], besides: "phone")
        }
        let uuids = model.shown.map(\.sample.uuid)
        for stream in HistoryMaker.streams {
            _ = try? store.sourceAnchor(stream: stream)
            _ = try? store.cells(of: uuids, inStream: stream)
            for (row, _, shape) in ((try? store.liveRows(ofStream: stream)) ?? []).prefix(200) {
                _ = try? store.row(row)
                _ = try? store.shape(shape)
                _ = try? store.texts(ofRow: row)
            }
        }
    }
}
