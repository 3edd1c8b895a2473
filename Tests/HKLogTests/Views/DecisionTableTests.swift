import HKLog
import HKLogTestSupport
import Testing

/// The table "What append decides" of `docs/batches.md`, rule by rule.
@Suite struct `What append decides` {
    private let stream = "steps"

    private static func uuids(_ count: Int, seed: UInt64 = 7) -> [SampleUUID] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in HistoryMaker.uuid(&random) }
    }

    private func samples(_ uuids: some Sequence<SampleUUID>, value: Double = 1) -> [Sample] {
        uuids.enumerated().map { index, uuid in
            Sample(
                uuid: uuid, type: "HKQuantityTypeIdentifierStepCount",
                start: Timestamp(microseconds: Int64(index) * 1_000_000), value: .quantity(value),
                unit: "count")
        }
    }

    private func batch(
        _ added: some Sequence<SampleUUID>, anchor: String? = nil, previous: Batch.PreviousAnchor = .notGiven,
        snapshot: Batch.Snapshot? = nil, number: (UInt64, UInt64)? = nil, confirm: Bool = false,
        value: Double = 1
    ) -> Batch {
        var batch = Batch(stream: stream, added: samples(added, value: value), anchor: anchor)
        batch.previousAnchor = previous
        batch.snapshot = snapshot
        batch.numbering = number.map { Batch.Numbering(epoch: $0.0, sequence: $0.1) }
        batch.confirmDeletions = confirm
        return batch
    }

    /// The outcomes of batches, one after the other: `appended`, `duplicate`, `stale` or the conflict's message.
    ///
    /// Asked twice, with everything in memory and with a checkpoint after each batch: they must agree.
    private func outcomes(_ batches: [Batch]) throws -> [String] {
        var plain: [String] = []
        for isCheckpointed in [false, true] {
            var test = try TestStore()
            var outcomes: [String] = []
            for batch in batches {
                let before = test.store.logAnchor
                do {
                    let result = try test.store.append(batch)
                    outcomes.append(result.duplicate ? "duplicate" : result.stale ? "stale" : "appended")
                    let moved: UInt64 = result.duplicate || result.stale ? 0 : 1
                    #expect(result.logAnchor == before + moved)
                    #expect(result.added == (moved == 1 ? batch.addedCount : 0))
                    #expect(result.deleted == (moved == 1 ? batch.deleted.count : 0))
                } catch {
                    #expect(error.code == .conflict)
                    #expect(test.store.logAnchor == before)
                    outcomes.append(error.message)
                }
                if isCheckpointed {
                    try test.store.checkpoint()
                    try test.reopen()
                }
            }
            if isCheckpointed { #expect(outcomes == plain) } else { plain = outcomes }
            try test.store.close()
        }
        return plain
    }

    private let u = `What append decides`.uuids(8)

    @Test func `1: a batch of an earlier epoch is stale`() throws {
        let first = batch([u[0]], anchor: "a")
        #expect(
            try outcomes([
                first, batch([u[0], u[1]], anchor: "b", snapshot: .whole), first,
                batch([u[2]], number: (1, 9)),
            ]) == ["appended", "appended", "stale", "stale"])
    }

    @Test func `1 comes before 3 and 4`() throws {
        #expect(
            try outcomes([
                batch([u[0]], number: (1, 1)), batch([u[0]], snapshot: .whole, number: (3, 1)),
                batch([u[5]], number: (1, 1)), batch([u[5]], snapshot: .whole, number: (2, 1)),
            ]) == ["appended", "appended", "stale", "stale"])
    }

    @Test func `2: a known batch is a duplicate, whatever its anchor says now`() throws {
        let first = batch([u[0]], anchor: "a", previous: .none)
        let second = batch([u[1]], anchor: "b", previous: .anchor("a"))
        #expect(
            try outcomes([first, second, first, second]) == [
                "appended", "appended", "duplicate", "duplicate",
            ])
    }

    @Test func `2: confirmDeletions, an end at the start and a count of 1 are no other content`() throws {
        var one = batch([u[0]], anchor: "a")
        var sample = one.added[0]
        sample.end = sample.start
        sample.count = 1
        var two = Batch(stream: stream, added: [sample], anchor: "a")
        two.confirmDeletions = true
        one.confirmDeletions = false
        #expect(try outcomes([one, two]) == ["appended", "duplicate"])
    }

    @Test func `2: a batch with neither anchor nor number counts as new`() throws {
        #expect(try outcomes([batch([u[0]]), batch([u[0]])]) == ["appended", "appended"])
    }

    @Test func `3: a number with other content is a conflict`() throws {
        #expect(
            try outcomes([
                batch([u[0]], number: (1, 1)), batch([u[1]], number: (1, 1)), batch([u[0]], number: (1, 1)),
            ])
                == [
                    "appended",
                    "conflict at log anchor 1: stream 'steps': epoch 1, seq 1 is in the log with other content",
                    "duplicate",
                ])
    }

    @Test func `4: only an opener makes an epoch, and only once`() throws {
        #expect(
            try outcomes([
                batch([u[0]], number: (2, 1)), batch([u[0]], number: (1, 1)), batch([u[0]], number: (2, 1)),
                batch([u[0]], snapshot: .end, number: (2, 1)),
                batch([u[0]], snapshot: .whole, number: (1, 2)),
                batch([u[0]], snapshot: .begin, number: (5, 1)),
                batch([u[0]], snapshot: .begin, number: (5, 2)),
            ]) == [
                "conflict at log anchor 0: stream 'steps': epoch 2 has not been opened; the present one is 1",
                "appended",
                "conflict at log anchor 1: stream 'steps': epoch 2 has not been opened; the present one is 1",
                "conflict at log anchor 1: stream 'steps': epoch 2 has not been opened; the present one is 1",
                "conflict at log anchor 1: stream 'steps': a snapshot cannot open epoch 1 again; give it a later epoch",
                "appended",
                "conflict at log anchor 2: stream 'steps': a snapshot cannot open epoch 5 again; give it a later epoch",
            ])
    }

    @Test func `4: a stream's first batch may open epoch 1 or its own`() throws {
        #expect(try outcomes([batch([u[0]], snapshot: .whole, number: (1, 1))]) == ["appended"])
        #expect(try outcomes([batch([u[0]], snapshot: .begin, number: (7, 1))]) == ["appended"])
    }

    @Test func `5: numbered and not numbered do not mix in one epoch`() throws {
        #expect(
            try outcomes([
                batch([u[0]]), batch([u[1]], number: (1, 1)), batch([u[1]], snapshot: .whole, number: (2, 1)),
                batch([u[2]], anchor: "x"),
            ]) == [
                "appended",
                "conflict at log anchor 1: stream 'steps': batches of epoch 1 are not numbered, this one is",
                "appended",
                "conflict at log anchor 2: stream 'steps': batches of epoch 2 are numbered, this one is not",
            ])
    }

    @Test func `6: a batch that says nothing is a duplicate`() throws {
        #expect(
            try outcomes([
                batch([]), batch([], anchor: "a"), batch([], anchor: "a"), batch([]),
                batch([], anchor: "a", previous: .anchor("z")),
                batch([], anchor: "b", previous: .anchor("a")),
            ]) == ["duplicate", "appended", "duplicate", "duplicate", "duplicate", "appended"])
    }

    @Test func `7: there must be a snapshot to end`() throws {
        let none = "stream 'steps': there is no open snapshot to end"
        #expect(
            try outcomes([
                batch([u[0]], snapshot: .end), batch([u[0]], snapshot: .begin), batch([u[1]], snapshot: .end),
                batch([u[2]], snapshot: .end), batch([u[0], u[1]], snapshot: .whole),
                batch([u[3]], snapshot: .end),
            ]) == [
                "conflict at log anchor 0: \(none)", "appended", "appended",
                "conflict at log anchor 2: \(none)",
                "appended", "conflict at log anchor 3: \(none)",
            ])
    }

    @Test func `8: the source anchors of a stream are a chain`() throws {
        #expect(
            try outcomes([
                batch([u[0]], anchor: "a", previous: .anchor("z")),
                batch([u[0]], anchor: "a", previous: .none),
                batch([u[1]], anchor: "b", previous: .none),
                batch([u[1]], anchor: "b", previous: .anchor("y")),
                batch([u[1]], previous: .anchor("a")), batch([u[1]], anchor: "b", previous: .anchor("a")),
            ]) == [
                "conflict at log anchor 0: stream 'steps': previousAnchor is 'z', but the log has no source anchor yet (null)",
                "appended",
                "conflict at log anchor 1: stream 'steps': previousAnchor is null, but the log's source anchor is 'a'; "
                    + "go on from that one",
                "conflict at log anchor 1: stream 'steps': previousAnchor is 'y', but the log's source anchor is 'a'; "
                    + "go on from that one", "appended", "appended",
            ])
    }

    @Test func `8: an opener starts from nothing, its pages do not`() throws {
        #expect(
            try outcomes([
                batch([u[0]], anchor: "a"), batch([u[0]], anchor: "p1", previous: .none, snapshot: .begin),
                batch([u[1]], anchor: "p2", previous: .anchor("p1")),
                batch([u[2]], anchor: "p3", previous: .anchor("p1"), snapshot: .end),
                batch([u[2]], anchor: "p3", previous: .anchor("p2"), snapshot: .end),
            ]) == [
                "appended", "appended", "appended",
                "conflict at log anchor 3: stream 'steps': previousAnchor is 'p1', but the log's source anchor is 'p2'; "
                    + "go on from that one", "appended",
            ])
    }

    @Test func `8: anchors are compared as bytes`() throws {
        let result = try outcomes([
            batch([u[0]], anchor: "caf\u{E9}"), batch([u[1]], anchor: "b", previous: .anchor("cafe\u{301}")),
        ])
        #expect(result[0] == "appended" && result[1].contains("go on from that one"))
    }

    @Test func `8: the source anchor is that of the greatest number, not of the latest batch`() throws {
        #expect(
            try outcomes([
                batch([u[0]], anchor: "five", number: (1, 5)), batch([u[1]], anchor: "three", number: (1, 3)),
                batch([u[2]], previous: .anchor("five"), number: (1, 6)),
                batch([u[3]], anchor: "x", number: (1, 7)),
                batch([u[3]], previous: .anchor("five"), number: (1, 8)),
            ]).map { $0.prefix(8) } == ["appended", "appended", "appended", "appended", "conflict"])
    }

    // MARK: 9

    private let many = `What append decides`.uuids(1100, seed: 9)

    @Test func `9: a snapshot that listed nothing needs confirming`() throws {
        let message =
            "stream 'steps': the snapshot listed nothing, but the stream has 1 live samples; "
            + "set confirmDeletions if they are really gone"
        #expect(
            try outcomes([
                batch([u[0]]), batch([], snapshot: .whole), batch([], snapshot: .begin),
                batch([], snapshot: .end),
                batch([], snapshot: .end, confirm: true), batch([], snapshot: .whole),
            ]) == [
                "appended", "conflict at log anchor 1: \(message)", "appended",
                "conflict at log anchor 2: \(message)",
                "appended", "appended",
            ])
    }

    @Test func `9: a page that listed something counts`() throws {
        #expect(
            try outcomes([
                batch(u[0..<4]), batch([u[0]], snapshot: .begin), batch([u[1]]), batch([], snapshot: .end),
            ]) == ["appended", "appended", "appended", "appended"])
    }

    @Test(arguments: [
        (1010, 101, true), (1009, 101, false), (150, 100, true),
    ])
    func `9: more than 100 cells and more than a tenth`(live: Int, swept: Int, isTaken: Bool) throws {
        let message =
            "stream 'steps': the snapshot would sweep \(swept) of \(live) live samples away; "
            + "set confirmDeletions if they are really gone"
        let listed = many[..<(live - swept)]
        let whole = try outcomes([
            batch(many[..<live]), batch(listed, snapshot: .whole),
            batch(listed, snapshot: .whole, confirm: true),
        ])
        let refused = "conflict at log anchor 1: \(message)"
        #expect(whole == ["appended", isTaken ? "appended" : refused, "appended"])
        // In pages, and with deletions that name what is gone: those are no sweeping.
        let half = listed.count / 2
        let paged = try outcomes([
            batch(many[..<live]), batch(listed[..<half], snapshot: .begin),
            batch(listed[half...], snapshot: .end),
            batch(listed[half...], snapshot: .end, confirm: true),
        ])
        #expect(paged[2] == (isTaken ? "appended" : "conflict at log anchor 2: \(message)"))
        #expect(isTaken ? paged[3].contains("no open snapshot") : paged[3] == "appended")
        var named = batch(listed, snapshot: .whole)
        named.deleted = [Batch.Deletion(uuid: many[live - 1])]
        let one = try outcomes([batch(many[..<live]), named])
        #expect(one[1] == "appended")
    }

    @Test func `9: what came since the snapshot opened is not what it could sweep`() throws {
        #expect(
            try outcomes([
                batch(many[..<50]), batch([many[0]], snapshot: .begin), batch(many[200..<500]),
                batch([], snapshot: .end),
            ]) == ["appended", "appended", "appended", "appended"])
    }

    @Test func `9: of an abandoned snapshot nothing is listed, but its samples live`() throws {
        #expect(
            try outcomes([
                batch([u[0]], snapshot: .begin), batch([], snapshot: .begin), batch([], snapshot: .end),
            ])[2].contains("listed nothing"))
    }

    @Test func `10: nothing of a batch need be in order otherwise`() throws {
        var odd = batch([u[0], u[1]], anchor: "", previous: .none)
        odd.deleted = [Batch.Deletion(uuid: u[0]), Batch.Deletion(uuid: u[0]), Batch.Deletion(uuid: u[7])]
        #expect(try outcomes([odd, odd]) == ["appended", "duplicate"])
    }
}
