/// Writes integer columns, in the smallest of the forms that `ColumnFormat` has.
///
/// Keeps its work memory between columns.
struct ColumnEncoder: Sendable {
    /// The values as they will be packed.
    private var work: [UInt64] = []
    /// The values that are not zero, for sparse columns.
    private var nonzero: [Int64] = []

    /// How one column would be written, and what that costs.
    private struct Plan {
        var base: Int64 = 0
        var stride: UInt64 = 1
        var isZigZag = false
        var isSparse = false
        var width = 0
        var isPlanes = false
        var hasHighs = false
        var bitCount = 0
    }

    /// Below this many values the plainest form is taken without search.
    private static let searchThreshold = 16

    /// Appends a column of the first `count` values.
    mutating func encode(_ values: [Int64], count: Int, into output: inout [UInt8]) {
        unsafe values.withUnsafeBufferPointer { values in
            unsafe encode(UnsafeBufferPointer(rebasing: values[0..<count]), into: &output)
        }
    }

    /// Appends a column.
    ///
    /// See `ColumnFormat`.
    mutating func encode(_ values: UnsafeBufferPointer<Int64>, into output: inout [UInt8]) {
        guard let first = unsafe values.first else { return }
        var minimum = first
        var maximum = first
        var zeroCount = 0
        for index in 0..<values.count {
            let value = unsafe values[index]
            minimum = min(minimum, value)
            maximum = max(maximum, value)
            zeroCount &+= value == 0 ? 1 : 0
        }
        if minimum == maximum {
            output.append(0)
            output.appendSigned(first)
            return
        }
        if work.count < values.count { work = [UInt64](repeating: 0, count: values.count) }
        let plan = unsafe choosePlan(values, minimum: minimum, maximum: maximum, zeroCount: zeroCount)
        unsafe write(
            plan, values, storedCount: plan.isSparse ? values.count - zeroCount : values.count, into: &output)
    }

    /// How many bits a column would take, about.
    mutating func estimatedBitCount(_ values: UnsafeBufferPointer<Int64>) -> Int {
        guard let first = unsafe values.first else { return 0 }
        var minimum = first
        var maximum = first
        var zeroCount = 0
        for index in 0..<values.count {
            let value = unsafe values[index]
            minimum = min(minimum, value)
            maximum = max(maximum, value)
            zeroCount &+= value == 0 ? 1 : 0
        }
        if minimum == maximum { return 16 }
        if work.count < values.count { work = [UInt64](repeating: 0, count: values.count) }
        return unsafe choosePlan(values, minimum: minimum, maximum: maximum, zeroCount: zeroCount).bitCount
    }

    /// Compares the forms that may pay off.
    ///
    /// Leaves the packed values of the best one in `work`.
    private mutating func choosePlan(
        _ values: UnsafeBufferPointer<Int64>, minimum: Int64, maximum: Int64, zeroCount: Int
    ) -> Plan {
        var best = unsafe makePlan(values, base: minimum, isZigZag: false)
        guard values.count >= ColumnEncoder.searchThreshold else { return best }
        var isLatest = true
        if minimum < 0 && maximum > 0 {
            let other = unsafe makePlan(values, base: 0, isZigZag: true)
            isLatest = other.bitCount < best.bitCount
            if isLatest { best = other }
        }
        if zeroCount >= values.count / 8 {
            let stored = unsafe collectNonzero(values)
            var (low, high) = (Int64.max, Int64.min)
            unsafe nonzero.withUnsafeBufferPointerOfFirst(stored) { nonzero in
                for index in 0..<nonzero.count {
                    let value = unsafe nonzero[index]
                    low = min(low, value)
                    high = max(high, value)
                }
            }
            let kept = nonzero
            var other = unsafe kept.withUnsafeBufferPointerOfFirst(stored) { nonzero in
                unsafe makePlan(nonzero, base: low, isZigZag: false)
            }
            var otherIsLatest = true
            if low < 0 && high > 0 {
                let third = unsafe kept.withUnsafeBufferPointerOfFirst(stored) { nonzero in
                    unsafe makePlan(nonzero, base: 0, isZigZag: true)
                }
                otherIsLatest = third.bitCount < other.bitCount
                if otherIsLatest { other = third }
            }
            other.isSparse = true
            other.bitCount &+= values.count
            if other.bitCount < best.bitCount {
                best = other
                isLatest = otherIsLatest
            } else {
                isLatest = false
            }
        }
        if !isLatest {
            if best.isSparse {
                let kept = nonzero
                _ = unsafe kept.withUnsafeBufferPointerOfFirst(values.count - zeroCount) { nonzero in
                    unsafe makePlan(nonzero, base: best.base, isZigZag: best.isZigZag)
                }
            } else {
                _ = unsafe makePlan(values, base: best.base, isZigZag: best.isZigZag)
            }
        }
        return best
    }

