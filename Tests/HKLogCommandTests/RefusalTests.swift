import Foundation
import Testing

/// Lines that are not valid, and what the message says of them.
struct RefusalTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        let name: String
        let line: String
        /// The field's path as the message has it.
        let path: String
        var testDescription: String { name }

        init(_ name: String, _ line: String, _ path: String = "") {
            self.name = name
            self.line = line
            self.path = path
        }
    }

    static let valid = batch(added: [sample(1)])

    static let refusals: [Refusal] = [
        Refusal("malformed JSON", #"{"stream":"s""#),
        Refusal("no object", "17"),
        Refusal("something after the object", #"{"stream":"s"} x"#),
        Refusal("an unknown field", batch(#""colour":"red""#), "colour"),
        Refusal(
            "an unknown field of a sample", batch(added: [sample(1, extra: #""colour":1"#)]),
            "added[0].colour"),
        Refusal("a key twice", #"{"stream":"s","stream":"s"}"#, "stream"),
        Refusal("no stream and no one type", #"{"added":[]}"#),
        Refusal("a stream that is no text", #"{"stream":7}"#, "stream"),
        Refusal(
            "a missing uuid", batch(added: [#"{"type":"stepCount","start":0,"value":1,"unit":"count"}"#]),
            "uuid"),
        Refusal(
            "a uuid that is none",
            batch(added: [#"{"uuid":"x","type":"stepCount","start":0,"value":1,"unit":"count"}"#]),
            "added[0].uuid"),
        Refusal("a deleted uuid that is none", #"{"stream":"s","deleted":["x"]}"#, "deleted[0]"),
        Refusal(
            "a date that is none", batch(added: [sample(1), sample(2, start: "soon")]), "added[1].start"),
        Refusal(
            "a date without a zone", batch(added: [sample(1, start: "2026-03-01T08:00:00")]), "added[0].start"
        ),
        Refusal(
            "a day that is none", batch(added: [sample(1, start: "2026-02-29T08:00:00Z")]), "added[0].start"),
        Refusal(
            "an end before the start",
            batch(added: [sample(1, start: "2026-03-01T08:00:00Z", end: "2026-03-01T07:00:00Z")]),
            "added[0].end"),
        Refusal("a value that is no number", batch(added: [sample(1, value: "\"many\"")]), "added[0].value"),
        Refusal("NaN", batch(added: [sample(1, value: "\"NaN\"")]), "added[0].value"),
        Refusal("infinity", batch(added: [sample(1, value: "1e999")]), "added[0].value"),
        Refusal("a missing value", batch(added: [sample(1, value: "null")]), "value"),
        Refusal("a missing unit", batch(added: [sample(1, unit: nil)]), "unit"),
        Refusal("a unit that is none", batch(added: [sample(1, unit: "florps")]), "added[0].unit"),
        Refusal("steps in kilograms", batch(added: [sample(1, unit: "kg")]), "added[0].unit"),
        Refusal(
            "a category's name that is unknown",
            batch(added: [sample(1, type: sleep, value: "\"Awake?\"", unit: nil)]), "added[0].value"),
        Refusal("the same uuid twice", batch(added: [sample(1), sample(1)]), "added[1]"),
        Refusal("seq without epoch", batch(#""seq":1"#, added: [sample(1)]), "epoch"),
        Refusal("seq 0", batch(#""epoch":1,"seq":0"#, added: [sample(1)]), "seq"),
        Refusal("a snapshot that is no word", batch(#""snapshot":"maybe""#), "snapshot"),
        Refusal("a count of 0", batch(added: [sample(1, extra: #""count":0"#)]), "added[0].count"),
        Refusal(
            "an anchor above 64 KiB", batch("\"anchor\":\"\(String(repeating: "a", count: 65537))\""),
            "anchor"),
        Refusal(
            "a text above 1 MiB",
            batch(added: [sample(1, source: "\"\(String(repeating: "x", count: 1 << 20 + 1))\"")]),
            "added[0].source"),
    ]

    @Test(arguments: refusals)
    func `a line that is not valid is refused whole, with its number and the field`(refusal: Refusal) throws {
        let work = try Workspace()
        let lines = [
            batch(#""anchor":"a1""#, added: [sample(90)]), "", refusal.line, batch(added: [sample(91)]),
        ]
        let outcome = try work.run("append", "--format", "jsonl", input: lines.joined(separator: "\n") + "\n")
        #expect(outcome.status == 65, "\(outcome.output)")
        let errors = outcome.errorLines.filter { $0.hasPrefix("hklog: error: ") }
        #expect(errors.count == 1)
        #expect(errors.first?.contains("line 3") == true, "\(outcome.errors)")
        #expect(refusal.path.isEmpty || errors.first?.contains(refusal.path) == true, "\(outcome.errors)")
        // What stood before is acknowledged, what stands after is not read.
        #expect(outcome.objects.compactMap { $0["logAnchor"] as? Int } == [1])
        #expect(try work.run("info", "--format", "json").object["samples"] as? Int == 1)
    }

    @Test
    func `with reject the bad lines are copied as they are, the rest is appended, and the status is 65`()
        throws
    {
        let work = try Workspace()
        let bad = Self.refusals.prefix(12).map { $0.line }
        var lines: [String] = []
        for (index, line) in bad.enumerated() { lines += [line, batch(added: [sample(index + 100)])] }
        let outcome = try work.run(
            "append", "--reject", work.path("bad.jsonl"), "--sync", "group",
            input: lines.joined(separator: "\r\n"))
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains("12 lines were rejected"))
        #expect(outcome.output.contains("appended 12 batches"))
        #expect(try work.read("bad.jsonl") == bad.joined(separator: "\n") + "\n")
    }

    @Test func `bytes that are no UTF-8 are refused`() throws {
        let work = try Workspace()
        var bytes = Data(#"{"stream":"s"#.utf8)
        bytes.append(contentsOf: [0xFF, 0xFE])
        bytes.append(contentsOf: #""}"#.utf8)
        let outcome = try work.run(["append"], inputBytes: bytes)
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains("line 1"))
    }

    @Test func `a line above max-line is refused, and with reject skipped`() throws {
        let work = try Workspace()
        let long = batch("\"anchor\":\"\(String(repeating: "a", count: 3000))\"")
        let input = [batch(added: [sample(1)]), long, batch(added: [sample(2)])].joined(separator: "\n")
        let outcome = try work.run("append", "--max-line", "1000", input: input)
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains("line 2"))
        let rejecting = try work.run(
            "append", "--max-line", "1000", "--reject", work.path("bad"), input: input)
        #expect(rejecting.status == 65)
        #expect(try work.read("bad") == long + "\n")
        #expect(try work.run("info", "--format", "json").object["logAnchor"] as? Int == 3)
    }

    @Test func `reject does not write over what is to be read`() throws {
        let work = try Workspace()
        let file = try work.write(Self.valid, to: "in.jsonl")
        #expect(try work.run("append", file, "--reject", file).status == 64)
        #expect(try work.read("in.jsonl") == Self.valid)
    }

    @Test func `messages hold no health values`() throws {
        let work = try Workspace()
        let line = batch(added: [sample(1, value: "\"4711 secret\"", extra: #""metadata":{"note":"secret"}"#)]
        )
        let outcome = try work.run("append", input: line)
        #expect(outcome.status == 65)
        #expect(!outcome.errors.contains("secret"))
        #expect(!outcome.errors.contains("4711"))
    }

    @Test func `what changes prints is ignored where it is no batch`() throws {
        let work = try Workspace()
        let input = [#"{"logAnchor":5,"logCheck":"ab"}"#, #"{"gap":[1,2]}"#, Self.valid].joined(
            separator: "\n")
        let outcome = try work.run("append", "--format", "jsonl", input: input)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.objects.count == 1)
    }
}
