/// What a unit measures: the powers of the base quantities it is made of.
///
/// Two units convert into each other exactly when their dimensions are equal. Derived units are taken apart the
/// way physics does (a watt is a joule per second, a litre is a volume), so `W` fits `J/s` although HealthKit
/// refuses that pair; see `docs/units.md`.
public struct Dimension: Hashable, Sendable, CustomStringConvertible {
    /// One lane for each of `baseUnits`.
    private var exponents = SIMD16<Int16>.zero

    /// The dimension of counts, fractions and the null unit.
    public static let none = Dimension()

    /// Whether nothing is measured: counts, fractions and the null unit.
    public var isNone: Bool { exponents == .zero }

    /// The base units with their powers, such as `kg·m^-3`; `1` where there are none.
    public var description: String {
        let parts = Self.baseUnits.enumerated().compactMap { (index: Int, name: String) -> String? in
            let exponent = exponents[index]
            if exponent == 0 { return nil }
            return exponent == 1 ? name : "\(name)^\(exponent)"
        }
        return parts.isEmpty ? "1" : parts.joined(separator: "·")
    }

    private static let baseUnits = [
        "kg", "m", "s", "A", "K", "rad", "lx", "mol", "IU", "dBASPL", "dBHL", "D", "pD", "appleEffortScore",
    ]

    static let mass = base(0)
    static let length = base(1)
    static let time = base(2)
    static let current = base(3)
    static let temperature = base(4)
    static let angle = base(5)
    static let illuminance = base(6)
    static let amount = base(7)
    static let internationalUnit = base(8)
    static let soundPressureLevel = base(9)
    static let hearingLevel = base(10)
    static let diopter = base(11)
    static let prismDiopter = base(12)
    static let appleEffortScore = base(13)

    static let volume = length.raised(to: 3)
    static let frequency = time.raised(to: -1)
    static let energy = mass.times(length.raised(to: 2)).times(time.raised(to: -2))
    static let pressure = energy.times(volume.raised(to: -1))
    static let power = energy.times(frequency)
    static let electricPotential = power.times(current.raised(to: -1))
    static let conductance = current.times(electricPotential.raised(to: -1))

    private static func base(_ index: Int) -> Dimension {
        var result = Dimension()
        result.exponents[index] = 1
        return result
    }

    func times(_ other: Dimension) -> Dimension {
        var result = self
        result.exponents &+= other.exponents
        return result
    }

    func raised(to power: Int16) -> Dimension {
        var result = self
        result.exponents &*= SIMD16(repeating: power)
        return result
    }
}
