private import CHKLogShims
internal import HKLogFormat

/// Writes views as a layer file: what is in memory, together with as many of the newest layers as are small beside
/// it. So a store of any size is rewritten whole only after it has grown by about as much again.
///
/// Memory: eight bytes a row at most beside the views. The file is written in one pass, its header last.
struct LayerWriter {
    private let views: Views
    /// Layers that stay below the new one.
    private let keptLayers: [LayerFile]
    /// Layers that the new one takes in.
    private let mergedLayers: [LayerFile]
    private let rowBase: Int
    private let extraBase: Int
    private let batchBase: Int
    /// New row numbers of all rows from `rowBase` on; `nil` where they keep theirs.
    private var rowMap: [UInt32]?
    private var extraMap: [UInt32]?
    private var keptRows = 0
    private var keptExtras = 0

    private static let dropped = UInt32.max

    /// Plans a layer. `whole` takes every layer in.
    init(_ views: Views, whole: Bool) {
        self.views = views
        var kept = views.layers.count
        var rows = views.table.count + views.batches.count
        while kept > 0, whole || views.layers[kept - 1].rowCount + views.layers[kept - 1].batchTable.count <= 2 * rows {
            kept -= 1
            rows += views.layers[kept].rowCount + views.layers[kept].batchTable.count
        }
        keptLayers = Array(views.layers[..<kept])
        mergedLayers = Array(views.layers[kept...])
        rowBase = keptLayers.reduce(0) { $0 + $1.rowCount }
        extraBase = keptLayers.reduce(0) { $0 + $1.extraTable.count }
        batchBase = keptLayers.reduce(0) { $0 + $1.batchTable.count }
    }

    /// How many rows there are from `rowBase` on, before any is dropped.
    private var rowCount: Int { views.rowBase + views.table.count - rowBase }

    /// Writes the layer to an open, empty file.
    mutating func write(to file: any OpenFile, storeID: (low: UInt64, high: UInt64), definition: RawDigest)
        throws(SystemError)
    {
        views.linkUnlinked()
        views.flush()
        chooseRows()
        var output = LayerOutput(file: file)
        try writeRows(&output)
        let seed = try writeIndex(&output)
        try writeBuckets(&output)
        try writeOverrides(&output)
        try writeExtras(&output)
        try writeBatches(&output)
        try writeSyncMembers(&output)
        let state = views.encodedState { row in newNumber(row) }
        try output.section(.state, elementByteCount: 1, count: state.count) { writer throws(SystemError) in
            try writer.put(state.span)
        }
        var header = LayerHeader()
        header.storeID = storeID
        header.definition = definition
        header.fromAnchor = keptLayers.last?.header.toAnchor ?? 0
        header.toAnchor = views.anchor
        header.nonce = views.nonce
        header.segmentAnchor = views.logPosition.segment
        header.segmentByteOffset = UInt64(views.logPosition.byteOffset)
        header.lastFrameByteOffset = UInt64(views.logPosition.lastFrameByteOffset)
        header.rowBase = UInt64(rowBase)
        header.batchBase = UInt64(batchBase)
        header.extraBase = UInt64(extraBase)
        header.seed = seed
        header.parentName = keptLayers.last?.name ?? ""
        header.parentChecksum = keptLayers.last?.header.checksum ?? 0
        try output.finish(&header)
    }

    // MARK: Rows

    /// Decides which rows go into the layer. Gone rows and swept ones stay out, unless only a few are: then
    /// nothing is renumbered, and the index in memory is written as it stands.
    private mutating func chooseRows() {
        var droppable = 0
        for index in 0..<rowCount where isDroppable(UInt32(rowBase + index)) { droppable += 1 }
        guard droppable * 8 > rowCount || !mergedLayers.isEmpty || rowCount == 0 else {
            keptRows = rowCount
            keptExtras = views.extraBase + views.extras.count - extraBase
            return
        }
        var map = [UInt32](repeating: LayerWriter.dropped, count: rowCount)
        var extras = [UInt32](
            repeating: LayerWriter.dropped, count: views.extraBase + views.extras.count - extraBase)
        for index in 0..<rowCount {
            let row = UInt32(rowBase + index)
            guard !isDroppable(row) else { continue }
            map[index] = UInt32(rowBase + keptRows)
            keptRows += 1
            guard views.flags(row) & RowState.dead == 0 else { continue }
            let extra = Int(views.view(row).extra) - 1 - extraBase
            if extra >= 0, extra < extras.count { extras[extra] = 0 }
        }
        for index in extras.indices where extras[index] == 0 {
            extras[index] = UInt32(extraBase + keptExtras + 1)
            keptExtras += 1
        }
        rowMap = map
        extraMap = extras
    }

