package import HKLog

/// What a store must say, told once more as slowly and plainly as it can be: the batches that were taken in, in
/// order, and everything else worked out from them anew for each question.
///
/// Written from `docs/batches.md` and `docs/views.md` alone. It knows no gaps: a log without damage has none.
package struct SlowModel {
    /// What becomes of a batch; a conflict names the rule of the table that found it.
    package enum Verdict: Equatable {
        case append(epoch: UInt64, sequence: UInt64)
        case duplicate
        case stale
        case conflict(rule: Int)
    }

    /// One batch of the log with the number that was decided.
    package struct Entry {
        package var batch: Batch
        package var added: [Sample]
        package var epoch: UInt64
        package var sequence: UInt64
        var content: Content
        /// The stream's name.
        package var stream: Name
    }

    package struct Cell {
        package var epoch: UInt64
        package var isDead: Bool
        package var sequence: UInt64
        package var sample: Sample?

        func isBeaten(by other: Cell) -> Bool {
            (epoch, isDead ? 1 : 0, sequence) < (other.epoch, other.isDead ? 1 : 0, other.sequence)
        }
    }

    /// A text that is the same as another one when its bytes are.
    package struct Name: Hashable, Comparable {
        package var bytes: [UInt8]

        package init(_ text: String) { bytes = Array(text.utf8) }

        package static func < (left: Name, right: Name) -> Bool {
            left.bytes.lexicographicallyPrecedes(right.bytes)
        }
    }

    package struct Key: Hashable {
        package var uuid: SampleUUID
        package var stream: Name
    }

    package private(set) var log: [Entry] = []
    package private(set) var suppressed: UInt64 = 0

    package init() {}

    // MARK: What append decides

    package func verdict(on batch: Batch) -> Verdict {
        let entries = entries(of: batch.stream)
        let present = entries.map(\.epoch).max() ?? 1
        let isOpener = batch.snapshot == .begin || batch.snapshot == .whole
        let content = Content(batch)
        let known = entries.first { $0.isKnowable && $0.content == content }
        if let numbering = batch.numbering, numbering.epoch < present { return .stale }
        if let known, known.epoch < present { return .stale }
        if known != nil { return .duplicate }
        if let numbering = batch.numbering {
            let isTaken = entries.contains {
                $0.batch.numbering != nil && $0.epoch == numbering.epoch && $0.sequence == numbering.sequence
            }
            if isTaken { return .conflict(rule: 3) }
            if numbering.epoch > present && !isOpener { return .conflict(rule: 4) }
            if numbering.epoch == present && isOpener && !entries.isEmpty { return .conflict(rule: 4) }
        }
        let fellows = entries.filter { $0.epoch == present }
        if !isOpener, fellows.contains(where: { ($0.batch.numbering != nil) != (batch.numbering != nil) }) {
            return .conflict(rule: 5)
        }
        let own = sourceAnchor(of: batch.stream)
        if batch.snapshot == nil, batch.numbering == nil, batch.added.isEmpty, batch.deleted.isEmpty {
            if batch.anchor == nil || batch.anchor.map(Name.init) == own.map(Name.init) { return .duplicate }
        }
        if batch.snapshot == .end && !snapshotIsOpen(of: batch.stream) { return .conflict(rule: 7) }
        if !isOpener {
            switch batch.previousAnchor {
            case .notGiven: break
            case .none: if own != nil { return .conflict(rule: 8) }
            case .anchor(let given):
                if own.map(Name.init) != Name(given) { return .conflict(rule: 8) }
            }
        }
        let epoch = batch.numbering?.epoch ?? (isOpener && !entries.isEmpty ? present + 1 : present)
        if batch.snapshot == .end || batch.snapshot == .whole, !batch.confirmDeletions,
            sweepsTooMuch(batch, epoch: epoch)
        {
            return .conflict(rule: 9)
        }
        return .append(epoch: epoch, sequence: batch.numbering?.sequence ?? UInt64(log.count + 1))
    }

    private func sweepsTooMuch(_ batch: Batch, epoch: UInt64) -> Bool {
        let live = liveCells(of: batch.stream)
        var pages: [Entry] = []
        var opening = log.count
        if batch.snapshot == .end {
            opening = log.lastIndex { $0.batch.isOpener && $0.stream == Name(batch.stream) } ?? 0
            pages = log[opening...].filter { $0.stream == Name(batch.stream) }
        }
        if pages.allSatisfy({ $0.added.isEmpty }) && batch.added.isEmpty && !live.isEmpty { return true }
        var before = SlowModel()
        before.log = Array(log[..<opening])
        let liveAtOpening = before.liveCells(of: batch.stream).count
        let named = Set(batch.added.map(\.uuid) + batch.deleted.map(\.uuid))
        let swept = live.filter { $0.value.epoch < epoch && !named.contains($0.key.uuid) }.count
        return swept > 100 && swept * 10 > liveAtOpening
    }

    /// Takes a batch in, if it is to be: what became of it.
    package mutating func append(_ batch: Batch) -> Verdict {
        let verdict = verdict(on: batch)
        guard case .append(let epoch, let sequence) = verdict else { return verdict }
        let entry = Entry(
            batch: batch, added: batch.added, epoch: epoch, sequence: sequence, content: Content(batch),
            stream: Name(batch.stream))
        log.append(entry)
        guard !entry.added.isEmpty else { return verdict }
        let cells = cells
        for sample in entry.added
        where cells[Key(uuid: sample.uuid, stream: Name(batch.stream))]?.isDead == true {
            suppressed += 1
        }
        return verdict
    }

    // MARK: Streams

    package func entries(of stream: String) -> [Entry] {
        let name = Name(stream)
        return log.filter { $0.stream == name }
    }

    package var streams: [String] {
        var names: [Name: String] = [:]
        for entry in log { names[entry.stream] = entry.batch.stream }
        return names.sorted { $0.key < $1.key }.map(\.value)
    }

    package func epoch(of stream: String) -> UInt64 { entries(of: stream).map(\.epoch).max() ?? 1 }

    package func sourceAnchor(of stream: String) -> String? {
        entries(of: stream).filter { $0.batch.anchor != nil }
            .max { ($0.epoch, $0.sequence) < ($1.epoch, $1.sequence) }?.batch.anchor
    }

    package func completeEpoch(of stream: String) -> UInt64 {
        var complete: UInt64 = 0
        for (index, entry) in entries(of: stream).enumerated() {
            switch entry.batch.snapshot {
            case nil: if index == 0 { complete = entry.epoch }
            case .begin: break
            case .end, .whole: complete = entry.epoch
            }
        }
        return complete
    }

    package func snapshotIsOpen(of stream: String) -> Bool {
        entries(of: stream).last { $0.batch.snapshot != nil }?.batch.snapshot == .begin
    }

    package func lastSequence(of stream: String) -> UInt64 {
        let present = epoch(of: stream)
        return entries(of: stream).filter { $0.epoch == present }.map(\.sequence).max() ?? 0
    }

    // MARK: Cells

    /// Every cell: the greatest of those that the batches gave to its pair.
    package var cells: [Key: Cell] {
        var cells: [Key: Cell] = [:]
        func join(_ cell: Cell, _ key: Key) {
            if let old = cells[key], !old.isBeaten(by: cell) { return }
            cells[key] = cell
        }
        for entry in log {
            let stream = entry.stream
            for sample in entry.added {
                join(
                    Cell(epoch: entry.epoch, isDead: false, sequence: entry.sequence, sample: sample),
                    Key(uuid: sample.uuid, stream: stream))
            }
            for deletion in entry.batch.deleted {
                join(
                    Cell(epoch: entry.epoch, isDead: true, sequence: entry.sequence, sample: nil),
                    Key(uuid: deletion.uuid, stream: stream))
            }
        }
        return cells
    }

    private var cellsInForce: [Key: Cell] {
        var complete: [Name: UInt64] = [:]
        for stream in streams { complete[Name(stream)] = completeEpoch(of: stream) }
        return cells.filter { $0.value.epoch >= complete[$0.key.stream] ?? 0 }
    }

    private func liveCells(of stream: String) -> [Key: Cell] {
        cellsInForce.filter { $0.key.stream == Name(stream) && !$0.value.isDead }
    }

    package var tombstones: Int { cells.values.count { $0.isDead } }

    // MARK: Samples

    /// Live samples with the streams that they are taken from.
    package var live: [StreamSample] {
        var byUUID: [SampleUUID: [(Name, Cell)]] = [:]
        for (key, cell) in cellsInForce { byUUID[key.uuid, default: []].append((key.stream, cell)) }
        return byUUID.values.compactMap { cells in
            if cells.contains(where: { $0.1.isDead }) { return nil }
            guard let chosen = cells.min(by: { $0.0 < $1.0 }), let sample = chosen.1.sample else {
                return nil
            }
            return StreamSample(sample: sample, stream: chosen.0)
        }
    }

    /// Live samples that no other one of their sync identifier hides; oldest first.
    package var shown: [StreamSample] {
        var groups: [SyncGroup: [StreamSample]] = [:]
        var shown: [StreamSample] = []
        for sample in live {
            if let identifier = sample.facts.syncIdentifier {
                let group = SyncGroup(
                    type: Name(sample.sample.type), name: sample.sample.source?.name.map(Name.init),
                    bundle: sample.sample.source?.bundleIdentifier.map(Name.init),
                    identifier: Name(identifier))
                groups[group, default: []].append(sample)
            } else {
                shown.append(sample)
            }
        }
        for members in groups.values {
            let best = members.map { $0.facts.syncVersion ?? -.infinity }.max()
            let winners = members.filter { ($0.facts.syncVersion ?? -.infinity) == best }
            if let winner = winners.min(by: { $0.sample.uuid < $1.sample.uuid }) { shown.append(winner) }
        }
        return shown.sorted {
            ($0.sample.start, $0.end, $0.sample.uuid) < ($1.sample.start, $1.end, $1.sample.uuid)
        }
    }

    private struct SyncGroup: Hashable {
        var type: Name
        var name: Name?
        var bundle: Name?
        var identifier: Name
    }
}

