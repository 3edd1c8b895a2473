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
        /// How many values have more above the width than unary is good for.
        var exceptionCount = 0
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
        /// The unary part: at most four bytes for each value, and eight to spare.
        let highs: UnsafeMutableRawPointer
        /// The column as it is written, but for exceptions: the bytes in front, the bitmap, the low bits or the planes
        /// (at most eight bytes for each value, and eight to spare), the unary part.
        let column: UnsafeMutableRawPointer
    }

    /// Below this many values the plainest form is taken without search.
    private static let searchThreshold = 16
    /// Forms are compared over about this many values, evenly spread.
    private static let sampleCount = 32

    /// Appends a column of the first `count` values.
    mutating func encode(_ values: [Int64], count: Int, into output: inout [UInt8]) {
        unsafe values.withUnsafeBufferPointerOfFirst(count) { unsafe encode($0, into: &output) }
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
        let highsStart = bitmapStart + count / 64 + 1
        let columnStart = highsStart + count / 2 + 2
        let room = 2 * columnStart + 8
        if work.count < room { work = [UInt64](repeating: 0, count: room) }
        unsafe work.withUnsafeMutableBufferPointer { work in
            guard let base = work.baseAddress else { return }
            let parts = unsafe Parts(
                work: base, bitmap: base + bitmapStart, highs: UnsafeMutableRawPointer(base + highsStart),
                column: UnsafeMutableRawPointer(base + columnStart))
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
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: LengthCounts.capacity) { counts in
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
            let unused = UInt64(truncatingIfNeeded: index &+ 64 &- end)
            var bits: UInt64 = 0
            while index < end {
                // Sound: at most one is stored for each value, and there is room for all.
                let value = unsafe values[index]
                unsafe work[stored] = UInt64(bitPattern: value &- base)
                stored &+= value == 0 ? 0 : 1
                // The bits come in from above: a shift by one is cheaper than one by a number.
                bits = bits &>> 1 | (value == 0 ? 0 : 1 &<< 63)
                index &+= 1
            }
            unsafe bitmap[word] = (bits &>> unused).littleEndian
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
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 * capacity) { tables in
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
            for length in 0..<capacity { unsafe counts[length] &+= others[length] }
            let best = unsafe LengthCounts.best(
                UnsafeMutableBufferPointer(start: counts, count: capacity), count: count)
            plan.width = best.width
            plan.hasHighs = best.hasHighs
            plan.isPlanes = best.width > ColumnFormat.widthLimit
            if best.hasHighs {
                for length in best.width &+ ColumnFormat.unaryLengthLimit..<capacity {
                    unsafe plan.exceptionCount &+= Int(counts[length])
                }
            }
        }
    }

    private static func write(_ plan: Plan, _ valueCount: Int, _ parts: Parts, into output: inout [UInt8]) {
        let form = plan.form
        let count = plan.storedCount
        var options: UInt8 = 0
        if form.stride > 1 { options |= ColumnFormat.optionStride }
        if form.isSparse { options |= ColumnFormat.optionSparse }
        if plan.exceptionCount > 0 { options |= ColumnFormat.optionExceptions }
        if form.isZigZag { options |= ColumnFormat.optionZigZag }
        var control = plan.isPlanes ? ColumnFormat.planes : UInt8(truncatingIfNeeded: plan.width)
        if plan.hasHighs { control |= ColumnFormat.hasHighs }
        if options != 0 { control |= ColumnFormat.hasOptions }
        var column = unsafe ByteOutput(parts.column)
        column.add(control)
        if options != 0 { column.add(options) }
        column.addVarint(ZigZag.encode(form.base))
        if form.stride > 1 { column.addVarint(form.stride) }
        if form.isSparse { unsafe column.add(parts.bitmap, count: (valueCount + 7) / 8) }
        if plan.isPlanes {
            unsafe writePlanes(parts.work, count, column.end)
            column.skip(8 * count)
        } else {
            let byteCount = (count * plan.width + 7) / 8
            if plan.hasHighs {
                let highBitCount = unsafe writeLowsAndHighs(parts, plan, column.end)
                column.skip(byteCount)
                let highByteCount = (highBitCount + 7) / 8
                column.addVarint(UInt64(highByteCount))
                unsafe column.add(parts.highs, count: highByteCount)
            } else {
                unsafe writeLows(parts.work, count, width: UInt64(plan.width), column.end)
                column.skip(byteCount)
            }
        }
        unsafe output.append(
            contentsOf: UnsafeRawBufferPointer(start: parts.column, count: column.end - parts.column))
        if plan.exceptionCount > 0 { unsafe writeExceptions(parts.work, plan, into: &output) }
    }

    private static func writePlanes(
        _ work: UnsafeMutablePointer<UInt64>, _ count: Int, _ target: UnsafeMutableRawPointer
    ) {
        for plane in 0..<8 {
            let start = unsafe target + plane &* count
            let shift = UInt64(8 &* plane)
            for index in 0..<count {
                let byte = unsafe UInt8(truncatingIfNeeded: work[index] &>> shift)
                unsafe start.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            }
        }
    }

    private static func writeLows(
        _ work: UnsafeMutablePointer<UInt64>, _ count: Int, width: UInt64, _ target: UnsafeMutableRawPointer
    ) {
        guard width > 0 else { return }
        var lows = unsafe BitOutput(target)
        // No value is wider, or there would be highs.
        for index in 0..<count { unsafe lows.add(work[index], width) }
        lows.finish()
    }

    /// Returns how many bits the unary part has.
    private static func writeLowsAndHighs(
        _ parts: Parts, _ plan: Plan, _ target: UnsafeMutableRawPointer
    ) -> Int {
        let work = unsafe parts.work
        let width = UInt64(plan.width)
        let mask = (UInt64(1) &<< width) &- 1
        var lows = unsafe BitOutput(target)
        var highs = unsafe BitOutput(parts.highs)
        if plan.exceptionCount == 0 {
            for index in 0..<plan.storedCount {
                let value = unsafe work[index]
                lows.add(value & mask, width)
                highs.addUnary(value &>> width)
            }
        } else {
            for index in 0..<plan.storedCount {
                let value = unsafe work[index]
                lows.add(value & mask, width)
                let high = value &>> width
                highs.addUnary(high < ColumnFormat.unaryLimit ? high : 0)
            }
        }
        lows.finish()
        highs.finish()
        return unsafe highs.bitCount(from: parts.highs)
    }

    private static func writeExceptions(
        _ work: UnsafeMutablePointer<UInt64>, _ plan: Plan, into output: inout [UInt8]
    ) {
        output.appendVarint(plan.exceptionCount)
        var next = 0
        for index in 0..<plan.storedCount {
            let high = unsafe work[index] &>> UInt64(plan.width)
            guard high >= ColumnFormat.unaryLimit else { continue }
            output.appendVarint(index - next)
            output.appendVarint(high)
            next = index + 1
        }
    }
}

