/// Doubles that are decimal fractions, as integers: 36.65 is 3665 of scale 2.
///
/// Taken only where every value of the column comes back bit for bit.
enum DecimalScale {
    static let limit = 9

    /// 10 to the power of `scale`, which must be 0 to `limit`.
    ///
    /// Exact as a double.
    static func power(_ scale: Int) -> Double {
        let powers: [10 of Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
        return powers[scale]
    }

    /// Adding and subtracting 1.5 * 2^52 rounds to an integer, whose bits then stand at the low end.
    private static let rounder = 6_755_399_441_055_744.0
    /// Below this the rounder is right.
    private static let magnitudeLimit = 2_251_799_813_685_248.0

    /// Finds the smallest scale at which all `bits` are integers and writes these.
    ///
    /// Returns nil where none is.
    static func scale(
        _ bits: UnsafeBufferPointer<Int64>, into integers: UnsafeMutableBufferPointer<Int64>
    ) -> Int? {
        var scale = 0
        while scale <= limit {
            let failing =
                unsafe scale == 0
                ? take(bits, factor: 1, integers) : take(bits, factor: power(scale), integers)
            if failing == bits.count { return scale }
            // The next one that suits the value for which this one is too small.
            let pattern = unsafe UInt64(bitPattern: bits[failing])
            repeat { scale += 1 } while scale <= limit && integer(pattern, power(scale)) == nil
        }
        return nil
    }

    @inline(__always)
    private static func integer(_ pattern: UInt64, _ factor: Double) -> Int64? {
        let scaled = Double(bitPattern: pattern) * factor
        let shifted = scaled + rounder
        guard scaled.magnitude < magnitudeLimit, ((shifted - rounder) / factor).bitPattern == pattern else {
            return nil
        }
        return Int64(bitPattern: shifted.bitPattern) &- Int64(bitPattern: rounder.bitPattern)
    }

    /// Returns the index of the first value that is no integer at this scale.
    @inline(__always)
    private static func take(
        _ bits: UnsafeBufferPointer<Int64>, factor: Double, _ integers: UnsafeMutableBufferPointer<Int64>
    ) -> Int {
        for index in 0..<bits.count {
            guard let integer = unsafe integer(UInt64(bitPattern: bits[index]), factor) else { return index }
            unsafe integers[index] = integer
        }
        return bits.count
    }
}
