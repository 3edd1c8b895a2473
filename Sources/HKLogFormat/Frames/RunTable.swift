/// How the rows of a frame are put into runs: one for each group of shapes (and kind of value).
///
/// Keeps its work memory between frames.
struct RunTable: Sendable {
    /// For each shape its number in the frame, or -1 where no row has it.
    private(set) var shapeNumbers: [Int32] = []
    /// How many runs there are.
    private(set) var count = 0
    /// How many rows the longest run has.
    private(set) var longest = 0
    /// Whether each run's rows stand together, the runs in the order of their numbers.
    private(set) var areConcatenated = false
    /// How many rows each shape has.
    private var shapeCounts: [Int] = []
    /// The run of each shape.
    private var shapeRuns: [Int32] = []
    /// The place of each shape in its run's list.
    private var shapePlaces: [Int64] = []
    /// The shapes of all runs, run by run, the most frequent first.
    private var shapes: [UInt64] = []
    /// For each run where its shapes begin in `shapes`; one more for the end.
    private var firstShapes: [Int] = []
    /// For each run where its rows begin in the list of all rows by run; one more for the end.
    private var firstRows: [Int] = []
    private var keys: [UInt64] = []
    private var runOfKey: [UInt64: Int32] = [:]
    private var order: [UInt64] = []
    private var ranks: [Int32] = []
    private var nexts: [Int] = []

    func rowCount(of run: Int) -> Int { firstRows[run + 1] - firstRows[run] }

    /// Where a run's rows begin in the list of all rows by run.
    func firstRow(of run: Int) -> Int { firstRows[run] }

    /// The shapes of a run, the most frequent first.
    func shapes(of run: Int) -> ArraySlice<UInt64> { shapes[firstShapes[run]..<firstShapes[run + 1]] }

    func rowCount(ofShape shape: UInt64) -> Int { shapeCounts[Int(shape)] }

    /// `ContentCheck` has compared every shape id with the count of shapes.
    mutating func make(of rows: RowColumns) {
        countShapes(rows)
        findRuns(rows)
        sortRuns(rows)
        listShapes()
    }

    private mutating func countShapes(_ rows: RowColumns) {
        let count = rows.shapes.count
        shapeCounts.removeAll(keepingCapacity: true)
        shapeCounts.append(contentsOf: repeatElement(0, count: count))
        unsafe shapeCounts.withUnsafeMutableBufferPointer { counts in
            // Sound: the ids have been checked.
            for id in rows.shapeIDs { unsafe counts[Int(id)] &+= 1 }
        }
        shapeNumbers.removeAll(keepingCapacity: true)
        var next: Int32 = 0
        for count in shapeCounts {
            shapeNumbers.append(count > 0 ? next : -1)
            next += count > 0 ? 1 : 0
        }
    }

    /// Numbers the runs as their shapes come; `order` gets how many rows each has.
    private mutating func findRuns(_ rows: RowColumns) {
        keys.removeAll(keepingCapacity: true)
        runOfKey.removeAll(keepingCapacity: true)
        order.removeAll(keepingCapacity: true)
        shapeRuns.removeAll(keepingCapacity: true)
        for (shape, entry) in rows.shapes.enumerated() {
            guard shapeCounts[shape] > 0 else {
                shapeRuns.append(0)
                continue
            }
            let run = number(of: UInt64(entry.group) << 8 | UInt64(entry.valueKind.rawValue))
            order[run] += UInt64(shapeCounts[shape])
            shapeRuns.append(Int32(run))
        }
        count = keys.count
    }

    private static let fewRuns = 32

    private mutating func number(of key: UInt64) -> Int {
        if keys.count <= RunTable.fewRuns {
            // Shapes of one group mostly come one after the other, so the last ones are asked first.
            for run in keys.indices.reversed() where keys[run] == key { return run }
        } else if let run = runOfKey[key] {
            return Int(run)
        }
        if keys.count == RunTable.fewRuns {
            for (run, key) in keys.enumerated() { runOfKey[key] = Int32(run) }
        }
        if keys.count >= RunTable.fewRuns { runOfKey[key] = Int32(keys.count) }
        keys.append(key)
        order.append(0)
        return keys.count - 1
    }