    /// Copies the values that are not zero and returns how many there are.
    private mutating func collectNonzero(_ values: UnsafeBufferPointer<Int64>) -> Int {
        if nonzero.count < values.count { nonzero = [Int64](repeating: 0, count: values.count) }
        return unsafe nonzero.withUnsafeMutableBufferPointer { nonzero in
            var stored = 0
            for index in 0..<values.count {
                let value = unsafe values[index]
                unsafe nonzero[stored] = value
                stored &+= value == 0 ? 0 : 1
                if stored == nonzero.count { break }
            }
            return stored
        }
    }

    /// Turns the values into those to be packed, in `work`, and finds the best width.
    private mutating func makePlan(_ values: UnsafeBufferPointer<Int64>, base: Int64, isZigZag: Bool) -> Plan
    {
        var plan = Plan()
        plan.base = base
        plan.isZigZag = isZigZag
        plan.stride = unsafe Stride.common(to: values, base: base)
        let count = values.count
        var allBits: UInt64 = 0
        unsafe work.withUnsafeMutableBufferPointer { work in
            if plan.stride > 1 {
                let stride = Stride(plan.stride)
                for index in 0..<count {
                    let difference = unsafe values[index] &- base
                    var value: UInt64
                    if isZigZag {
                        let quotient = Int64(bitPattern: stride.divide(difference.magnitude))
                        value = ZigZag.encode(difference < 0 ? 0 &- quotient : quotient)
                    } else {
                        value = stride.divide(UInt64(bitPattern: difference))
                    }
                    allBits |= value
                    unsafe work[index] = value
                }
            } else if isZigZag {
                for index in 0..<count {
                    let value = unsafe ZigZag.encode(values[index])
                    allBits |= value
                    unsafe work[index] = value
                }
            } else {
                for index in 0..<count {
                    let value = unsafe UInt64(bitPattern: values[index] &- base)
                    allBits |= value
                    unsafe work[index] = value
                }
            }
        }
        let width = 64 - allBits.leadingZeroBitCount
        plan.isPlanes = width > ColumnFormat.widthLimit
        plan.width = width
        plan.bitCount = count &* (plan.isPlanes ? 64 : width)
        if count >= ColumnEncoder.searchThreshold && width > 0 { searchWidth(count, width, &plan) }
        return plan
    }

