import HKLog
import HKLogTestSupport
import Testing

@Suite struct `Random histories` {
    /// A zone, an instant where its clocks do something odd, and another zone to ask for.
    static let places: [(zone: String, centre: String, other: String)] = [
        ("Australia/Lord_Howe", "2024-04-06T15:00:00Z", "UTC"),
        ("Asia/Kathmandu", "2026-03-01T00:00:00Z", "America/Sao_Paulo"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", "Asia/Kathmandu"),
        ("America/Sao_Paulo", "2018-11-04T03:00:00Z", "Pacific/Apia"),
        ("UTC", "2025-12-31T23:00:00Z", "Australia/Lord_Howe"),
    ]

    @Test(arguments: 0..<5 * viewsTestScale)
    func `a store says what the slow model says`(seed: Int) throws {
        let place = `Random histories`.places[seed % `Random histories`.places.count]
        let centre = try #require(Timestamp(place.centre)).microseconds
        var maker = HistoryMaker(seed: UInt64(seed), centre: centre)
        var model = SlowModel()
        var test = try TestStore(zone: place.zone)
        var rules = SlowModel.Rules(calendar: test.store.calendar)
        if seed % 3 == 1 {
            let preferred = ["Ring", "manual", "Anna's Watch (com.apple.health.2)"]
            rules.priorities = [HistoryMaker.types[0]: preferred, HistoryMaker.types[5]: preferred]
            try test.store.set(priorities: rules.priorities)
        }
        let count = 50 + seed % 4 * 25
        for step in 0..<count {
            let context = "seed \(seed), step \(step)"
            let batch = maker.batch(for: model)
            let before = UInt64(model.log.count)
            let verdict = model.append(batch)
            do {
                let result = try test.store.append(batch)
                switch verdict {
                case .append:
                    #expect(
                        !result.duplicate && !result.stale && result.logAnchor == before + 1, "\(context)")
                    #expect(
                        result.added == batch.addedCount && result.deleted == batch.deleted.count,
                        "\(context)")
                case .duplicate:
                    #expect(result.duplicate && !result.stale && result.logAnchor == before, "\(context)")
                case .stale:
                    #expect(result.stale && !result.duplicate && result.logAnchor == before, "\(context)")
                case .conflict(let rule):
                    Issue.record("\(context): no conflict, but rule \(rule) says there is")
                }
                guard case .append = verdict else {
                    #expect(result.added == 0 && result.deleted == 0, "\(context)")
                    continue
                }
                if case .append(let epoch, let sequence) = verdict {
                    let summary = try test.store.streams().first {
                        SlowModel.Name($0.stream) == SlowModel.Name(batch.stream)
                    }
                    #expect(summary?.epoch == max(epoch, model.epoch(of: batch.stream)), "\(context)")
                    #expect((summary?.sequence ?? 0) >= sequence || epoch < summary?.epoch ?? 0, "\(context)")
                }
            } catch {
                guard error.code == .conflict, case .conflict(let rule) = verdict else {
                    Issue.record("\(context): \(error.message), but the model says \(verdict)")
                    return
                }
                #expect(rule == decisionRule(error.message), "\(context): \(error.message)")
            }
            if maker.random.chance(12) { try test.store.checkpoint() }
            if maker.random.chance(5) { try test.reopen() }
            if maker.random.chance(4) {
                try ModelComparison(model, test.store, rules, context: context).samples()
                try ModelComparison(model, test.store, rules, context: context).statistics(.day)
            }
        }
        let comparison = ModelComparison(model, test.store, rules, context: "seed \(seed)")
        try comparison.everything(around: centre, otherZone: place.other)
        #expect(test.store.takeWarnings() == [])
        try compareDigests(&test, model, rules, &maker, seed: seed, place: place, centre: centre)
    }

    /// However the batches come to be in a store, its views are the same.
    private func compareDigests(
        _ test: inout TestStore, _ model: SlowModel, _ rules: SlowModel.Rules, _ maker: inout HistoryMaker,
        seed: Int,
        place: (zone: String, centre: String, other: String), centre: Int64
    ) throws {
        let digest = try test.digest()
        let log = try test.batches()
        #expect(log.count == model.log.count)

        let report = try test.store.replay(from: 0)
        #expect(report.digest == digest, "seed \(seed): replay")
        #expect(report.suppressed == model.suppressed, "seed \(seed): suppressed")
        #expect(report.added == model.log.reduce(0) { $0 + UInt64($1.added.count) })
        #expect(report.deleted == model.log.reduce(0) { $0 + UInt64($1.batch.deleted.count) })
        #expect(report.samples == model.shown.count)
        try test.reopen()
        #expect(try test.digest() == digest, "seed \(seed): the replay's checkpoint")
        try ModelComparison(model, test.store, rules, context: "seed \(seed), whole checkpoint").catalog()
        try test.reopenWithoutCheckpoints()
        #expect(try test.digest() == digest, "seed \(seed): without checkpoints")

        let random = maker.random
        let twice = try test.store.digest { count in
            var random = random
            return (0..<count).flatMap { random.chance(50) ? [$0, $0] : [$0] }
        }
        #expect(twice == digest, "seed \(seed): batches applied twice")
        let later = try test.store.digest { count in
            var random = random
            return (0..<count).flatMap { index in
                random.chance(40) ? [index, Int.random(in: 0...index, using: &random)] : [index]
            }
        }
        #expect(later == digest, "seed \(seed): batches applied again later")

        for isShuffled in [false, true] {
            var copy = try TestStore(zone: place.zone)
            try copy.store.set(priorities: rules.priorities)
            for (step, batch) in (isShuffled ? shuffled(log, &maker.random) : log).enumerated() {
                let result = try copy.store.append(batch)
                #expect(!result.duplicate && !result.stale, "seed \(seed): copy, batch \(step)")
                if maker.random.chance(10) { try copy.store.checkpoint() }
                if maker.random.chance(3) { try copy.reopen() }
            }
            #expect(try copy.digest() == digest, "seed \(seed): \(isShuffled ? "shuffled" : "copy")")
            try copy.store.close()
        }
        try compacted(&test, model, rules, &maker, seed: seed, digest: digest)
        try test.store.close()
    }

    /// A compacted log says the same, knows the same repeats, and goes on as the other would have.
    private func compacted(
        _ test: inout TestStore, _ model: SlowModel, _ rules: SlowModel.Rules, _ maker: inout HistoryMaker,
        seed: Int,
        digest: String
    ) throws {
        _ = try test.store.compact(purge: true)
        #expect(try test.digest() == digest, "seed \(seed): compacted")
        #expect(try test.store.replay(from: 0).digest == digest, "seed \(seed): compacted, replay")
        try test.reopenWithoutCheckpoints()
        #expect(try test.digest() == digest, "seed \(seed): compacted, without checkpoints")
        let end = UInt64(model.log.count)
        for start in [1, end / 2, end - 1] {
            let report = try test.store.replay(from: start, to: end)
            #expect(report.batches == end - start, "seed \(seed): batches from \(start)")
        }
        for entry in model.log where entry.batch.anchor != nil || entry.batch.numbering != nil {
            let result = try test.store.append(entry.batch)
            #expect(result.duplicate || result.stale, "seed \(seed): a repeat after compaction")
        }
        var model = model
        for step in 0..<25 {
            let batch = maker.batch(for: model)
            let verdict = model.append(batch)
            let result = try? test.store.append(batch)
            let isAppended = result.map { !$0.duplicate && !$0.stale }
            switch verdict {
            case .append: #expect(isAppended == true, "seed \(seed): \(step) after compaction")
            case .duplicate: #expect(result?.duplicate == true, "seed \(seed): \(step) after compaction")
            case .stale: #expect(result?.stale == true, "seed \(seed): \(step) after compaction")
            case .conflict: #expect(result == nil, "seed \(seed): \(step) after compaction")
            }
            if step % 6 == 3 { try test.store.checkpoint() }
            if step == 20 { try test.reopen() }
        }
        try ModelComparison(model, test.store, rules, context: "seed \(seed), after compaction").samples()
        try ModelComparison(model, test.store, rules, context: "seed \(seed), after compaction").statistics(
            .day)
        #expect(try test.digest() == test.store.replay(from: 0).digest, "seed \(seed): after compaction")
    }

    /// Another order in which each stream's own batches keep theirs.
    private func shuffled(_ log: [Batch], _ random: inout SeededGenerator) -> [Batch] {
        var queues: [SlowModel.Name: [Batch]] = [:]
        for batch in log { queues[SlowModel.Name(batch.stream), default: []].append(batch) }
        var result: [Batch] = []
        while !queues.isEmpty {
            let name = random.pick(queues.keys.sorted())
            result.append(queues[name]?.removeFirst() ?? log[0])
            if queues[name]?.isEmpty == true { queues[name] = nil }
        }
        return result
    }
}

/// The rule that a conflict's message is of.
func decisionRule(_ message: String) -> Int? {
    let marks: [(String, Int)] = [
        ("is in the log with other content", 3), ("has not been opened", 4), ("cannot open epoch", 4),
        ("numbered, this one is", 5), ("no open snapshot to end", 7), ("previousAnchor is", 8),
        ("listed nothing", 9), ("would sweep", 9),
    ]
    return marks.first { message.contains($0.0) }?.1
}
