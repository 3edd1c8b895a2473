/// The exact sum of any finite doubles: the result is rounded once, whatever the order and number of steps.
///
/// Values that fit go into a `FixedSum` (a few nanoseconds each, no allocation); the first that does not
/// brings a wide sum along, which holds every finite double. Both parts are exact, so which one a value went
/// into never shows. A sum beyond the largest double is an infinity. Infinities and NaN are counted aside and
/// give what IEEE addition would, until they are subtracted again.
package struct ExactSum: Sendable {
    private var fixed = FixedSum()
    private var wide = WideSum()
    private var positiveInfinityCount = 0
    private var negativeInfinityCount = 0
    private var notANumberCount = 0

    /// An exact zero.
    package init() {}

    /// Starts from a fixed sum; `nil` when that is not exact.
    package init?(_ fixed: FixedSum) {
        guard fixed.isExact else { return nil }
        self.fixed = fixed
    }

    /// Adds a value.
    @inline(__always)
    package mutating func add(_ value: Double) {
        if !fixed.addFitting(value) {
            addWide(value, times: 1)
        }
    }

    /// Takes a value away; one that was added before is gone without a trace.
    @inline(__always)
    package mutating func subtract(_ value: Double) {
        if !fixed.addFitting(-value) {
            addWide(value, times: -1)
        }
    }

    /// Adds all that another sum holds.
    package mutating func merge(_ other: ExactSum) {
        wide.add(other.wide)
        add(other.fixed)
        positiveInfinityCount += other.positiveInfinityCount
        negativeInfinityCount += other.negativeInfinityCount
        notANumberCount += other.notANumberCount
    }

    /// Adds an exact fixed sum.
    mutating func add(_ other: FixedSum) {
        var joined = fixed
        joined.merge(other)
        if joined.isExact {
            fixed = joined
        } else {
            wide.add(fixed)
            fixed = other
        }
    }

    /// Back to zero, keeping the room of the wide sum.
    package mutating func removeAll() {
        fixed = FixedSum()
        wide.removeAll()
        positiveInfinityCount = 0
        negativeInfinityCount = 0
        notANumberCount = 0
    }

    /// The sum, rounded once, half to even; a zero is always `+0`.
    package var value: Double { quotient(1) }

    /// The sum divided by a number of values, rounded once, half to even; `nil` for no values.
    ///
    /// Because nothing is rounded in between, a mean is never outside the values it is the mean of.
    package func mean(of count: UInt64) -> Double? {
        count > 0 ? quotient(count) : nil
    }

    private func quotient(_ divisor: UInt64) -> Double {
        if notANumberCount != 0 || (positiveInfinityCount != 0 && negativeInfinityCount != 0) {
            return .nan
        }
        if positiveInfinityCount != 0 { return .infinity }
        if negativeInfinityCount != 0 { return -.infinity }
        if wide.isUnused {
            return fixed.mean(of: divisor) ?? 0
        }
        var total = wide
        total.add(fixed)
        return total.quotient(divisor)
    }

    @inline(never)
    private mutating func addWide(_ value: Double, times sign: Int) {
        if value.isNaN {
            notANumberCount += sign
        } else if value == .infinity {
            positiveInfinityCount += sign
        } else if value == -.infinity {
            negativeInfinityCount += sign
        } else {
            wide.add(sign > 0 ? value : -value)
        }
    }
}