    private func isDroppable(_ row: UInt32) -> Bool {
        let flags = views.flags(row)
        return flags & RowState.gone != 0 || flags & (RowState.swept | RowState.dead) == RowState.swept
    }

    private func newNumber(_ row: UInt32) -> UInt32? {
        guard let rowMap, Int(row) >= rowBase else { return row }
        let number = rowMap[Int(row) - rowBase]
        return number == LayerWriter.dropped ? nil : number
    }

    /// Calls for each row that goes into the layer, in order, with blanks in the place of what must not be kept.
    private func forEachKept(_ body: (RowView, UInt8, UInt32) throws(SystemError) -> Void) throws(SystemError) {
        for index in 0..<rowCount {
            let row = UInt32(rowBase + index)
            if let rowMap, rowMap[index] == LayerWriter.dropped { continue }
            let flags = views.flags(row)
            var view = views.view(row)
            if flags & (RowState.dead | RowState.gone) != 0 {
                view.start = 0
                view.duration = 0
                view.value = 0
                view.extra = 0
            } else if let extraMap, Int(view.extra) > extraBase {
                view.extra = extraMap[Int(view.extra) - 1 - extraBase]
            }
            try body(view, flags, UInt32(views.batchNumber(of: row)))
        }
    }

    private func writeRows(_ output: inout LayerOutput) throws(SystemError) {
        if rowMap == nil && mergedLayers.isEmpty { return try writeMemory(&output) }
        try output.section(.uuids, elementByteCount: 16, count: keptRows) { writer throws(SystemError) in
            try forEachKept { view, _, _ throws(SystemError) in try writer.put(view.uuid) }
        }
        try output.section(.starts, elementByteCount: 8, count: keptRows) { writer throws(SystemError) in
            try forEachKept { view, _, _ throws(SystemError) in try writer.put(view.start) }
        }
        try output.section(.durations, elementByteCount: 8, count: keptRows) { writer throws(SystemError) in
            try forEachKept { view, _, _ throws(SystemError) in try writer.put(view.duration) }
        }
        try output.section(.values, elementByteCount: 8, count: keptRows) { writer throws(SystemError) in
            try forEachKept { view, _, _ throws(SystemError) in try writer.put(view.value) }
        }
        try output.section(.shapes, elementByteCount: 4, count: keptRows) { writer throws(SystemError) in
            try forEachKept { view, _, _ throws(SystemError) in try writer.put(view.shape) }
        }
        try output.section(.extras, elementByteCount: 4, count: keptRows) { writer throws(SystemError) in
            try forEachKept { view, _, _ throws(SystemError) in try writer.put(view.extra) }
        }
        try output.section(.batches, elementByteCount: 4, count: keptRows) { writer throws(SystemError) in
            try forEachKept { _, _, batch throws(SystemError) in try writer.put(batch) }
        }
        try output.section(.flags, elementByteCount: 1, count: keptRows) { writer throws(SystemError) in
            try forEachKept { _, flags, _ throws(SystemError) in try writer.put(flags | RowState.linked) }
        }
    }

    /// Writes the rows in memory as they stand.
    private func writeMemory(_ output: inout LayerOutput) throws(SystemError) {
        let count = views.table.count
        views.table.blankGoneRows()
        try output.section(.uuids, elementByteCount: 16, count: count) { writer throws(SystemError) in
            try writer.put(column: views.table.uuids)
        }
        try output.section(.starts, elementByteCount: 8, count: count) { writer throws(SystemError) in
            try writer.put(column: views.table.starts)
        }
        try output.section(.durations, elementByteCount: 8, count: count) { writer throws(SystemError) in
            try writer.put(column: views.table.durations)
        }
        try output.section(.values, elementByteCount: 8, count: count) { writer throws(SystemError) in
            try writer.put(column: views.table.values)
        }
        try output.section(.shapes, elementByteCount: 4, count: count) { writer throws(SystemError) in
            try writer.put(column: views.table.shapes)
        }
        try output.section(.extras, elementByteCount: 4, count: count) { writer throws(SystemError) in
            try writer.put(column: views.table.extras)
        }
        try output.section(.batches, elementByteCount: 4, count: count) { writer throws(SystemError) in
            try writer.put(column: views.table.batches)
        }
        try output.section(.flags, elementByteCount: 1, count: count) { writer throws(SystemError) in
            try writer.put(column: views.table.flags)
        }
    }

