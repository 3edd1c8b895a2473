private import CHKLogShims
internal import HKLogFormat

/// The rows that have come since the newest layer, as columns, with a hash index by uuid.
///
/// A row is a cell: one uuid in one stream. A later cell of the same pair is a row of its own, and the earlier one
/// is marked as gone. Numbers of rows count on from the layers below.
struct RowTable: ~Copyable {
    var uuids = Column<RawUUID>()
    var starts = Column<Int64>()
    var durations = Column<Int64>()
    var values = Column<UInt64>()
    var shapes = Column<UInt32>()
    /// 1 + the number of the extra; 0 for none.
    var extras = Column<UInt32>()
    var batches = Column<UInt32>()
    var flags = Column<UInt8>()
    /// The next row of the same day bucket: 1 + its index, 0 at the end.
    var links = Column<UInt32>()
    /// High half: the hash's.
    ///
    /// Low half: 1 + the row's index. Linear probing; a uuid may stand more than once.
    private(set) var slots = Column<UInt64>()
    private(set) var slotMask = 0
    private var usedSlots = 0
    /// Random, so that crafted uuids cannot make the index slow.
    let seed: (first: UInt64, second: UInt64)

    init(seed: (first: UInt64, second: UInt64)) {
        self.seed = seed
    }

    var count: Int { uuids.count }

    /// The hash of a uuid under a seed.
    ///
    /// Layer files use it with theirs.
    @inline(__always)
    static func hash(_ uuid: RawUUID, _ seed: (first: UInt64, second: UInt64)) -> UInt64 {
        let product = (uuid.first ^ seed.first).multipliedFullWidth(by: uuid.second ^ seed.second)
        return product.high ^ product.low
    }

    /// How many slots serve a number of rows: a power of two, at most 0.65 full.
    static func slotCount(for rows: Int) -> Int {
        var count = 1024
        while count * 65 < rows * 100 { count *= 2 }
        return count
    }

    /// Makes room for `more` rows, in the index too.
    mutating func reserveMore(_ more: Int) {
        uuids.reserveMore(more)
        starts.reserveMore(more)
        durations.reserveMore(more)
        values.reserveMore(more)
        shapes.reserveMore(more)
        extras.reserveMore(more)
        batches.reserveMore(more)
        flags.reserveMore(more)
        links.reserveMore(more)
        let wanted = RowTable.slotCount(for: usedSlots + more)
        if wanted > slots.count { rebuildIndex(slotCount: wanted) }
    }

    /// The memory that rows go to from the first on, and that of the index, which they go to in no order.
    ///
    /// Not that of `extras`: few rows write there.
    var extents: (columns: [MemoryExtent], index: MemoryExtent) {
        (
            [
                uuids.extent, starts.extent, durations.extent, values.extent, shapes.extent, batches.extent,
                flags.extent, links.extent,
            ], slots.extent
        )
    }

    private mutating func rebuildIndex(slotCount: Int) {
        var grown = Column<UInt64>()
        grown.setCount(slotCount)
        slotMask = slotCount - 1
        let old = slots.count
        slots = grown
        guard old > 0 else { return }
        // Every page will be hit at once, in no order: one pass of the kernel is cheaper than as many faults.
        let extent = slots.extent
        hklog_memory_populate(extent.address, extent.byteCount)
        usedSlots = 0
        let ahead = 16
        for row in 0..<count {
            if row + ahead < count { prefetch(uuids[row + ahead]) }
            if flags[row] & RowState.gone == 0 { insert(row) }
        }
    }

    /// Puts a row into the index, whatever else stands there.
    @inline(__always)
    mutating func insert(_ row: Int) {
        let hash = RowTable.hash(uuids[row], seed)
        var slot = Int(truncatingIfNeeded: hash) & slotMask
        while slots[slot] != 0 { slot = (slot + 1) & slotMask }
        slots[slot] = hash & 0xFFFF_FFFF_0000_0000 | UInt64(row + 1)
        usedSlots += 1
    }

    /// Asks for the slot of a uuid that will be looked up soon.
    func prefetch(_ uuid: RawUUID) {
        guard slots.count > 0 else { return }
        // Sound: the mask keeps the place within the slots.
        unsafe hklog_prefetch(slots.base + (Int(truncatingIfNeeded: RowTable.hash(uuid, seed)) & slotMask))
    }

