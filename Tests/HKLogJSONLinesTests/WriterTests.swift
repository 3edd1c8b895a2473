import HKLog
import HKLogFormat
import HKLogJSONLines
import Testing

@Suite struct WriterTests {
    @Test func `a batch is written in the documented order, and nothing that was absent`() throws {
        var batch = Batch(stream: "s")
        #expect(encode(batch) == "{\"stream\":\"s\"}\n")
        batch.previousAnchor = .none
        batch.anchor = "a"
        batch.snapshot = .begin
        batch.confirmDeletions = true
        batch.numbering = Batch.Numbering(epoch: 2, sequence: .max)
        batch.digest = ContentDigest("0123456789abcdef0123456789abcdef")
        batch.kept = true
        let a = try #require(SampleUUID(uuidA))
        let b = try #require(SampleUUID(uuidB))
        let inner = JSONText(uncheckedCompactObject: Array(#"{"k":1.50}"#.utf8))
        batch.deleted = [Batch.Deletion(uuid: a), Batch.Deletion(uuid: b, metadata: inner)]
        var builder = RowBuilder()
        let sample = Sample(
            uuid: a, type: "T", start: Timestamp(microseconds: 0), end: Timestamp(microseconds: 500_000),
            value: .quantity(-0.25), unit: "count", source: Source(name: "N", version: "1"),
            device: Device(model: "M"), metadata: inner, count: 3, payload: inner)
        builder.add(sample)
        builder.add(Sample(uuid: b, type: "T", start: Timestamp(microseconds: 1), value: .category(-7)))
        batch.rows = builder.finish()
        let members = """
            "uuid":"\(uuidA)","type":"T","start":"1970-01-01T00:00:00Z","end":"1970-01-01T00:00:00.5Z",\
            "value":-0.25,"unit":"count","source":{"name":"N","version":"1"},"device":{"model":"M"},\
            "metadata":{"k":1.50},"count":3,"payload":{"k":1.50}
            """
        #expect(
            encode(batch, logAnchor: 17) == """
                {"stream":"s","previousAnchor":null,"anchor":"a","snapshot":"begin","confirmDeletions":true,\
                "epoch":2,"seq":18446744073709551615,"deleted":["\(uuidA)",{"uuid":"\(uuidB)",\
                "metadata":{"k":1.50}}],"added":[{\(members)},\
                {"uuid":"\(uuidB)","type":"T","start":"1970-01-01T00:00:00.000001Z","value":-7}],\
                "digest":"0123456789abcdef0123456789abcdef","kept":true,"logAnchor":17}

                """)
        var writer = BatchWriter()
        var output: [UInt8] = []
        writer.append(sample, stream: "s", to: &output)
        #expect(String(decoding: output, as: UTF8.self) == "{\(members),\"stream\":\"s\"}\n")
    }

    @Test(arguments: [
        (0.0, "0"), (-0.0, "-0"), (1, "1"), (-512, "-512"), (0.1, "0.1"), (72.5, "72.5"), (1.005, "1.005"),
        (0.0001, "0.0001"), (123456.7891, "123456.7891"), (0.30000000000000004, "0.30000000000000004"),
        (1e15, "1000000000000000"), (9_007_199_254_740_992, "9007199254740992"), (1e21, "1e+21"),
        (Double.leastNonzeroMagnitude, "5e-324"), (Double.greatestFiniteMagnitude, "1.7976931348623157e+308"),
        (Double.nan, "null"), (-Double.infinity, "null"),
    ])
    func `numbers are written shortest`(value: Double, text: String) {
        var output: [UInt8] = []
        JSONOutput.append(value, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == text)
    }

    @Test func `written numbers read back the same and are never longer than needed`() throws {
        var random = SplitMix(state: 11)
        for round in 0..<4_000 {
            let value: Double
            switch round % 4 {
            case 0: value = Double(bitPattern: random.next())
            case 1: value = Double(Int64(truncatingIfNeeded: random.next()) >> 20) / 1000
            case 2: value = Double(random.next() % 100_000) / 100
            default: value = Double.random(in: -200...200, using: &random)
            }
            guard value.isFinite else { continue }
            var output: [UInt8] = []
            JSONOutput.append(value, to: &output)
            let text = String(decoding: output, as: UTF8.self)
            #expect(Double(text)?.bitPattern == value.bitPattern)
            #expect(text.utf8.count <= value.description.utf8.count)
            guard case .quantity(let read) = try decode(sampleLine(value: text)).added.first?.value else {
                throw NoBatch()
            }
            #expect(read.bitPattern == value.bitPattern)
        }
    }

    @Test func `nothing that moves a cursor or breaks a line is written raw`() throws {
        let nasty =
            "a\"\\/\u{0}\u{8}\u{c}\n\r\t\u{1b}\u{7f}\u{80}\u{9f}\u{a0}\u{2028}\u{2029}\u{202e}\u{2066}\u{200f}é😀"
        var output: [UInt8] = []
        JSONOutput.append(nasty, to: &output)
        #expect(
            String(decoding: output, as: UTF8.self) == """
                "a\\"\\\\/\\u0000\\b\\f\\n\\r\\t\\u001B\\u007F\\u0080\\u009F\u{a0}\\u2028\\u2029\\u202E\\u2066\\u200Fé😀"
                """)
        // The same inside metadata, and it comes back as it was.
        let line = sampleLine(
            more: ",\"metadata\":{\"k\u{7f}\u{85}\":\"\u{2028}x\u{9b}\",\"source\":\"\u{7f}\"}")
        let batch = try decode(line)
        let text = encode(batch)
        #expect(text.contains(#""metadata":{"k\u007F\u0085":"\u2028x\u009B","source":"\u007F"}"#))
        #expect(isEqual(try decode(text), batch))
    }

