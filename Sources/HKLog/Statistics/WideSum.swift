/// Every finite double at once: a fixed-point number whose lowest bit is 2^-1074, in digits of 32 bits.
///
/// Each digit sits in 64 bits and takes a sign, so that a value is added to three digits without carrying;
/// carries are put in order every 2^30 steps and for reading. The two digits above 2^1024 leave room for 2^70
/// values.
struct WideSum: Sendable {
    private static let digitCount = 68
    private static let lowestExponent = -1074
    private static let stepLimit = 1 << 30

    private var digits: [Int64] = []
    private var stepsSinceCarry = 0

    init() {}

    /// Whether nothing was ever added since the start or `removeAll`.
    private(set) var isUnused = true

    /// Adds a finite value.
    mutating func add(_ value: Double) {
        let exponent = Int(value.exponentBitPattern)
        let significand = value.significandBitPattern | (exponent == 0 ? 0 : 1 << 52)
        add(significand, at: max(exponent, 1) - 1, isNegative: value.sign == .minus)
    }

    /// Adds an exact fixed sum.
    mutating func add(_ fixed: FixedSum) {
        let magnitude = fixed.magnitude
        let position = FixedSum.unitExponent - WideSum.lowestExponent
        add(magnitude.low, at: position, isNegative: fixed.high < 0)
        add(magnitude.high, at: position + 64, isNegative: fixed.high < 0)
    }

    /// Adds another wide sum.
    mutating func add(_ other: WideSum) {
        guard !other.isUnused else { return }
        prepare()
        carry()
        var copy = other
        copy.carry()
        for index in digits.indices {
            digits[index] += copy.digits[index]
        }
        stepsSinceCarry = 1
    }

    /// Back to zero, keeping the room.
    mutating func removeAll() {
        guard !isUnused else { return }
        for index in digits.indices {
            digits[index] = 0
        }
        stepsSinceCarry = 0
        isUnused = true
    }

    /// The sum divided by a positive number, rounded once, half to even.
    func quotient(_ divisor: UInt64) -> Double {
        guard !isUnused else { return 0 }
        var copy = self
        copy.carry()
        let isNegative = copy.digits[WideSum.digitCount - 1] < 0
        if isNegative {
            for index in copy.digits.indices {
                copy.digits[index] = -copy.digits[index]
            }
            copy.carry()
        }
        // Two words below the lowest digit, so that the quotient of the smallest sum keeps 64 bits to round
        // by.
        let wordCount = WideSum.digitCount / 2 + 2
        var words = [UInt64](repeating: 0, count: wordCount)
        for index in 0..<WideSum.digitCount / 2 {
            let digit = UInt64(copy.digits[2 * index])
            words[index + 2] = UInt64(copy.digits[2 * index + 1]) << 32 | digit
        }
        var remainder: UInt64 = 0
        var topIndex = 0
        for index in words.indices.reversed() {
            let step = divisor.dividingFullWidth((remainder, words[index]))
            words[index] = step.quotient
            remainder = step.remainder
            if step.quotient != 0, topIndex == 0 {
                topIndex = index
            }
        }
        guard topIndex > 0 else { return 0 }
        let hasMoreBelow = remainder != 0 || words[..<(topIndex - 1)].contains { $0 != 0 }
        return roundedDouble(
            high: words[topIndex], low: words[topIndex - 1], hasMoreBelow: hasMoreBelow,
            exponent: WideSum.lowestExponent + (topIndex - 3) * 64, isNegative: isNegative)
    }

    /// Adds a word whose lowest bit stands at a place counted from the lowest bit of the sum.
    private mutating func add(_ word: UInt64, at bitPosition: Int, isNegative: Bool) {
        prepare()
        let index = bitPosition / 32
        let shift = UInt64(bitPosition % 32)
        let shifted = word << shift
        // Sound: the three parts have at most 32 bits each; a smart shift by 64 gives zero.
        let parts = (Int64(shifted & 0xffff_ffff), Int64(shifted >> 32), Int64(word >> (64 - shift)))
        if isNegative {
            digits[index] -= parts.0
            digits[index + 1] -= parts.1
            digits[index + 2] -= parts.2
        } else {
            digits[index] += parts.0
            digits[index + 1] += parts.1
            digits[index + 2] += parts.2
        }
        stepsSinceCarry += 1
        if stepsSinceCarry >= WideSum.stepLimit {
            carry()
        }
    }

    private mutating func prepare() {
        if digits.isEmpty {
            digits = [Int64](repeating: 0, count: WideSum.digitCount)
        }
        isUnused = false
    }

    /// Brings every digit but the last into 0 ..< 2^32; the last one takes the sign.
    private mutating func carry() {
        guard !digits.isEmpty else { return }
        var carried: Int64 = 0
        for index in 0..<WideSum.digitCount - 1 {
            let digit = digits[index] + carried
            digits[index] = digit & 0xffff_ffff
            carried = digit >> 32
        }
        digits[WideSum.digitCount - 1] += carried
        stepsSinceCarry = 0
    }
}
