/// Writes the rows: shapes, flags, extras, the order of the runs, and a run of columns for each group of
/// shapes.
///
/// See `docs/format.md`, "Rows".
struct RowColumnsEncoder: Sendable {
    private var labels = LabelTableEncoder()
    private var integers: [Int64] = []
    /// For each shape its number in the frame, or -1 where no row has it.
    private var shapeNumbers: [Int32] = []
    /// How many rows each shape has.
    private var shapeCounts: [Int] = []
    /// The run of each shape.
    private var shapeRuns: [Int32] = []
    /// The place of each shape in its run's list.
    private var shapePlaces: [Int64] = []
    private var runs: [Run] = []
    private var isConcatenated = false
    private var permutation: [UInt32] = []
    private var starts: [Int64] = []
    private var durations: [Int64] = []
    private var values: [Int64] = []
    private var deltas: [Int64] = []
    private var gaps: [Int64] = []

    private struct Run {
        var shapes: [UInt32] = []
        var count = 0
        var firstRow = 0
        var next = 0
    }

    /// Appends the section.
    ///
    /// Returns how many bytes of labels a reader makes of it.
    mutating func encode(
        _ content: FrameContent, sharing: Bool, _ columns: inout ColumnEncoder, into output: inout [UInt8]
    ) -> Int {
        let rows = content.rows
        countShapes(rows)
        let textByteCount = labels.encode(
            rows.shapes, shapeNumbers: shapeNumbers, sharing: sharing, &columns, into: &output)
        integers.removeAll(keepingCapacity: true)
        for flags in rows.flags { integers.append(Int64(flags)) }
        columns.encode(integers, count: rows.count, into: &output)
        encodeExtras(rows, &columns, into: &output)
        makeRuns(rows)
        encodeOrder(content, &columns, into: &output)
        resizeScratch(rows.count)
        var reference: Int64 = 0
        for index in runs.indices {
            encodeRun(runs[index], rows, reference: &reference, &columns, into: &output)
        }
        return textByteCount
    }

    private mutating func countShapes(_ rows: RowColumns) {
        let count = rows.shapes.count
        shapeCounts.removeAll(keepingCapacity: true)
        shapeCounts.append(contentsOf: repeatElement(0, count: count))
        unsafe shapeCounts.withUnsafeMutableBufferPointer { counts in
            // Sound: `ContentCheck` has compared every id with the count.
            for id in rows.shapeIDs { unsafe counts[Int(id)] &+= 1 }
        }
        shapeNumbers.removeAll(keepingCapacity: true)
        var next: Int32 = 0
        for count in shapeCounts {
            shapeNumbers.append(count > 0 ? next : -1)
            next += count > 0 ? 1 : 0
        }
    }

    private mutating func encodeExtras(
        _ rows: RowColumns, _ columns: inout ColumnEncoder, into output: inout [UInt8]
    ) {
        var numbers = [Int64](repeating: 0, count: rows.extraIDs.isEmpty ? 0 : rows.extras.count + 1)
        var isUsed = false
        for id in rows.extraIDs where id != 0 {
            numbers[Int(id)] = 1
            isUsed = true
        }
        guard isUsed else {
            output.append(0)
            return
        }
        var used: [RowExtra] = []
        for (index, extra) in rows.extras.enumerated() where numbers[index + 1] != 0 {
            used.append(extra)
            numbers[index + 1] = Int64(used.count)
        }
        output.appendVarint(used.count)
        integers.removeAll(keepingCapacity: true)
        var newest: Int64 = 0
        for id in rows.extraIDs {
            let number = numbers[Int(id)]
            integers.append(
                number == 0 ? 0 : 1 + Int64(bitPattern: ZigZag.encode(newest + 1 - number)))
            newest = max(newest, number)
        }
        columns.encode(integers, count: rows.count, into: &output)
        encodeField(used, &columns, into: &output) { Int64(bitPattern: $0.count) }
        encodeField(used, &columns, into: &output) { Int64($0.metadataByteCount) }
        encodeField(used, &columns, into: &output) { Int64($0.payloadByteCount) }
        // They mostly stand as they came, one after the other: one copy for as many as do.
        var together = 0..<0
        for extra in used {
            let end = extra.byteOffset + extra.metadataByteCount + extra.payloadByteCount
            if extra.byteOffset == together.upperBound {
                together = together.lowerBound..<end
            } else {
                output.append(contentsOf: rows.extraBytes[together])
                together = extra.byteOffset..<end
            }
        }
        output.append(contentsOf: rows.extraBytes[together])
    }

    private mutating func encodeField(
        _ extras: [RowExtra], _ columns: inout ColumnEncoder, into output: inout [UInt8],
        _ field: (RowExtra) -> Int64
    ) {
        integers.removeAll(keepingCapacity: true)
        for extra in extras { integers.append(field(extra)) }
        columns.encode(integers, count: extras.count, into: &output)
    }

