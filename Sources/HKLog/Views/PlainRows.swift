private import CHKLogShims
internal import HKLogFormat

/// Places rows that are the only cell of their uuid and bear no sync identifier: nearly every row there is.
///
/// The one loop of a replay that runs for each row. It works on plain memory alone, with a tally for each shape,
/// so that rows of mixed types cost no more than rows of one.
struct PlainRows: ~Copyable {
    /// What a shape's rows have in common, and what they have come to since the last reset.
    struct Shape: BitwiseCopyable {
        var hash: SampleHash
        var typeID: UInt32
        /// Samples count in every day that they touch.
        var isSpread: Bool
        var count = 0
        var first = Int64.max
        var last = Int64.min
    }

    /// The day and bucket of a type's last row.
    struct RecentBucket: BitwiseCopyable {
        var day = Int32.min
        var bucket = 0
    }

    private(set) var shapes = Column<Shape>()
    /// By type.
    private var recent = Column<RecentBucket>()
    /// Shapes with rows since the last reset.
    private(set) var touched: [UInt32] = []
    private(set) var total = 0
    private(set) var digest: UInt128 = 0
    /// Rows that may reach into a later day.
    var spreading: [Int] = []
    private var hashes = Column<UInt64>()

    init() {}

    /// Takes in shapes that are new.
    mutating func follow(_ symbols: borrowing Symbols, spreads: (UInt32) -> Bool) {
        while shapes.count < symbols.shapes.count {
            let entry = symbols.shapes[shapes.count]
            shapes.append(Shape(hash: entry.hash, typeID: entry.typeID, isSpread: spreads(entry.typeID)))
            while recent.count <= Int(entry.typeID) { recent.append(RecentBucket()) }
        }
    }

    /// Forgets which bucket each type's last row went to: buckets are to be touched anew.
    mutating func forgetBuckets() {
        for index in 0..<recent.count { recent[index] = RecentBucket() }
    }

    mutating func reset() {
        for shape in touched {
            shapes[Int(shape)].count = 0
            shapes[Int(shape)].first = .max
            shapes[Int(shape)].last = .min
        }
        touched.removeAll(keepingCapacity: true)
        total = 0
        digest = 0
    }

    /// Indexes, shows and links the rows that are plain.
    ///
    /// The others go to `slow`. Returns how many were plain.
    mutating func place(
        _ rows: Range<Int>, table: inout RowTable, buckets: inout BucketTable, cursor: inout DayCursor,
        extras: borrowing Column<ExtraRecord>, extraBase: Int, layers: [LayerFile], slow: inout [Int]
    ) -> Int {
        let seed = table.seed
        let count = rows.count
        hashes.setCount(count)
        // Sound: all indices below are of rows that the caller has appended, of slots under the mask, and of shapes
        // and types that `follow` has taken in.
        let hashes = unsafe hashes.base
        let uuids = unsafe table.uuids.base + rows.lowerBound
        let starts = unsafe table.starts.base
        let durations = unsafe table.durations.base
        let values = unsafe table.values.base
        let shapeColumn = unsafe table.shapes.base
        let extraColumn = unsafe table.extras.base
        let flags = unsafe table.flags.base
        let links = unsafe table.links.base
        let allUUIDs = unsafe table.uuids.base
        let slots = unsafe table.slots.base
        let shapes = unsafe shapes.base
        let recent = unsafe recent.base
        let mask = table.slotMask
        for index in 0..<count { unsafe hashes[index] = RowTable.hash(uuids[index], seed) }
        var sum: UInt128 = 0
        var placed = 0
        for index in 0..<count {
            let ahead = index + 16
            if ahead < count {
                unsafe hklog_prefetch(slots + (Int(truncatingIfNeeded: hashes[ahead]) & mask))
            }
            if !layers.isEmpty && ahead < count {
                for layer in layers { unsafe layer.prefetch(uuids[ahead]) }
            }
            let row = rows.lowerBound + index
            let hash = unsafe hashes[index]
            let uuid = unsafe uuids[index]
            var slot = Int(truncatingIfNeeded: hash) & mask
            var isKnown = unsafe flags[row] & RowState.hasSync != 0
            while true {
                let entry = unsafe slots[slot]
                if entry == 0 { break }
                if (entry ^ hash) >> 32 == 0,
                    unsafe allUUIDs[Int(UInt32(truncatingIfNeeded: entry)) - 1] == uuid
                {
                    isKnown = true
                    break
                }
                slot = (slot + 1) & mask
            }
            if !isKnown && !layers.isEmpty { isKnown = PlainRows.hold(layers, uuid) }
            if isKnown {
                slow.append(row)
                continue
            }
            unsafe slots[slot] = hash & 0xFFFF_FFFF_0000_0000 | UInt64(row + 1)
            placed += 1
            let shapeID = unsafe shapeColumn[row]
            let start = unsafe starts[row]
            let duration = unsafe durations[row]
            let shape = unsafe shapes + Int(shapeID)
            if unsafe shape.pointee.count == 0 { touched.append(shapeID) }
            unsafe shape.pointee.count += 1
            if unsafe start < shape.pointee.first { unsafe shape.pointee.first = start }
            if unsafe start > shape.pointee.last { unsafe shape.pointee.last = start }
            let extra = unsafe Int(extraColumn[row])
            sum &+= unsafe shape.pointee.hash.of(
                uuid, start: start, duration: duration, value: values[row],
                extra: extra == 0 ? nil : extras[extra - 1 - extraBase].hashed)
            unsafe flags[row] |= RowState.chosen | RowState.shown | RowState.linked
            let day = cursor.dayNumber(containing: start)
            let type = unsafe shape.pointee.typeID
            let bucket = unsafe recent + Int(type)
            if unsafe day != bucket.pointee.day {
                unsafe bucket.pointee.bucket = buckets.touch(BucketKey(type: type, day: day))
                unsafe bucket.pointee.day = day
            }
            let before = unsafe Int(buckets.push(row, bucket: bucket.pointee.bucket))
            if before > 0 { unsafe links[before - 1] = UInt32(row + 1) }
            if unsafe shape.pointee.isSpread && duration > 0 && start &+ duration > cursor.end {
                spreading.append(row)
            }
        }
        table.countInserted(placed)
        total += placed
        digest &+= sum
        return placed
    }

    private static func hold(_ layers: [LayerFile], _ uuid: RawUUID) -> Bool {
        for layer in layers {
            var probe = 0
            if layer.next(uuid, hash: RowTable.hash(uuid, layer.header.seed), probe: &probe) != nil {
                return true
            }
        }
        return false
    }
}
