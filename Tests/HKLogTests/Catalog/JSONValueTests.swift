import HKLog
import Testing

@Suite struct JSONValueTests {
    @Test(arguments: [
        (" { } ", "{}"),
        (
            "{\"a\" : 1.50e+2 , \"b\":[ 1 ,-0, true,false , null ]}",
            "{\"a\":1.50e+2,\"b\":[1,-0,true,false,null]}"
        ),
        (#"{"\u0061":"\u00e9\/\u000a\u001F\"\\"}"#, #"{"a":"é/\n\u001F\"\\"}"#),
        (#"{"a":"\ud83d\ude00"}"#, #"{"a":"😀"}"#),
        ("{\"a\":12345678901234567890123}", "{\"a\":12345678901234567890123}"),
    ])
    func `texts become compact and keep their numbers`(text: String, compact: String) throws {
        let parsed = try JSONText(parsing: text)
        #expect(parsed.text.utf8.elementsEqual(compact.utf8))
        #expect(try JSONText(parsing: parsed.text) == parsed)
        #expect(try JSONText(parsed.value) == parsed)
    }

    @Test(arguments: [
        ("", "a '{' is expected at byte 0"), ("[]", "a '{' is expected at byte 0"),
        ("{\"a\":1,\"a\":2}", "a key that stands twice at byte 7"),
        (#"{"a":1,"\u0061":2}"#, "a key that stands twice at byte 7"),
        ("{\"a\":NaN}", "a value is expected at byte 5"), ("{\"a\":01}", "no number at byte 5"),
        ("{\"a\":1.}", "no number at byte 5"), ("{\"a\":+1}", "a value is expected at byte 5"),
        ("{\"a\":1,}", "a key is expected at byte 7"), ("{\"a\":1} x", "something follows the end at byte 8"),
        ("{\"a\":\"\n\"}", "a control character in a string at byte 6"),
        (#"{"a":"\ud800"}"#, "an escape that JSON does not have at byte 6"),
        (#"{"a":"\udc00"}"#, "an escape that JSON does not have at byte 6"),
        (#"{"a":"\x"}"#, "an escape that JSON does not have at byte 6"),
        ("{\"a\":\"b", "a string without its end at byte 7"), ("{\"a\"", "a ':' is expected at byte 4"),
        ("{\"a\":[1 2]}", "a ',' or ']' is expected at byte 8"),
        ("{\"a\":tru}", "a value is expected at byte 5"),
    ])
    func `what is wrong is said with its place`(text: String, message: String) {
        #expect {
            try JSONText(parsing: text)
        } throws: {
            ($0 as? HKLogError) == HKLogError(.invalidData, "not a JSON object: " + message)
        }
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80],
        ] as [[UInt8]])
    func `bytes that are no UTF-8 are refused`(bad: [UInt8]) {
        #expect(throws: HKLogError(.invalidData, "not a JSON object: not valid UTF-8 at byte 6")) {
            try JSONText(parsing: Array("{\"a\":\"".utf8) + bad + Array("\"}".utf8))
        }
    }

    @Test func `nesting is bounded`() throws {
        func nested(_ depth: Int) -> String {
            "{\"a\":" + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
                + "}"
        }
        #expect(try JSONText(JSONText(parsing: nested(64)).value).text == nested(64))
        #expect(throws: HKLogError.self) { try JSONText(parsing: nested(65)) }
        #expect(throws: HKLogError.self) {
            try JSONText(parsing: String(repeating: "{\"a\":", count: 100_000))
        }
    }

    @Test func `forms that Unicode holds equal are different keys`() throws {
        let text = try JSONText(parsing: "{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(try text.value["\u{E9}"] == .number("1"))
        #expect(try text.value["e\u{301}"] == .number("2"))
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    }

    @Test func `many keys are compared too`() throws {
        let members = (0..<200).map { "\"k\($0)\":\($0)" }
        let text = "{" + members.joined(separator: ",") + "}"
        #expect(try JSONText(parsing: text).value.members?.count == 200)
        #expect(throws: HKLogError.self) { try JSONText(parsing: text.dropLast() + ",\"k3\":1}") }
        #expect(throws: HKLogError.self) { try JSONText(parsing: text.dropLast() + ",\"k199\":1}") }
    }

    @Test func `values are taken apart`() throws {
        let value = try JSONValue(
            parsing: #" {"n":-1.5,"i":9007199254740993,"s":"x\n","b":true,"a":[null,{}]} "#)
        #expect(value["n"]?.doubleValue == -1.5)
        #expect(value["i"]?.integerValue == 9_007_199_254_740_993)
        #expect(value["s"]?.stringValue == "x\n")
        #expect(value["b"]?.boolValue == true)
        #expect(value["a"]?.elements == [.null, .object([])])
        #expect(value["none"] == nil)
        #expect(value.members?.map(\.name) == ["n", "i", "s", "b", "a"])
        #expect(JSONValue.number("1e999").doubleValue == nil)
    }

    @Test func `an object is written only when it is valid`() throws {
        #expect(try JSONText(.object([.init("a\"", .string("\u{1}"))])).text == #"{"a\"":"\u0001"}"#)
        #expect(throws: HKLogError.self) { try JSONText(.object([.init("a", .number("1,2"))])) }
        #expect(throws: HKLogError.self) { try JSONText(.object([.init("a", .null), .init("a", .null)])) }
        #expect(throws: HKLogError.self) { try JSONText(.array([])) }
    }

    @Test func `damaged bytes never trap`() {
        let bytes = Array(#"{"a":[1,{"b":"c\u001Fd"},true,null],"e":{"f":-1.5e3},"é":"😀"}"#.utf8)
        var random = UnitRandom(seed: 11)
        for round in 0..<4000 {
            var broken = round < bytes.count ? Array(bytes[..<round]) : bytes
            if !broken.isEmpty {
                for _ in 0..<2 {
                    let index = Int.random(in: 0..<broken.count, using: &random)
                    broken[index] = .random(in: 0...255, using: &random)
                }
            }
            if let text = try? JSONText(parsing: broken) {
                #expect((try? JSONText(text.value)) == text)
            }
            _ = try? JSONText(uncheckedCompactObject: broken).value
        }
    }
}