    /// Makes a run of each group (and kind of value), the longest first: a small number in the order column.
    private mutating func makeRuns(_ rows: RowColumns) {
        runs.removeAll(keepingCapacity: true)
        shapeRuns.removeAll(keepingCapacity: true)
        shapePlaces.removeAll(keepingCapacity: true)
        shapePlaces.append(contentsOf: repeatElement(0, count: rows.shapes.count))
        var runOfGroup: [UInt64: Int] = [:]
        for (shape, entry) in rows.shapes.enumerated() {
            guard shapeCounts[shape] > 0 else {
                shapeRuns.append(0)
                continue
            }
            let key = UInt64(entry.group) << 8 | UInt64(entry.valueKind.rawValue)
            let run = runOfGroup[key] ?? runs.count
            if run == runs.count {
                runs.append(Run())
                runOfGroup[key] = run
            }
            runs[run].shapes.append(UInt32(shape))
            runs[run].count += shapeCounts[shape]
            shapeRuns.append(Int32(run))
        }
        isConcatenated = findOrder(rows)
        // Ties keep the order of the shapes, so that equal content gives equal bytes.
        let order =
            isConcatenated
            ? runs.indices.sorted { runs[$0].firstRow < runs[$1].firstRow }
            : runs.indices.sorted { (runs[$0].count, $1) > (runs[$1].count, $0) }
        var rank = [Int32](repeating: 0, count: runs.count)
        for (place, run) in order.enumerated() { rank[run] = Int32(place) }
        runs = order.map { runs[$0] }
        for shape in shapeRuns.indices where shapeCounts[shape] > 0 {
            shapeRuns[shape] = rank[Int(shapeRuns[shape])]
        }
        var firstRow = 0
        for run in runs.indices {
            runs[run].shapes.sort { (shapeCounts[Int($0)], $1) > (shapeCounts[Int($1)], $0) }
            for (place, shape) in runs[run].shapes.enumerated() { shapePlaces[Int(shape)] = Int64(place) }
            runs[run].firstRow = firstRow
            runs[run].next = firstRow
            firstRow += runs[run].count
        }
    }

    /// Whether each run's rows stand together.
    ///
    /// Then `firstRow` of each run says where.
    private mutating func findOrder(_ rows: RowColumns) -> Bool {
        guard runs.count > 1 else { return true }
        var last: Int32 = -1
        var changeCount = 0
        for (row, shape) in rows.shapeIDs.enumerated() {
            let run = shapeRuns[Int(shape)]
            if run == last { continue }
            runs[Int(run)].firstRow = row
            last = run
            changeCount += 1
            if changeCount > runs.count { return false }
        }
        return changeCount == runs.count
    }

    /// Writes how the runs' rows are mixed, and finds the rows of each run.
    private mutating func encodeOrder(
        _ content: FrameContent, _ columns: inout ColumnEncoder, into output: inout [UInt8]
    ) {
        let rows = content.rows
        output.appendVarint(runs.count)
        guard runs.count > 1 else { return }
        let count = rows.count
        if integers.count < count {
            integers.append(contentsOf: repeatElement(0, count: count - integers.count))
        }
        if permutation.count < count {
            permutation.append(contentsOf: repeatElement(0, count: count - permutation.count))
        }
        unsafe integers.withUnsafeMutableBufferPointer { order in
            unsafe permutation.withUnsafeMutableBufferPointer { permutation in
                unsafe shapeRuns.withUnsafeBufferPointer { shapeRuns in
                    var nexts = runs.map(\.firstRow)
                    unsafe nexts.withUnsafeMutableBufferPointer { nexts in
                        for row in 0..<count {
                            // Sound: ids are checked, and each run has room for as many rows as were counted.
                            let run = unsafe shapeRuns[Int(rows.shapeIDs[row])]
                            unsafe order[row] = Int64(run)
                            let next = unsafe nexts[Int(run)]
                            unsafe permutation[next] = UInt32(truncatingIfNeeded: row)
                            unsafe nexts[Int(run)] = next &+ 1
                        }
                    }
                }
            }
        }
        if isConcatenated {
            output.append(RowOrder.concatenated.rawValue)
        } else if let runOfStream = runsByStream(content) {
            output.append(RowOrder.byStream.rawValue)
            columns.encode(runOfStream, count: runOfStream.count, into: &output)
        } else {
            output.append(RowOrder.column.rawValue)
            columns.encode(integers, count: count, into: &output)
        }
    }

