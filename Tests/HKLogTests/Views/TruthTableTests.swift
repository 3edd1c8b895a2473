import HKLog
import HKLogTestSupport
import Testing

/// How often a join by (epoch, dead, seq) ends with another answer than is true, for ten stories in every order in
/// which their batches may come: the known answers of `docs/views.md`.
@Suite struct `The join of cells` {
    struct Story: CustomTestStringConvertible {
        var name: String
        var batches: [(number: (UInt64, UInt64), part: Batch.Snapshot?, added: [Int: Double], deleted: [Int])]
        /// What is true in the end: values by sample.
        var truth: [Int: Double]
        /// Wrong and all of: in order, in order with one batch twice, any order with each batch once or twice.
        var inOrder: (Int, Int) = (0, 1)
        var repeated: (Int, Int)
        var anyOrder: (Int, Int)

        var testDescription: String { name }
    }

    static let stories: [Story] = [
        Story(
            name: "S1 add then delete, two batches",
            batches: [((1, 1), nil, [0: 1], []), ((1, 2), nil, [:], [0])], truth: [:], repeated: (0, 3),
            anyOrder: (0, 14)),
        Story(
            name: "S2 uuid in both lists of one batch",
            batches: [((1, 1), nil, [1: 1], []), ((1, 2), nil, [0: 1], [0])], truth: [1: 1], repeated: (0, 3),
            anyOrder: (0, 14)),
        Story(
            name: "S3 sync replacement: new uuid added, old uuid deleted in the same batch",
            batches: [((1, 1), nil, [0: 1], []), ((1, 2), nil, [1: 2], [0])], truth: [1: 2], repeated: (0, 3),
            anyOrder: (0, 14)),
        Story(
            name: "S4 same uuid sent again with a newer payload, never deleted",
            batches: [((1, 1), nil, [0: 1], []), ((1, 2), nil, [0: 2], [])], truth: [0: 2], repeated: (0, 3),
            anyOrder: (0, 14)),
        Story(
            name: "S5 anchor lost; tombstone purged; full refetch",
            batches: [((1, 1), nil, [0: 1, 1: 1], []), ((2, 1), .whole, [1: 1], [])], truth: [1: 1],
            repeated: (0, 3), anyOrder: (0, 14)),
        Story(
            name: "S6 anchor lost; full refetch in two pages; deletion still reported",
            batches: [
                ((1, 1), nil, [0: 1, 1: 1, 2: 1], []), ((2, 1), .begin, [1: 1], []),
                ((2, 2), .end, [2: 1], [0]),
            ], truth: [1: 1, 2: 1], repeated: (0, 6), anyOrder: (0, 222)),
        Story(
            name: "S7 deleted in epoch 1, present again in epoch 2",
            batches: [((1, 1), nil, [0: 1], []), ((1, 2), nil, [:], [0]), ((2, 1), .whole, [0: 1], [])],
            truth: [0: 1], repeated: (0, 6), anyOrder: (0, 222)),
        Story(
            name: "S8 delete of a uuid never seen, then stale add of it",
            batches: [((1, 1), nil, [1: 1], []), ((1, 3), nil, [:], [0]), ((1, 2), nil, [0: 1], [])],
            truth: [1: 1], repeated: (0, 6), anyOrder: (0, 222)),
        Story(
            name: "S9 true re-add of the same uuid in the same epoch",
            batches: [((1, 1), nil, [0: 1], []), ((1, 2), nil, [:], [0]), ((1, 3), nil, [0: 2], [])],
            truth: [0: 2], inOrder: (1, 1), repeated: (6, 6), anyOrder: (222, 222)),
        Story(
            name: "S10 stale add appended late under a new seq",
            batches: [((1, 1), nil, [0: 1], []), ((1, 2), nil, [:], [0]), ((1, 3), nil, [0: 1], [])],
            truth: [:], repeated: (0, 6), anyOrder: (0, 222)),
    ]

    @Test(arguments: stories)
    func `ten stories end as the join says`(story: Story) throws {
        let count = story.batches.count
        let once = Array(0..<count)
        #expect(try wrong(story, [once]) == story.inOrder)
        var repeated = Set<[Int]>()
        for index in once {
            for place in index + 1...count {
                var order = once
                order.insert(index, at: place)
                repeated.insert(order)
            }
        }
        #expect(try wrong(story, Array(repeated)) == story.repeated)
        var all = Set<[Int]>()
        for extra in 0..<1 << count {
            permute([], once + once.filter { extra >> $0 & 1 == 1 }) { all.insert($0) }
        }
        #expect(try wrong(story, Array(all)) == story.anyOrder)
    }

    private func permute(_ done: [Int], _ rest: [Int], _ body: ([Int]) -> Void) {
        if rest.isEmpty { return body(done) }
        for place in rest.indices where !rest[..<place].contains(rest[place]) {
            var others = rest
            permute(done + [others.remove(at: place)], others, body)
        }
    }

    private func wrong(_ story: Story, _ orders: [[Int]]) throws -> (Int, Int) {
        var wrong = 0
        for order in orders where try end(story, order) != story.truth { wrong += 1 }
        return (wrong, orders.count)
    }

    private func uuid(_ number: Int) -> SampleUUID {
        SampleUUID(bytes: (UInt8(number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    }

    /// What a store shows after batches in some order.
    ///
    /// A batch that conflicts, because what it builds on has not
    /// come yet, is sent again at the end, as a sender does.
    private func end(_ story: Story, _ order: [Int]) throws -> [Int: Double] {
        let store = try TestStore().store
        var waiting = order
        while !waiting.isEmpty {
            var refused: [Int] = []
            for index in waiting {
                let given = story.batches[index]
                let added = given.added.sorted { $0.key < $1.key }.map {
                    Sample(
                        uuid: uuid($0.key), type: "HKQuantityTypeIdentifierStepCount",
                        start: Timestamp(microseconds: 0),
                        value: .quantity($0.value), unit: "count")
                }
                var batch = Batch(stream: "s", added: added, deleted: given.deleted.map(uuid)).with(
                    snapshot: given.part)
                batch.numbering = Batch.Numbering(epoch: given.number.0, sequence: given.number.1)
                do {
                    try store.append(batch)
                } catch {
                    #expect(error.code == .conflict)
                    refused.append(index)
                }
            }
            try #require(refused.count < waiting.count)
            waiting = refused
        }
        var shown: [Int: Double] = [:]
        for stored in try store.samples(SampleQuery()) {
            guard case .quantity(let value) = stored.sample.value else { continue }
            shown[Int(stored.sample.uuid.description.prefix(2), radix: 16) ?? -1] = value
        }
        try store.close()
        return shown
    }
}
