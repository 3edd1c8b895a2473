internal import HKLog

/// Counts by type while an import runs.
struct ImportTally {
    enum Outcome {
        case added, changed, same
    }

    private var counts: [ImportReport.TypeCounts] = []
    private var indices: [String: Int] = [:]
    /// The index into `counts` of each shape.
    private var typeOfShape: [Int] = []
    private var generation = 0
    var skipped = 0
    var keptMissing = 0
    var wroteAnything = false
    private(set) var added = 0
    private(set) var changed = 0
    private(set) var same = 0
    private(set) var deleted = 0

    var records: Int { added + changed + same + skipped }
    var hasDifferences: Bool { added + changed > 0 }

    /// The counts in the order of the identifiers.
    var types: [ImportReport.TypeCounts] {
        counts.sorted { $0.type.utf8.lexicographicallyPrecedes($1.type.utf8) }
    }

    /// Gets to know the shapes that are new.
    mutating func extend(with block: RowBlock) {
        if block.generation != generation {
            typeOfShape = []
            generation = block.generation
        }
        let shapes = block.shapes
        while typeOfShape.count < shapes.count {
            typeOfShape.append(index(of: shapes[typeOfShape.count].shape.type))
        }
    }

    private mutating func index(of type: String) -> Int {
        if let index = indices[type] { return index }
        indices[type] = counts.count
        counts.append(ImportReport.TypeCounts(type: type))
        return counts.count - 1
    }

    @inline(__always)
    mutating func count(_ shape: UInt32, _ outcome: Outcome) {
        let index = typeOfShape[Int(shape)]
        counts[index].records += 1
        switch outcome {
        case .added:
            added += 1
            counts[index].added += 1
        case .changed:
            changed += 1
            counts[index].changed += 1
        case .same:
            same += 1
            counts[index].same += 1
        }
    }

    mutating func countDeletion(of type: String) {
        deleted += 1
        let index = index(of: type)
        counts[index].deleted += 1
    }
}

/// A set of row numbers, a bit each.
struct RowSet {
    private var words: [UInt64]

    init(limit: Int) {
        words = [UInt64](repeating: 0, count: max(limit, 0) / 64 + 1)
    }

    mutating func insert(_ row: Int) {
        guard row >= 0, row / 64 < words.count else { return }
        words[row / 64] |= 1 << UInt64(row % 64)
    }

    func contains(_ row: Int) -> Bool {
        row >= 0 && row / 64 < words.count && words[row / 64] & 1 << UInt64(row % 64) != 0
    }
}
