/// Writes integer columns, in the smallest of the forms that `ColumnFormat` has.
///
/// Keeps its work memory between columns.
struct ColumnEncoder: Sendable {
    /// The values as they will be packed, and after them the parts of the column as they come about.
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

    /// What must be known of a column before a form is chosen for it.
    ///
    /// Whoever makes the column often knows it, or finds it on the way.
    struct Survey {
        var minimum: Int64
        var maximum: Int64
        /// How many values are 0; nil where nobody has counted.
        var zeroCount: Int?
        /// The least value that is not 0; nil where nobody has looked.
        var leastNonzero: Int64?
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

    /// Where the parts of a column are put together, each with room for all that may come.
    @safe
    private struct Parts {
        /// Room for each value.
        let work: UnsafeMutablePointer<UInt64>
        /// One bit for each value.
        let bitmap: UnsafeMutablePointer<UInt64>
        /// The packed low bits, or the planes: at most eight bytes for each value, and eight to spare.
        let lows: UnsafeMutableRawPointer
        /// At most four bytes for each value, and eight to spare.
        let highs: UnsafeMutableRawPointer
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
        unsafe encode(values, ColumnEncoder.look(values), into: &output)
    }

    /// The same for a column, which must not be empty, of which that much is known.
    mutating func encode(
        _ values: UnsafeBufferPointer<Int64>, _ survey: Survey, into output: inout [UInt8]
    ) {
        unsafe encode(values, choose(values, survey, isMeasured: false), into: &output)
    }

    /// Appends a column, which must not be empty, in the form that was chosen for it.
    mutating func encode(
        _ values: UnsafeBufferPointer<Int64>, _ choice: Choice, into output: inout [UInt8]
    ) {
        if choice.isConstant {
            ColumnEncoder.appendConstant(choice.form.base, to: &output)
            return
        }
        let count = values.count
        let bitmapStart = count
        let lowsStart = bitmapStart + count / 64 + 1
        let highsStart = lowsStart + count + 2
        let room = highsStart + count / 2 + 2
        if work.count < room { work = [UInt64](repeating: 0, count: room) }
        unsafe work.withUnsafeMutableBufferPointer { work in
            guard let base = work.baseAddress else { return }
            let parts = unsafe Parts(
                work: base, bitmap: base + bitmapStart, lows: UnsafeMutableRawPointer(base + lowsStart),
                highs: UnsafeMutableRawPointer(base + highsStart))
            let plan = unsafe ColumnEncoder.makePlan(values, choice.form, parts)
            ColumnEncoder.write(plan, values.count, parts, into: &output)
        }
    }

    /// Appends a column of values that are all the same.
    static func appendConstant(_ value: Int64, to output: inout [UInt8]) {
        output.append(0)
        output.appendSigned(value)
    }

