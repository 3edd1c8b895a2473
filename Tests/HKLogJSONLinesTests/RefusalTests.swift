import HKLog
import HKLogJSONLines
import Testing

@Suite struct RefusalTests {
    /// A line, the path of the field that is at fault, and a part of what was expected there.
    struct Case: CustomTestStringConvertible, Sendable {
        var line: String
        var path: String
        var expected: String

        init(_ line: String, _ path: String, _ expected: String) {
            self.line = line
            self.path = path
            self.expected = expected
        }

        var testDescription: String { String(line.prefix(120)) }
    }

    static let batches: [Case] = [
        Case("[]", "", "one object a line"), Case("7", "", "one object a line"),
        Case("", "", "one object a line"),
        Case("{}", "stream", "a stream"),
        Case(#"{"added":[]}"#, "stream", "a stream"),
        Case(#"{"stream":"s"} x"#, "", "the end of the line"),
        Case(#"{"stream":"s"}{"stream":"s"}"#, "", "the end of the line"),
        Case(#"{"stream":"s","bogus":1}"#, "bogus", "a field that a batch has"),
        Case(#"{"stream":"s","Stream":1}"#, "Stream", "a field that a batch has"),
        Case(#"{"stream":"s","st\u0072eam":"s"}"#, "stream", "each key once"),
        Case(#"{"stream":null,"stream":"s"}"#, "stream", "each key once"),
        Case(#"{"stream":7}"#, "stream", "a string"),
        Case(#"{"type":["x"]}"#, "type", "a string"),
        Case(#"{"stream":"s","previousAnchor":5}"#, "previousAnchor", "a string"),
        Case(#"{"stream":"s","anchor":"\#(String(repeating: "a", count: 65537))"}"#, "anchor", "64 KiB"),
        Case(#"{"stream":"s","snapshot":"Begin"}"#, "snapshot", #""begin", "end" or "whole""#),
        Case(#"{"stream":"s","confirmDeletions":1}"#, "confirmDeletions", "true or false"),
        Case(#"{"stream":"s","kept":"true"}"#, "kept", "true or false"),
        Case(#"{"stream":"s","epoch":1}"#, "seq", "together"),
        Case(#"{"stream":"s","seq":1}"#, "epoch", "together"),
        Case(#"{"stream":"s","epoch":0,"seq":1}"#, "epoch", "1 or more"),
        Case(#"{"stream":"s","epoch":1,"seq":-1}"#, "seq", "1 or more"),
        Case(#"{"stream":"s","epoch":1,"seq":1.5}"#, "seq", "1 or more"),
        Case(#"{"stream":"s","epoch":1,"seq":18446744073709551616}"#, "seq", "below 2^64"),
        Case(#"{"stream":"s","epoch":"1","seq":1}"#, "epoch", "1 or more"),
        Case(#"{"stream":"s","deleted":{}}"#, "deleted", "an array of uuids"),
        Case(#"{"stream":"s","deleted":["\#(uuidA)","x"]}"#, "deleted[1]", "a uuid"),
        Case(#"{"stream":"s","deleted":[null]}"#, "deleted[0]", "a uuid, or an object"),
        Case(#"{"stream":"s","deleted":[{}]}"#, "deleted[0].uuid", "required"),
        Case(#"{"stream":"s","deleted":[{"uuid":"\#(uuidA)","x":1}]}"#, "deleted[0].x", "a deletion has"),
        Case(
            #"{"stream":"s","deleted":[{"uuid":"\#(uuidA)","metadata":1}]}"#, "deleted[0].metadata",
            "an object"),
        Case(#"{"stream":"s","digest":"0123"}"#, "digest", "32 hexadecimal digits"),
        Case(#"{"stream":"s","digest":5}"#, "digest", "32 hexadecimal digits"),
        Case(#"{"stream":"s","added":{}}"#, "added", "an array of samples"),
        Case(#"{"stream":"s","added":[1]}"#, "added[0]", "a sample object"),
        Case(#"{"stream":"s","gap":[1,2]}"#, "gap", "a line of its own"),
        Case(#"{"gap":[1]}"#, "gap", "two log anchors"),
        Case(#"{"logAnchor":{"a":1,"a":2}}"#, "logAnchor.a", "each key once"),
        Case(#"{"stream":"\#(String(repeating: "s", count: (1 << 20) + 1))"}"#, "stream", "1 MiB"),
        Case(
            #"{"added":[{"uuid":"\#(uuidA)","type":"workout","start":0},"#
                + #"{"uuid":"\#(uuidB)","type":"stepCount","start":0,"value":1,"unit":"count"}]}"#,
            "stream", "several types"),
    ]

    static let samples: [Case] = [
        Case(sampleLine(uuid: "null"), "added[0].uuid", "required"),
        Case(sampleLine(uuid: "\"0F2D0C58-5C43-4E11-9B59-6B6C0F9B8C3\""), "added[0].uuid", "a uuid"),
        Case(sampleLine(uuid: "\"0F2D0C58-5C43-4E11-9B59-6B6C0F9B8C3G\""), "added[0].uuid", "a uuid"),
        Case(sampleLine(uuid: "\"0F2D0C58+5C43-4E11-9B59-6B6C0F9B8C33\""), "added[0].uuid", "a uuid"),
        Case(sampleLine(uuid: "5"), "added[0].uuid", "a uuid"),
        Case(sampleLine(type: "null"), "added[0].type", "a type"),
        Case(sampleLine(type: "5"), "added[0].type", "a string"),
        Case(sampleLine(start: "null"), "added[0].start", "required"),
        Case(sampleLine(start: "\"2026-03-01\""), "added[0].start", "a date"),
        Case(sampleLine(start: "\"2026-03-01T08:00:00\""), "added[0].start", "a date"),
        Case(sampleLine(start: "\"2026-02-30T08:00:00Z\""), "added[0].start", "a date"),
        Case(sampleLine(start: "\"1772323200\""), "added[0].start", "a date"),
        Case(sampleLine(start: "true"), "added[0].start", "a date"),
        Case(sampleLine(start: "1e99"), "added[0].start", "a date"),
        Case(sampleLine(start: "253402300800"), "added[0].start", "years 1 to 9999"),
        Case(
            sampleLine(more: #","end":"2026-03-01T07:59:59.999999Z""#), "added[0].end", "not before the start"
        ),
        Case(sampleLine(value: "null"), "added[0].value", "require"),
        Case(sampleLine(value: "\"\""), "added[0].value", "a finite number"),
        Case(sampleLine(value: "\"nan\""), "added[0].value", "a finite number"),
        Case(sampleLine(value: "\"0x10\""), "added[0].value", "a finite number"),
        Case(sampleLine(value: "\" 1\""), "added[0].value", "a finite number"),
        Case(sampleLine(value: "\"1,5\""), "added[0].value", "a finite number"),
        Case(sampleLine(value: "1e400"), "added[0].value", "a finite number"),
        Case(sampleLine(value: "-1e9999999999999999999"), "added[0].value", "a finite number"),
        Case(sampleLine(value: "true"), "added[0].value", "a number"),
        Case(sampleLine(value: "[1]"), "added[0].value", "a number"),
        Case(sampleLine(value: "NaN"), "added[0].value", "a number"),
        Case(sampleLine(value: "01"), "added[0].value", "leading zeros"),
        Case(sampleLine(value: "1."), "added[0].value", "after the decimal point"),
        Case(sampleLine(value: ".5"), "added[0].value", "a number"),
        Case(sampleLine(value: "+5"), "added[0].value", "a number"),
        Case(sampleLine(value: "1e"), "added[0].value", "in the exponent"),
        Case(sampleLine(value: "-"), "added[0].value", "malformed"),
        Case(sampleLine(value: "1x"), "added[0]", "',' or '}'"),
        Case(sampleLine(unit: "null"), "added[0].unit", "require"),
        Case(sampleLine(unit: "5"), "added[0].unit", "a string"),
        Case(sampleLine(unit: "\"kg\""), "added[0].unit", "fits the type, such as 'count'"),
        Case(sampleLine(unit: "\"furlong\""), "added[0].unit", "a HealthKit unit"),
        Case(sampleLine(type: "\"workout\"", unit: "\"furlong\""), "added[0].unit", "a HealthKit unit"),
        Case(
            sampleLine(type: "\"sleepAnalysis\"", value: "1.5", unit: "null"), "added[0].value", "an integer"),
        Case(
            sampleLine(type: "\"sleepAnalysis\"", value: "\"HKCategoryValueSeverityMild\"", unit: "null"),
            "added[0].value", "the name of a value"),
        Case(
            sampleLine(type: "\"sleepAnalysis\"", value: "9223372036854775808", unit: "null"),
            "added[0].value",
            "an integer"),
        Case(sampleLine(more: #","source":5"#), "added[0].source", "a source object, or its name"),
        Case(sampleLine(more: #","source":{"names":"x"}"#), "added[0].source.names", "a source has"),
        Case(sampleLine(more: #","source":{"name":5}"#), "added[0].source.name", "a string"),
        Case(
            sampleLine(more: #","source":{"name":null,"name":"x"}"#), "added[0].source.name", "each key once"),
        Case(sampleLine(more: #","device":"Watch""#), "added[0].device", "a device object"),
        Case(
            sampleLine(more: #","device":{"bundleIdentifier":"x"}"#), "added[0].device.bundleIdentifier",
            "has"),
        Case(sampleLine(more: #","metadata":[]"#), "added[0].metadata", "an object"),
        Case(
            sampleLine(more: #","metadata":{"a":{"b":[0,{"c":1,"c":2}]}}"#), "added[0].metadata.a.b[1].c",
            "once"),
        Case(sampleLine(more: #","metadata":{"a":1,"\u0061":2}"#), "added[0].metadata.a", "each key once"),
        Case(
            sampleLine(more: #","metadata":{"k":"\#(String(repeating: "x", count: (1 << 20) + 1))"}"#),
            "added[0].metadata.k", "1 MiB"),
        Case(sampleLine(more: #","payload":"x""#), "added[0].payload", "an object"),
        Case(sampleLine(more: #","count":0"#), "added[0].count", "1 or more"),
        Case(sampleLine(more: #","count":"2""#), "added[0].count", "1 or more"),
        Case(sampleLine(more: #","values":1"#), "added[0].values", "a field that a sample has"),
        Case(sampleLine(more: #","":1"#), "added[0]", "a field that a sample has"),
        Case(sampleLine(more: #","uni\u0074":"count""#), "added[0].unit", "each key once"),
        Case(
            #"{"type":"workout","added":[{"uuid":"\#(uuidA)","start":0},{"uuid":"\#(uuidB)","start":0},"#
                + #"{"uuid":"\#(uuidA.lowercased())","start":0}]}"#,
            "added[2].uuid", "each uuid once"),
        Case(
            #"{"type":"workout","added":[{"uuid":"\#(uuidA)","start":0},{"start":0}]}"#, "added[1].uuid",
            "required"
        ),
        Case(sampleLine(more: #","source":"\ud800""#), "added[0].source", "surrogate pair"),
        Case(sampleLine(more: #","source":"\ud800\u0041""#), "added[0].source", "surrogate pair"),
        Case(sampleLine(more: #","source":"\udc00""#), "added[0].source", "surrogate pair"),
        Case(sampleLine(more: ",\"source\":\"a\tb\""), "added[0].source", "control characters"),
        Case(sampleLine(more: #","source":"\x41""#), "added[0].source", "an escape sequence"),
    ]

    @Test(arguments: batches + samples)
    func `a line that is not valid is refused with its path`(example: Case) throws {
        let error = try #require(refusal(example.line))
        #expect(error.path == example.path)
        #expect(error.expected.contains(example.expected), "\(error.expected)")
        #expect(error.description.hasPrefix("line 1: "))
        #expect(!error.description.contains("\n"))
    }

    @Test func `the whole message is one sentence with line, path and what was expected`() throws {
        let error = try #require(refusal(Array(sampleLine(unit: "\"kg\"").utf8), lineNumber: 7))
        #expect(
            error.description
                == "line 7: added[0].unit: expected a unit that fits the type, such as 'count'")
        #expect(error.error(file: "a.jsonl").message == "a.jsonl: \(error.description)")
        #expect(error.error(file: nil).code == .invalidData)
        let broken = try #require(refusal(#"{"stream":"s""#))
        #expect(
            broken.description == "line 1: malformed JSON: expected ',' or '}' at byte 13 of the line")
    }

    @Test func `a name from the data cannot move the cursor of a terminal`() throws {
        let error = try #require(refusal("{\"stream\":\"s\",\"a\\u001b[31m\u{202E}\u{9b}\":1}"))
        #expect(error.path == "a\u{FFFD}[31m\u{FFFD}\u{FFFD}")
    }

    @Test func `malformed UTF-8 is refused wherever it stands`() throws {
        let bad: [[UInt8]] = [
            [0x80], [0xC0, 0xAF], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82],
        ]
        for bytes in bad {
            for place in ["source", "metadata"] {
                let open = place == "source" ? #","source":"abc"# : #","metadata":{"k":"abc"#
                let close = place == "source" ? "\"" : "\"}"
                let parts = sampleLine(more: open + "@@" + close).split(separator: "@@")
                let line = Array(parts[0].utf8) + bytes + Array(parts[1].utf8)
                let error = try #require(refusal(line))
                #expect(error.expected.hasPrefix("malformed UTF-8"), "\(bytes)")
            }
            #expect(refusal(bytes + Array("{}".utf8)) != nil)
        }
    }

    @Test func `nesting is bounded and costs no stack`() throws {
        func nested(_ depth: Int) -> String {
            sampleLine(
                more: #","metadata":{"k":"# + String(repeating: "[", count: depth)
                    + String(repeating: "]", count: depth) + "}")
        }
        // The metadata object is the first level.
        #expect(refusal(nested(JSONText.depthLimit - 1)) == nil)
        let error = try #require(refusal(nested(JSONText.depthLimit)))
        #expect(error.expected == "at most 64 levels of nesting")
        #expect(refusal(nested(1_000_000)) != nil)
        #expect(
            refusal(sampleLine(more: #","metadata":"# + String(repeating: #"{"a":"#, count: 100_000))) != nil)
        #expect(refusal(String(repeating: "[", count: 1_000_000)) != nil)
    }
}
