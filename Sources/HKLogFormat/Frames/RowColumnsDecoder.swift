/// Reads what `RowColumnsEncoder` wrote.
struct RowColumnsDecoder: Sendable {
    private var labels = LabelTableDecoder()
    private var column: [Int64] = []
    private var starts: [Int64] = []
    private var durations: [Int64] = []
    private var values: [Int64] = []
    private var order: [Int64] = []
    private var permutation: [UInt32] = []
    private var runStarts: [Int] = []
    private var runShapes: [UInt32] = []
    /// Whether the runs stand one after the other in the frame.
    private var isConcatenated = false

    /// Fills everything but the uuids, which the caller has copied.
    mutating func decode(
        _ reader: inout ByteReader, _ batches: [BatchEntry], _ streams: BatchColumnsDecoder, rowCount: Int,
        _ budget: inout TextBudget, into rows: inout RowColumns
    ) throws(CodecError) {
        rows.starts.resize(to: rowCount, filler: 0)
        rows.durations.resize(to: rowCount, filler: 0)
        rows.values.resize(to: rowCount, filler: 0)
        rows.shapeIDs.resize(to: rowCount, filler: 0)
        rows.flags.resize(to: rowCount, filler: 0)
        rows.extraIDs.removeAll(keepingCapacity: true)
        rows.extras.removeAll(keepingCapacity: true)
        rows.extraBytes.removeAll(keepingCapacity: true)
        guard rowCount > 0 else {
            rows.shapes.removeAll(keepingCapacity: true)
            return
        }
        try labels.decode(&reader, rowCount: rowCount, &budget, into: &rows.shapes)
        try readFlags(&reader, rowCount, into: &rows.flags)
        try readExtras(&reader, rowCount, into: &rows)
        let runCount = try reader.readCount(upTo: rowCount)
        guard runCount > 0 else { throw .malformed }
        if runCount > 1 { try readOrder(&reader, batches, streams, runCount: runCount, rowCount: rowCount) }
        var (firstRow, reference) = (0, Int64(0))
        for run in 0..<runCount {
            let count = try reader.readCount(upTo: rowCount - firstRow)
            // Where runs stand one after the other, their own counts are all there is.
            let isMixed = runCount > 1 && !isConcatenated
            guard count > 0, !isMixed || count == runStarts[run + 1] - runStarts[run] else {
                throw .malformed
            }
            try readRun(&reader, firstRow, count, isMixed: isMixed, &reference, into: &rows)
            firstRow += count
        }
        guard firstRow == rowCount else { throw .malformed }
    }

    private mutating func readFlags(
        _ reader: inout ByteReader, _ count: Int, into flags: inout [UInt8]
    ) throws(CodecError) {
        try reader.readColumn(count, into: &column)
        var bits: Int64 = 0
        let from = column.span
        var to = flags.mutableSpan
        for index in 0..<count {
            bits |= from[index]
            to[index] = UInt8(truncatingIfNeeded: from[index])
        }
        guard bits >= 0, bits <= 0xFF else { throw .malformed }
    }

    private mutating func readExtras(
        _ reader: inout ByteReader, _ rowCount: Int, into rows: inout RowColumns
    ) throws(CodecError) {
        let count = try reader.readCount(upTo: rowCount)
        guard count > 0 else { return }
        try reader.readColumn(rowCount, into: &column)
        rows.extraIDs.resize(to: rowCount, filler: 0)
        var newest: Int64 = 0
        for row in 0..<rowCount where column[row] != 0 {
            let (number, overflow) = (newest + 1).subtractingReportingOverflow(
                ZigZag.decode(UInt64(bitPattern: column[row] &- 1)))
            guard !overflow, number >= 1, number <= count else { throw .malformed }
            rows.extraIDs[row] = UInt32(number)
            newest = max(newest, number)
        }
        try reader.readColumn(count, into: &column)
        rows.extras.reserveCapacity(count)
        for index in 0..<count {
            rows.extras.append(
                RowExtra(
                    count: UInt64(bitPattern: column[index]), byteOffset: 0, metadataByteCount: 0,
                    payloadByteCount: 0))
        }
        try reader.readColumn(count, into: &column)
        try reader.readColumn(count, into: &values)
        var byteOffset = 0
        let limit = Int64(reader.remaining)
        for index in 0..<count {
            guard column[index] >= 0, column[index] <= limit, values[index] >= 0, values[index] <= limit
            else {
                throw .malformed
            }
            rows.extras[index].byteOffset = byteOffset
            rows.extras[index].metadataByteCount = Int(column[index])
            rows.extras[index].payloadByteCount = Int(values[index])
            byteOffset += Int(column[index] + values[index])
            guard byteOffset <= reader.remaining else { throw .malformed }
        }
        let bytes = try unsafe reader.take(byteOffset)
        unsafe rows.extraBytes.append(
            contentsOf: UnsafeRawBufferPointer(start: bytes, count: byteOffset))
    }

