/// xoshiro256**, seeded by SplitMix64: the same numbers on every machine.
struct WorkloadRandom {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    init(seed: UInt64) {
        var word = seed
        func next() -> UInt64 {
            word &+= 0x9E37_79B9_7F4A_7C15
            var mixed = word
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
        state = (next(), next(), next(), next())
    }

    mutating func word() -> UInt64 {
        func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 { value << count | value >> (64 - count) }
        let result = rotated(state.1 &* 5, 7) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = rotated(state.3, 45)
        return result
    }

    /// A number below `bound`.
    mutating func number(below bound: UInt64) -> Int { Int(word() % bound) }

    /// A number in `0..<1`.
    mutating func fraction() -> Double { Double(word() >> 11) * 0x1p-53 }
}
