/// Finds the best width for a column from how many values have how many bits.
enum LengthCounts {
    /// 65 lengths, and room to look a few above each.
    static let capacity = 72

    struct Best {
        var width: Int
        var hasHighs: Bool
        var bitCount: Int
    }

    /// Compares plain packing with each width that leaves the rest to unary.
    ///
    /// `counts[n]` values have `n` significant bits. The mean of what stands above the width is taken for each
    /// length: 1, 2.5, 5.5, 11.5, 23.5. More than five bits above are an exception of about five bytes.
    static func best(_ counts: UnsafeMutableBufferPointer<UInt32>, count: Int) -> Best {
        var fullWidth = 64
        while unsafe fullWidth > 0 && counts[fullWidth] == 0 { fullWidth &-= 1 }
        let isPlanes = fullWidth > ColumnFormat.widthLimit
        var best = Best(width: fullWidth, hasHighs: false, bitCount: count &* (isPlanes ? 64 : fullWidth))
        var above = 0
        var width = fullWidth &- 1
        while width >= 0 {
            func at(_ length: Int) -> Int { unsafe Int(counts[width &+ length]) }
            above &+= at(6)
            let high = 2 &* at(1) &+ 5 &* at(2) &+ 11 &* at(3)
            let higher = 23 &* at(4) &+ 47 &* at(5)
            let bitCount = count &* (width &+ 1) &+ (high &+ higher) / 2 &+ 40 &* above &+ 24
            if bitCount < best.bitCount && width <= ColumnFormat.widthLimit {
                best = Best(width: width, hasHighs: true, bitCount: bitCount)
            } else if count < 256 && bitCount > best.bitCount &+ 4 &* count {
                // Past the best for all but odd shapes, and few values are not worth more search.
                break
            }
            width &-= 1
        }
        return best
    }
}