    @Test(arguments: 0..<60)
    func `decoding what was encoded gives the same columns`(seed: Int) throws {
        var random = SplitMix(state: UInt64(seed))
        let batch = randomBatch(&random)
        let text = encode(batch, logAnchor: seed % 2 == 0 ? 9 : nil)
        let read = try decode(text)
        #expect(isEqual(read, batch))
        #expect(encode(read) == encode(batch))
    }

    @Test func `answers of commands are built member by member`() {
        var inner = JSONObjectBuilder()
        inner.add("what", "a\"b")
        var object = JSONObjectBuilder()
        object.add("text", nil as String?)
        object.add("count", 5)
        object.add("anchor", UInt64.max)
        object.add("value", 2.5)
        object.add("sound", true)
        object.add("problems", [inner, JSONObjectBuilder()])
        object.add("names", ["x", "y"])
        var output: [UInt8] = []
        object.append(to: &output)
        #expect(
            String(decoding: output, as: UTF8.self) == """
                {"text":null,"count":5,"anchor":18446744073709551615,"value":2.5,"sound":true,\
                "problems":[{"what":"a\\"b"},{}],"names":["x","y"]}
                """)
    }
}

/// A valid batch with a bit of everything.
func randomBatch(_ random: inout SplitMix) -> Batch {
    func chance(_ one: UInt64, _ random: inout SplitMix) -> Bool { random.next() % one == 0 }
    func text(_ random: inout SplitMix) -> String {
        let pieces = [
            "iPhone", "Anna’s Watch", "\"", "\\", "\n", "é", "e\u{301}", "😀", "\u{7f}", "", "x y", "\u{2028}",
        ]
        return (0..<random.next() % 4).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
    }
    let objects = ["{}", #"{"HKWasUserEntered":false}"#, #"{"a":[1,2.50,{"b":null}],"ä":"\u0001\n"}"#]
    func object(_ random: inout SplitMix) -> JSONText? {
        chance(2, &random)
            ? nil : JSONText(uncheckedCompactObject: Array(objects[Int(random.next() % 3)].utf8))
    }
    func uuid(_ random: inout SplitMix) -> SampleUUID {
        SampleUUID(raw: RawUUID(first: random.next(), second: random.next()))
    }
    let types: [(String, Int, String?)] = [
        ("HKQuantityTypeIdentifierStepCount", 0, "count"),
        ("HKQuantityTypeIdentifierHeartRate", 0, "count/min"),
        ("HKCategoryTypeIdentifierSleepAnalysis", 1, nil), ("HKWorkoutTypeIdentifier", 2, nil),
        ("own é", 2, "kg"),
    ]
    var batch = Batch(stream: text(&random))
    if chance(2, &random) { batch.previousAnchor = chance(2, &random) ? .none : .anchor(text(&random)) }
    if chance(2, &random) { batch.anchor = text(&random) }
    batch.snapshot = [nil, .begin, .end, .whole][Int(random.next() % 4)]
    batch.confirmDeletions = chance(2, &random)
    if chance(2, &random) { batch.numbering = Batch.Numbering(epoch: random.next() | 1, sequence: 1) }
    batch.kept = chance(3, &random)
    if chance(3, &random) {
        batch.digest = ContentDigest(raw: RawDigest(low: random.next(), high: random.next()))
    }
    batch.deleted = (0..<random.next() % 4).map { _ in
        Batch.Deletion(uuid: uuid(&random), metadata: object(&random))
    }
    var builder = RowBuilder()
    for _ in 0..<random.next() % 40 {
        let (type, kind, unit) = types[Int(random.next() % UInt64(types.count))]
        let start = Int64(truncatingIfNeeded: random.next() % 4_000_000_000_000_000) - 1_000_000_000_000_000
        var value: Sample.Value?
        switch kind {
        case 0: value = .quantity(Double(Int64(truncatingIfNeeded: random.next())) / 4096)
        case 1: value = .category(Int64(truncatingIfNeeded: random.next()))
        default: if chance(2, &random) { value = .quantity(0.1) }
        }
        builder.add(
            Sample(
                uuid: uuid(&random), type: type, start: Timestamp(microseconds: start),
                end: chance(2, &random)
                    ? nil : Timestamp(microseconds: start + Int64(random.next() % 90_000_000_000)),
                value: value, unit: unit,
                source: chance(3, &random)
                    ? nil : Source(name: text(&random), version: chance(2, &random) ? nil : text(&random)),
                device: chance(2, &random) ? nil : Device(manufacturer: text(&random)),
                metadata: object(&random),
                count: chance(3, &random) ? random.next() | 1 : nil, payload: object(&random)))
    }
    batch.rows = builder.finish()
    return batch
}