/// Bytes on their way into memory that has room for them.
@safe
private struct ByteOutput {
    private(set) var end: UnsafeMutableRawPointer

    init(_ start: UnsafeMutableRawPointer) { unsafe end = unsafe start }

    @inline(__always)
    mutating func add(_ byte: UInt8) {
        unsafe end.storeBytes(of: byte, as: UInt8.self)
        unsafe end += 1
    }

    mutating func addVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            add(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest &>>= 7
        }
        add(UInt8(truncatingIfNeeded: rest))
    }

    mutating func add(_ source: UnsafeRawPointer, count: Int) {
        unsafe end.copyMemory(from: source, byteCount: count)
        unsafe end += count
    }

    /// Moves over bytes that were written by other means.
    mutating func skip(_ count: Int) { unsafe end += count }
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

    /// Adds as many zeros as `value` says, which is less than 64, and a one.
    ///
    /// Not to be mixed with `add`: the word may be left full.
    @inline(__always)
    mutating func addUnary(_ value: UInt64) {
        filled &+= value
        if filled >= 64 {
            unsafe target.storeBytes(of: bits.littleEndian, as: UInt64.self)
            unsafe target += 8
            filled &-= 64
            bits = 0
        }
        bits |= 1 &<< filled
        filled &+= 1
    }

    func finish() {
        unsafe target.storeBytes(of: bits.littleEndian, as: UInt64.self)
    }

    /// How many bits were added since the memory began at `start`.
    func bitCount(from start: UnsafeMutableRawPointer) -> Int {
        unsafe 8 * (target - start) + Int(truncatingIfNeeded: filled)
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