    /// The run of each stream, where each stream's rows are all of one run.
    ///
    /// Streams are numbered as they come.
    private func runsByStream(_ content: FrameContent) -> [Int64]? {
        guard content.batches.count > 1 else { return nil }
        var ids: [[UInt8]: Int] = [:]
        var runOfStream: [Int64] = []
        var row = 0
        var lastName: [UInt8] = []
        var lastID = -1
        for batch in content.batches {
            if lastID < 0 || batch.stream != lastName {
                lastName = batch.stream
                lastID = ids[lastName] ?? runOfStream.count
                if lastID == runOfStream.count {
                    ids[lastName] = lastID
                    runOfStream.append(-1)
                }
            }
            for _ in 0..<batch.addedCount {
                let run = integers[row]
                if runOfStream[lastID] < 0 { runOfStream[lastID] = run }
                guard runOfStream[lastID] == run else { return nil }
                row += 1
            }
        }
        return runOfStream.map { max(0, $0) }
    }

    private mutating func resizeScratch(_ count: Int) {
        guard starts.count < count else { return }
        starts = [Int64](repeating: 0, count: count)
        durations = starts
        values = starts
        deltas = starts
        gaps = starts
    }

    private mutating func encodeRun(
        _ run: Run, _ rows: RowColumns, reference: inout Int64, _ columns: inout ColumnEncoder,
        into output: inout [UInt8]
    ) {
        let count = run.count
        gather(run, rows)
        output.appendVarint(count)
        var hasDurations = false
        unsafe durations.withUnsafeBufferPointer { durations in
            var bits: Int64 = 0
            for index in 0..<count { unsafe bits |= durations[index] }
            hasDurations = bits != 0
        }
        makeDeltas(count, hasDurations: hasDurations)
        let (startChoice, usesGaps) = chooseStarts(count - 1, hasDurations: hasDurations, columns)
        let (encoding, areScaled) = chooseValues(count, isDouble: isDouble(run, rows))
        var control = encoding << RunControl.valueShift
        if run.shapes.count > 1 { control |= RunControl.hasShapes }
        if hasDurations { control |= RunControl.hasDurations }
        if usesGaps { control |= RunControl.startsFollowEnds }
        output.append(control)
        encodeShapes(run, rows, &columns, into: &output)
        if hasDurations { columns.encode(durations, count: count, into: &output) }
        output.appendSigned(starts[0] &- reference)
        reference = starts[0]
        if let startChoice {
            unsafe (usesGaps ? gaps : deltas).withUnsafeBufferPointerOfFirst(count - 1) { starts in
                unsafe columns.encode(starts, startChoice, into: &output)
            }
        }
        if encoding != RunControl.valuesAreZero {
            columns.encode(areScaled ? scaled : values, count: count, into: &output)
        }
    }

    /// Copies a run's rows together.
    private mutating func gather(_ run: Run, _ rows: RowColumns) {
        let isWhole = runs.count == 1
        let (count, firstRow) = (run.count, run.firstRow)
        // Sound: the scratch has room for all rows, and the permutation holds each row once.
        unsafe rows.starts.withUnsafeBufferPointer { from in
            unsafe starts.withUnsafeMutableBufferPointer { to in
                if isWhole {
                    for index in 0..<count { unsafe to[index] = from[index] }
                } else {
                    unsafe permutation.withUnsafeBufferPointer { permutation in
                        for index in 0..<count {
                            unsafe to[index] = from[Int(permutation[firstRow &+ index])]
                        }
                    }
                }
            }
        }
        unsafe rows.durations.withUnsafeBufferPointer { from in
            unsafe durations.withUnsafeMutableBufferPointer { to in
                if isWhole {
                    for index in 0..<count { unsafe to[index] = from[index] }
                } else {
                    unsafe permutation.withUnsafeBufferPointer { permutation in
                        for index in 0..<count {
                            unsafe to[index] = from[Int(permutation[firstRow &+ index])]
                        }
                    }
                }
            }
        }
        unsafe rows.values.withUnsafeBufferPointer { from in
            unsafe values.withUnsafeMutableBufferPointer { to in
                if isWhole {
                    for index in 0..<count { unsafe to[index] = Int64(bitPattern: from[index]) }
                } else {
                    unsafe permutation.withUnsafeBufferPointer { permutation in
                        for index in 0..<count {
                            unsafe to[index] = Int64(bitPattern: from[Int(permutation[firstRow &+ index])])
                        }
                    }
                }
            }
        }
    }