    /// Writes the hash index; the seed it was made with.
    private func writeIndex(_ output: inout LayerOutput) throws(SystemError) -> (first: UInt64, second: UInt64) {
        let seed = views.table.seed
        if rowMap == nil {
            try output.section(.slots, elementByteCount: 8, count: views.table.slots.count) {
                writer throws(SystemError) in
                try writer.put(column: views.table.slots)
            }
            return seed
        }
        var slots = Column<UInt64>()
        slots.setCount(RowTable.slotCount(for: keptRows))
        let mask = slots.count - 1
        var local: UInt64 = 0
        for index in 0..<rowCount {
            let row = UInt32(rowBase + index)
            guard let rowMap, rowMap[index] != LayerWriter.dropped else { continue }
            local += 1
            let hash = RowTable.hash(views.view(row).uuid, seed)
            var slot = Int(truncatingIfNeeded: hash) & mask
            while slots[slot] != 0 { slot = (slot + 1) & mask }
            slots[slot] = hash & 0xFFFF_FFFF_0000_0000 | local
        }
        try output.section(.slots, elementByteCount: 8, count: slots.count) { writer throws(SystemError) in
            try writer.put(column: slots)
        }
        return seed
    }

    // MARK: Buckets

    private func writeBuckets(_ output: inout LayerOutput) throws(SystemError) {
        var keys: [BucketKey] = []
        for layer in mergedLayers {
            for index in 0..<layer.bucketKeys.count { keys.append(BucketKey(raw: layer.load(layer.bucketKeys, index))) }
        }
        for index in views.buckets.inOrder() { keys.append(views.buckets.entries[Int(index)].key) }
        if !mergedLayers.isEmpty { keys.sort() }
        var unique: [BucketKey] = []
        unique.reserveCapacity(keys.count)
        for key in keys where unique.last != key { unique.append(key) }

        var records: [BucketRecord] = []
        var categoryRows: [CategoryRecord] = []
        var ends: [UInt64] = []
        var rows = Column<UInt32>()
        var keptKeys: [BucketKey] = []
        for key in unique {
            var record = newestRecord(key)
            let before = rows.count
            for layer in mergedLayers {
                guard let index = layer.bucketIndex(key) else { continue }
                layer.forEachRow(ofBucket: index) { row in add(row, to: &rows) }
            }
            views.forEachLinkedRow(key) { row in add(row, to: &rows) }
            // At the bottom an empty bucket says nothing; above, it takes the place of an older one.
            if record.isEmpty && rows.count == before && keptLayers.isEmpty { continue }
            if record.categoryCount > 0 {
                let own = views.categoryRows(of: key, record)
                record.categoryFirst = UInt64(categoryRows.count)
                categoryRows.append(contentsOf: own)
            }
            keptKeys.append(key)
            records.append(record)
            ends.append(UInt64(rows.count))
        }
        try output.section(.bucketKeys, elementByteCount: 8, count: keptKeys.count) { writer throws(SystemError) in
            for key in keptKeys { try writer.put(key.raw) }
        }
        try output.section(.buckets, elementByteCount: MemoryLayout<BucketRecord>.stride, count: records.count) {
            writer throws(SystemError) in
            for record in records { try writer.put(record) }
        }
        try output.section(
            .categoryRows, elementByteCount: MemoryLayout<CategoryRecord>.stride, count: categoryRows.count
        ) { writer throws(SystemError) in
            for row in categoryRows { try writer.put(row) }
        }
        try output.section(.bucketRowEnds, elementByteCount: 8, count: ends.count) { writer throws(SystemError) in
            for end in ends { try writer.put(end) }
        }
        try output.section(.bucketRows, elementByteCount: 4, count: rows.count) { writer throws(SystemError) in
            try writer.put(column: rows)
        }
    }

    private func add(_ row: UInt32, to rows: inout Column<UInt32>) {
        let flags = views.flags(row)
        if flags & (RowState.gone | RowState.dead) == 0, let number = newNumber(row) { rows.append(number) }
    }

    private func newestRecord(_ key: BucketKey) -> BucketRecord {
        if let index = views.buckets.find(key), views.buckets.entries[index].hasRecord {
            return views.buckets.entries[index].record
        }
        return views.layerRecord(key) ?? BucketRecord()
    }

    // MARK: The rest