    /// Looks for a smaller width with the rest in unary: near the entropy for what falls off geometrically.
    private func searchWidth(_ count: Int, _ fullWidth: Int, _ plan: inout Plan) {
        unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: 80) { counts in
            unsafe counts.initialize(repeating: 0)
            unsafe work.withUnsafeBufferPointer { work in
                for index in 0..<count {
                    unsafe counts[64 &- work[index].leadingZeroBitCount] &+= 1
                }
            }
            var above = 0
            for width in stride(from: fullWidth - 1, through: 0, by: -1) {
                // Six bits and more above the low ones: an exception of about five bytes.
                above &+= unsafe counts[width + 6]
                if width > ColumnFormat.widthLimit { continue }
                let highs = unsafe 2 &* counts[width + 1] &+ 5 &* counts[width + 2] &+ 11 &* counts[width + 3]
                let bitCount =
                    unsafe count &* (width + 1)
                    &+ (highs &+ 23 &* counts[width + 4] &+ 47 &* counts[width + 5]) / 2
                    &+ 40 &* above &+ 24
                if bitCount < plan.bitCount {
                    plan.bitCount = bitCount
                    plan.width = width
                    plan.isPlanes = false
                    plan.hasHighs = true
                }
            }
        }
    }

    private func write(
        _ plan: Plan, _ values: UnsafeBufferPointer<Int64>, storedCount: Int, into output: inout [UInt8]
    ) {
        let width = UInt64(plan.width)
        var unaryBitCount = 0
        var exceptionCount = 0
        if plan.hasHighs {
            for index in 0..<storedCount {
                let high = work[index] &>> width
                if high < ColumnFormat.unaryLimit {
                    unaryBitCount &+= Int(truncatingIfNeeded: high) &+ 1
                } else {
                    unaryBitCount &+= 1
                    exceptionCount &+= 1
                }
            }
        }
        var options: UInt8 = 0
        if plan.stride > 1 { options |= ColumnFormat.optionStride }
        if plan.isSparse { options |= ColumnFormat.optionSparse }
        if exceptionCount > 0 { options |= ColumnFormat.optionExceptions }
        if plan.isZigZag { options |= ColumnFormat.optionZigZag }
        var control = plan.isPlanes ? ColumnFormat.planes : UInt8(truncatingIfNeeded: plan.width)
        if plan.hasHighs { control |= ColumnFormat.hasHighs }
        if options != 0 { control |= ColumnFormat.hasOptions }
        output.append(control)
        if options != 0 { output.append(options) }
        output.appendSigned(plan.base)
        if plan.stride > 1 { output.appendVarint(plan.stride) }
        if plan.isSparse { unsafe writeBitmap(values, into: &output) }
        if plan.isPlanes {
            writePlanes(storedCount, into: &output)
        } else if plan.width > 0 {
            writeLowBits(storedCount, width: plan.width, into: &output)
        }
        if plan.hasHighs {
            writeHighs(storedCount, width: width, unaryBitCount: unaryBitCount, into: &output)
            if exceptionCount > 0 { writeExceptions(storedCount, width, exceptionCount, into: &output) }
        }
    }

    private func writeBitmap(_ values: UnsafeBufferPointer<Int64>, into output: inout [UInt8]) {
        var bits: UInt8 = 0
        for index in 0..<values.count {
            let value = unsafe values[index]
            if value != 0 { bits |= 1 &<< UInt8(truncatingIfNeeded: index & 7) }
            if index & 7 == 7 {
                output.append(bits)
                bits = 0
            }
        }
        if values.count & 7 != 0 { output.append(bits) }
    }

    private func writePlanes(_ count: Int, into output: inout [UInt8]) {
        let offset = output.appendZeros(8 * count)
        unsafe output.withUnsafeMutableBufferPointer { output in
            for plane in 0..<8 {
                let start = offset &+ plane &* count
                let shift = UInt64(8 &* plane)
                for index in 0..<count {
                    unsafe output[start &+ index] = UInt8(truncatingIfNeeded: work[index] &>> shift)
                }
            }
        }
    }

    private func writeLowBits(_ count: Int, width: Int, into output: inout [UInt8]) {
        let byteCount = (count * width + 7) / 8
        let offset = output.appendZeros(byteCount + 8)
        let mask = (UInt64(1) &<< UInt64(width)) &- 1
        unsafe output.withUnsafeMutableBytes { output in
            unsafe work.withUnsafeBufferPointer { work in
                var position = offset
                var bits: UInt64 = 0
                var filled: UInt64 = 0
                for index in 0..<count {
                    let value = unsafe work[index] & mask
                    bits |= value &<< filled
                    filled &+= UInt64(width)
                    if filled >= 64 {
                        unsafe output.storeBytes(
                            of: bits.littleEndian, toByteOffset: position, as: UInt64.self)
                        position &+= 8
                        filled &-= 64
                        // Sound: at most 56 bits wide, so at least 8 bits of the value were written.
                        bits = filled == 0 ? 0 : value &>> (UInt64(width) &- filled)
                    }
                }
                if filled > 0 {
                    unsafe output.storeBytes(of: bits.littleEndian, toByteOffset: position, as: UInt64.self)
                }
            }
        }
        output.removeLast(output.count - offset - byteCount)
    }

    private func writeHighs(_ count: Int, width: UInt64, unaryBitCount: Int, into output: inout [UInt8]) {
        let byteCount = (unaryBitCount + 7) / 8
        output.appendVarint(byteCount)
        let offset = output.appendZeros(byteCount)
        unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe work.withUnsafeBufferPointer { work in
                var position = offset &* 8
                for index in 0..<count {
                    let high = unsafe work[index] &>> width
                    if high < ColumnFormat.unaryLimit { position &+= Int(truncatingIfNeeded: high) }
                    unsafe output[position &>> 3] |= 1 &<< UInt8(truncatingIfNeeded: position & 7)
                    position &+= 1
                }
            }
        }
    }

    private func writeExceptions(
        _ count: Int, _ width: UInt64, _ exceptionCount: Int, into output: inout [UInt8]
    ) {
        output.appendVarint(exceptionCount)
        var next = 0
        for index in 0..<count {
            let high = work[index] &>> width
            guard high >= ColumnFormat.unaryLimit else { continue }
            output.appendVarint(index - next)
            output.appendVarint(high)
            next = index + 1
        }
    }
}

extension [Int64] {
    /// The first `count` elements as a buffer.
    func withUnsafeBufferPointerOfFirst<Result>(
        _ count: Int, _ body: (UnsafeBufferPointer<Int64>) -> Result
    ) -> Result {
        unsafe withUnsafeBufferPointer { buffer in
            unsafe body(UnsafeBufferPointer(rebasing: buffer[0..<count]))
        }
    }
}