    /// Finds where each run's rows stand in the frame: `permutation` lists the rows run by run.
    private mutating func readOrder(
        _ reader: inout ByteReader, _ batches: [BatchEntry], _ streams: BatchColumnsDecoder, runCount: Int,
        rowCount: Int
    ) throws(CodecError) {
        guard let kind = RowOrder(rawValue: try reader.readByte()) else { throw .malformed }
        isConcatenated = kind == .concatenated
        switch kind {
        case .concatenated: return
        case .column: try reader.readColumn(rowCount, into: &order)
        case .byStream:
            try reader.readColumn(streams.streamCount, into: &column)
            if order.count < rowCount { order.resize(to: rowCount, filler: 0) }
            var row = 0
            for (index, batch) in batches.enumerated() {
                let run = column[Int(streams.streams[index])]
                for _ in 0..<batch.addedCount {
                    order[row] = run
                    row += 1
                }
            }
        }
        runStarts.removeAll(keepingCapacity: true)
        runStarts.append(contentsOf: repeatElement(0, count: runCount + 1))
        let areRuns = unsafe order.withUnsafeBufferPointer { order in
            unsafe runStarts.withUnsafeMutableBufferPointer { runStarts in
                var greatest: UInt64 = 0
                for row in 0..<rowCount { greatest = max(greatest, unsafe UInt64(bitPattern: order[row])) }
                guard greatest < UInt64(runCount) else { return false }
                // Sound: no run is greater than the last.
                for row in 0..<rowCount { unsafe runStarts[Int(order[row]) &+ 1] &+= 1 }
                return true
            }
        }
        guard areRuns else { throw .malformed }
        for run in 0..<runCount { runStarts[run + 1] += runStarts[run] }
        if permutation.count < rowCount { permutation.resize(to: rowCount, filler: 0) }
        var nexts = runStarts
        unsafe nexts.withUnsafeMutableBufferPointer { nexts in
            unsafe permutation.withUnsafeMutableBufferPointer { permutation in
                unsafe order.withUnsafeBufferPointer { order in
                    for row in 0..<rowCount {
                        // Sound: the loop above has checked each run, and counted room for its rows.
                        let run = unsafe Int(order[row])
                        let place = unsafe nexts[run]
                        unsafe permutation[place] = UInt32(truncatingIfNeeded: row)
                        unsafe nexts[run] = place &+ 1
                    }
                }
            }
        }
    }

    private mutating func readRun(
        _ reader: inout ByteReader, _ firstRow: Int, _ count: Int, isMixed: Bool, _ reference: inout Int64,
        into rows: inout RowColumns
    ) throws(CodecError) {
        let control = try reader.readByte()
        guard control & RunControl.reserved == 0 else { throw .malformed }
        try readShapes(&reader, firstRow, count, control, isMixed: isMixed, into: &rows)
        let hasDurations = control & RunControl.hasDurations != 0
        let followsEnds = control & RunControl.startsFollowEnds != 0
        guard hasDurations || !followsEnds else { throw .malformed }
        if hasDurations {
            try reader.readColumn(count, into: &durations)
            place(durations, firstRow, count, isMixed: isMixed, into: &rows.durations)
        } else {
            fill(0, firstRow, count, isMixed: isMixed, into: &rows.durations)
        }
        reference &+= try reader.readSigned()
        try reader.readColumn(count - 1, into: &starts)
        if starts.count < count { starts.resize(to: count, filler: 0) }
        sumStarts(count, from: reference, followsEnds: followsEnds)
        place(starts, firstRow, count, isMixed: isMixed, into: &rows.starts)
        try readValues(
            &reader, firstRow, count, control >> RunControl.valueShift, isMixed: isMixed, into: &rows)
    }

    /// Turns the differences in `starts` into the starts themselves.
    private mutating func sumStarts(_ count: Int, from first: Int64, followsEnds: Bool) {
        unsafe starts.withUnsafeMutableBufferPointer { starts in
            var start = first
            if followsEnds {
                unsafe durations.withUnsafeBufferPointer { durations in
                    for index in 0..<count {
                        let difference = unsafe starts[index]
                        unsafe starts[index] = start
                        start = unsafe start &+ difference &+ durations[index]
                    }
                }
            } else {
                for index in 0..<count {
                    let difference = unsafe starts[index]
                    unsafe starts[index] = start
                    start &+= difference
                }
            }
        }
    }