    private func writeOverrides(_ output: inout LayerOutput) throws(SystemError) {
        var newest: [UInt32: UInt8] = [:]
        for layer in mergedLayers {
            for index in 0..<layer.overrideRows.count {
                newest[layer.load(layer.overrideRows, index)] = layer.load(layer.overrideFlags, index) as UInt8
            }
        }
        for (row, flags) in views.overrides { newest[row] = flags }
        let rows = newest.keys.filter { Int($0) < rowBase }.sorted()
        try output.section(.overrideRows, elementByteCount: 4, count: rows.count) { writer throws(SystemError) in
            for row in rows { try writer.put(row) }
        }
        try output.section(.overrideFlags, elementByteCount: 1, count: rows.count) { writer throws(SystemError) in
            for row in rows { try writer.put(newest[row] ?? 0) }
        }
    }

    private func writeExtras(_ output: inout LayerOutput) throws(SystemError) {
        let count = views.extraBase + views.extras.count - extraBase
        var byteOffset: UInt64 = 0
        try output.section(
            .extraTable, elementByteCount: MemoryLayout<ExtraRecord>.stride, count: keptExtras
        ) { writer throws(SystemError) in
            for index in 0..<count where isKept(extra: index) {
                var record = views.extraRecord(UInt32(extraBase + index + 1))
                record.byteOffset = byteOffset
                byteOffset += UInt64(record.metadataByteCount) + UInt64(record.payloadByteCount)
                try writer.put(record)
            }
        }
        try output.section(.extraBytes, elementByteCount: 1, count: Int(byteOffset)) { writer throws(SystemError) in
            for index in 0..<count where isKept(extra: index) {
                let extra = UInt32(extraBase + index + 1)
                try writer.put(views.metadata(of: extra).span)
                try writer.put(views.payload(of: extra).span)
            }
        }
    }

    private func isKept(extra index: Int) -> Bool {
        guard let extraMap else { return true }
        return extraMap[index] != LayerWriter.dropped
    }

    private func writeBatches(_ output: inout LayerOutput) throws(SystemError) {
        let count = views.batchBase + views.batches.count - batchBase
        // How many rows are kept before each batch: its new first row.
        var keptBefore = 0
        var row = 0
        try output.section(
            .batchTable, elementByteCount: MemoryLayout<BatchRecord>.stride, count: count
        ) { writer throws(SystemError) in
            for index in 0..<count {
                var record = views.batchRecord(batchBase + index)
                if let rowMap {
                    while row < min(Int(record.firstRow) - rowBase, rowCount) {
                        if rowMap[row] != LayerWriter.dropped { keptBefore += 1 }
                        row += 1
                    }
                    record.firstRow = UInt32(rowBase + keptBefore)
                }
                try writer.put(record)
            }
        }
        var known = HashSlots()
        var numbered = HashSlots()
        known.reserveMore(count)
        for index in 0..<count {
            let record = views.batchRecord(batchBase + index)
            let flags = UInt16(truncatingIfNeeded: record.flags)
            if flags & (BatchFlags.isNumbered | BatchFlags.hasAnchor) != 0 {
                known.insert(hash: Views.knownHash(record.stream, record.digest), index: index)
            }
            if flags & BatchFlags.isNumbered != 0 {
                numbered.insert(
                    hash: Views.numberHash(record.stream, record.epoch, record.sequence), index: index)
            }
        }
        try output.section(.knownSlots, elementByteCount: 8, count: known.slots.count) { writer throws(SystemError) in
            try writer.put(column: known.slots)
        }
        try output.section(.numberSlots, elementByteCount: 8, count: numbered.slots.count) {
            writer throws(SystemError) in
            try writer.put(column: numbered.slots)
        }
    }

    private func writeSyncMembers(_ output: inout LayerOutput) throws(SystemError) {
        var members: [SyncMember] = []
        for layer in mergedLayers {
            for index in 0..<layer.syncMembers.count { members.append(layer.load(layer.syncMembers, index)) }
        }
        for own in views.syncMembers.values { members.append(contentsOf: own) }
        var kept: [SyncMember] = []
        for var member in members {
            guard views.flags(member.row) & (RowState.gone | RowState.dead) == 0, let row = newNumber(member.row)
            else { continue }
            member.row = row
            kept.append(member)
        }
        kept.sort { ($0.group.sum, $0.row) < ($1.group.sum, $1.row) }
        try output.section(
            .syncMembers, elementByteCount: MemoryLayout<SyncMember>.stride, count: kept.count
        ) { writer throws(SystemError) in
            for member in kept { try writer.put(member) }
        }
    }
}

/// Writes sections one after the other and takes the checksum of each block on the way.
@safe
struct LayerOutput: ~Copyable {
    private let file: any OpenFile
    private let buffer: UnsafeMutableRawPointer
    private var count = 0
    private var byteOffset = LayerHeader.byteCount
    private var blockChecksums: [UInt32] = []
    private var sections: [LayerSection: LayerHeader.Section] = [:]
    private static let bufferByteCount = LayerHeader.blockByteCount * 16

