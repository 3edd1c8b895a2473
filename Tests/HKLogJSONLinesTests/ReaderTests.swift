import HKLog
import HKLogJSONLines
import Testing

@Suite struct ReaderTests {
    static let input = """
        {"stream":"a","deleted":["\(uuidA)"]}\r
        \t \r

        {"logAnchor":5}
        {"stream":"b","epoch":1}
        not json
        {"stream":"é"}
        """

    static let events = [
        "1 {\"stream\":\"a\",\"deleted\":[\"\(uuidA)\"]}\n",
        "line 5: seq: expected epoch and seq together, or neither",
        "line 6: malformed JSON: expected one object a line at byte 0 of the line",
        "7 {\"stream\":\"é\"}\n",
    ]

    @Test(arguments: [1, 2, 3, 5, 7, 16, 31, 64, 1 << 20])
    func `lines come out the same however the bytes come in`(step: Int) {
        #expect(readAll(Array(Self.input.utf8), step: step) == Self.events)
        #expect(readAll(Array((Self.input + "\n").utf8), step: step) == Self.events)
        #expect(readAll(Array((Self.input + "\r\n\n").utf8), step: step) == Self.events)
    }

    @Test(arguments: [1, 7, 4096, 1 << 20])
    func `a line that is too long is refused and passed over`(step: Int) {
        let fits = #"{"stream":"12345678"}"#
        let long = #"{"stream":"123456789"}"#
        let input = [fits, fits + "\r", long, fits, String(repeating: "x", count: 300_000), fits, long]
        let events = readAll(Array(input.joined(separator: "\n").utf8), step: step, limit: fits.utf8.count)
        let refused = "expected a line of at most \(fits.utf8.count) bytes (--max-line)"
        #expect(
            events == [
                "1 \(fits)\n", "2 \(fits)\n", "line 3: \(refused)", "4 \(fits)\n", "line 5: \(refused)",
                "6 \(fits)\n", "line 7: \(refused)",
            ])
    }

    @Test func `a line longer than the buffer is read whole`() {
        let stream = String(repeating: "s", count: 700_000)
        let line = "{\"stream\":\"\(stream)\"}\n"
        let input = Array((line + line + "{\"stream\":\"t\"}\n").utf8)
        #expect(readAll(input, step: 99_991) == ["1 \(line)", "2 \(line)", "3 {\"stream\":\"t\"}\n"])
    }

    @Test func `a rejected line can be copied as it came`() throws {
        let bad = #"{"stream":"s","x":1}"#
        let long = String(repeating: "y", count: 500_000)
        let input = Array("{\"stream\":\"s\"}\n\(bad)\r\n\(long)\n\(bad)\n\(long)".utf8)
        var position = 0
        var reader = BatchReader(lineByteCountLimit: 100) {
            (buffer: inout MutableSpan<UInt8>) throws(HKLogError) -> Int in
            let count = min(1000, buffer.count, input.count - position)
            for offset in 0..<count { buffer[offset] = input[position + offset] }
            position += count
            return count
        }
        var rejected: [String] = []
        while let event = try reader.next() {
            guard case .rejected = event else { continue }
            var copy: [UInt8] = []
            try reader.copyLine { (part) throws(HKLogError) in
                for index in part.indices { copy.append(part[index]) }
            }
            rejected.append(String(decoding: copy, as: UTF8.self))
        }
        #expect(rejected == [bad, long, bad, long])
        #expect(reader.lineNumber == 5)
    }

    @Test func `a fault of the source is passed on`() {
        var reader = BatchReader { (_: inout MutableSpan<UInt8>) throws(HKLogError) -> Int in
            throw HKLogError(.inputOutput, "gone")
        }
        #expect(throws: HKLogError(.inputOutput, "gone")) { try reader.next() }
    }
}
