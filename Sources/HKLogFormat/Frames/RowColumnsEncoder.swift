/// Writes the rows: shapes, flags, extras, the order of the runs, and a run of columns for each group of
/// shapes.
///
/// See `docs/format.md`, "Rows".
struct RowColumnsEncoder: Sendable {
    private var labels = LabelTableEncoder()
    private var runs = RunTable()
    private var integers: [Int64] = []
    private var permutation: [UInt32] = []
    /// The columns of one run after another: six of them, each with room for the rows of the longest run.
    private var scratch: [Int64] = []

    /// Appends the section.
    ///
    /// Returns how many bytes of labels a reader makes of it.
    mutating func encode(
        _ content: FrameContent, sharing: Bool, _ columns: inout ColumnEncoder, into output: inout [UInt8]
    ) -> Int {
        runs.make(of: content.rows)
        let textByteCount = labels.encode(
            content.rows.shapes, shapeNumbers: runs.shapeNumbers, sharing: sharing, &columns, into: &output)
        encodeFlags(content.rows.flags, &columns, into: &output)
        encodeExtras(content.rows, &columns, into: &output)
        encodeOrder(content, &columns, into: &output)
        encodeRuns(content.rows, &columns, into: &output)
        return textByteCount
    }

    private mutating func encodeFlags(
        _ flags: [UInt8], _ columns: inout ColumnEncoder, into output: inout [UInt8]
    ) {
        guard let first = flags.first else { return }
        var difference: UInt8 = 0
        for value in flags { difference |= value ^ first }
        if difference == 0 { return ColumnEncoder.appendConstant(Int64(first), to: &output) }
        integers.removeAll(keepingCapacity: true)
        for value in flags { integers.append(Int64(value)) }
        columns.encode(integers, count: flags.count, into: &output)
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

    /// Writes how the runs' rows are mixed, and finds the rows of each run.
    private mutating func encodeOrder(
        _ content: FrameContent, _ columns: inout ColumnEncoder, into output: inout [UInt8]
    ) {
        output.appendVarint(runs.count)
        guard runs.count > 1 else { return }
        if runs.areConcatenated {
            output.append(RowOrder.concatenated.rawValue)
            return
        }
        let count = content.rows.count
        integers.resize(to: max(integers.count, count), filler: 0)
        permutation.resize(to: max(permutation.count, count), filler: 0)
        unsafe integers.withUnsafeMutableBufferPointer { order in
            unsafe permutation.withUnsafeMutableBufferPointer { permutation in
                unsafe runs.list(content.rows, order, permutation)
            }
        }
        if let runOfStream = runsByStream(content) {
            output.append(RowOrder.byStream.rawValue)
            columns.encode(runOfStream, count: runOfStream.count, into: &output)
        } else {
            output.append(RowOrder.column.rawValue)
            // Every run has rows, and the first is the longest.
            let survey = ColumnEncoder.Survey(
                minimum: 0, maximum: Int64(runs.count - 1), zeroCount: runs.rowCount(of: 0), leastNonzero: 1)
            unsafe integers.withUnsafeBufferPointerOfFirst(count) { order in
                unsafe columns.encode(order, survey, into: &output)
            }
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

    private mutating func encodeRuns(
        _ rows: RowColumns, _ columns: inout ColumnEncoder, into output: inout [UInt8]
    ) {
        // Taken out, so that the columns may be read while other parts of this are written to.
        var runs = RunTable()
        swap(&runs, &self.runs)
        defer { swap(&runs, &self.runs) }
        let room = runs.longest
        scratch.resize(to: max(scratch.count, RunColumns.columnCount * room), filler: 0)
        unsafe scratch.withUnsafeMutableBufferPointer { scratch in
            unsafe permutation.withUnsafeBufferPointer { permutation in
                unsafe rows.withUnsafeColumns { rows in
                    let isMixed = runs.count > 1 && !runs.areConcatenated
                    var run = unsafe RunColumns(
                        scratch, room: room, permutation: isMixed ? permutation.baseAddress : nil)
                    for index in 0..<runs.count {
                        unsafe run.encode(runs, index, rows, &columns, into: &output)
                    }
                }
            }
        }
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
