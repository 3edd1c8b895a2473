/// How a value in one unit becomes a value in another; made once for a pair of units, then applied to many.
///
/// A conversion is one multiplication or one division wherever the sizes allow it, by a number that is exact or
/// correctly rounded: centimetres to metres divide by 100 instead of multiplying by a rounded 0.01. So 187 cm is
/// 1.87 m, the `Double` nearest to it. Units of equal size (`kcal` and `Cal`, `%` and `count`) change no bit.
package struct UnitConversion: Sendable, Equatable, BitwiseCopyable {
    private enum Step: UInt8, BitwiseCopyable {
        case identity, multiply, divide
        /// `(value · factor + addend) / divisor`, for temperatures with zeros of their own.
        case shift
    }

    private var step = Step.identity
    private var factor = 1.0
    private var addend = 0.0
    private var divisor = 1.0

    /// Leaves every value as it is.
    package static let identity = UnitConversion()

    /// Whether values stay bit for bit what they are.
    package var isIdentity: Bool { step == .identity }

    /// The converted value.
    @inline(__always)
    package func apply(_ value: Double) -> Double {
        switch step {
        case .identity: value
        case .multiply: value * factor
        case .divide: value / divisor
        case .shift: (value * factor + addend) / divisor
        }
    }

    /// The size of a unit step: `apply(x)` is about `x · scale + offset`.
    package var scale: Double { factor / divisor }

    /// What 0 becomes.
    package var offset: Double { addend / divisor }

    /// The conversion between two units; `nil` when their dimensions differ, or when a size leaves the range of
    /// `Double`.
    package init?(from: Unit, to: Unit) {
        if from == to { return }
        guard from.dimension == to.dimension else { return nil }
        let size = UnitSize(of: from.quotient(by: to))
        let zeros = (from.zeroHundredths, to.zeroHundredths)
        if zeros != (0, 0), size.approximation == nil {
            // y = (x + z₁) · n / d − z₂ with whole n and d: 37 degC is (37 · 9 + 160) / 5 = 98.6 degF.
            factor = size.realAbove * Double(size.numerator)
            divisor = size.realBelow * Double(size.denominator)
            addend = (Double(zeros.0) * factor - Double(zeros.1) * divisor) / 100
            step = .shift
            return
        }
        guard let (number, divides) = size.step else { return nil }
        if number == 1 { return }
        if divides {
            (step, divisor) = (.divide, number)
        } else {
            (step, factor) = (.multiply, number)
        }
    }

    private init() {}
}

extension Unit {
    /// Whether values of this unit can be converted to the other one: both measure the same.
    public func isCompatible(with other: Unit) -> Bool { dimension == other.dimension }

    /// The value in another unit; `nil` when that measures something else.
    ///
    /// Equal units leave the value as it is, bit for bit. Temperatures have their zero taken into account, save
    /// inside compound units, where a degree is a difference (`degC·m`).
    public func convert(_ value: Double, to other: Unit) -> Double? {
        UnitConversion(from: self, to: other)?.apply(value)
    }

    /// The size of the unit in coherent SI units; `nil` beyond the range of `Double`.
    ///
    /// `value · scale + offset` is the value in `kg`, `m`, `s`, `A`, `K` and the units that stand for themselves.
    public var scale: Double? {
        guard let step = UnitSize(of: self).step else { return nil }
        return step.divides ? 1 / step.number : step.number
    }

    /// What 0 of the unit is in coherent SI units: 273.15 for `degC`, 0 for all but simple temperatures.
    public var offset: Double {
        let size = UnitSize(of: self)
        return Double(zeroHundredths) * Double(size.numerator) / (100 * Double(size.denominator))
    }

    /// The temperature's own zero in hundredths; 0 inside compound units.
    var zeroHundredths: Int {
        guard factors.count == 1, factors[0].exponent == 1 else { return 0 }
        return UnitSymbol.all[factors[0].symbol].zeroHundredths
    }

    /// The conversion between two units, for callers that keep it; `nil` when they do not fit.
    package static func conversion(from: Unit, to: Unit) -> UnitConversion? {
        UnitConversion(from: from, to: to)
    }
}