    /// Gives the longest run the smallest number, which is good for the order column; runs that stand one after
    /// the other keep that order.
    private mutating func sortRuns(_ rows: RowColumns) {
        longest = Int(order.max() ?? 0)
        firstRows.removeAll(keepingCapacity: true)
        firstRows.append(contentsOf: repeatElement(0, count: count + 1))
        areConcatenated = findFirstRows(rows)
        // Ties keep the order of the shapes, so that equal content gives equal bytes. Rows and runs are fewer
        // than 2^32.
        for run in 0..<count {
            let place = areConcatenated ? UInt64(firstRows[run]) : UInt64(UInt32.max) - order[run]
            keys[run] = place << 32 | UInt64(run)
        }
        keys.sort()
        ranks.removeAll(keepingCapacity: true)
        ranks.append(contentsOf: repeatElement(0, count: count))
        var firstRow = 0
        for (rank, key) in keys.enumerated() {
            let run = Int(key & UInt64(UInt32.max))
            ranks[run] = Int32(rank)
            firstRows[rank] = firstRow
            firstRow += Int(order[run])
        }
        firstRows[count] = firstRow
        for shape in shapeRuns.indices where shapeCounts[shape] > 0 {
            shapeRuns[shape] = ranks[Int(shapeRuns[shape])]
        }
    }

    /// Whether each run's rows stand together.
    ///
    /// Then `firstRows` of each run says where.
    private mutating func findFirstRows(_ rows: RowColumns) -> Bool {
        guard count > 1 else { return true }
        var last: Int32 = -1
        var changeCount = 0
        for (row, shape) in rows.shapeIDs.enumerated() {
            let run = shapeRuns[Int(shape)]
            if run == last { continue }
            firstRows[Int(run)] = row
            last = run
            changeCount += 1
            if changeCount > count { return false }
        }
        return changeCount == count
    }

    /// Lists each run's shapes, the most frequent first; ties keep the order of the shapes.
    private mutating func listShapes() {
        firstShapes.removeAll(keepingCapacity: true)
        firstShapes.append(contentsOf: repeatElement(0, count: count + 1))
        for shape in shapeRuns.indices where shapeCounts[shape] > 0 {
            firstShapes[Int(shapeRuns[shape]) + 1] += 1
        }
        for run in 0..<count { firstShapes[run + 1] += firstShapes[run] }
        shapes.removeAll(keepingCapacity: true)
        shapes.append(contentsOf: repeatElement(0, count: firstShapes[count]))
        nexts.removeAll(keepingCapacity: true)
        nexts.append(contentsOf: firstShapes)
        for shape in shapeRuns.indices where shapeCounts[shape] > 0 {
            let run = Int(shapeRuns[shape])
            let rarity = UInt64(UInt32.max) - UInt64(shapeCounts[shape])
            shapes[nexts[run]] = rarity << 32 | UInt64(shape)
            nexts[run] += 1
        }
        shapePlaces.removeAll(keepingCapacity: true)
        shapePlaces.append(contentsOf: repeatElement(0, count: shapeRuns.count))
        for run in 0..<count {
            let range = firstShapes[run]..<firstShapes[run + 1]
            if range.count > 1 { shapes[range].sort() }
            for (place, index) in range.enumerated() {
                shapes[index] &= UInt64(UInt32.max)
                shapePlaces[Int(shapes[index])] = Int64(place)
            }
        }
    }

    /// Lists the rows run by run in `permutation`, and the run of each row in `runs`.
    ///
    /// Both have room for all rows.
    mutating func list(
        _ rows: RowColumns, _ runs: UnsafeMutableBufferPointer<Int64>,
        _ permutation: UnsafeMutableBufferPointer<UInt32>
    ) {
        nexts.removeAll(keepingCapacity: true)
        nexts.append(contentsOf: firstRows)
        unsafe rows.shapeIDs.withUnsafeBufferPointer { shapeIDs in
            unsafe shapeRuns.withUnsafeBufferPointer { shapeRuns in
                unsafe nexts.withUnsafeMutableBufferPointer { nexts in
                    for row in 0..<shapeIDs.count {
                        // Sound: ids are checked, and each run has room for as many rows as were counted.
                        let run = unsafe Int(shapeRuns[Int(shapeIDs[row])])
                        let next = unsafe nexts[run]
                        unsafe runs[row] = Int64(run)
                        unsafe permutation[next] = UInt32(truncatingIfNeeded: row)
                        unsafe nexts[run] = next &+ 1
                    }
                }
            }
        }
    }

    func withPlaces(_ body: (UnsafePointer<Int64>) -> Void) {
        unsafe shapePlaces.withUnsafeBufferPointer { places in
            guard let base = places.baseAddress else { return }
            unsafe body(base)
        }
    }
}
