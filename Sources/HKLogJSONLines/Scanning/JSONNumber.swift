/// A number of the line, as exact as it was written: `(-1)^isNegative · mantissa · 10^exponent`, and a bit more.
struct JSONNumberToken {
    /// Its first byte.
    var start: Int
    /// The byte after it.
    var end: Int
    var isNegative: Bool
    /// The first significant digits, as many as fit: 19 at least.
    var mantissa: UInt64
    /// The power of ten of the mantissa's last digit; clamped where no 64-bit result could tell the difference.
    var exponent: Int
    /// A digit that did not fit is not zero: the magnitude is a little above `mantissa · 10^exponent`.
    var hasMore: Bool
}

extension JSONCursor {
    /// Moves past the number that is next; throws where the grammar of JSON is left.
    @inline(__always)
    mutating func scanNumber() throws(LineFault) -> JSONNumberToken {
        var token = JSONNumberToken(
            start: position, end: position, isNegative: false, mantissa: 0, exponent: 0, hasMore: false)
        var index = position
        if next == UInt8(ascii: "-") {
            token.isNegative = true
            index += 1
        }
        let firstDigit = index
        // Eighteen digits cannot overflow; a number that has more goes the slow way.
        while index < bytes.count, index &- firstDigit < 18 {
            let digit = bytes[index] &- UInt8(ascii: "0")
            if digit > 9 { break }
            token.mantissa = token.mantissa &* 10 &+ UInt64(digit)
            index &+= 1
        }
        let integerDigits = index &- firstDigit
        var tail = index < bytes.count ? bytes[index] : 0
        if integerDigits == 0 || integerDigits == 18
            || (integerDigits > 1 && bytes[firstDigit] == UInt8(ascii: "0"))
        {
            return try scanNumberSlowly(token, firstDigit: firstDigit)
        }
        if tail == UInt8(ascii: ".") {
            index &+= 1
            let fraction = index
            while index < bytes.count, index &- firstDigit < 19 {
                let digit = bytes[index] &- UInt8(ascii: "0")
                if digit > 9 { break }
                token.mantissa = token.mantissa &* 10 &+ UInt64(digit)
                index &+= 1
            }
            token.exponent = fraction &- index
            if token.exponent == 0 || index &- firstDigit >= 19 {
                token.mantissa = 0
                token.exponent = 0
                return try scanNumberSlowly(token, firstDigit: firstDigit)
            }
            tail = index < bytes.count ? bytes[index] : 0
        }
        if tail | 0x20 == UInt8(ascii: "e") {
            token.mantissa = 0
            token.exponent = 0
            return try scanNumberSlowly(token, firstDigit: firstDigit)
        }
        position = index
        token.end = index
        return token
    }

    @inline(never)
    private mutating func scanNumberSlowly(
        _ begun: JSONNumberToken, firstDigit: Int
    ) throws(LineFault) -> JSONNumberToken {
        var token = begun
        token.mantissa = 0
        var isFull = false
        position = firstDigit

        func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }
        func add(_ byte: UInt8, isFraction: Bool) {
            let digit = UInt64(byte &- UInt8(ascii: "0"))
            let (tenfold, overflow) = token.mantissa.multipliedReportingOverflow(by: 10)
            let (longer, carry) = tenfold.addingReportingOverflow(digit)
            if isFull || overflow || carry {
                isFull = true
                if digit != 0 { token.hasMore = true }
                if !isFraction { token.exponent += 1 }
            } else {
                token.mantissa = longer
                if isFraction { token.exponent -= 1 }
            }
        }

        guard isDigit(next) else { throw malformed("a value") }
        if next == UInt8(ascii: "0") {
            position += 1
            if isDigit(next) { throw malformed("a number without leading zeros") }
        }
        while isDigit(next) {
            add(next, isFraction: false)
            position += 1
        }
        if next == UInt8(ascii: ".") {
            position += 1
            guard isDigit(next) else { throw malformed("a digit after the decimal point") }
            while isDigit(next) {
                add(next, isFraction: true)
                position += 1
            }
        }
        if next | 0x20 == UInt8(ascii: "e") {
            position += 1
            var isNegative = false
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") {
                isNegative = next == UInt8(ascii: "-")
                position += 1
            }
            guard isDigit(next) else { throw malformed("a digit in the exponent") }
            // A line has fewer digits than this bound, so a clamped exponent still decides.
            let bound = 1 << 40
            var exponent = 0
            while isDigit(next) {
                if exponent < bound { exponent = exponent * 10 + Int(next &- UInt8(ascii: "0")) }
                position += 1
            }
            token.exponent += isNegative ? -exponent : exponent
        }
        if token.mantissa == 0 { token.exponent = 0 }
        token.end = position
        return token
    }

    /// The nearest double, or `nil` where that is not finite.
    @inline(__always)
    func double(of token: JSONNumberToken) -> Double? {
        if !token.hasMore, token.mantissa <= 1 << 53, token.exponent >= -22, token.exponent <= 22 {
            // Both factors are exact doubles, so the one rounding is the right one.
            let magnitude =
                token.exponent < 0
                ? Double(token.mantissa) / powersOfTen[-token.exponent]
                : Double(token.mantissa) * powersOfTen[token.exponent]
            return token.isNegative ? -magnitude : magnitude
        }
        return doubleSlowly(of: token)
    }

    @inline(never)
    private func doubleSlowly(of token: JSONNumberToken) -> Double? {
        if token.mantissa == 0 { return token.isNegative ? -0.0 : 0 }
        if token.exponent > 400 { return nil }
        // Far below the smallest double; `Double.init` may refuse it.
        if token.exponent < -400 && token.exponent + 19 < -400 { return token.isNegative ? -0.0 : 0 }
        var text: [UInt8] = []
        text.append(copying: bytes, in: token.start..<token.end)
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }
}

extension JSONNumberToken {
    /// The number as an integer's magnitude; `nil` where it has a fraction or does not fit.
    var wholeMagnitude: UInt64? {
        if hasMore { return nil }
        if exponent == 0 { return mantissa }
        if exponent > 0 {
            guard exponent < 20 else { return nil }
            let (product, overflow) = mantissa.multipliedReportingOverflow(by: wholePowersOfTen[exponent])
            return overflow ? nil : product
        }
        guard exponent > -20 else { return nil }
        let (quotient, rest) = mantissa.quotientAndRemainder(dividingBy: wholePowersOfTen[-exponent])
        return rest == 0 ? quotient : nil
    }

    /// The number as a signed integer; `nil` where it has a fraction or does not fit.
    var integer: Int64? {
        guard let magnitude = wholeMagnitude else { return nil }
        if isNegative {
            return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
        }
        return Int64(exactly: magnitude)
    }
}

private let powersOfTen: [23 of Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19,
    1e20, 1e21, 1e22,
]

private let wholePowersOfTen: [20 of UInt64] = [
    1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
    100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
    10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000, 10_000_000_000_000_000_000,
]
