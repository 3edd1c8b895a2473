/// A unit of HealthKit: what `HKUnit(from:)` reads and `unitString` prints, such as `mL/min·kg`.
///
/// Two units are equal when they are made of the same factors, however they were written: `ml/(kg*min)` is
/// `mL/min·kg`. Molar masses count as equal when they agree to about nine digits, because texts carry them
/// with 15 to 17. Equal dimension is a weaker thing: see `isCompatible(with:)`.
///
/// Reading costs a few microseconds. Who converts many values asks once for a `UnitConversion` and keeps it.
public struct Unit: Sendable, CustomStringConvertible {
    /// The factors in the order of printing; none twice, none to the power of 0.
    private(set) var factors: [UnitFactor]
    /// What the unit measures.
    public let dimension: Dimension

    /// The unit that has no factors: printed as `()`, fits counts and fractions.
    public static let null = Unit(sorting: [])

    /// How far from zero the power of a factor may be.
    public static let exponentLimit = 20
    /// How many different factors a unit may have.
    public static let factorLimit = 16

    /// Makes a unit of factors in any order; the same factor may stand several times.
    ///
    /// Sums of powers are not bounded here: `Unit.bounded` is for units that leave this type.
    init(sorting parts: [UnitFactor]) {
        var merged: [UnitFactor] = []
        for part in parts {
            if let index = merged.firstIndex(where: { $0.isSameBase(as: part) }) {
                merged[index].exponent += part.exponent
            } else {
                merged.append(part)
            }
        }
        merged.removeAll { $0.exponent == 0 }
        merged.sort { $0.isPrinted(before: $1) }
        self.factors = merged
        self.dimension = merged.reduce(.none) {
            $0.times(UnitSymbol.all[$1.symbol].dimension.raised(to: Int16(clamping: $1.exponent)))
        }
    }

    /// Whether the unit has no factors.
    public var isNull: Bool { factors.isEmpty }

    /// The product of two units; `nil` when a power or the number of factors leaves its limits.
    public func multiplied(by other: Unit) -> Unit? {
        Unit(sorting: factors + other.factors).bounded
    }

    /// The unit per another one; `nil` when a power or the number of factors leaves its limits.
    public func divided(by other: Unit) -> Unit? {
        quotient(by: other).bounded
    }

    /// A power of the unit; `nil` when a power leaves its limits.
    public func raised(to power: Int) -> Unit? {
        guard abs(max(power, -Unit.exponentLimit - 1)) <= Unit.exponentLimit else {
            return isNull ? self : nil
        }
        return Unit(sorting: factors.map { $0.raised(to: power) }).bounded
    }

    func quotient(by other: Unit) -> Unit {
        Unit(sorting: factors + other.factors.map { $0.raised(to: -1) })
    }

    var bounded: Unit? {
        guard factors.count <= Unit.factorLimit,
            factors.allSatisfy({ abs($0.exponent) <= Unit.exponentLimit })
        else { return nil }
        return self
    }

    /// The unit as HealthKit would print it, in one fixed order: factors, then one `/` and what divides.
    ///
    /// Symbols without a prefix come first, each group in the order of HealthKit's own tables; this gives the
    /// spellings that are seen in exports, `mL/min·kg` and `kcal/hr·kg` among them.
    public var description: String {
        if factors.isEmpty { return "()" }
        func product(_ parts: [UnitFactor]) -> String {
            parts.map { $0.text(exponent: abs($0.exponent)) }.joined(separator: "·")
        }
        let above = factors.filter { $0.exponent > 0 }
        let below = factors.filter { $0.exponent < 0 }
        let numerator = above.isEmpty ? "1" : product(above)
        return below.isEmpty ? numerator : numerator + "/" + product(below)
    }
}

extension Unit: Hashable {
    /// Compares factorizations.
    public static func == (left: Unit, right: Unit) -> Bool {
        left.factors.count == right.factors.count
            && zip(left.factors, right.factors).allSatisfy {
                $0.isSameBase(as: $1) && $0.exponent == $1.exponent
            }
    }

    /// Feeds what equality looks at into the hasher.
    public func hash(into hasher: inout Hasher) {
        for factor in factors {
            hasher.combine(factor.symbol)
            hasher.combine(factor.prefix)
            hasher.combine(factor.exponent)
            hasher.combine(factor.roundedMolarMass)
        }
    }
}

/// A power of one symbol with its prefix.
struct UnitFactor: Sendable {
    /// The place in `UnitSymbol.all`.
    var symbol: Int
    /// The prefix as a power of ten; 0 for none.
    var prefix: Int
    var exponent: Int
    /// Grams in a mole; 0 where the symbol is no `mol<…>`.
    var molarMass = 0.0

    /// The molar mass to 30 bits (about nine digits), so that equality is transitive.
    var roundedMolarMass: UInt64 { (molarMass.bitPattern &+ 1 << 21) >> 22 }

    func isSameBase(as other: UnitFactor) -> Bool {
        symbol == other.symbol && prefix == other.prefix && roundedMolarMass == other.roundedMolarMass
    }

    func isPrinted(before other: UnitFactor) -> Bool {
        (prefix == 0 ? 0 : 1, symbol, prefix, roundedMolarMass)
            < (other.prefix == 0 ? 0 : 1, other.symbol, other.prefix, other.roundedMolarMass)
    }

    func raised(to power: Int) -> UnitFactor {
        var result = self
        result.exponent *= power
        return result
    }

    func text(exponent: Int) -> String {
        var name = UnitSymbol.prefixText(tenPower: prefix)
        if symbol == UnitSymbol.moleOfMass {
            let digits = molarMass.description
            name += "mol<" + (digits.hasSuffix(".0") ? String(digits.dropLast(2)) : digits) + ">"
        } else {
            name += UnitSymbol.all[symbol].text
        }
        return exponent == 1 ? name : "\(name)^\(exponent)"
    }
}