    private mutating func readShapes(
        _ reader: inout ByteReader, _ firstRow: Int, _ count: Int, _ control: UInt8, isMixed: Bool,
        into rows: inout RowColumns
    ) throws(CodecError) {
        let shapeLimit = rows.shapes.count - 1
        guard control & RunControl.hasShapes != 0 else {
            let shape = UInt32(try reader.readCount(upTo: shapeLimit))
            fill(shape, firstRow, count, isMixed: isMixed, into: &rows.shapeIDs)
            return
        }
        let shapeCount = try reader.readCount(upTo: count)
        guard shapeCount > 0 else { throw .malformed }
        runShapes.removeAll(keepingCapacity: true)
        for _ in 0..<shapeCount { runShapes.append(UInt32(try reader.readCount(upTo: shapeLimit))) }
        try reader.readColumn(count, into: &column)
        // An index that is out of bounds is remembered and refused after the loop.
        var isBad = false
        unsafe column.withUnsafeBufferPointer { column in
            unsafe permutation.withUnsafeBufferPointer { permutation in
                unsafe rows.shapeIDs.withUnsafeMutableBufferPointer { shapeIDs in
                    for index in 0..<count {
                        let place = unsafe UInt64(bitPattern: column[index])
                        guard place < UInt64(shapeCount) else {
                            isBad = true
                            continue
                        }
                        let row = unsafe isMixed ? Int(permutation[firstRow &+ index]) : firstRow &+ index
                        unsafe shapeIDs[row] = runShapes[Int(truncatingIfNeeded: place)]
                    }
                }
            }
        }
        guard !isBad else { throw .malformed }
    }

    private mutating func readValues(
        _ reader: inout ByteReader, _ firstRow: Int, _ count: Int, _ encoding: UInt8, isMixed: Bool,
        into rows: inout RowColumns
    ) throws(CodecError) {
        if encoding == RunControl.valuesAreZero {
            fill(0, firstRow, count, isMixed: isMixed, into: &rows.values)
            return
        }
        let scale = Int(encoding) - Int(RunControl.valuesAreDecimals)
        guard scale <= DecimalScale.limit else { throw .malformed }
        try reader.readColumn(count, into: &values)
        if scale >= 0 {
            let factor = DecimalScale.power(scale)
            unsafe values.withUnsafeMutableBufferPointer { values in
                if scale == 0 {
                    for index in 0..<count {
                        unsafe values[index] = Int64(bitPattern: Double(values[index]).bitPattern)
                    }
                } else {
                    for index in 0..<count {
                        unsafe values[index] = Int64(bitPattern: (Double(values[index]) / factor).bitPattern)
                    }
                }
            }
        }
        unsafe values.withUnsafeBufferPointer { values in
            unsafe permutation.withUnsafeBufferPointer { permutation in
                unsafe rows.values.withUnsafeMutableBufferPointer { target in
                    if isMixed {
                        for index in 0..<count {
                            let row = unsafe Int(permutation[firstRow &+ index])
                            unsafe target[row] = UInt64(bitPattern: values[index])
                        }
                    } else {
                        for index in 0..<count {
                            unsafe target[firstRow &+ index] = UInt64(bitPattern: values[index])
                        }
                    }
                }
            }
        }
    }

    /// Copies a run's column to where its rows stand.
    private func place(
        _ values: [Int64], _ firstRow: Int, _ count: Int, isMixed: Bool, into target: inout [Int64]
    ) {
        // Sound: the permutation holds each row of the frame once, and `firstRow + count` is within them.
        unsafe values.withUnsafeBufferPointer { values in
            unsafe permutation.withUnsafeBufferPointer { permutation in
                unsafe target.withUnsafeMutableBufferPointer { target in
                    if isMixed {
                        for index in 0..<count {
                            unsafe target[Int(permutation[firstRow &+ index])] = values[index]
                        }
                    } else {
                        for index in 0..<count { unsafe target[firstRow &+ index] = values[index] }
                    }
                }
            }
        }
    }

    private func fill<Value: BitwiseCopyable>(
        _ value: Value, _ firstRow: Int, _ count: Int, isMixed: Bool, into target: inout [Value]
    ) {
        unsafe permutation.withUnsafeBufferPointer { permutation in
            unsafe target.withUnsafeMutableBufferPointer { target in
                if isMixed {
                    for index in 0..<count { unsafe target[Int(permutation[firstRow &+ index])] = value }
                } else {
                    for index in 0..<count { unsafe target[firstRow &+ index] = value }
                }
            }
        }
    }
}
