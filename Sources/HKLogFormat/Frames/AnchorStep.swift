/// Anchors that count, such as `a-000123` and `a-000124`: the same text but for the number at the end, and of
/// the same length.
///
/// Stored as the difference of the numbers.
enum AnchorStep {
    /// More digits would not fit an `Int64`.
    private static let digitLimit = 18

    /// How many decimal digits stand at the end, at most 18.
    private static func digitCount(_ text: [UInt8]) -> Int {
        var count = 0
        for byte in text.reversed() {
            guard count < digitLimit, byte >= 0x30, byte <= 0x39 else { break }
            count += 1
        }
        return count
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64 {
        var number: Int64 = 0
        for byte in digits { number = number * 10 + Int64(byte - 0x30) }
        return number
    }

    /// The step from `reference` to `text`, or nil where the two differ otherwise.
    ///
    /// Never 0.
    static func step(from reference: [UInt8], to text: [UInt8]) -> Int64? {
        guard text.count == reference.count else { return nil }
        let digits = digitCount(reference)
        guard digits > 0, digitCount(text) >= digits, text.dropLast(digits) == reference.dropLast(digits)
        else {
            return nil
        }
        let step = number(text.suffix(digits)) - number(reference.suffix(digits))
        return step == 0 ? nil : step
    }

    /// The text that stands `step` after `reference`.
    static func text(after reference: [UInt8], step: Int64) throws(CodecError) -> [UInt8] {
        let digits = digitCount(reference)
        let (sum, overflow) = number(reference.suffix(digits)).addingReportingOverflow(step)
        guard digits > 0, !overflow, sum >= 0 else { throw .malformed }
        var text = reference
        var rest = sum
        for index in 0..<digits {
            text[text.count - 1 - index] = 0x30 + UInt8(rest % 10)
            rest /= 10
        }
        guard rest == 0 else { throw .malformed }
        return text
    }
}