    init(file: any OpenFile) {
        self.file = file
        unsafe buffer = UnsafeMutableRawPointer.allocate(byteCount: LayerOutput.bufferByteCount, alignment: 16)
    }

    deinit { unsafe buffer.deallocate() }

    /// Writes one section, which begins at a multiple of 16.
    mutating func section(
        _ kind: LayerSection, elementByteCount: Int, count: Int,
        _ body: (inout LayerOutput) throws(SystemError) -> Void
    ) throws(SystemError) {
        while position % 16 != 0 { try put(UInt8(0)) }
        sections[kind] = LayerHeader.Section(
            elementByteCount: UInt32(elementByteCount), byteOffset: UInt64(position), count: UInt64(count))
        try body(&self)
    }

    private var position: Int { byteOffset + count }

    /// Writes one plain value, padded with zeros to its stride.
    @inline(__always)
    mutating func put<T: BitwiseCopyable>(_ value: T) throws(SystemError) {
        let stride = MemoryLayout<T>.stride
        if LayerOutput.bufferByteCount - count >= stride {
            // Sound: the line above has checked that there is room.
            unsafe buffer.storeBytes(of: value, toByteOffset: count, as: T.self)
            if stride > MemoryLayout<T>.size {
                for index in MemoryLayout<T>.size..<stride {
                    unsafe buffer.storeBytes(of: 0, toByteOffset: count + index, as: UInt8.self)
                }
            }
            count += stride
            if count == LayerOutput.bufferByteCount { try flush() }
        } else {
            try putAcross(value)
        }
    }

    /// A value that lies across the buffer's end.
    private mutating func putAcross<T: BitwiseCopyable>(_ value: T) throws(SystemError) {
        var copy = value
        var bytes = unsafe withUnsafeBytes(of: &copy) { unsafe Array($0) }
        while bytes.count < MemoryLayout<T>.stride { bytes.append(0) }
        try put(bytes.span)
    }

    mutating func put(_ bytes: Span<UInt8>) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let part = min(bytes.count - done, LayerOutput.bufferByteCount - count)
            unsafe bytes.withUnsafeBytes { source in
                // Sound: `part` bytes are left on both sides.
                guard let base = source.baseAddress else { return }
                unsafe (buffer + count).copyMemory(from: base + done, byteCount: part)
            }
            done += part
            count += part
            if count == LayerOutput.bufferByteCount { try flush() }
        }
    }

    /// Writes a whole column as it stands in memory.
    mutating func put<T: BitwiseCopyable>(column: borrowing Column<T>) throws(SystemError) {
        try put(column.bytes)
    }

    private mutating func flush() throws(SystemError) {
        var start = 0
        while start < count {
            let part = min(LayerHeader.blockByteCount, count - start)
            let sum = unsafe hklog_crc32c(0, buffer + start, part)
            blockChecksums.append(sum)
            start += part
        }
        let bytes = unsafe Span<UInt8>(
            _unsafeStart: buffer.assumingMemoryBound(to: UInt8.self), count: count)
        try file.writeFully(bytes, at: byteOffset)
        byteOffset += count
        count = 0
    }

    /// Writes the checksum tables and, last, the header.
    mutating func finish(_ header: inout LayerHeader) throws(SystemError) {
        try flush()
        header.sections = sections
        header.blockTableOffset = UInt64(byteOffset)
        header.blockCount = UInt64(blockChecksums.count)
        var table: [UInt8] = []
        for sum in blockChecksums { LayerOutput.append(sum, to: &table) }
        var top: [UInt8] = []
        var start = 0
        while start < table.count {
            let count = min(LayerHeader.blockByteCount, table.count - start)
            let sum = unsafe table.withUnsafeBytes { bytes in
                unsafe hklog_crc32c(0, bytes[start..<start + count].baseAddressOfPart, count)
            }
            LayerOutput.append(sum, to: &top)
            start += count
        }
        header.topTableChecksum = unsafe top.withUnsafeBytes { unsafe hklog_crc32c(0, $0.baseAddress, $0.count) }
        table.append(contentsOf: top)
        try file.writeFully(table.span, at: byteOffset)
        header.fileByteCount = UInt64(byteOffset + table.count)
        let bytes = header.encoded()
        try file.writeFully(bytes.span, at: 0)
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt32(0), to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Where the part begins.
    fileprivate var baseAddressOfPart: UnsafeRawPointer? { unsafe UnsafeRawBufferPointer(rebasing: self).baseAddress }
}
