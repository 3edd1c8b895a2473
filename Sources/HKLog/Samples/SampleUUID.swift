package import HKLogFormat

/// A sample's UUID: sixteen bytes, written as upper-case text.
///
/// Stands in for Foundation's `UUID`, so that an app that embeds the library needs no other import and a table
/// of millions of them stays flat.
public struct SampleUUID: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    package var raw: RawUUID

    package init(raw: RawUUID) {
        self.raw = raw
    }

    /// Makes a UUID of its sixteen bytes, the first one first.
    public init(
        bytes b: (
            UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8,
            UInt8, UInt8
        )
    ) {
        var first: UInt64 = 0
        var second: UInt64 = 0
        for (index, byte) in [b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7].enumerated() {
            first |= UInt64(byte) << UInt64(index * 8)
        }
        for (index, byte) in [b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15].enumerated() {
            second |= UInt64(byte) << UInt64(index * 8)
        }
        self.raw = RawUUID(first: first, second: second)
    }

    /// Reads the 36 characters of RFC 9562 text in either letter case; `nil` when it is anything else.
    public init?(_ text: String) {
        var copy = text
        let parsed: RawUUID? = copy.withUTF8 { bytes in
            guard bytes.count == 36 else { return nil }
            return RawUUID(hyphenatedText: unsafe Span(_unsafeElements: bytes))
        }
        guard let parsed else { return nil }
        self.raw = parsed
    }

    /// Upper-case text with hyphens.
    public var description: String {
        // Sound: sixteen bytes make 32 digits and four hyphens, all ASCII.
        unsafe String(unsafeUninitializedCapacity: 36) { buffer in
            var position = 0
            for index in 0..<16 {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    unsafe buffer[position] = UInt8(ascii: "-")
                    position += 1
                }
                let word = index < 8 ? raw.first : raw.second
                let byte = UInt8(truncatingIfNeeded: word >> UInt64((index & 7) * 8))
                unsafe buffer[position] = hexDigit(byte >> 4)
                unsafe buffer[position + 1] = hexDigit(byte & 15)
                position += 2
            }
            return 36
        }
    }

    /// Orders by the sixteen bytes, which is also the order of the text.
    public static func < (left: SampleUUID, right: SampleUUID) -> Bool {
        if left.raw.first != right.raw.first {
            return left.raw.first.byteSwapped < right.raw.first.byteSwapped
        }
        return left.raw.second.byteSwapped < right.raw.second.byteSwapped
    }
}

extension RawUUID {
    /// Reads `8-4-4-4-12` hexadecimal digits of either case; `nil` for anything else.
    package init?(hyphenatedText text: Span<UInt8>) {
        guard text.count == 36 else { return nil }
        var first: UInt64 = 0
        var second: UInt64 = 0
        var position = 0
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 {
                guard text[position] == UInt8(ascii: "-") else { return nil }
                position += 1
            }
            guard let high = hexValue(text[position]), let low = hexValue(text[position + 1]) else {
                return nil
            }
            position += 2
            let byte = UInt64(high << 4 | low)
            if index < 8 {
                first |= byte << UInt64(index * 8)
            } else {
                second |= byte << UInt64((index - 8) * 8)
            }
        }
        self.init(first: first, second: second)
    }
}
