/// Writes integer columns, in the smallest of the forms that `ColumnFormat` has.
///
/// Keeps its work memory between columns.
struct ColumnEncoder: Sendable {
    /// The values as they will be packed.
    private var work: [UInt64] = []
    /// How one column is written.
    private struct Plan {
        var form = Form()
        var storedCount = 0
        var width = 0
        var isPlanes = false
        var hasHighs = false
    }

    /// How values become the unsigned numbers that are packed.
    fileprivate struct Form: Sendable {
        var base: Int64 = 0
        var stride: UInt64 = 1
        var isZigZag = false
        var isSparse = false
    }

    /// What one pass over a column finds.
    private struct Survey {
        var minimum: Int64
        var maximum: Int64
        var zeroCount = 0
    }

    /// The cheapest form of a column, and about how many bits it takes.
    struct Choice: Sendable {
        fileprivate var form = Form()
        fileprivate var isConstant = false
        private(set) var bitCount = 0
        fileprivate init(_ form: Form, bitCount: Int) {
            self.form = form
            self.bitCount = bitCount
        }
    }

    /// Below this many values the plainest form is taken without search.
    private static let searchThreshold = 16
    /// Forms are compared over about this many values, evenly spread.
    private static let sampleCount = 32

    /// Appends a column of the first `count` values.
    mutating func encode(_ values: [Int64], count: Int, into output: inout [UInt8]) {
        unsafe values.withUnsafeBufferPointer { values in
            unsafe encode(UnsafeBufferPointer(rebasing: values[0..<count]), into: &output)
        }
    }

    /// Appends a column in the form that is smallest.
    mutating func encode(_ values: UnsafeBufferPointer<Int64>, into output: inout [UInt8]) {
        guard values.count > 0 else { return }
        unsafe encode(values, choose(values, isMeasured: false), into: &output)
    }

    /// Appends a column, which must not be empty, in the form that was chosen for it.
    mutating func encode(
        _ values: UnsafeBufferPointer<Int64>, _ choice: Choice, into output: inout [UInt8]
    ) {
        if choice.isConstant {
            output.append(0)
            output.appendSigned(choice.form.base)
            return
        }
        if work.count < values.count { work = [UInt64](repeating: 0, count: values.count) }
        let plan = unsafe makePlan(values, choice.form)
        unsafe write(plan, values, into: &output)
    }

    /// Finds the form that is smallest for a column, which must not be empty.
    ///
    /// The choice says how many bits it takes only where it `isMeasured`, which costs more.
    func choose(_ values: UnsafeBufferPointer<Int64>, isMeasured: Bool) -> Choice {
        let first = unsafe values[0]
        var difference: Int64 = 0
        for index in 0..<values.count { unsafe difference |= values[index] ^ first }
        if difference == 0 {
            var choice = Choice(Form(base: first), bitCount: 16)
            choice.isConstant = true
            return choice
        }
        let survey = unsafe look(values)
        // The common factor of all differences; with the first value, that of the values themselves.
        let stride = unsafe Stride.common(to: values, base: first)
        let plain = Form(base: survey.minimum, stride: stride)
        if values.count < ColumnEncoder.searchThreshold {
            let range = UInt64(bitPattern: survey.maximum &- survey.minimum) / stride
            return Choice(plain, bitCount: values.count * (64 - range.leadingZeroBitCount))
        }
        let hasBothSigns = survey.minimum < 0 && survey.maximum > 0
        let isSparse = survey.zeroCount >= values.count / 8
        if !hasBothSigns && !isSparse && !isMeasured { return Choice(plain, bitCount: 0) }
        let zeroStride = Stride.greatestCommonDivisor(stride, first.magnitude)
        var best = unsafe Choice(plain, bitCount: estimate(values, plain))
        func consider(_ form: Form) {
            let bitCount = unsafe estimate(values, form)
            if bitCount < best.bitCount { best = Choice(form, bitCount: bitCount) }
        }
        if hasBothSigns { consider(Form(stride: zeroStride, isZigZag: true)) }
        if isSparse {
            if hasBothSigns {
                consider(Form(stride: zeroStride, isZigZag: true, isSparse: true))
            } else {
                let base = unsafe leastNonzero(values)
                consider(Form(base: base, stride: zeroStride, isSparse: true))
            }
        }
        return best
    }

