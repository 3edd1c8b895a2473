import Foundation
import Testing

/// What append decides: each rule of the table, seen from outside.
struct DecisionTests {
    enum Decision: String, Sendable {
        case appended, duplicate, stale, conflict
    }

    struct Rule: Sendable, CustomTestStringConvertible {
        let name: String
        /// What is in the log before.
        let before: [String]
        let line: String
        let decision: Decision
        /// What a conflict's message names.
        var names: [String] = []
        var testDescription: String { name }
    }

    static let one = sample(1)
    static let many = (1...150).map { sample($0) }

    static let rules: [Rule] = [
        Rule(
            name: "1: an epoch below the present one is stale",
            before: [batch(#""snapshot":"whole","epoch":2,"seq":1"#, added: [one])],
            line: batch(#""epoch":1,"seq":5"#, added: [sample(2)]), decision: .stale),
        Rule(
            name: "1: what is known of an earlier epoch is stale",
            before: [
                batch(#""anchor":"a1""#, added: [one]),
                batch(#""anchor":"a2","snapshot":"whole""#, added: [one]),
            ],
            line: batch(#""anchor":"a1""#, added: [one]), decision: .stale),
        Rule(
            name: "2: the same batch with an anchor is a duplicate",
            before: [batch(#""previousAnchor":null,"anchor":"a1""#, added: [one])],
            line: batch(#""previousAnchor":null,"anchor":"a1""#, added: [one]), decision: .duplicate),
        Rule(
            name: "2: the spelling of dates and uuids is not part of the content",
            before: [batch(#""anchor":"a1""#, added: [sample(10, start: "2026-03-01T08:00:00+01:00")])],
            line: batch(#""anchor":"a1""#, added: [sample(10, start: "2026-03-01T07:00:00.000Z")])
                .replacingOccurrences(
                    of: uuid(10), with: uuid(10).lowercased()), decision: .duplicate),
        Rule(
            name: "2: a numbered batch is known after later ones",
            before: [
                batch(#""epoch":1,"seq":1"#, added: [one]), batch(#""epoch":1,"seq":2"#, added: [sample(2)]),
            ],
            line: batch(#""epoch":1,"seq":1"#, added: [one]), decision: .duplicate),
        Rule(
            name: "3: a number with other content conflicts",
            before: [batch(#""epoch":1,"seq":1"#, added: [one])],
            line: batch(#""epoch":1,"seq":1"#, added: [sample(2)]), decision: .conflict, names: ["s"]),
        Rule(
            name: "4: a later epoch without an opener conflicts",
            before: [batch(#""epoch":1,"seq":1"#, added: [one])],
            line: batch(#""epoch":2,"seq":1"#, added: [sample(2)]), decision: .conflict),
        Rule(
            name: "4: an opener of the present epoch conflicts",
            before: [batch(#""epoch":1,"seq":1"#, added: [one])],
            line: batch(#""snapshot":"whole","epoch":1,"seq":2"#, added: [one]), decision: .conflict),
        Rule(
            name: "4: a stream's first batch may open the epoch it is in", before: [],
            line: batch(#""snapshot":"whole","epoch":1,"seq":1"#, added: [one]), decision: .appended),
        Rule(
            name: "5: numbered after unnumbered conflicts",
            before: [batch(#""anchor":"a1""#, added: [one])],
            line: batch(#""epoch":1,"seq":2"#, added: [sample(2)]), decision: .conflict),
        Rule(
            name: "5: unnumbered after numbered conflicts",
            before: [batch(#""epoch":1,"seq":1"#, added: [one])],
            line: batch(added: [sample(2)]), decision: .conflict),
        Rule(
            name: "6: nothing to write is a duplicate", before: [batch(#""anchor":"a1""#, added: [one])],
            line: batch(), decision: .duplicate),
        Rule(
            name: "6: nothing but the anchor that the stream has is a duplicate",
            before: [batch(#""anchor":"a1""#, added: [one])],
            line: batch(#""anchor":"a1""#), decision: .duplicate),
        Rule(
            name: "6: a new anchor is something to write", before: [batch(#""anchor":"a1""#, added: [one])],
            line: batch(#""anchor":"a2""#), decision: .appended),
        Rule(
            name: "7: an end without a snapshot conflicts", before: [batch(added: [one])],
            line: batch(#""snapshot":"end""#, added: [one]), decision: .conflict),
        Rule(
            name: "8: another previous anchor conflicts and names both",
            before: [batch(#""anchor":"a1""#, added: [one])],
            line: batch(#""previousAnchor":"zz","anchor":"a2""#, added: [sample(2)]), decision: .conflict,
            names: ["a1", "zz"]),
        Rule(
            name: "8: none is another previous anchor", before: [batch(#""anchor":"a1""#, added: [one])],
            line: batch(#""previousAnchor":null,"anchor":"a2""#, added: [sample(2)]), decision: .conflict,
            names: ["a1"]),
        Rule(
            name: "8: an opener need not be chained", before: [batch(#""anchor":"a1""#, added: [one])],
            line: batch(#""previousAnchor":null,"anchor":"a2","snapshot":"whole""#, added: [one]),
            decision: .appended),
        Rule(
            name: "9: an empty snapshot over live samples conflicts", before: [batch(added: [one])],
            line: batch(#""snapshot":"whole""#), decision: .conflict),
        Rule(
            name: "9: with confirmDeletions it does not", before: [batch(added: [one])],
            line: batch(#""snapshot":"whole","confirmDeletions":true"#), decision: .appended),
        Rule(
            name: "9: sweeping more than 100 and a tenth conflicts", before: [batch(added: many)],
            line: batch(#""snapshot":"whole""#, added: Array(many.prefix(10))), decision: .conflict),
        Rule(
            name: "9: sweeping 100 of 150 does not", before: [batch(added: many)],
            line: batch(#""snapshot":"whole""#, added: Array(many.prefix(50))), decision: .appended),
        Rule(
            name: "10: a first batch is appended", before: [], line: batch(added: [one]), decision: .appended),
        Rule(
            name: "10: a batch without anchor or number is new each time", before: [batch(added: [one])],
            line: batch(added: [one]), decision: .appended),
    ]

    @Test(arguments: rules)
    func `append decides as the table says`(rule: Rule) throws {
        let work = try Workspace()
        let filled = try work.fill(rule.before)
        #expect(filled.status == 0, "\(filled.errors)")
        let anchor = rule.before.count
        let outcome = try work.run("append", "--format", "jsonl", input: rule.line + "\n")
        if rule.decision == .conflict {
            #expect(outcome.status == 75, "\(outcome.output)")
            #expect(outcome.output.isEmpty)
            #expect(outcome.errorLines.count == 1)
            for name in rule.names { #expect(outcome.errors.contains(name)) }
        } else {
            #expect(outcome.status == 0, "\(outcome.errors)")
            let object = try #require(outcome.objects.first)
            #expect(object["duplicate"] as? Bool == (rule.decision == .duplicate))
            #expect(object["stale"] as? Bool == (rule.decision == .stale))
            #expect(object["stream"] as? String == "s")
            let isNew = rule.decision == .appended
            #expect(object["logAnchor"] as? Int == anchor + (isNew ? 1 : 0))
            if !isNew {
                #expect(object["added"] as? Int == 0)
                #expect(object["deleted"] as? Int == 0)
            }
        }
        let after = try work.run("info", "--format", "json").object["logAnchor"] as? Int
        #expect(after == anchor + (rule.decision == .appended ? 1 : 0))
    }

    @Test(arguments: rules)
    func `a dry run decides the same and writes nothing`(rule: Rule) throws {
        let work = try Workspace()
        try work.fill(rule.before)
        let outcome = try work.run("append", "--dry-run", "--format", "jsonl", input: rule.line + "\n")
        #expect(outcome.status == (rule.decision == .conflict ? 75 : 0), "\(outcome.errors)")
        if rule.decision != .conflict {
            let isNew = rule.decision == .appended
            #expect(outcome.objects.first?["logAnchor"] as? Int == rule.before.count + (isNew ? 1 : 0))
        }
        #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == rule.before.count)
    }

    @Test func `a dry run without a store makes none`() throws {
        let work = try Workspace()
        let outcome = try work.run("append", "--dry-run", input: history.joined(separator: "\n"))
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("4 batches"))
        #expect(!work.exists("health.hklog"))
    }

    @Test func `a conflict ends the append with 75, also with reject, and is not copied there`() throws {
        let work = try Workspace()
        let lines = [
            batch(#""anchor":"a1""#, added: [sample(1)]), "{bad",
            batch(#""previousAnchor":"x""#, added: [sample(2)]),
            batch(added: [sample(3)]),
        ]
        let outcome = try work.run(
            "append", "--reject", work.path("bad.jsonl"), "--format", "jsonl",
            input: lines.joined(separator: "\n"))
        #expect(outcome.status == 75)
        #expect(outcome.objects.count == 1)
        #expect(try work.read("bad.jsonl") == "{bad\n")
        #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == 1)
    }
}
