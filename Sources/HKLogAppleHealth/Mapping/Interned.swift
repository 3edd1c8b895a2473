/// Numbers for raw values that come again and again: 0 for an absent one, then counted from 1.
struct Interned {
    /// The raw bytes of all numbers, one after the other, and where those of each end.
    private var bytes: [UInt8] = []
    private var ends = [0]
    private var numbers: [[UInt8]: UInt32] = [:]
    /// The last number seen for a short hash: a hit costs a comparison and no allocation.
    private var recent = [UInt32](repeating: 0, count: 256)

    /// How many values have a number.
    var count: Int { ends.count - 1 }

    /// The number of a value and whether it is a new one.
    @inline(__always)
    mutating func number(of slice: ByteSlice) -> (number: UInt32, isNew: Bool) {
        guard slice.isPresent else { return (0, false) }
        let place = slice.shortHash
        let candidate = recent[place]
        if candidate != 0,
            slice.equals(bytes, from: ends[Int(candidate) - 1], to: ends[Int(candidate)])
        {
            return (candidate, false)
        }
        return slowNumber(of: slice, place: place)
    }

    @inline(never)
    private mutating func slowNumber(of slice: ByteSlice, place: Int) -> (number: UInt32, isNew: Bool) {
        let raw = slice.bytes
        if let number = numbers[raw] {
            recent[place] = number
            return (number, false)
        }
        let number = UInt32(ends.count)
        bytes.append(contentsOf: raw)
        ends.append(bytes.count)
        numbers[raw] = number
        recent[place] = number
        return (number, true)
    }
}

extension ByteSlice {
    /// A number below 256 of the length and a few bytes.
    @inline(__always)
    fileprivate var shortHash: Int {
        guard count > 0 else { return 0 }
        let mixed =
            UInt32(self[0]) &* 31 &+ UInt32(self[count / 2]) &* 57 &+ UInt32(self[count - 1]) &* 131
            &+ UInt32(truncatingIfNeeded: count) &* 71
        return Int((mixed &* 0x9E37_79B1) >> 24)
    }
}