    private func look(_ values: UnsafeBufferPointer<Int64>) -> Survey {
        // Two of each, so that one comparison need not wait for the other.
        let count = values.count
        var (low, high, otherLow, otherHigh) = unsafe (values[0], values[0], values[0], values[0])
        var zeroCount = 0
        var index = 0
        while index &+ 1 < count {
            let (value, other) = unsafe (values[index], values[index &+ 1])
            low = value < low ? value : low
            high = value > high ? value : high
            otherLow = other < otherLow ? other : otherLow
            otherHigh = other > otherHigh ? other : otherHigh
            zeroCount &+= (value == 0 ? 1 : 0) &+ (other == 0 ? 1 : 0)
            index &+= 2
        }
        if index < count {
            let value = unsafe values[index]
            low = min(low, value)
            high = max(high, value)
            zeroCount &+= value == 0 ? 1 : 0
        }
        return Survey(minimum: min(low, otherLow), maximum: max(high, otherHigh), zeroCount: zeroCount)
    }

    private func leastNonzero(_ values: UnsafeBufferPointer<Int64>) -> Int64 {
        var least = Int64.max
        for index in 0..<values.count {
            let value = unsafe values[index]
            least = value != 0 && value < least ? value : least
        }
        return least
    }

    /// About how many bits a column takes in a form, judged by a sample.
    private func estimate(_ values: UnsafeBufferPointer<Int64>, _ form: Form) -> Int {
        unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: LengthCounts.capacity) { counts in
            unsafe counts.initialize(repeating: 0)
            let step = max(1, values.count / ColumnEncoder.sampleCount)
            // A division is not worth it here: the stride's own bits are taken off.
            let shift = UInt64(63 - form.stride.leadingZeroBitCount)
            var (sampled, stored) = (0, 0)
            var index = 0
            while index < values.count {
                let value = unsafe values[index]
                index &+= step
                sampled &+= 1
                if form.isSparse && value == 0 { continue }
                stored &+= 1
                let number = form.isZigZag ? ZigZag.encode(value) : UInt64(bitPattern: value &- form.base)
                unsafe counts[64 &- (number &>> shift).leadingZeroBitCount] &+= 1
            }
            let best = unsafe LengthCounts.best(counts, count: stored)
            return (best.bitCount + (form.isSparse ? sampled : 0)) * step
        }
    }

    /// Turns the values into those to be packed, in `work`, and finds the best width.
    private mutating func makePlan(_ values: UnsafeBufferPointer<Int64>, _ form: Form) -> Plan {
        var plan = Plan()
        plan.form = form
        let stride = Stride(form.stride)
        let base = form.base
        unsafe work.withUnsafeMutableBufferPointer { work in
            var stored = values.count
            if form.isSparse {
                stored = 0
                for index in 0..<values.count {
                    // Sound: at most one is stored for each value, and there is room for all.
                    let value = unsafe values[index]
                    unsafe work[stored] = UInt64(bitPattern: value &- base)
                    stored &+= value == 0 ? 0 : 1
                }
            } else {
                for index in 0..<stored {
                    unsafe work[index] = UInt64(bitPattern: values[index] &- base)
                }
            }
            plan.storedCount = stored
            if form.isZigZag {
                for index in 0..<stored {
                    let value = unsafe Int64(bitPattern: work[index])
                    let quotient = Int64(bitPattern: stride.divide(value.magnitude))
                    unsafe work[index] = ZigZag.encode(value < 0 ? 0 &- quotient : quotient)
                }
            } else if form.stride > 1 {
                for index in 0..<stored { unsafe work[index] = stride.divide(work[index]) }
            }
            unsafe ColumnEncoder.chooseWidth(UnsafeBufferPointer(work), &plan)
        }
        return plan
    }

    /// Looks for a width with the rest in unary: near the entropy for what falls off geometrically.
    private static func chooseWidth(_ work: UnsafeBufferPointer<UInt64>, _ plan: inout Plan) {
        let count = plan.storedCount
        guard count >= ColumnEncoder.searchThreshold else {
            var allBits: UInt64 = 0
            for index in 0..<count { unsafe allBits |= work[index] }
            plan.width = 64 - allBits.leadingZeroBitCount
            plan.isPlanes = plan.width > ColumnFormat.widthLimit
            return
        }
        unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: LengthCounts.capacity) { counts in
            unsafe counts.initialize(repeating: 0)
            for index in 0..<count {
                unsafe counts[64 &- work[index].leadingZeroBitCount] &+= 1
            }
            let best = unsafe LengthCounts.best(counts, count: count)
            plan.width = best.width
            plan.hasHighs = best.hasHighs
            plan.isPlanes = best.width > ColumnFormat.widthLimit
        }
    }

    private func write(_ plan: Plan, _ values: UnsafeBufferPointer<Int64>, into output: inout [UInt8]) {
        let form = plan.form
        unsafe work.withUnsafeBufferPointer { work in
            let work = unsafe UnsafeBufferPointer(rebasing: work[0..<plan.storedCount])
            let highs = plan.hasHighs ? unsafe countHighs(work, width: UInt64(plan.width)) : (0, 0)
            var options: UInt8 = 0
            if form.stride > 1 { options |= ColumnFormat.optionStride }
            if form.isSparse { options |= ColumnFormat.optionSparse }
            if highs.1 > 0 { options |= ColumnFormat.optionExceptions }
            if form.isZigZag { options |= ColumnFormat.optionZigZag }
            var control = plan.isPlanes ? ColumnFormat.planes : UInt8(truncatingIfNeeded: plan.width)
            if plan.hasHighs { control |= ColumnFormat.hasHighs }
            if options != 0 { control |= ColumnFormat.hasOptions }
            output.append(control)
            if options != 0 { output.append(options) }
            output.appendSigned(form.base)
            if form.stride > 1 { output.appendVarint(form.stride) }
            if form.isSparse { unsafe writeBitmap(values, into: &output) }
            if plan.isPlanes {
                unsafe writePlanes(work, into: &output)
            } else if plan.width > 0 {
                unsafe writeLowBits(work, width: plan.width, into: &output)
            }
            guard plan.hasHighs else { return }
            unsafe writeHighs(work, width: UInt64(plan.width), unaryBitCount: highs.0, into: &output)
            if highs.1 > 0 {
                unsafe writeExceptions(work, width: UInt64(plan.width), count: highs.1, into: &output)
            }
        }
    }

    /// How many bits the unary part has, and how many values are exceptions.
    private func countHighs(_ work: UnsafeBufferPointer<UInt64>, width: UInt64) -> (Int, Int) {
        var bitCount = work.count
        var exceptionCount = 0
        for index in 0..<work.count {
            let high = unsafe work[index] &>> width
            let isException = high >= ColumnFormat.unaryLimit
            bitCount &+= isException ? 0 : Int(truncatingIfNeeded: high)
            exceptionCount &+= isException ? 1 : 0
        }
        return (bitCount, exceptionCount)
    }

    private func writeBitmap(_ values: UnsafeBufferPointer<Int64>, into output: inout [UInt8]) {
        let offset = output.appendZeros((values.count + 7) / 8)
        unsafe output.withUnsafeMutableBufferPointer { output in
            for index in 0..<values.count {
                let bit: UInt8 = unsafe values[index] == 0 ? 0 : 1
                unsafe output[offset &+ index &>> 3] |= bit &<< UInt8(truncatingIfNeeded: index & 7)
            }
        }
    }

    private func writePlanes(_ work: UnsafeBufferPointer<UInt64>, into output: inout [UInt8]) {
        let count = work.count
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

    private func writeLowBits(
        _ work: UnsafeBufferPointer<UInt64>, width: Int, into output: inout [UInt8]
    ) {
        let byteCount = (work.count * width + 7) / 8
        let offset = output.appendZeros(byteCount + 8)
        let mask = (UInt64(1) &<< UInt64(width)) &- 1
        unsafe output.withUnsafeMutableBytes { output in
            var position = offset
            var bits: UInt64 = 0
            var filled: UInt64 = 0
            for index in 0..<work.count {
                let value = unsafe work[index] & mask
                bits |= value &<< filled
                filled &+= UInt64(width)
                if filled >= 64 {
                    unsafe output.storeBytes(of: bits.littleEndian, toByteOffset: position, as: UInt64.self)
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
        output.removeLast(output.count - offset - byteCount)
    }

    private func writeHighs(
        _ work: UnsafeBufferPointer<UInt64>, width: UInt64, unaryBitCount: Int, into output: inout [UInt8]
    ) {
        let byteCount = (unaryBitCount + 7) / 8
        output.appendVarint(byteCount)
        let offset = output.appendZeros(byteCount)
        unsafe output.withUnsafeMutableBufferPointer { output in
            var position = offset &* 8
            for index in 0..<work.count {
                let high = unsafe work[index] &>> width
                position &+= high < ColumnFormat.unaryLimit ? Int(truncatingIfNeeded: high) : 0
                unsafe output[position &>> 3] |= 1 &<< UInt8(truncatingIfNeeded: position & 7)
                position &+= 1
            }
        }
    }

    private func writeExceptions(
        _ work: UnsafeBufferPointer<UInt64>, width: UInt64, count: Int, into output: inout [UInt8]
    ) {
        output.appendVarint(count)
        var next = 0
        for index in 0..<work.count {
            let high = unsafe work[index] &>> width
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
