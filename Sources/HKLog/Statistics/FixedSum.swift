/// An exact sum of doubles in 128-bit fixed point, as long as they fit: two words, flat enough for arrays.
///
/// The unit is 2^-76. A double of full precision fits from 2^-24 (6e-8) up, a sum fits below 2^51 (2e15):
/// what health data in its canonical units holds. A value or sum that does not fit makes the sum say that it
/// is not exact, for good; its owner then sums anew with `ExactSum`. Since every step that is taken is exact,
/// sums can be kept by adding and subtracting, and no order shows in them.
package struct FixedSum: BitwiseCopyable, Sendable, Equatable {
    /// The lowest bit of the sum stands for 2 to this power.
    package static let unitExponent = -76

    // Two's complement. A high word of `Int64.min` stands for "not exact", which costs one value in 2^64 and
    // no room.
    var low: UInt64
    var high: Int64

    /// An exact zero.
    @inline(__always)
    package init() {
        low = 0
        high = 0
    }

    /// Whether every value so far has fitted.
    @inline(__always)
    package var isExact: Bool { high != Int64.min }

    /// Adds a value, or gives up exactness when it does not fit.
    @inline(__always)
    package mutating func add(_ value: Double) {
        if !addFitting(value) {
            markInexact()
        }
    }

    /// Takes a value away that was added before.
    @inline(__always)
    package mutating func subtract(_ value: Double) {
        add(-value)
    }

    /// Adds another sum; the result is exact when both were and it fits.
    package mutating func merge(_ other: FixedSum) {
        let (newLow, carry) = low.addingReportingOverflow(other.low)
        let (partial, firstOverflow) = high.addingReportingOverflow(other.high)
        let (newHigh, secondOverflow) = partial.addingReportingOverflow(carry ? 1 : 0)
        if !isExact || !other.isExact || firstOverflow || secondOverflow {
            markInexact()
        } else {
            low = newLow
            high = newHigh
        }
    }

    /// The sum, rounded once, half to even; a zero is always `+0`, and `nil` says that it is not exact.
    package var value: Double? { mean(of: 1) }

    /// The sum divided by a number of values, rounded once, half to even; `nil` when the sum is not exact or
    /// there are no values.
    package func mean(of count: UInt64) -> Double? {
        guard isExact, count > 0 else { return nil }
        let isNegative = high < 0
        let (magnitudeHigh, magnitudeLow) = magnitude
        guard magnitudeHigh | magnitudeLow != 0 else { return 0 }
        // The dividend goes up to the top first, so that the quotient has at least 64 significant bits.
        let shift =
            magnitudeHigh != 0 ? magnitudeHigh.leadingZeroBitCount : 64 + magnitudeLow.leadingZeroBitCount
        let topHigh = magnitudeHigh << shift | magnitudeLow >> (64 - shift)
        let topLow = magnitudeLow << shift
        let first = topHigh.quotientAndRemainder(dividingBy: count)
        let second = count.dividingFullWidth((first.remainder, topLow))
        return roundedDouble(
            high: first.quotient, low: second.quotient, hasMoreBelow: second.remainder != 0,
            exponent: FixedSum.unitExponent - shift, isNegative: isNegative)
    }

    /// The absolute value as two words.
    var magnitude: (high: UInt64, low: UInt64) {
        let bits = UInt64(bitPattern: high)
        guard high < 0 else { return (bits, low) }
        return (~bits &+ (low == 0 ? 1 : 0), ~low &+ 1)
    }

    /// Adds a value if the sum is exact and both fit; else changes nothing.
    @inline(__always)
    mutating func addFitting(_ value: Double) -> Bool {
        let bits = value.bitPattern
        let exponent = Int(truncatingIfNeeded: bits &>> 52) & 0x7ff
        let significand = bits & 0xf_ffff_ffff_ffff | 1 &<< 52
        // A double is its significand times 2^(exponent - 1075).
        let shift = exponent &- 1075 &- FixedSum.unitExponent
        var valueLow: UInt64
        var valueHigh: UInt64
        if shift >= 0, shift <= 72 {
            valueLow = significand << shift
            valueHigh = significand >> (64 &- shift)
        } else if shift < 0, shift >= -52, significand.trailingZeroBitCount >= -shift {
            valueLow = significand &>> UInt64(-shift)
            valueHigh = 0
        } else {
            return value == 0 && isExact
        }
        let sign = UInt64(bitPattern: Int64(bitPattern: bits) &>> 63)
        valueLow ^= sign
        valueHigh ^= sign
        let (partialLow, firstCarry) = low.addingReportingOverflow(valueLow)
        let (newLow, secondCarry) = partialLow.addingReportingOverflow(sign & 1)
        // Sound: at most one of the carries is set, and the value's high word is below 2^62.
        let valueAndCarry = Int64(bitPattern: valueHigh) &+ (firstCarry ? 1 : 0) &+ (secondCarry ? 1 : 0)
        let (newHigh, overflow) = high.addingReportingOverflow(valueAndCarry)
        if overflow || newHigh == Int64.min || high == Int64.min { return false }
        low = newLow
        high = newHigh
        return true
    }

    @inline(never)
    private mutating func markInexact() {
        low = 0
        high = Int64.min
    }
}

/// Rounds a number to the nearest double, half to even.
///
/// The number is the 128-bit integer times 2^`exponent`, plus something below its last bit if `hasMoreBelow`;
/// then the integer must have at least 64 significant bits. Too large gives an infinity.
func roundedDouble(high: UInt64, low: UInt64, hasMoreBelow: Bool, exponent: Int, isNegative: Bool) -> Double {
    guard high | low != 0 else { return 0 }
    let shift = high != 0 ? high.leadingZeroBitCount : 64 + low.leadingZeroBitCount
    var top = high << shift | low >> (64 - shift)
    if low << shift != 0 || hasMoreBelow {
        top |= 1
    }
    // The exponent of the lowest and of the highest bit in `top`.
    let topExponent = exponent + 64 - shift
    let leadingExponent = topExponent + 63
    // Eleven bits go because a double has 53; more where its last bit would be below 2^-1074.
    let droppedBitCount = 11 + max(0, -1022 - leadingExponent)
    guard droppedBitCount <= 64 else { return isNegative ? -0.0 : 0 }
    var significand = top >> droppedBitCount
    let dropped = droppedBitCount == 64 ? top : top & (1 << UInt64(droppedBitCount) - 1)
    let half = 1 << UInt64(droppedBitCount - 1) as UInt64
    if dropped > half || (dropped == half && significand & 1 == 1) {
        significand += 1
    }
    // Sound: the significand is at most 2^53, so neither the conversion nor the scaling rounds again.
    return Double(
        sign: isNegative ? .minus : .plus, exponent: topExponent + droppedBitCount,
        significand: Double(significand))
}
