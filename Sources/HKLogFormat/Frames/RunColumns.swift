/// The columns of one run on their way from the rows to the frame.
///
/// Sound: made and used within the closure that lends the memory.
@safe
struct RunColumns {
    static let columnCount = 6

    private let starts: UnsafeMutablePointer<Int64>
    private let gaps: UnsafeMutablePointer<Int64>
    private let durations: UnsafeMutablePointer<Int64>
    private let values: UnsafeMutablePointer<Int64>
    private let scaled: UnsafeMutablePointer<Int64>
    private let places: UnsafeMutablePointer<Int64>
    /// The rows run by run; nil where they stand so in the frame.
    private let permutation: UnsafePointer<UInt32>?
    /// The start of the run before.
    private var reference: Int64 = 0

    /// `scratch` has room for `columnCount` columns of `room` rows.
    init(
        _ scratch: UnsafeMutableBufferPointer<Int64>, room: Int, permutation: UnsafePointer<UInt32>?
    ) {
        func column(_ index: Int) -> UnsafeMutablePointer<Int64> {
            unsafe UnsafeMutableBufferPointer(rebasing: scratch[index * room..<(index + 1) * room])
                .baseAddress.unsafelyUnwrapped
        }
        unsafe starts = column(0)
        unsafe gaps = column(1)
        unsafe durations = column(2)
        unsafe values = column(3)
        unsafe scaled = column(4)
        unsafe places = column(5)
        unsafe self.permutation = unsafe permutation
    }

    /// What one pass over the rows of a run finds.
    private struct Survey {
        var firstStart: Int64 = 0
        /// Start after start.
        var starts = ColumnEncoder.Survey(minimum: .max, maximum: .min)
        var durations = ColumnEncoder.Survey(minimum: .max, maximum: .min)
        /// All bits that any value has.
        var valueBits: Int64 = 0

        var hasDurations: Bool { durations.minimum != 0 || durations.maximum != 0 }
    }

    /// Appends a run.
    mutating func encode(
        _ runs: RunTable, _ run: Int, _ rows: UnsafeRowColumns, _ columns: inout ColumnEncoder,
        into output: inout [UInt8]
    ) {
        let (count, firstRow) = (runs.rowCount(of: run), runs.firstRow(of: run))
        let shapes = runs.shapes(of: run)
        let survey: Survey
        if let permutation = unsafe permutation {
            survey = unsafe gather(count, rows) { unsafe Int(permutation[firstRow &+ $0]) }
        } else {
            survey = unsafe gather(count, rows) { firstRow &+ $0 }
        }
        output.appendVarint(count)
        let (startChoice, usesGaps) = chooseStarts(count - 1, survey, columns)
        let isDouble = shapes.first.map { unsafe rows.shapes[Int($0)].valueKind == .double } ?? false
        let (encoding, areScaled) = chooseValues(count, survey.valueBits, isDouble: isDouble)
        var control = encoding << RunControl.valueShift
        if shapes.count > 1 { control |= RunControl.hasShapes }
        if survey.hasDurations { control |= RunControl.hasDurations }
        if usesGaps { control |= RunControl.startsFollowEnds }
        output.append(control)
        if shapes.count > 1 { output.appendVarint(shapes.count) }
        for shape in shapes { output.appendVarint(UInt64(runs.shapeNumbers[Int(shape)])) }
        if shapes.count > 1 {
            unsafe encodePlaces(runs, run, rows.shapeIDs, &columns, into: &output)
        }
        if survey.hasDurations {
            unsafe columns.encode(
                UnsafeBufferPointer(start: durations, count: count), survey.durations, into: &output)
        }
        output.appendSigned(survey.firstStart &- reference)
        reference = survey.firstStart
        if let startChoice {
            unsafe columns.encode(
                UnsafeBufferPointer(start: usesGaps ? gaps : starts, count: count - 1), startChoice,
                into: &output)
        }
        if encoding != RunControl.valuesAreZero {
            unsafe columns.encode(
                UnsafeBufferPointer(start: areScaled ? scaled : values, count: count), into: &output)
        }
    }

    /// Copies a run's rows together, the starts as differences.
    @inline(__always)
    private func gather(
        _ count: Int, _ rows: UnsafeRowColumns, _ row: (Int) -> Int
    ) -> Survey {
        var survey = Survey()
        let first = row(0)
        var last = unsafe rows.starts[first]
        survey.firstStart = last
        var (least, greatest) = (Int64.max, Int64.min)
        var (shortest, longest) = (Int64.max, Int64.min)
        var valueBits: Int64 = 0
        for index in 0..<count {
            // Sound: the scratch has room for the longest run, and the permutation holds each row once.
            let row = row(index)
            let start = unsafe rows.starts[row]
            let duration = unsafe rows.durations[row]
            let value = unsafe Int64(bitPattern: rows.values[row])
            unsafe durations[index] = duration
            unsafe values[index] = value
            shortest = min(shortest, duration)
            longest = max(longest, duration)
            valueBits |= value
            if index > 0 {
                let difference = start &- last
                unsafe starts[index &- 1] = difference
                least = min(least, difference)
                greatest = max(greatest, difference)
            }
            last = start
        }
        survey.starts = ColumnEncoder.Survey(minimum: least, maximum: greatest)
        survey.durations = ColumnEncoder.Survey(minimum: shortest, maximum: longest)
        survey.valueBits = valueBits
        return survey
    }