    /// Counts slots that a caller filled through the base pointer.
    mutating func countInserted(_ more: Int) { usedSlots += more }

    /// The first row with a uuid at or after a place in its probe sequence; the place moves on.
    @inline(__always)
    func next(_ uuid: RawUUID, hash: UInt64, probe: inout Int) -> Int? {
        guard slots.count > 0 else { return nil }
        var slot = (Int(truncatingIfNeeded: hash) + probe) & slotMask
        while true {
            let entry = slots[slot]
            if entry == 0 { return nil }
            probe += 1
            if (entry ^ hash) >> 32 == 0 {
                let row = Int(UInt32(truncatingIfNeeded: entry)) - 1
                if uuids[row] == uuid { return row }
            }
            slot = (slot + 1) & slotMask
        }
    }

    /// Takes what gone rows held out of memory: it must not get into a checkpoint.
    mutating func blankGoneRows() {
        for row in 0..<count where flags[row] & RowState.gone != 0 {
            starts[row] = 0
            durations[row] = 0
            values[row] = 0
            extras[row] = 0
        }
    }

    /// Appends one row and indexes it.
    mutating func append(
        uuid: RawUUID, start: Int64, duration: Int64, value: UInt64, shape: UInt32, extra: UInt32,
        batch: UInt32,
        flags rowFlags: UInt8
    ) -> Int {
        reserveMore(1)
        let row = count
        uuids.append(uuid)
        starts.append(start)
        durations.append(duration)
        values.append(value)
        shapes.append(shape)
        // Zero is what stands there.
        extras.setCount(row + 1)
        if extra != 0 { extras[row] = extra }
        batches.append(batch)
        flags.append(rowFlags)
        links.setCount(row + 1)
        insert(row)
        return row
    }
}

/// What the kernel must know of a shape.
struct KernelShape: BitwiseCopyable {
    var conversion: UnitConversion
    /// The unit fits the type: else rows of the shape stay out of statistics.
    var isConvertible: Bool
    /// The place of its source in the ranking.
    var rank: Int32
}

extension RowTable {
    /// Appends the shown rows of a bucket that stand in memory, as the kernel takes them, mostly in order of time.
    ///
    /// Uuids decide which of two discrete samples is the later one; nothing else needs them.
    borrowing func gather(
        _ entry: BucketTable.Entry, buckets: borrowing BucketTable, shapes: borrowing Column<KernelShape>,
        extras: borrowing Column<ExtraRecord>, withUUIDs: Bool, into samples: inout [KernelSample]
    ) {
        var reference = entry.firstSpan
        while reference != 0 {
            let span = buckets.span(reference)
            add(Int(span.row), shapes, extras, withUUIDs, &samples)
            reference = span.next
        }
        var link = entry.firstRow
        while link != 0 {
            let row = Int(link) - 1
            add(row, shapes, extras, withUUIDs, &samples)
            link = links[row]
        }
    }

    @inline(__always)
    private borrowing func add(
        _ row: Int, _ shapes: borrowing Column<KernelShape>, _ extras: borrowing Column<ExtraRecord>,
        _ withUUIDs: Bool, _ samples: inout [KernelSample]
    ) {
        guard flags[row] & RowState.shown != 0 else { return }
        let shape = shapes[Int(self.shapes[row])]
        guard shape.isConvertible else { return }
        let value = shape.conversion.apply(Double(bitPattern: values[row]))
        guard value.isFinite else { return }
        // Columns that say nothing here are not touched: each costs a miss of the cache.
        let extra = extras.count == 0 ? 0 : Int(self.extras[row])
        // In memory without layers, extras are numbered from 1.
        let count = extra == 0 ? 1 : max(extras[extra - 1].count, 1)
        let uuid = withUUIDs ? uuids[row] : RawUUID(first: 0, second: 0)
        let start = starts[row]
        samples.append(
            KernelSample(
                start: start, end: start &+ durations[row], value: value, measurementCount: count,
                rank: shape.rank,
                uuidHigh: uuid.first.byteSwapped, uuidLow: uuid.second.byteSwapped))
    }
}
