extension DateText {
    /// A JSON number of seconds since 1970, such as `1772323200.25` or `1.7723232e9`, in microseconds.
    ///
    /// Rounded half to even from its decimal digits: no `Double` comes between, so `0.0000005` and `4.0000005` are
    /// halves. `nil` when it is no JSON number or not in the years 1 to 9999.
    package static func parseSeconds(_ text: Span<UInt8>) -> Int64? {
        guard let shape = NumberShape(text) else { return nil }
        // The place of each digit as a power of ten, in microseconds.
        var power = shape.integerDigitCount - 1 + shape.exponent + 6
        var magnitude: UInt64 = 0
        var half: UInt8 = 0
        var isMoreThanHalf = false
        for position in shape.digits where text[position] != UInt8(ascii: ".") {
            let digit = text[position] &- UInt8(ascii: "0")
            if power >= 0 {
                magnitude = magnitude &* 10 &+ UInt64(digit)
                // Above every date; stopping here also keeps the product below from overflowing.
                guard magnitude <= 1_000_000_000_000_000_000 else { return nil }
            } else if power == -1 {
                half = digit
            } else if digit != 0 {
                isMoreThanHalf = true
            }
            power &-= 1
        }
        // What the exponent adds after the last digit.
        while power >= 0, magnitude > 0 {
            magnitude = magnitude &* 10
            guard magnitude <= 1_000_000_000_000_000_000 else { return nil }
            power &-= 1
        }
        if half > 5 || (half == 5 && (isMoreThanHalf || magnitude & 1 != 0)) { magnitude &+= 1 }
        let microseconds = shape.isNegative ? -Int64(magnitude) : Int64(magnitude)
        guard microseconds >= Timestamp.earliest.microseconds, microseconds <= Timestamp.latest.microseconds
        else { return nil }
        return microseconds
    }

    /// Where the parts of a JSON number stand.
    private struct NumberShape {
        var isNegative = false
        /// The digits, with the point somewhere between them.
        var digits: Range<Int>
        var integerDigitCount: Int
        /// Kept to ±2^40, which no text is long enough to make up for.
        var exponent = 0

        init?(_ text: Span<UInt8>) {
            var position = 0
            func isDigit(_ position: Int) -> Bool {
                position < text.count && text[position] &- UInt8(ascii: "0") < 10
            }
            if text.count > 0, text[0] == UInt8(ascii: "-") {
                isNegative = true
                position = 1
            }
            let start = position
            while isDigit(position) { position += 1 }
            integerDigitCount = position - start
            guard integerDigitCount > 0, integerDigitCount == 1 || text[start] != UInt8(ascii: "0") else {
                return nil
            }
            if position < text.count, text[position] == UInt8(ascii: ".") {
                position += 1
                guard isDigit(position) else { return nil }
                while isDigit(position) { position += 1 }
            }
            digits = start..<position
            if position < text.count, text[position] | 0x20 == UInt8(ascii: "e") {
                position += 1
                var isBelow = false
                if position < text.count,
                    text[position] == UInt8(ascii: "-") || text[position] == UInt8(ascii: "+")
                {
                    isBelow = text[position] == UInt8(ascii: "-")
                    position += 1
                }
                guard isDigit(position) else { return nil }
                while isDigit(position) {
                    exponent = min(exponent * 10 + Int(text[position] - UInt8(ascii: "0")), 1 << 40)
                    position += 1
                }
                if isBelow { exponent = -exponent }
            }
            guard position == text.count else { return nil }
        }
    }
}
