internal import HKLog

/// Value and source of a record in one word, for telling whether two listings of one identity are one sample.
///
/// The word is the value in the type's canonical unit, as the bits of a `Float`, plus a hash of what has to agree to
/// the byte. The bits of neighbouring floats are neighbouring numbers, so words of values that differ by conversion
/// noise alone (150 lb and 68.03885550 kg) differ by a few, and words of all else by anything.
struct TwinContent {
    let word: UInt32
    /// How far another word may be away: a millionth of the value, and one for rounding.
    let tolerance: UInt32

    /// For what has no value.
    static let none = TwinContent(word: 0, tolerance: 0)

    private init(word: UInt32, tolerance: UInt32) {
        self.word = word
        self.tolerance = tolerance
    }

    /// A quantity.
    @inline(__always)
    init(quantity value: Double, by scale: Scale) {
        let number = Float(value * scale.factor + scale.offset)
        let bits = number == 0 ? 0 : number.bitPattern
        let fraction = bits & 0x7F_FFFF
        word = bits &+ scale.hash
        // 2²³ · 10⁻⁶ · mantissa.
        tolerance = 1 + ((0x80_0000 + fraction) &* 8) >> 23
    }

    /// Any other value, by its bits.
    @inline(__always)
    init(exact bits: UInt64, by scale: Scale) {
        word = UInt32(truncatingIfNeeded: (bits &* 0x9E37_79B9_7F4A_7C15) >> 32) &+ scale.hash
        tolerance = 0
    }

    @inline(__always)
    func agrees(with other: UInt32) -> Bool {
        Int32(bitPattern: word &- other).magnitude <= tolerance
    }

    /// What the records of one shape share.
    struct Scale {
        /// The value in the canonical unit is `value · factor + offset`.
        var factor = 1.0
        var offset = 0.0
        /// Of the source's name, and of the unit where it is none of the type's.
        var hash: UInt32

        /// - Parameters:
        ///   - source: The name's bytes as text, not as they stand in the file.
        ///   - unit: The unit's text.
        ///   - canonical: The type's canonical unit, where it is known.
        init(source: [UInt8]?, unit: String?, canonical: Unit?) {
            hash = source.map { Scale.hash($0, from: 1) } ?? 0
            guard let unit else { return }
            guard let known = try? Unit(unit) else {
                hash = Scale.hash(Array(unit.utf8), from: hash)
                return
            }
            if let canonical, let conversion = UnitConversion(from: known, to: canonical) {
                (factor, offset) = (conversion.scale, conversion.offset)
            } else if let scale = known.scale {
                (factor, offset) = (scale, known.offset)
                hash = Scale.hash(Array(String(describing: known.dimension).utf8), from: hash)
            }
        }

        /// FNV-1a.
        private static func hash(_ bytes: [UInt8], from seed: UInt32) -> UInt32 {
            var hash = 0x811C_9DC5 ^ seed
            for byte in bytes { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
            return hash
        }
    }
}