    /// How the starts are written: after the start before, or after its end, whichever is smaller.
    private func chooseStarts(
        _ count: Int, _ survey: Survey, _ columns: ColumnEncoder
    ) -> (choice: ColumnEncoder.Choice?, usesGaps: Bool) {
        guard count > 0 else { return (nil, false) }
        let byStart = unsafe columns.choose(
            UnsafeBufferPointer(start: starts, count: count), survey.starts,
            isMeasured: survey.hasDurations)
        guard survey.hasDurations else { return (byStart, false) }
        var (least, greatest) = (Int64.max, Int64.min)
        for index in 0..<count {
            let gap = unsafe starts[index] &- durations[index]
            unsafe gaps[index] = gap
            least = min(least, gap)
            greatest = max(greatest, gap)
        }
        let byEnd = unsafe columns.choose(
            UnsafeBufferPointer(start: gaps, count: count),
            ColumnEncoder.Survey(minimum: least, maximum: greatest), isMeasured: true)
        return byEnd.bitCount < byStart.bitCount ? (byEnd, true) : (byStart, false)
    }

    /// How the values are written.
    ///
    /// The scaled ones are left in `scaled`.
    private func chooseValues(
        _ count: Int, _ bits: Int64, isDouble: Bool
    ) -> (encoding: UInt8, areScaled: Bool) {
        if bits == 0 { return (RunControl.valuesAreZero, false) }
        guard isDouble else { return (RunControl.valuesAreBits, false) }
        let scale = unsafe DecimalScale.scale(
            UnsafeBufferPointer(start: values, count: count),
            into: UnsafeMutableBufferPointer(start: scaled, count: count))
        guard let scale else { return (RunControl.valuesAreBits, false) }
        return (RunControl.valuesAreDecimals + UInt8(scale), true)
    }

    /// Writes which of the run's shapes each row has.
    private func encodePlaces(
        _ runs: RunTable, _ run: Int, _ shapeIDs: UnsafePointer<UInt32>, _ columns: inout ColumnEncoder,
        into output: inout [UInt8]
    ) {
        let (count, firstRow) = (runs.rowCount(of: run), runs.firstRow(of: run))
        unsafe runs.withPlaces { placeOfShape in
            if let permutation = unsafe permutation {
                for index in 0..<count {
                    let row = unsafe Int(permutation[firstRow &+ index])
                    unsafe places[index] = placeOfShape[Int(shapeIDs[row])]
                }
            } else {
                for index in 0..<count {
                    unsafe places[index] = placeOfShape[Int(shapeIDs[firstRow &+ index])]
                }
            }
        }
        // Every shape has rows, and the first has the most.
        let shapes = runs.shapes(of: run)
        let survey = ColumnEncoder.Survey(
            minimum: 0, maximum: Int64(shapes.count - 1),
            zeroCount: shapes.first.map { runs.rowCount(ofShape: $0) }, leastNonzero: 1)
        unsafe columns.encode(
            UnsafeBufferPointer(start: places, count: count), survey, into: &output)
    }
}

/// The columns of rows as plain memory.
@unsafe
struct UnsafeRowColumns {
    let starts: UnsafePointer<Int64>
    let durations: UnsafePointer<Int64>
    let values: UnsafePointer<UInt64>
    let shapeIDs: UnsafePointer<UInt32>
    let shapes: UnsafePointer<RowShape>
}

extension RowColumns {
    /// Lends the columns.
    @unsafe
    func withUnsafeColumns(_ body: (UnsafeRowColumns) -> Void) {
        unsafe starts.withUnsafeBufferPointer { starts in
            unsafe durations.withUnsafeBufferPointer { durations in
                unsafe values.withUnsafeBufferPointer { values in
                    unsafe shapeIDs.withUnsafeBufferPointer { shapeIDs in
                        unsafe shapes.withUnsafeBufferPointer { shapes in
                            guard let starts = starts.baseAddress, let durations = durations.baseAddress,
                                let values = values.baseAddress, let shapeIDs = shapeIDs.baseAddress,
                                let shapes = shapes.baseAddress
                            else { return }
                            unsafe body(
                                UnsafeRowColumns(
                                    starts: starts, durations: durations, values: values,
                                    shapeIDs: shapeIDs, shapes: shapes))
                        }
                    }
                }
            }
        }
    }
}
