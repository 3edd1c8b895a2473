/// What the views need of a sample's metadata, found in one pass over its bytes without making any value.
///
/// Looks at the top level of a compact JSON object (see `JSONText`) for four keys in both their spellings; where a
/// key stands in both, the first one counts. Bytes that are no such object give what was found up to the fault.
package struct MetadataScan: Sendable, Equatable {
    /// `HKWasUserEntered` is true, 1 or "1".
    package private(set) var wasUserEntered = false
    /// `HKMetadataKeySyncVersion`, a number or a text that is one.
    package private(set) var syncVersion: Double?
    private var syncIdentifierText: StringBody?
    private var timeZoneText: StringBody?

    /// The bytes between the quotes of a JSON string.
    private struct StringBody: Sendable, Equatable {
        var range: Range<Int>
        var hasEscapes: Bool
    }

    /// Looks through an object's bytes.
    package init(_ bytes: Span<UInt8>) {
        guard bytes.count > 2, bytes[0] == UInt8(ascii: "{") else { return }
        var position = 1
        var seen = Key.none
        while position < bytes.count {
            guard let key = Self.string(bytes, &position) else { return }
            guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return }
            position += 1
            let wanted = Self.key(bytes, key.range)
            let start = position
            guard position < bytes.count else { return }
            if bytes[position] == UInt8(ascii: "\"") {
                guard let body = Self.string(bytes, &position) else { return }
                if !wanted.isEmpty, seen.isDisjoint(with: wanted) { take(body, for: wanted, bytes) }
            } else {
                guard Self.skipValue(bytes, &position) else { return }
                if !wanted.isEmpty, seen.isDisjoint(with: wanted) {
                    take(token: start..<position, for: wanted, bytes)
                }
            }
            seen.formUnion(wanted)
            guard position < bytes.count, bytes[position] == UInt8(ascii: ",") else { return }
            position += 1
        }
    }

    /// Looks through an object's text.
    package init(_ text: JSONText) {
        self.init(text.bytes.span)
    }

    /// The bytes of the sync identifier with escapes undone; `nil` where there is none, or it is no string.
    package func syncIdentifier(in bytes: Span<UInt8>) -> [UInt8]? {
        syncIdentifierText.flatMap { Self.unescaped($0, bytes) }
    }

    /// The name of the time zone.
    package func timeZone(in bytes: Span<UInt8>) -> String? {
        timeZoneText.flatMap { Self.unescaped($0, bytes) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether there is a sync identifier; costs nothing.
    package var hasSyncIdentifier: Bool { syncIdentifierText != nil }

    private struct Key: OptionSet {
        let rawValue: UInt8
        static let none: Key = []
        static let syncIdentifier = Key(rawValue: 1)
        static let syncVersion = Key(rawValue: 2)
        static let wasUserEntered = Key(rawValue: 4)
        static let timeZone = Key(rawValue: 8)
    }

    private mutating func take(_ body: StringBody, for key: Key, _ bytes: Span<UInt8>) {
        switch key {
        case .syncIdentifier: syncIdentifierText = body
        case .timeZone: timeZoneText = body
        case .syncVersion: syncVersion = body.hasEscapes ? nil : Self.number(bytes, body.range)
        case .wasUserEntered:
            wasUserEntered = body.range.count == 1 && bytes[body.range.lowerBound] == UInt8(ascii: "1")
        default: break
        }
    }

    private mutating func take(token: Range<Int>, for key: Key, _ bytes: Span<UInt8>) {
        switch key {
        case .syncVersion: syncVersion = Self.number(bytes, token)
        case .wasUserEntered:
            wasUserEntered =
                bytes[token.lowerBound] == UInt8(ascii: "t") || Self.number(bytes, token) == 1
        default: break
        }
    }

    /// Which of the four keys stands here: by length, then eight letters at a time.
    @inline(__always)
    private static func key(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Key {
        var start = range.lowerBound
        guard range.count >= 10, bytes[start] == UInt8(ascii: "H"), bytes[start + 1] == UInt8(ascii: "K")
        else {
            return .none
        }
        start += 2
        // "Metadata", "ataKey" with the byte before it.
        if range.count >= 21, word(bytes, start) == 0x6174_6164_6174_654D,
            word(bytes, start + 3) == 0x7965_4B61_7461_6461
        {
            start += 11
        }
        let end = range.upperBound
        switch end - start {
        case 14:
            // A name of fourteen letters is two words that overlap.
            switch (word(bytes, start), word(bytes, end - 8)) {
            case (0x6E65_6449_636E_7953, 0x7265_6966_6974_6E65): return .syncIdentifier
            case (0x4572_6573_5573_6157, 0x6465_7265_746E_4572): return .wasUserEntered
            default: return .none
            }
        case 11:
            let isVersion =
                word(bytes, start) == 0x7372_6556_636E_7953 && word(bytes, end - 8) == 0x6E6F_6973_7265_5663
            return isVersion ? .syncVersion : .none
        case 8: return word(bytes, start) == 0x656E_6F5A_656D_6954 ? .timeZone : .none
        default: return .none
        }
    }

    /// Eight bytes as a number, the first one lowest; 0 where the bytes end earlier.
    @inline(__always)
    private static func word(_ bytes: Span<UInt8>, _ start: Int) -> UInt64 {
        guard start >= 0, bytes.count - start >= 8 else { return 0 }
        // Sound: the guard above has checked the range.
        return unsafe UInt64(
            littleEndian: bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: start, as: UInt64.self))
    }

    /// The high bit of each byte of a word that is the given one.
    ///
    /// Bytes above a match may be marked, too; the lowest mark is right.
    @inline(__always)
    private static func marks(_ word: UInt64, _ byte: UInt8) -> UInt64 {
        let difference = word ^ (0x0101_0101_0101_0101 &* UInt64(byte))
        return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    }

    /// Moves over a string and gives what stands between its quotes; `nil` where none is.
    @inline(__always)
    private static func string(_ bytes: Span<UInt8>, _ position: inout Int) -> StringBody? {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
        let start = position + 1
        var index = start
        var hasEscapes = false
        while index < bytes.count {
            if bytes.count - index >= 8 {
                let word = word(bytes, index)
                let found = marks(word, UInt8(ascii: "\"")) | marks(word, UInt8(ascii: "\\"))
                index += found == 0 ? 8 : found.trailingZeroBitCount / 8
                if found == 0 { continue }
            }
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                position = index + 1
                return StringBody(range: start..<index, hasEscapes: hasEscapes)
            }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                index += 1
            }
            index += 1
        }
        return nil
    }

    /// Moves over a value that is no string; false where the bytes end in it.
    private static func skipValue(_ bytes: Span<UInt8>, _ position: inout Int) -> Bool {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                guard string(bytes, &position) != nil else { return false }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return true }
                depth -= 1
            case UInt8(ascii: ","):
                if depth == 0 { return true }
            default: break
            }
            position += 1
        }
        return false
    }

    /// The number that a token or a text is; `nil` for anything else, infinities too.
    private static func number(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double? {
        guard !range.isEmpty, range.count <= 64 else { return nil }
        if range.count <= 15 {
            var value: Int64 = 0
            var isPlain = true
            for index in range {
                let digit = bytes[index] &- UInt8(ascii: "0")
                if digit > 9 {
                    isPlain = false
                    break
                }
                // Sound: at most fifteen digits.
                value = value * 10 + Int64(digit)
            }
            if isPlain { return Double(value) }
        }
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        for index in range {
            switch bytes[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "+"),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                text.append(bytes[index])
            default: return nil
            }
        }
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    private static func unescaped(_ body: StringBody, _ bytes: Span<UInt8>) -> [UInt8]? {
        guard body.range.upperBound <= bytes.count else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(body.range.count)
        if body.hasEscapes {
            let fits = JSONScanner.unescape(bytes, body.range, into: &result)
            return fits ? result : nil
        }
        for index in body.range { result.append(bytes[index]) }
        return result
    }
}
