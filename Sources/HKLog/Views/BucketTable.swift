/// Which day of which type a bucket is.
///
/// The order is by type, then by day.
struct BucketKey: Hashable, Comparable, BitwiseCopyable {
    let raw: UInt64

    init(raw: UInt64) { self.raw = raw }

    init(type: UInt32, day: Int32) {
        raw = UInt64(type) << 32 | UInt64(UInt32(bitPattern: day) ^ 0x8000_0000)
    }

    var type: UInt32 { UInt32(raw >> 32) }
    var day: Int32 { Int32(bitPattern: UInt32(truncatingIfNeeded: raw) ^ 0x8000_0000) }

    static func < (left: BucketKey, right: BucketKey) -> Bool { left.raw < right.raw }
}

/// The day buckets that something touched since the newest layer: their rows since then, and their numbers.
struct BucketTable: ~Copyable {
    struct Entry: BitwiseCopyable {
        var key: BucketKey
        /// 1 + the index of the oldest and of the newest row that starts in the day: the ends of a list through
        /// `RowTable.links`.
        var firstRow: UInt32 = 0
        var lastRow: UInt32 = 0
        /// 1 + the index of the newest row that reaches into the day, the head of a list through `spans`.
        var firstSpan: UInt32 = 0
        /// Something changed since the record was computed.
        var isDirty = false
        /// The record is of this table, not of a layer.
        var hasRecord = false
        var record = BucketRecord()
    }

    /// A row that reaches into a day in which it does not start.
    struct Span: BitwiseCopyable {
        var row: UInt32
        var next: UInt32
    }

    private(set) var entries = Column<Entry>()
    private var spans = Column<Span>()
    private var index = HashSlots()
    private(set) var dirty: [UInt32] = []
    var categoryRows = Column<CategoryRecord>()
    private let seed: UInt64
    /// Indices of entries by key, when it has been made since the last new bucket.
    private var sorted: [UInt32] = []

    init(seed: UInt64) { self.seed = seed }

    private func hash(_ key: BucketKey) -> UInt64 { (key.raw ^ seed) &* 0xD6E8_FEB8_6659_FD93 }

    func find(_ key: BucketKey) -> Int? {
        index.find(hash: hash(key)) { entries[$0].key == key }
    }

    /// The bucket's index, made if need be and marked to be computed again.
    mutating func touch(_ key: BucketKey) -> Int {
        let found: Int
        if let known = find(key) {
            found = known
        } else {
            found = entries.count
            entries.append(Entry(key: key))
            index.insert(hash: hash(key), index: found)
            sorted.removeAll()
        }
        if !entries[found].isDirty {
            entries[found].isDirty = true
            dirty.append(UInt32(found))
        }
        return found
    }

    /// Puts a row behind those that start in the day.
    ///
    /// Returns 1 + the row whose link must lead to it; 0 when it is the day's first. Rows mostly come in order of
    /// time, and the kernel is quickest with samples in that order.
    @inline(__always)
    mutating func push(_ row: Int, bucket: Int) -> UInt32 {
        let before = entries[bucket].lastRow
        entries[bucket].lastRow = UInt32(row + 1)
        if before == 0 { entries[bucket].firstRow = UInt32(row + 1) }
        return before
    }

    mutating func pushSpan(_ row: Int, bucket: Int) {
        spans.append(Span(row: UInt32(row), next: entries[bucket].firstSpan))
        entries[bucket].firstSpan = UInt32(spans.count)
    }

    func span(_ reference: UInt32) -> Span { spans[Int(reference) - 1] }

    mutating func setRecord(_ record: BucketRecord, bucket: Int) {
        entries[bucket].record = record
        entries[bucket].hasRecord = true
        entries[bucket].isDirty = false
    }

    mutating func removeDirty() { dirty.removeAll(keepingCapacity: true) }

    /// Indices of entries in the order of their keys.
    ///
    /// Costs a sort after new buckets, nothing else.
    mutating func inOrder() -> [UInt32] {
        if sorted.isEmpty && entries.count > 0 {
            // Keys beside their entries: sorting must not go to the large entries for each comparison.
            var keys: [(key: BucketKey, index: UInt32)] = []
            keys.reserveCapacity(entries.count)
            for index in 0..<entries.count { keys.append((entries[index].key, UInt32(index))) }
            keys.sort { $0.key < $1.key }
            sorted = keys.map(\.index)
        }
        return sorted
    }
}