    /// Fills `deltas` (start after start) and, where there are durations, `gaps` (start after end).
    private mutating func makeDeltas(_ count: Int, hasDurations: Bool) {
        unsafe starts.withUnsafeBufferPointer { starts in
            unsafe deltas.withUnsafeMutableBufferPointer { deltas in
                for index in 1..<max(1, count) {
                    unsafe deltas[index &- 1] = starts[index] &- starts[index &- 1]
                }
                guard hasDurations else { return }
                unsafe durations.withUnsafeBufferPointer { durations in
                    unsafe gaps.withUnsafeMutableBufferPointer { gaps in
                        for index in 1..<max(1, count) {
                            unsafe gaps[index &- 1] = deltas[index &- 1] &- durations[index &- 1]
                        }
                    }
                }
            }
        }
    }

    /// How the starts are written: after the start before, or after its end, whichever is smaller.
    private func chooseStarts(
        _ count: Int, hasDurations: Bool, _ columns: ColumnEncoder
    ) -> (choice: ColumnEncoder.Choice?, usesGaps: Bool) {
        guard count > 0 else { return (nil, false) }
        let byStart = unsafe deltas.withUnsafeBufferPointerOfFirst(count) { deltas in
            unsafe columns.choose(deltas, isMeasured: hasDurations)
        }
        guard hasDurations else { return (byStart, false) }
        let byEnd = unsafe gaps.withUnsafeBufferPointerOfFirst(count) { gaps in
            unsafe columns.choose(gaps, isMeasured: true)
        }
        return byEnd.bitCount < byStart.bitCount ? (byEnd, true) : (byStart, false)
    }

    private func isDouble(_ run: Run, _ rows: RowColumns) -> Bool {
        run.shapes.first.map { rows.shapes[Int($0)].valueKind == .double } ?? false
    }

    /// How the values are written.
    ///
    /// The scaled ones are left in `scaled`.
    private mutating func chooseValues(_ count: Int, isDouble: Bool) -> (encoding: UInt8, areScaled: Bool) {
        var bits: Int64 = 0
        unsafe values.withUnsafeBufferPointer { values in
            for index in 0..<count { unsafe bits |= values[index] }
        }
        if bits == 0 { return (RunControl.valuesAreZero, false) }
        guard isDouble else { return (RunControl.valuesAreBits, false) }
        if scaled.count < count { scaled = [Int64](repeating: 0, count: starts.count) }
        let scale = unsafe values.withUnsafeBufferPointer { values in
            unsafe scaled.withUnsafeMutableBufferPointer { scaled in
                unsafe DecimalScale.scale(
                    UnsafeBufferPointer(rebasing: values[0..<count]),
                    into: UnsafeMutableBufferPointer(rebasing: scaled[0..<count]))
            }
        }
        guard let scale else { return (RunControl.valuesAreBits, false) }
        return (RunControl.valuesAreDecimals + UInt8(scale), true)
    }

    private var scaled: [Int64] = []

    private mutating func encodeShapes(
        _ run: Run, _ rows: RowColumns, _ columns: inout ColumnEncoder, into output: inout [UInt8]
    ) {
        if run.shapes.count > 1 { output.appendVarint(run.shapes.count) }
        for shape in run.shapes { output.appendVarint(UInt64(shapeNumbers[Int(shape)])) }
        guard run.shapes.count > 1 else { return }
        let isWhole = runs.count == 1
        if integers.count < run.count {
            integers.append(contentsOf: repeatElement(0, count: run.count - integers.count))
        }
        unsafe integers.withUnsafeMutableBufferPointer { places in
            unsafe shapePlaces.withUnsafeBufferPointer { shapePlaces in
                unsafe rows.shapeIDs.withUnsafeBufferPointer { shapeIDs in
                    for index in 0..<run.count {
                        let row = isWhole ? index : Int(permutation[run.firstRow &+ index])
                        unsafe places[index] = shapePlaces[Int(shapeIDs[row])]
                    }
                }
            }
        }
        columns.encode(integers, count: run.count, into: &output)
    }
}

/// How the rows of several runs are mixed in the frame.
enum RowOrder: UInt8 {
    /// One run after the other.
    case concatenated = 0
    /// A column holds the run of each row.
    case column = 1
    /// A column holds the run of each stream; all rows of a stream's batches are of its run.
    case byStream = 2
}

/// The byte at the front of a run, after its count.
enum RunControl {
    /// There is a list of shapes and a column that picks from it.
    static let hasShapes: UInt8 = 1 << 0
    /// There is a column of durations; else all are 0.
    static let hasDurations: UInt8 = 1 << 1
    /// Starts are differences to the end before, not to the start before.
    static let startsFollowEnds: UInt8 = 1 << 2
    /// Must be zero.
    static let reserved: UInt8 = 1 << 3
    /// The upper four bits say how values are stored.
    static let valueShift: UInt8 = 4
    static let valuesAreZero: UInt8 = 0
    static let valuesAreBits: UInt8 = 1
    /// This and the next nine: decimals of scale 0 to 9.
    static let valuesAreDecimals: UInt8 = 2
}