    /// Finds the form that is smallest for a column, which must not be empty.
    ///
    /// The choice says how many bits it takes only where it `isMeasured`, which costs more.
    func choose(_ values: UnsafeBufferPointer<Int64>, _ survey: Survey, isMeasured: Bool) -> Choice {
        let first = unsafe values[0]
        if survey.minimum == survey.maximum {
            var choice = Choice(Form(base: first), bitCount: 16)
            choice.isConstant = true
            return choice
        }
        // The common factor of all differences; with the first value, that of the values themselves.
        let stride = unsafe Stride.common(to: values, base: first)
        let plain = Form(base: survey.minimum, stride: stride)
        if values.count < ColumnEncoder.searchThreshold {
            let range = UInt64(bitPattern: survey.maximum &- survey.minimum)
            let quotient = stride == 1 ? range : range / stride
            return Choice(plain, bitCount: values.count * (64 - quotient.leadingZeroBitCount))
        }
        let hasBothSigns = survey.minimum < 0 && survey.maximum > 0
        let isSparse = unsafe zeroCount(values, survey) >= values.count / 8
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
                let base = unsafe leastNonzero(values, survey)
                consider(Form(base: base, stride: zeroStride, isSparse: true))
            }
        }
        return best
    }

    private static func look(_ values: UnsafeBufferPointer<Int64>) -> Survey {
        // Two of each, so that one comparison need not wait for the other.
        let count = values.count
        var (low, high, otherLow, otherHigh) = unsafe (values[0], values[0], values[0], values[0])
        var index = 0
        while index &+ 1 < count {
            let (value, other) = unsafe (values[index], values[index &+ 1])
            low = value < low ? value : low
            high = value > high ? value : high
            otherLow = other < otherLow ? other : otherLow
            otherHigh = other > otherHigh ? other : otherHigh
            index &+= 2
        }
        if index < count {
            let value = unsafe values[index]
            low = min(low, value)
            high = max(high, value)
        }
        return Survey(minimum: min(low, otherLow), maximum: max(high, otherHigh))
    }

    private func zeroCount(_ values: UnsafeBufferPointer<Int64>, _ survey: Survey) -> Int {
        if let known = survey.zeroCount { return known }
        if survey.minimum > 0 || survey.maximum < 0 { return 0 }
        var count = 0
        for index in 0..<values.count { count &+= unsafe values[index] == 0 ? 1 : 0 }
        return count
    }

    /// For a column of one sign.
    private func leastNonzero(_ values: UnsafeBufferPointer<Int64>, _ survey: Survey) -> Int64 {
        if let known = survey.leastNonzero { return known }
        if survey.minimum != 0 { return survey.minimum }
        // One less makes zeros the greatest numbers of all. Two of each, as above.
        var (least, otherLeast) = (UInt64.max, UInt64.max)
        var index = 0
        while index &+ 1 < values.count {
            let value = unsafe UInt64(bitPattern: values[index]) &- 1
            let other = unsafe UInt64(bitPattern: values[index &+ 1]) &- 1
            least = value < least ? value : least
            otherLeast = other < otherLeast ? other : otherLeast
            index &+= 2
        }
        if index < values.count { least = min(least, unsafe UInt64(bitPattern: values[index]) &- 1) }
        return Int64(bitPattern: min(least, otherLeast) &+ 1)
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
    private static func makePlan(
        _ values: UnsafeBufferPointer<Int64>, _ form: Form, _ parts: Parts
    ) -> Plan {
        var plan = Plan()
        plan.form = form
        let base = form.base
        let work = unsafe parts.work
        var stored = values.count
        if form.isSparse {
            stored = unsafe ColumnEncoder.separate(values, base, parts)
        } else {
            for index in 0..<stored {
                unsafe work[index] = UInt64(bitPattern: values[index] &- base)
            }
        }
        plan.storedCount = stored
        if form.isZigZag {
            let stride = Stride(form.stride)
            for index in 0..<stored {
                let value = unsafe Int64(bitPattern: work[index])
                let quotient = Int64(bitPattern: stride.divide(value.magnitude))
                unsafe work[index] = ZigZag.encode(value < 0 ? 0 &- quotient : quotient)
            }
        } else if form.stride > 1 {
            let stride = Stride(form.stride)
            for index in 0..<stored { unsafe work[index] = stride.divide(work[index]) }
        }
        unsafe ColumnEncoder.chooseWidth(work, &plan)
        return plan
    }

    /// Leaves the zeros out, and notes in the bitmap where the others stand.
    ///
    /// Returns how many those are.
    private static func separate(
        _ values: UnsafeBufferPointer<Int64>, _ base: Int64, _ parts: Parts
    ) -> Int {
        let (work, bitmap) = unsafe (parts.work, parts.bitmap)
        var stored = 0
        var index = 0
        while index < values.count {
            let end = min(index &+ 64, values.count)
            let word = index &>> 6
            var bits: UInt64 = 0
            var bit: UInt64 = 0
            while index < end {
                // Sound: at most one is stored for each value, and there is room for all.
                let value = unsafe values[index]
                unsafe work[stored] = UInt64(bitPattern: value &- base)
                stored &+= value == 0 ? 0 : 1
                bits |= (value == 0 ? 0 : 1) &<< bit
                bit &+= 1
                index &+= 1
            }
            unsafe bitmap[word] = bits.littleEndian
        }
        return stored
    }

    /// Looks for a width with the rest in unary: near the entropy for what falls off geometrically.
    private static func chooseWidth(_ work: UnsafeMutablePointer<UInt64>, _ plan: inout Plan) {
        let count = plan.storedCount
        guard count >= ColumnEncoder.searchThreshold else {
            var allBits: UInt64 = 0
            for index in 0..<count { unsafe allBits |= work[index] }
            plan.width = 64 - allBits.leadingZeroBitCount
            plan.isPlanes = plan.width > ColumnFormat.widthLimit
            return
        }
        // Two tables, because neighbours often have the same length: one count need not wait for the other.
        let capacity = LengthCounts.capacity
        unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: 2 * capacity) { tables in
            unsafe tables.initialize(repeating: 0)
            guard let counts = tables.baseAddress else { return }
            let others = unsafe counts + capacity
            var index = 0
            while index &+ 1 < count {
                // Sound: a length is 0 to 64, within both tables.
                unsafe counts[64 &- work[index].leadingZeroBitCount] &+= 1
                unsafe others[64 &- work[index &+ 1].leadingZeroBitCount] &+= 1
                index &+= 2
            }
            if index < count { unsafe counts[64 &- work[index].leadingZeroBitCount] &+= 1 }
            for length in 0...64 { unsafe counts[length] &+= others[length] }
            let best = unsafe LengthCounts.best(
                UnsafeMutableBufferPointer(start: counts, count: capacity), count: count)
            plan.width = best.width
            plan.hasHighs = best.hasHighs
            plan.isPlanes = best.width > ColumnFormat.widthLimit
        }
    }

    private static func write(_ plan: Plan, _ valueCount: Int, _ parts: Parts, into output: inout [UInt8]) {
        let form = plan.form
        let count = plan.storedCount
        var lowByteCount = 0
        var highs = Highs()
        if plan.isPlanes {
            ColumnEncoder.writePlanes(parts, count)
            lowByteCount = 8 * count
        } else {
            if plan.hasHighs {
                highs = ColumnEncoder.writeLowsAndHighs(parts, count, width: UInt64(plan.width))
            } else {
                ColumnEncoder.writeLows(parts, count, width: UInt64(plan.width))
            }
            lowByteCount = (count * plan.width + 7) / 8
        }
        var options: UInt8 = 0
        if form.stride > 1 { options |= ColumnFormat.optionStride }
        if form.isSparse { options |= ColumnFormat.optionSparse }
        if highs.exceptionCount > 0 { options |= ColumnFormat.optionExceptions }
        if form.isZigZag { options |= ColumnFormat.optionZigZag }
        var control = plan.isPlanes ? ColumnFormat.planes : UInt8(truncatingIfNeeded: plan.width)
        if plan.hasHighs { control |= ColumnFormat.hasHighs }
        if options != 0 { control |= ColumnFormat.hasOptions }
        output.append(control)
        if options != 0 { output.append(options) }
        output.appendSigned(form.base)
        if form.stride > 1 { output.appendVarint(form.stride) }
        if form.isSparse {
            unsafe output.append(
                contentsOf: UnsafeRawBufferPointer(start: parts.bitmap, count: (valueCount + 7) / 8))
        }
        unsafe output.append(contentsOf: UnsafeRawBufferPointer(start: parts.lows, count: lowByteCount))
        guard plan.hasHighs else { return }
        let highByteCount = (highs.bitCount + 7) / 8
        output.appendVarint(highByteCount)
        unsafe output.append(contentsOf: UnsafeRawBufferPointer(start: parts.highs, count: highByteCount))
        if highs.exceptionCount > 0 {
            writeExceptions(parts, count, highs, width: UInt64(plan.width), into: &output)
        }
    }

    /// What stands above the low bits of a column.
    private struct Highs {
        /// The bits of the unary part.
        var bitCount = 0
        var exceptionCount = 0
    }

    private static func writePlanes(_ parts: Parts, _ count: Int) {
        let work = unsafe parts.work
        for plane in 0..<8 {
            let start = unsafe parts.lows + plane &* count
            let shift = UInt64(8 &* plane)
            for index in 0..<count {
                let byte = unsafe UInt8(truncatingIfNeeded: work[index] &>> shift)
                unsafe start.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            }
        }
    }

    private static func writeLows(_ parts: Parts, _ count: Int, width: UInt64) {
        guard width > 0 else { return }
        let work = unsafe parts.work
        var lows = unsafe BitOutput(parts.lows)
        // No value is wider, or there would be highs.
        for index in 0..<count { unsafe lows.add(work[index], width) }
        lows.finish()
    }

    private static func writeLowsAndHighs(_ parts: Parts, _ count: Int, width: UInt64) -> Highs {
        let work = unsafe parts.work
        let mask = (UInt64(1) &<< width) &- 1
        var lows = unsafe BitOutput(parts.lows)
        var highs = unsafe BitOutput(parts.highs)
        var result = Highs()
        for index in 0..<count {
            let value = unsafe work[index]
            lows.add(value & mask, width)
            var high = value &>> width
            if high >= ColumnFormat.unaryLimit {
                result.exceptionCount &+= 1
                high = 0
            }
            // As many zeros as the number says, then a one.
            highs.add(1 &<< high, high &+ 1)
            result.bitCount &+= Int(truncatingIfNeeded: high) &+ 1
        }
        lows.finish()
        highs.finish()
        return result
    }

    private static func writeExceptions(
        _ parts: Parts, _ count: Int, _ highs: Highs, width: UInt64, into output: inout [UInt8]
    ) {
        output.appendVarint(highs.exceptionCount)
        var next = 0
        for index in 0..<count {
            let high = unsafe parts.work[index] &>> width
            guard high >= ColumnFormat.unaryLimit else { continue }
            output.appendVarint(index - next)
            output.appendVarint(high)
            next = index + 1
        }
    }
}

/// Bits on their way into memory, eight bytes at a time.
///
/// Sound where there is room for all bits that are added and eight bytes more.
@safe
private struct BitOutput {
    private var target: UnsafeMutableRawPointer
    private var bits: UInt64 = 0
    private var filled: UInt64 = 0

    init(_ target: UnsafeMutableRawPointer) { unsafe self.target = unsafe target }

    /// `value` has no bits above `width`, which is at most 56.
    @inline(__always)
    mutating func add(_ value: UInt64, _ width: UInt64) {
        bits |= value &<< filled
        filled &+= width
        if filled >= 64 {
            unsafe target.storeBytes(of: bits.littleEndian, as: UInt64.self)
            unsafe target += 8
            filled &-= 64
            // At least eight bits of the value were written, so that the shift is less than 64; by the width
            // itself, nothing is left.
            bits = value &>> (width &- filled)
        }
    }

    func finish() {
        unsafe target.storeBytes(of: bits.littleEndian, as: UInt64.self)
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