/// The exact size of a unit: a fraction, where molar masses and π stand aside as rounded numbers.
private struct UnitSize {
    var numerator: UInt128 = 1
    var denominator: UInt128 = 1
    /// Molar masses and π above and below the line.
    var realAbove = 1.0
    var realBelow = 1.0
    /// Set where the fraction has outgrown its integers: the size by plain multiplication.
    var approximation: Double?

    init(of unit: Unit) {
        var tenPower = 0
        var isExact = true
        for factor in unit.factors {
            let symbol = UnitSymbol.all[factor.symbol]
            tenPower += (symbol.tenPower + factor.prefix) * factor.exponent
            for _ in 0..<abs(factor.exponent) {
                let isAbove = factor.exponent > 0
                isExact = isExact && multiply(by: isAbove ? symbol.numerator : symbol.denominator)
                isExact = isExact && divide(by: isAbove ? symbol.denominator : symbol.numerator)
                var real = symbol.piPower == 1 ? Double.pi : 1
                if factor.symbol == UnitSymbol.moleOfMass { real *= factor.molarMass }
                if isAbove { realAbove *= real } else { realBelow *= real }
            }
        }
        if abs(tenPower) > 60 { isExact = false }
        if isExact {
            for _ in 0..<abs(tenPower) {
                isExact = isExact && (tenPower > 0 ? multiply(by: 10) : divide(by: 10))
            }
        }
        if !isExact { approximation = UnitSize.approximate(unit) }
    }

    /// The one number to multiply with or to divide by.
    var step: (number: Double, divides: Bool)? {
        if let approximation {
            return approximation.isFinite && approximation > 0 ? (approximation, false) : nil
        }
        let (above, below) = (Double(numerator), Double(denominator))
        if realAbove != 1 || realBelow != 1 {
            let divides = realAbove == 1
            let number =
                divides ? quotient(realBelow * below, above) : quotient(realAbove * above, realBelow * below)
            return number.isFinite && number > 0 ? (number, divides) : nil
        }
        if denominator == 1 { return (above, false) }
        if numerator == 1 { return (below, true) }
        if !isDecimal(denominator), isDecimal(numerator) { return (below / above, true) }
        return (above / below, false)
    }

    private func quotient(_ above: Double, _ below: Double) -> Double { below == 1 ? above : above / below }

    /// Whether a fraction over this denominator is a finite decimal number.
    private func isDecimal(_ denominator: UInt128) -> Bool {
        var rest = denominator >> UInt128(denominator.trailingZeroBitCount)
        while rest.isMultiple(of: 5) { rest /= 5 }
        return rest == 1
    }

    /// Multiplies the fraction, kept in lowest terms; false when it outgrows its integers.
    private mutating func multiply(by number: UInt64) -> Bool {
        UnitSize.scale(&numerator, &denominator, by: number)
    }

    private mutating func divide(by number: UInt64) -> Bool {
        UnitSize.scale(&denominator, &numerator, by: number)
    }

    private static func scale(_ above: inout UInt128, _ below: inout UInt128, by number: UInt64) -> Bool {
        if number == 1 { return true }
        var (common, rest) = (below, UInt128(number))
        while rest != 0 { (common, rest) = (rest, common % rest) }
        let (product, overflow) = above.multipliedReportingOverflow(by: UInt128(number) / common)
        if overflow { return false }
        above = product
        below /= common
        return true
    }

    private static func approximate(_ unit: Unit) -> Double {
        var result = 1.0
        for factor in unit.factors {
            let single = Unit(
                sorting: [
                    UnitFactor(
                        symbol: factor.symbol, prefix: factor.prefix, exponent: 1,
                        molarMass: factor.molarMass)
                ])
            // Sound: a single factor is always exact, so this does not come back here.
            let size = single.scale ?? .nan
            for _ in 0..<abs(factor.exponent) {
                result = factor.exponent > 0 ? result * size : result / size
            }
        }
        return result
    }
}
