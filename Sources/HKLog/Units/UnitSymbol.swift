/// One symbol of HealthKit's unit strings, with its exact size in coherent SI units.
///
/// The size is `numerator / denominator · 10^tenPower · π^piPower`, so that conversions can cancel what cancels
/// before the first rounding.
struct UnitSymbol: Sendable {
    let text: String
    /// The text's bytes as one number, see `key(of:)`.
    private let key: UInt128
    /// Whether `k`, `m`, `mc` … may stand before it.
    let takesPrefix: Bool
    let dimension: Dimension
    let numerator: UInt64
    let denominator: UInt64
    let tenPower: Int
    let piPower: Int
    /// For temperatures with a zero of their own: kelvin = (value + zero) · size, in hundredths.
    let zeroHundredths: Int

    private init(
        _ text: String, _ dimension: Dimension, _ numerator: UInt64 = 1, over denominator: UInt64 = 1,
        ten tenPower: Int = 0, pi piPower: Int = 0, zero zeroHundredths: Int = 0, takesPrefix: Bool = false
    ) {
        self.text = text
        self.key = UnitSymbol.key(of: Array(text.utf8)[...])
        self.takesPrefix = takesPrefix
        self.dimension = dimension
        self.numerator = numerator
        self.denominator = denominator
        self.tenPower = tenPower
        self.piPower = piPower
        self.zeroHundredths = zeroHundredths
    }

    /// The place of `L` in `all`.
    private static let liter = 2
    /// The place of `mol` with a molar mass in `all`: a mass of that many grams.
    static let moleOfMass = 13
    /// The place of `mol` without one.
    static let mole = 14

    /// All symbols; their order is the order of printing.
    static let all: [UnitSymbol] = [
        UnitSymbol("g", .mass, ten: -3, takesPrefix: true),
        UnitSymbol("m", .length, takesPrefix: true),
        UnitSymbol("L", .volume, ten: -3, takesPrefix: true),
        UnitSymbol("Pa", .pressure, takesPrefix: true),
        UnitSymbol("s", .time, takesPrefix: true),
        UnitSymbol("J", .energy, takesPrefix: true),
        UnitSymbol("K", .temperature, takesPrefix: true),
        UnitSymbol("S", .conductance, takesPrefix: true),
        UnitSymbol("Hz", .frequency, takesPrefix: true),
        UnitSymbol("V", .electricPotential, takesPrefix: true),
        UnitSymbol("W", .power, takesPrefix: true),
        UnitSymbol("rad", .angle, takesPrefix: true),
        UnitSymbol("lx", .illuminance, takesPrefix: true),
        UnitSymbol("mol<>", .mass, ten: -3, takesPrefix: true),
        UnitSymbol("mol", .amount, takesPrefix: true),
        UnitSymbol("oz", .mass, 28_349_523_125, ten: -12),
        UnitSymbol("lb", .mass, 45_359_237, ten: -8),
        UnitSymbol("st", .mass, 635_029_318, ten: -8),
        UnitSymbol("in", .length, 254, ten: -4),
        UnitSymbol("ft", .length, 3048, ten: -4),
        UnitSymbol("yd", .length, 9144, ten: -4),
        UnitSymbol("mi", .length, 1_609_344, ten: -3),
        UnitSymbol("deg", .angle, over: 180, pi: 1),
        UnitSymbol("fl_oz_us", .volume, 295_735_295_625, ten: -16),
        UnitSymbol("fl_oz_imp", .volume, 284_130_625, ten: -13),
        UnitSymbol("pt_us", .volume, 473_176_473, ten: -12),
        UnitSymbol("pt_imp", .volume, 56_826_125, ten: -11),
        UnitSymbol("cup_us", .volume, 2_365_882_365, ten: -13),
        UnitSymbol("cup_imp", .volume, 284_130_625, ten: -12),
        UnitSymbol("mmHg", .pressure, 133_322_387_415, ten: -9),
        UnitSymbol("cmAq", .pressure, 980_665, ten: -4),
        UnitSymbol("atm", .pressure, 101_325),
        UnitSymbol("inHg", .pressure, 338_638_816, ten: -5),
        UnitSymbol("dBASPL", .soundPressureLevel),
        UnitSymbol("dBHL", .hearingLevel),
        UnitSymbol("min", .time, 60),
        UnitSymbol("hr", .time, 3600),
        UnitSymbol("d", .time, 86400),
        UnitSymbol("cal", .energy, 4184, ten: -3),
        UnitSymbol("kcal", .energy, 4184),
        UnitSymbol("Cal", .energy, 4184),
        UnitSymbol("degC", .temperature, zero: 27315),
        UnitSymbol("degF", .temperature, 5, over: 9, zero: 45967),
        UnitSymbol("IU", .internationalUnit),
        UnitSymbol("count", .none),
        // HealthKit's percentages are fractions: 0.97 %, not 97 %.
        UnitSymbol("%", .none),
        UnitSymbol("D", .diopter),
        UnitSymbol("pD", .prismDiopter),
        UnitSymbol("appleEffortScore", .appleEffortScore),
    ]

    /// The metric prefixes, longest first.
    static let prefixes: [(text: String, tenPower: Int)] = [
        ("mc", -6), ("da", 1), ("f", -15), ("p", -12), ("n", -9), ("m", -3), ("c", -2), ("d", -1), ("h", 2),
        ("k", 3), ("M", 6), ("G", 9), ("T", 12),
    ]

    /// The symbol and prefix (as a power of ten) that a word of a unit string means.
    ///
    /// Sound: no word can be read in two ways; a test forms all prefixes and symbols.
    static func named(_ word: ArraySlice<UInt8>) -> (symbol: Int, prefix: Int)? {
        // No word is longer than `appleEffortScore`.
        guard word.count <= 16 else { return nil }
        let whole = key(of: word)
        if let symbol = all.firstIndex(where: { $0.key == whole }) { return (symbol, 0) }
        // HealthKit reads `l` too and prints `L`.
        if word.elementsEqual("l".utf8) { return (liter, 0) }
        for prefix in prefixes where word.starts(with: prefix.text.utf8) {
            let rest = word.dropFirst(prefix.text.utf8.count)
            if rest.elementsEqual("l".utf8) { return (liter, prefix.tenPower) }
            let name = key(of: rest)
            if let symbol = all.firstIndex(where: { $0.takesPrefix && $0.key == name }) {
                return (symbol, prefix.tenPower)
            }
        }
        return nil
    }

    /// Up to sixteen bytes as one number; sound as a key, because no byte of a word is 0.
    private static func key(of word: ArraySlice<UInt8>) -> UInt128 {
        word.reduce(0) { $0 << 8 | UInt128($1) }
    }

    static func prefixText(tenPower: Int) -> String {
        prefixes.first { $0.tenPower == tenPower }?.text ?? ""
    }
}
