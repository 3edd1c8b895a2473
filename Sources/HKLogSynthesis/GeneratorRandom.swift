/// The generators' own random numbers: SplitMix64 over whole numbers, so that the same seed gives the same bytes
/// on every machine and with every version of Swift.
struct GeneratorRandom {
    private var state: UInt64

    /// A sequence of its own for each place in the history: what one stream draws moves no other one.
    init(seed: UInt64, stream: Int, index: Int) {
        state = GeneratorRandom.scrambled(
            seed ^ GeneratorRandom.scrambled(UInt64(truncatingIfNeeded: stream) &* 0xD6E8_FEB8_6659_FD93)
                &+ GeneratorRandom.scrambled(UInt64(truncatingIfNeeded: index) &* 0xA076_1D64_78BD_642F))
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return GeneratorRandom.scrambled(state)
    }

    /// A number from 0 up to, not including, a bound above 0 and below 2^32.
    mutating func next(below bound: Int) -> Int {
        Int(truncatingIfNeeded: ((next() >> 32) &* UInt64(truncatingIfNeeded: bound)) >> 32)
    }

    /// A number between two, both included.
    mutating func next(_ low: Int, _ high: Int) -> Int {
        low + next(below: max(high - low, 0) + 1)
    }

    /// A number around a middle: the sum of three throws, so that the middle comes most often.
    mutating func next(around middle: Int, spread: Int) -> Int {
        middle - spread
            + (next(below: 2 * spread + 1) + next(below: 2 * spread + 1) + next(below: 2 * spread + 1)) / 3
    }

    private static func scrambled(_ word: UInt64) -> UInt64 {
        var word = word
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
