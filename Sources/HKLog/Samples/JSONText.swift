/// A JSON object kept as compact text: metadata and payloads as they came, with no number rewritten.
///
/// Compact means: no white space between tokens, strings with the shortest escapes (`\"`, `\\`, `\b \f \n \r \t`,
/// `\u00XX` for other control characters, everything else as UTF-8), numbers to the letter as they were given,
/// members in their order. Whoever makes one has checked that it is an object with no key twice.
public struct JSONText: Hashable, Sendable {
    /// The text, UTF-8.
    package var bytes: [UInt8]

    package init(uncheckedCompactObject bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The text as a string.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}
