import HKLog
import Testing

@Suite struct MetadataScanTests {
    private func scan(_ text: String) -> (scan: MetadataScan, identifier: String?, zone: String?) {
        let bytes = Array(text.utf8)
        let scan = MetadataScan(bytes.span)
        let identifier = scan.syncIdentifier(in: bytes.span).map { String(decoding: $0, as: UTF8.self) }
        return (scan, identifier, scan.timeZone(in: bytes.span))
    }

    @Test(arguments: ["HKMetadataKey", "HK"])
    func `both spellings of all keys are found`(prefix: String) {
        let found = scan(
            #"{"other":[1,{"HKTimeZone":"no"}],"\#(prefix)WasUserEntered":true,"\#(prefix)SyncIdentifier":"a","#
                + #""\#(prefix)SyncVersion":7,"x":"y","\#(prefix)TimeZone":"Europe/Zurich"}"#)
        #expect(found.scan.wasUserEntered)
        #expect(found.identifier == "a")
        #expect(found.scan.syncVersion == 7)
        #expect(found.zone == "Europe/Zurich")
    }

    @Test(arguments: [
        ("true", true), ("1", true), ("\"1\"", true), ("1.0", true), ("false", false), ("0", false),
        ("\"0\"", false), ("\"true\"", false), ("null", false), ("[1]", false), ("{}", false), ("10", false),
    ])
    func `user entered is true, 1 or the text 1`(value: String, expected: Bool) {
        #expect(scan(#"{"HKWasUserEntered":\#(value)}"#).scan.wasUserEntered == expected)
    }

    @Test(
        arguments: [
            ("3", 3), ("\"3\"", 3), ("-1.5", -1.5), ("\"1e3\"", 1000),
            ("12345678901234567890", 12_345_678_901_234_567_168),
            ("\"\"", nil), ("\"v3\"", nil), ("null", nil), ("\"nan\"", nil), ("\"inf\"", nil), ("1e999", nil),
            ("\"0x10\"", nil), ("[3]", nil),
        ] as [(String, Double?)])
    func `a version is a number or the text of one`(value: String, expected: Double?) {
        #expect(scan(#"{"HKMetadataKeySyncVersion":\#(value)}"#).scan.syncVersion == expected)
    }

    @Test func `escapes are undone, and only strings identify`() {
        #expect(scan(#"{"HKSyncIdentifier":"a\"\\\u00e9\ud83d\ude00\/"}"#).identifier == "a\"\\é😀/")
        #expect(scan(#"{"HKSyncIdentifier":12}"#).identifier == nil)
        #expect(scan(#"{"HKSyncIdentifier":["a"]}"#).identifier == nil)
        #expect(scan(#"{"HKSyncIdentifier":"\ud83d"}"#).identifier == nil)
        #expect(scan(#"{"HKSyncIdentifier":""}"#).identifier == "")
    }

    @Test func `the first spelling counts`() {
        let found = scan(#"{"HKSyncIdentifier":"a","HKMetadataKeySyncIdentifier":"b"}"#)
        #expect(found.identifier == "a")
    }

    @Test func `keys inside values are not keys`() {
        let found = scan(
            #"{"a":{"HKWasUserEntered":true},"b":"\",\"HKWasUserEntered\":true","c":["HKTimeZone"]}"#)
        #expect(!found.scan.wasUserEntered)
        #expect(found.zone == nil)
    }

    @Test func `the scan finds what a parser finds`() throws {
        let keys = [
            "HKWasUserEntered", "HKMetadataKeyWasUserEntered", "HKSyncIdentifier",
            "HKMetadataKeySyncIdentifier",
            "HKSyncVersion", "HKMetadataKeySyncVersion", "HKTimeZone", "HKMetadataKeyTimeZone",
            "HKSyncIdentifies",
            "HKMetadataKeySyncIdentifieX", "XKTimeZone", "HKTimeZonf", "HKMetadataKez", "HKMetadataKeyAudio",
            "a", "",
        ]
        let values = [
            "true", "1", "0", "\"1\"", "\"x\\\"y\"", "\"{,}\"", "[1,[\"]\"],{}]", "{\"HKTimeZone\":\"no\"}",
            "2.5",
            "\"Europe/Zurich\"", "\"\\\\\"", "null", "\"\"",
        ]
        var random = UnitRandom(seed: 5)
        for _ in 0..<2000 {
            let members = keys.shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random)).map {
                "\"\($0)\":\(values[Int.random(in: 0..<values.count, using: &random)])"
            }
            let text = "{" + members.joined(separator: ",") + "}"
            let value = try JSONValue(parsing: text)
            func first(_ key: MetadataKey) -> JSONValue? {
                value.members?.first { key.matches($0.name) }?.value
            }
            let found = scan(text)
            #expect(found.identifier == first(.syncIdentifier)?.stringValue, "\(text)")
            #expect(found.zone == first(.timeZone)?.stringValue, "\(text)")
            let entered = [.bool(true), .number("1"), .string("1")].contains(first(.wasUserEntered))
            #expect(found.scan.wasUserEntered == entered, "\(text)")
            let version = first(.syncVersion)
            #expect(
                found.scan.syncVersion == version?.doubleValue ?? version?.stringValue.flatMap(Double.init))
        }
    }

    @Test func `hostile bytes never trap`() {
        let text =
            #"{"HKMetadataKeySyncIdentifier":"a\u00e9","HKSyncVersion":12,"HKTimeZone":"x","k":[{"a":1}]}"#
        let bytes = Array(text.utf8)
        for end in 0...bytes.count {
            let cut = Array(bytes[..<end])
            let scan = MetadataScan(cut.span)
            _ = scan.syncIdentifier(in: cut.span)
        }
        var random = UnitRandom(seed: 3)
        for _ in 0..<5000 {
            var broken = bytes
            for _ in 0..<3 {
                broken[Int.random(in: 0..<broken.count, using: &random)] = .random(
                    in: 0...255, using: &random)
            }
            let scan = MetadataScan(broken.span)
            _ = scan.syncIdentifier(in: broken.span)
            _ = scan.timeZone(in: broken.span)
            // Other bytes than those that were scanned.
            _ = scan.syncIdentifier(in: [UInt8]().span)
        }
    }
}
