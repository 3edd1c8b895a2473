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
        while true {
            let startScale = scale
            var factor = power(scale)
            for index in 0..<bits.count {
                let pattern = unsafe UInt64(bitPattern: bits[index])
                let value = Double(bitPattern: pattern)
                while true {
                    let scaled = value * factor
                    let integer =
                        Int64(bitPattern: (scaled + rounder).bitPattern)
                        &- Int64(bitPattern: rounder.bitPattern)
                    if scaled.magnitude < magnitudeLimit && (Double(integer) / factor).bitPattern == pattern {
                        unsafe integers[index] = integer
                        break
                    }
                    if scale == limit { return nil }
                    scale += 1
                    factor = power(scale)
                }
            }
            if scale == startScale { return scale }
        }
    }
}
