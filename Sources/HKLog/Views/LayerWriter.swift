private import CHKLogShims
internal import HKLogFormat

/// Writes views as a layer file: what is in memory, together with as many of the newest layers as are small
/// beside it.
///
/// So a store of any size is rewritten whole only after it has grown by about as much again.
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
    /// Flags of all rows from `rowBase` on.
    private var currentFlags: [UInt8] = []
    private var keptRows = 0
    private var keptExtras = 0

    private static let dropped = UInt32.max

    /// Plans a layer.
    ///
    /// `whole` takes every layer in.
    init(_ views: Views, whole: Bool) {
        self.views = views
        var kept = views.layers.count
        var rows = views.table.count + views.batches.count
        while kept > 0,
            whole || views.layers[kept - 1].rowCount + views.layers[kept - 1].batchTable.count <= rows
        {
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

    /// Decides which rows go into the layer.
    ///
    /// Gone rows and swept ones stay out, unless only a few are: then nothing is renumbered, and the columns in
    /// memory are written as they stand.
    private mutating func chooseRows() {
        gatherFlags()
        var droppable = 0
        for flags in currentFlags where LayerWriter.isDroppable(flags) { droppable += 1 }
        let extraCount = views.extraBase + views.extras.count - extraBase
        guard droppable * 8 > rowCount || !mergedLayers.isEmpty || rowCount == 0 else {
            keptRows = rowCount
            keptExtras = extraCount
            return
        }
        var map = [UInt32](repeating: LayerWriter.dropped, count: rowCount)
        for index in 0..<rowCount where !LayerWriter.isDroppable(currentFlags[index]) {
            map[index] = UInt32(rowBase + keptRows)
            keptRows += 1
        }
        rowMap = map
        guard droppable > 0, extraCount > 0 else {
            keptExtras = extraCount
            return
        }
        var extras = [UInt32](repeating: LayerWriter.dropped, count: extraCount)
        forEachRow(\.extras, views.table.extras) { index, extra in
            if currentFlags[index] & RowState.dead == 0, Int(extra) > extraBase,
                Int(extra) - extraBase <= extraCount
            {
                extras[Int(extra) - 1 - extraBase] = 0
            }
        }
        for index in extras.indices where extras[index] == 0 {
            extras[index] = UInt32(extraBase + keptExtras + 1)
            keptExtras += 1
        }
        extraMap = extras
    }

    private static func isDroppable(_ flags: UInt8) -> Bool {
        flags & RowState.gone != 0 || flags & (RowState.swept | RowState.dead) == RowState.swept
    }

    /// The flags of all rows from `rowBase` on as they are now.
    private mutating func gatherFlags() {
        currentFlags.reserveCapacity(rowCount)
        for layer in mergedLayers {
            for index in 0..<layer.rowCount { currentFlags.append(layer.load(layer.flags, index)) }
        }
        for layer in mergedLayers {
            for index in 0..<layer.overrideRows.count {
                let row: UInt32 = layer.load(layer.overrideRows, index)
                if Int(row) >= rowBase, Int(row) - rowBase < currentFlags.count {
                    currentFlags[Int(row) - rowBase] = layer.load(layer.overrideFlags, index)
                }
            }
        }
        for (row, flags) in views.overrides where Int(row) >= rowBase {
            currentFlags[Int(row) - rowBase] = flags
        }
        currentFlags.append(contentsOf: views.table.flags.array(0..<views.table.count))
    }

    private func newNumber(_ row: UInt32) -> UInt32? {
        guard let rowMap, Int(row) >= rowBase else { return row }
        let number = rowMap[Int(row) - rowBase]
        return number == LayerWriter.dropped ? nil : number
    }

    /// Calls for each row that goes into the layer, in order, with its index from `rowBase` on and its value in a
    /// column.
    private func forEachRow<T: BitwiseCopyable, Failure: Error>(
        _ section: KeyPath<LayerFile, LayerFile.Section>, _ column: borrowing Column<T>,
        _ body: (Int, T) throws(Failure) -> Void
    ) throws(Failure) {
        var index = 0
        for layer in mergedLayers {
            let own = layer[keyPath: section]
            for row in 0..<layer.rowCount {
                if rowMap == nil || rowMap?[index] != LayerWriter.dropped {
                    try body(index, layer.load(own, row))
                }
                index += 1
            }
        }
        for row in 0..<column.count {
            if rowMap == nil || rowMap?[index] != LayerWriter.dropped { try body(index, column[row]) }
            index += 1
        }
    }

    /// Writes one column of all rows that are kept; those that are dead hold nothing.
    private func writeColumn<T: FixedWidthInteger & BitwiseCopyable>(
        _ kind: LayerSection, _ section: KeyPath<LayerFile, LayerFile.Section>, _ column: borrowing Column<T>,
        _ output: inout LayerOutput
    ) throws(SystemError) {
        try output.section(kind, elementByteCount: MemoryLayout<T>.stride, count: keptRows) {
            writer throws(SystemError) in
            try forEachRow(section, column) { index, value throws(SystemError) in
                try writer.put(currentFlags[index] & (RowState.dead | RowState.gone) == 0 ? value : 0)
            }
        }
    }

    private func writeRows(_ output: inout LayerOutput) throws(SystemError) {
        guard rowMap != nil else { return try writeMemory(&output) }
        try output.section(.uuids, elementByteCount: 16, count: keptRows) { writer throws(SystemError) in
            try forEachRow(\.uuids, views.table.uuids) { _, uuid throws(SystemError) in try writer.put(uuid) }
        }
        try writeColumn(.starts, \.starts, views.table.starts, &output)
        try writeColumn(.durations, \.durations, views.table.durations, &output)
        try writeColumn(.values, \.values, views.table.values, &output)
        // A dead cell's shape says its stream: it stays.
        try output.section(.shapes, elementByteCount: 4, count: keptRows) { writer throws(SystemError) in
            try forEachRow(\.shapes, views.table.shapes) { _, shape throws(SystemError) in
                try writer.put(shape)
            }
        }
        try output.section(.extras, elementByteCount: 4, count: keptRows) { writer throws(SystemError) in
            try forEachRow(\.extras, views.table.extras) { index, extra throws(SystemError) in
                if currentFlags[index] & (RowState.dead | RowState.gone) != 0 {
                    try writer.put(UInt32(0))
                } else if let extraMap, Int(extra) > extraBase, Int(extra) - extraBase <= extraMap.count {
                    try writer.put(extraMap[Int(extra) - 1 - extraBase])
                } else {
                    try writer.put(extra)
                }
            }
        }
        try output.section(.batches, elementByteCount: 4, count: keptRows) { writer throws(SystemError) in
            try forEachRow(\.batches, views.table.batches) { _, batch throws(SystemError) in
                try writer.put(batch)
            }
        }
        try output.section(.flags, elementByteCount: 1, count: keptRows) { writer throws(SystemError) in
            try forEachRow(\.flags, views.table.flags) { index, _ throws(SystemError) in
                try writer.put(currentFlags[index] | RowState.linked)
            }
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
    private func writeIndex(_ output: inout LayerOutput) throws(SystemError) -> (
        first: UInt64, second: UInt64
    ) {
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
        forEachRow(\.uuids, views.table.uuids) { (_: Int, uuid: RawUUID) in
            local += 1
            let hash = RowTable.hash(uuid, seed)
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
            for index in 0..<layer.bucketKeys.count {
                keys.append(BucketKey(raw: layer.load(layer.bucketKeys, index)))
            }
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
        try output.section(.bucketKeys, elementByteCount: 8, count: keptKeys.count) {
            writer throws(SystemError) in
            for key in keptKeys { try writer.put(key.raw) }
        }
        try output.section(
            .buckets, elementByteCount: MemoryLayout<BucketRecord>.stride, count: records.count
        ) {
            writer throws(SystemError) in
            for record in records { try writer.put(record) }
        }
        try output.section(
            .categoryRows, elementByteCount: MemoryLayout<CategoryRecord>.stride, count: categoryRows.count
        ) { writer throws(SystemError) in
            for row in categoryRows { try writer.put(row) }
        }
        try output.section(.bucketRowEnds, elementByteCount: 8, count: ends.count) {
            writer throws(SystemError) in
            for end in ends { try writer.put(end) }
        }
        try output.section(.bucketRows, elementByteCount: 4, count: rows.count) {
            writer throws(SystemError) in
            try writer.put(column: rows)
        }
    }

    private func add(_ row: UInt32, to rows: inout Column<UInt32>) {
        let flags = currentFlags[Int(row) - rowBase]
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
                newest[layer.load(layer.overrideRows, index)] =
                    layer.load(layer.overrideFlags, index) as UInt8
            }
        }
        for (row, flags) in views.overrides { newest[row] = flags }
        let rows = newest.keys.filter { Int($0) < rowBase }.sorted()
        try output.section(.overrideRows, elementByteCount: 4, count: rows.count) {
            writer throws(SystemError) in
            for row in rows { try writer.put(row) }
        }
        try output.section(.overrideFlags, elementByteCount: 1, count: rows.count) {
            writer throws(SystemError) in
            for row in rows { try writer.put(newest[row] ?? 0) }
        }
    }

    private func writeExtras(_ output: inout LayerOutput) throws(SystemError) {
        var byteOffset: UInt64 = 0
        try output.section(
            .extraTable, elementByteCount: MemoryLayout<ExtraRecord>.stride, count: keptExtras
        ) { writer throws(SystemError) in
            try forEachExtra { record, _ throws(SystemError) in
                var record = record
                record.byteOffset = byteOffset
                byteOffset += UInt64(record.metadataByteCount) + UInt64(record.payloadByteCount)
                try writer.put(record)
            }
        }
        try output.section(.extraBytes, elementByteCount: 1, count: Int(byteOffset)) {
            writer throws(SystemError) in
            try forEachExtra { record, layer throws(SystemError) in
                let count = Int(record.metadataByteCount) + Int(record.payloadByteCount)
                guard let layer else {
                    let start = Int(record.byteOffset)
                    return try writer.put(column: views.extraBytes, start..<start + count)
                }
                guard record.byteOffset <= UInt64(layer.extraBytes.count),
                    count <= layer.extraBytes.count - Int(record.byteOffset)
                else { return layer.fail() }
                let start = Int(record.byteOffset)
                let bytes = unsafe layer.slice(layer.extraBytes, start..<start + count)
                try writer.put(unsafe bytes.bindMemory(to: UInt8.self).span)
            }
        }
    }

    /// Calls for each extra that is kept, with the layer that its texts stand in; `nil` for memory.
    private func forEachExtra(_ body: (ExtraRecord, LayerFile?) throws(SystemError) -> Void)
        throws(SystemError)
    {
        var index = 0
        for layer in mergedLayers {
            for place in 0..<layer.extraTable.count {
                if isKept(extra: index) { try body(layer.load(layer.extraTable, place), layer) }
                index += 1
            }
        }
        for place in 0..<views.extras.count {
            if isKept(extra: index) { try body(views.extras[place], nil) }
            index += 1
        }
    }

    private func isKept(extra index: Int) -> Bool {
        extraMap == nil || extraMap?[index] != LayerWriter.dropped
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
        try output.section(.knownSlots, elementByteCount: 8, count: known.slots.count) {
            writer throws(SystemError) in
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
            for index in 0..<layer.syncMembers.count {
                if let member = layer.syncMember(index) { members.append(member) }
            }
        }
        for own in views.syncMembers.values { members.append(contentsOf: own) }
        var kept: [SyncMember] = []
        for var member in members {
            guard views.flags(member.row) & (RowState.gone | RowState.dead) == 0,
                let row = newNumber(member.row)
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
        unsafe buffer = UnsafeMutableRawPointer.allocate(
            byteCount: LayerOutput.bufferByteCount, alignment: 16)
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

    /// Writes a part of a column of bytes.
    mutating func put(column: borrowing Column<UInt8>, _ range: Range<Int>) throws(SystemError) {
        try put(column.bytes.extracting(range))
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
        header.topTableChecksum = unsafe top.withUnsafeBytes {
            unsafe hklog_crc32c(0, $0.baseAddress, $0.count)
        }
        table.append(contentsOf: top)
        try file.writeFully(table.span, at: byteOffset)
        header.fileByteCount = UInt64(byteOffset + table.count)
        let bytes = header.encoded()
        try file.writeFully(bytes.span, at: 0)
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt32(0), to: 32, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Where the part begins.
    fileprivate var baseAddressOfPart: UnsafeRawPointer? {
        unsafe UnsafeRawBufferPointer(rebasing: self).baseAddress
    }
}
