/// Exact division by a number that is known to divide, without a division instruction.
///
/// Whole-second times make every difference a multiple of 1 000 000; that factor is stored once.
struct Stride {
    private let inverse: UInt64
    private let shift: UInt64
    private let quotientLimit: UInt64

    private static let five = Stride(5)

    /// `divisor` must not be 0.
    init(_ divisor: UInt64) {
        shift = UInt64(divisor.trailingZeroBitCount)
        let odd = divisor &>> shift
        // Newton's iteration doubles the right bits: 3, 6, 12, 24, 48, 96.
        var inverse = odd &* 3 ^ 2
        for _ in 0..<4 { inverse = inverse &* (2 &- odd &* inverse) }
        self.inverse = inverse
        quotientLimit = UInt64.max / divisor
    }

    /// The quotient where the divisor divides `value`, else a number above every quotient.
    @inline(__always)
    func divide(_ value: UInt64) -> UInt64 {
        let product = value &* inverse
        return shift == 0 ? product : (product &>> shift) | (product &<< (64 &- shift))
    }

    @inline(__always)
    func divides(_ value: UInt64) -> Bool { divide(value) <= quotientLimit }

    /// A common divisor of all differences to `base`, the greatest one where it matters; 1 also where all are 0.
    ///
    /// Factors come from decimal fractions and whole seconds, so from 2 and 5: where a few differences share
    /// neither, the search ends at once.
    static func common(to values: UnsafeBufferPointer<Int64>, base: Int64) -> UInt64 {
        var bits: UInt64 = 0
        var areByFive = true
        for index in 0..<min(8, values.count) {
            let difference = unsafe UInt64(bitPattern: values[index] &- base)
            bits |= difference
            areByFive = unsafe areByFive && five.divides(values[index] >= base ? difference : 0 &- difference)
        }
        if bits & 1 == 1 && !areByFive { return 1 }
        var divisor: UInt64 = 0
        var stride = Stride(1)
        for index in 0..<values.count {
            let value = unsafe values[index]
            // The magnitude: the factors of a difference are those of its negative.
            let difference =
                value >= base ? UInt64(bitPattern: value &- base) : UInt64(bitPattern: base &- value)
            if divisor != 0 && stride.divides(difference) { continue }
            divisor = greatestCommonDivisor(divisor, difference)
            if divisor == 1 { return 1 }
            if divisor != 0 { stride = Stride(divisor) }
        }
        return max(1, divisor)
    }

    /// By halving and subtracting: several times faster than by remainders.
    static func greatestCommonDivisor(_ first: UInt64, _ second: UInt64) -> UInt64 {
        if first == 0 || second == 0 { return first | second }
        let shift = UInt64((first | second).trailingZeroBitCount)
        var a = first &>> UInt64(first.trailingZeroBitCount)
        var b = second
        while b != 0 {
            b = b &>> UInt64(b.trailingZeroBitCount)
            let (low, high) = (min(a, b), max(a, b))
            a = low
            b = high &- low
        }
        return a &<< shift
    }
}
