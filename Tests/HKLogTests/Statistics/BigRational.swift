/// A whole number of any size, by schoolbook arithmetic: slow, simple, and sharing nothing with what it
/// judges.
struct BigInteger: Comparable {
    /// Base 2^32, the lowest digit first, no leading zeros; zero is empty and not negative.
    private var digits: [UInt32]
    private(set) var isNegative: Bool

    private init(digits: [UInt32], isNegative: Bool) {
        var trimmed = digits
        while trimmed.last == 0 {
            trimmed.removeLast()
        }
        self.digits = trimmed
        self.isNegative = isNegative && !trimmed.isEmpty
    }

    init(_ value: UInt64, isNegative: Bool = false) {
        self.init(
            digits: [UInt32(truncatingIfNeeded: value), UInt32(truncatingIfNeeded: value >> 32)],
            isNegative: isNegative)
    }

    var magnitude: BigInteger { BigInteger(digits: digits, isNegative: false) }

    func shifted(left count: Int) -> BigInteger {
        var result = [UInt32](repeating: 0, count: count / 32)
        var carried: UInt64 = 0
        for digit in digits {
            let wide = UInt64(digit) << UInt64(count % 32) | carried
            result.append(UInt32(truncatingIfNeeded: wide))
            carried = wide >> 32
        }
        result.append(UInt32(carried))
        return BigInteger(digits: result, isNegative: isNegative)
    }

    static prefix func - (value: BigInteger) -> BigInteger {
        BigInteger(digits: value.digits, isNegative: !value.isNegative)
    }

    static func + (left: BigInteger, right: BigInteger) -> BigInteger {
        if left.isNegative == right.isNegative {
            return BigInteger(digits: sum(left.digits, right.digits), isNegative: left.isNegative)
        }
        if isLess(left.digits, right.digits) {
            return BigInteger(
                digits: difference(right.digits, left.digits), isNegative: right.isNegative)
        }
        return BigInteger(digits: difference(left.digits, right.digits), isNegative: left.isNegative)
    }

    static func - (left: BigInteger, right: BigInteger) -> BigInteger { left + -right }

    static func * (left: BigInteger, right: BigInteger) -> BigInteger {
        var result = [UInt32](repeating: 0, count: left.digits.count + right.digits.count)
        for (leftIndex, leftDigit) in left.digits.enumerated() {
            var carried: UInt64 = 0
            for (rightIndex, rightDigit) in right.digits.enumerated() {
                let product =
                    UInt64(leftDigit) * UInt64(rightDigit) + UInt64(result[leftIndex + rightIndex]) + carried
                result[leftIndex + rightIndex] = UInt32(truncatingIfNeeded: product)
                carried = product >> 32
            }
            result[leftIndex + right.digits.count] = UInt32(carried)
        }
        return BigInteger(digits: result, isNegative: left.isNegative != right.isNegative)
    }

    static func < (left: BigInteger, right: BigInteger) -> Bool {
        if left.isNegative != right.isNegative { return left.isNegative }
        return left.isNegative ? isLess(right.digits, left.digits) : isLess(left.digits, right.digits)
    }

    private static func isLess(_ left: [UInt32], _ right: [UInt32]) -> Bool {
        if left.count != right.count { return left.count < right.count }
        for index in left.indices.reversed() where left[index] != right[index] {
            return left[index] < right[index]
        }
        return false
    }

    private static func sum(_ left: [UInt32], _ right: [UInt32]) -> [UInt32] {
        var result: [UInt32] = []
        var carried: UInt64 = 0
        for index in 0..<max(left.count, right.count) {
            let digit =
                UInt64(index < left.count ? left[index] : 0) + UInt64(index < right.count ? right[index] : 0)
                + carried
            result.append(UInt32(truncatingIfNeeded: digit))
            carried = digit >> 32
        }
        result.append(UInt32(carried))
        return result
    }

    private static func difference(_ larger: [UInt32], _ smaller: [UInt32]) -> [UInt32] {
        var result: [UInt32] = []
        var borrowed: Int64 = 0
        for index in larger.indices {
            var digit = Int64(larger[index]) - Int64(index < smaller.count ? smaller[index] : 0) - borrowed
            borrowed = digit < 0 ? 1 : 0
            digit += borrowed << 32
            result.append(UInt32(digit))
        }
        return result
    }
}

/// An exact fraction; never reduced, which the short sums of these tests can afford.
struct BigRational: Comparable {
    var numerator: BigInteger
    /// Above zero.
    var denominator: BigInteger

    init(_ numerator: BigInteger, over denominator: BigInteger = BigInteger(1)) {
        self.numerator = numerator
        self.denominator = denominator
    }

    init(_ value: Int64) {
        self.init(BigInteger(value.magnitude, isNegative: value < 0))
    }

    /// The value of a finite double.
    init(_ value: Double) {
        let exponent = Int(value.exponentBitPattern)
        let significand = value.significandBitPattern | (exponent == 0 ? 0 : 1 << 52)
        let integer = BigInteger(significand, isNegative: value < 0)
        let shift = max(exponent, 1) - 1075
        if shift >= 0 {
            self.init(integer.shifted(left: shift))
        } else {
            self.init(integer, over: BigInteger(1).shifted(left: -shift))
        }
    }

    var magnitude: BigRational { BigRational(numerator.magnitude, over: denominator) }

    static func + (left: BigRational, right: BigRational) -> BigRational {
        BigRational(
            left.numerator * right.denominator + right.numerator * left.denominator,
            over: left.denominator * right.denominator)
    }

    static func - (left: BigRational, right: BigRational) -> BigRational {
        left + BigRational(-right.numerator, over: right.denominator)
    }

    static func * (left: BigRational, right: BigRational) -> BigRational {
        BigRational(left.numerator * right.numerator, over: left.denominator * right.denominator)
    }

    /// The fraction divided by a number above zero.
    func divided(by divisor: UInt64) -> BigRational {
        BigRational(numerator, over: denominator * BigInteger(divisor))
    }

    static func == (left: BigRational, right: BigRational) -> Bool {
        left.numerator * right.denominator == right.numerator * left.denominator
    }

    static func < (left: BigRational, right: BigRational) -> Bool {
        left.numerator * right.denominator < right.numerator * left.denominator
    }

    /// Whether a double is the one nearest to the fraction, the even one of two.
    func rounds(to value: Double) -> Bool {
        let largest = Double.greatestFiniteMagnitude
        if value.isInfinite {
            let half = (BigRational(largest) - BigRational(largest.nextDown)).divided(by: 2)
            let bound = BigRational(largest) + half
            let isBeyond = magnitude > bound || magnitude == bound
            return isBeyond && numerator.isNegative == (value < 0)
        }
        let distance = (self - BigRational(value)).magnitude
        for neighbour in [value.nextDown, value.nextUp] where neighbour.isFinite {
            let other = (self - BigRational(neighbour)).magnitude
            if other < distance { return false }
            if other == distance, value.significandBitPattern & 1 == 1 { return false }
        }
        if abs(value) == largest {
            let half = (BigRational(largest) - BigRational(largest.nextDown)).divided(by: 2)
            return magnitude < BigRational(largest) + half
        }
        return true
    }

    /// Whether a double agrees to 1e-9 relative.
    func agrees(with value: Double) -> Bool {
        let tolerance = magnitude * BigRational(BigInteger(1), over: BigInteger(1_000_000_000))
        return !((self - BigRational(value)).magnitude > tolerance)
    }
}