extension SlowModel {
    /// A sample as one stream has it.
    package struct StreamSample {
        package var sample: Sample
        package var stream: Name
        package var facts: MetadataFacts

        init(sample: Sample, stream: Name) {
            self.sample = sample
            self.stream = stream
            facts = MetadataFacts(sample.metadata)
        }

        package var end: Timestamp { sample.end ?? sample.start }
    }

    /// What views read from metadata, found by parsing the whole of it.
    package struct MetadataFacts {
        package var syncIdentifier: String?
        package var syncVersion: Double?
        package var isManual = false

        init(_ metadata: JSONText?) {
            guard let metadata, let value = try? JSONValue(parsing: metadata.text) else { return }
            for prefix in ["HK", "HKMetadataKey"] {
                syncIdentifier = syncIdentifier ?? value["\(prefix)SyncIdentifier"]?.stringValue
                let version = value["\(prefix)SyncVersion"]
                syncVersion =
                    syncVersion ?? version?.stringValue.flatMap(Double.init) ?? MetadataFacts.number(version)
                if let entered = value["\(prefix)WasUserEntered"] {
                    var text: [UInt8] = []
                    entered.write(to: &text)
                    isManual =
                        isManual || ["true", "1", "\"1\""].contains(String(decoding: text, as: UTF8.self))
                }
            }
        }

        private static func number(_ value: JSONValue?) -> Double? {
            guard let value else { return nil }
            var text: [UInt8] = []
            value.write(to: &text)
            return Double(String(decoding: text, as: UTF8.self))
        }
    }

    /// What a batch says: two of equal content are the same batch.
    struct Content: Equatable {
        private let stream: Name
        private let anchor: Name?
        private let previousAnchor: Batch.PreviousAnchor
        private let snapshot: Batch.Snapshot?
        private let numbering: Batch.Numbering?
        private let deleted: [Batch.Deletion]
        private let added: [Sample]

        init(_ batch: Batch) {
            stream = Name(batch.stream)
            anchor = batch.anchor.map(Name.init)
            previousAnchor = batch.previousAnchor
            snapshot = batch.snapshot
            numbering = batch.numbering
            deleted = batch.deleted
            // An end at the start and a count of 1 are what their absence means.
            added = batch.added.map {
                var sample = $0
                sample.end = sample.end ?? sample.start
                sample.count = sample.count ?? 1
                return sample
            }
        }
    }
}

extension SlowModel.Entry {
    /// A batch without anchor and number cannot be known as a repeat.
    var isKnowable: Bool { batch.anchor != nil || batch.numbering != nil }
}

extension Batch {
    package var isOpener: Bool { snapshot == .begin || snapshot == .whole }
}
