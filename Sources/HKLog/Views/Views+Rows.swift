internal import HKLogFormat

/// One row's columns, wherever they stand.
struct RowView {
    var uuid: RawUUID
    var start: Int64
    var duration: Int64
    var value: UInt64
    var shape: UInt32
    var extra: UInt32

    var end: Int64 { start &+ duration }
}

// Access to rows by number, in memory or in a layer.
extension Views {
    /// The layer that holds a row of a lower number than those in memory, and its index there.
    private func layer(of row: UInt32) -> (LayerFile, Int)? {
        for layer in layers.reversed() where row >= layer.rowBase {
            return (layer, Int(row - layer.rowBase))
        }
        return nil
    }

    func view(_ row: UInt32) -> RowView {
        if Int(row) >= rowBase {
            let index = Int(row) - rowBase
            return RowView(
                uuid: table.uuids[index], start: table.starts[index], duration: table.durations[index],
                value: table.values[index], shape: table.shapes[index], extra: table.extras[index])
        }
        guard let (layer, index) = layer(of: row) else {
            return RowView(
                uuid: RawUUID(first: 0, second: 0), start: 0, duration: 0, value: 0, shape: 0, extra: 0)
        }
        var shape: UInt32 = layer.load(layer.shapes, index)
        if Int(shape) >= symbols.shapes.count {
            layer.fail()
            shape = 0
        }
        var extra: UInt32 = layer.load(layer.extras, index)
        if Int(extra) > extraBase {
            layer.fail()
            extra = 0
        }
        var start: Int64 = layer.load(layer.starts, index)
        var duration: Int64 = layer.load(layer.durations, index)
        if start < Timestamp.earliest.microseconds || start > Timestamp.latest.microseconds || duration < 0
            || duration > Timestamp.latest.microseconds - Timestamp.earliest.microseconds
        {
            layer.fail()
            (start, duration) = (0, 0)
        }
        return RowView(
            uuid: layer.load(layer.uuids, index), start: start, duration: duration,
            value: layer.load(layer.values, index), shape: shape, extra: extra)
    }

    /// A row's flags as they are now.
    func flags(_ row: UInt32) -> UInt8 {
        if Int(row) >= rowBase { return table.flags[Int(row) - rowBase] }
        if let flags = overrides[row] { return flags }
        guard let (layer, index) = layer(of: row) else { return RowState.gone }
        // A newer layer may have changed the flags of a row of an older one.
        for newer in layers.reversed() {
            if newer === layer { break }
            if let flags = newer.override(of: row) { return flags }
        }
        return layer.load(layer.flags, index)
    }

    func setFlags(_ row: UInt32, _ flags: UInt8) {
        if Int(row) >= rowBase {
            table.flags[Int(row) - rowBase] = flags
        } else {
            overrides[row] = flags
        }
    }

    /// The number of the batch that a row came with.
    func batchNumber(of row: UInt32) -> Int {
        if Int(row) >= rowBase { return Int(table.batches[Int(row) - rowBase]) }
        guard let (layer, index) = layer(of: row) else { return 0 }
        let number: UInt32 = layer.load(layer.batches, index)
        return Int(number)
    }

    func batchRecord(of row: UInt32) -> BatchRecord { batchRecord(batchNumber(of: row)) }

    func batchRecord(_ number: Int) -> BatchRecord {
        if number >= batchBase {
            guard number - batchBase < batches.count else { return BatchRecord() }
            return batches[number - batchBase]
        }
        for layer in layers.reversed() where number >= Int(layer.header.batchBase) {
            var record: BatchRecord = layer.load(layer.batchTable, number - Int(layer.header.batchBase))
            if Int(record.stream) >= streams.count {
                layer.fail()
                record.stream = 0
            }
            return record
        }
        return BatchRecord()
    }

    /// The rows that came with a batch.
    func rows(ofBatch number: Int) -> Range<UInt32> {
        let first = batchRecord(number).firstRow
        let total = UInt32(rowBase + table.count)
        let isLast = number + 1 >= batchBase + batches.count
        let end = isLast ? total : batchRecord(number + 1).firstRow
        return min(first, total)..<max(min(end, total), min(first, total))
    }

    /// Calls for each cell of a uuid: one a stream.
    func forEachCell(of uuid: RawUUID, _ body: (UInt32) -> Void) {
        var probe = 0
        let hash = RowTable.hash(uuid, table.seed)
        while let row = table.next(uuid, hash: hash, probe: &probe) {
            if table.flags[row] & RowState.gone == 0 { body(UInt32(rowBase + row)) }
        }
        forEachLayerCell(of: uuid, body)
    }

    private func forEachLayerCell(of uuid: RawUUID, _ body: (UInt32) -> Void) {
        for layer in layers {
            var probe = 0
            let hash = RowTable.hash(uuid, layer.header.seed)
            while let index = layer.next(uuid, hash: hash, probe: &probe) {
                let row = layer.rowBase + UInt32(index)
                if flags(row) & RowState.gone == 0 { body(row) }
            }
        }
    }

    /// The cell of a uuid in a stream.
    ///
    /// `before` leaves out a row that is only being placed.
    func cell(of uuid: RawUUID, stream: UInt32, before: UInt32 = .max) -> UInt32? {
        var probe = 0
        let hash = RowTable.hash(uuid, table.seed)
        while let index = table.next(uuid, hash: hash, probe: &probe) {
            let row = UInt32(rowBase + index)
            if row < before, table.flags[index] & RowState.gone == 0,
                symbols.shapes[Int(table.shapes[index])].streamID == stream
            {
                return row
            }
        }
        var found: UInt32?
        forEachLayerCell(of: uuid) { row in
            if row < before && symbols.shapes[Int(view(row).shape)].streamID == stream { found = row }
        }
        return found
    }

    /// The record of an extra by its number, 1 and up.
    func extraRecord(_ extra: UInt32) -> ExtraRecord {
        let index = Int(extra) - 1
        if index >= extraBase { return extras[index - extraBase] }
        for layer in layers.reversed() where index >= Int(layer.header.extraBase) {
            return layer.load(layer.extraTable, index - Int(layer.header.extraBase))
        }
        return ExtraRecord()
    }

    /// The metadata of an extra, a compact JSON object; empty for none.
    func metadata(of extra: UInt32) -> [UInt8] { extraText(extra, isPayload: false) }

    /// The payload of an extra, a compact JSON object; empty for none.
    func payload(of extra: UInt32) -> [UInt8] { extraText(extra, isPayload: true) }

    private func extraText(_ extra: UInt32, isPayload: Bool) -> [UInt8] {
        guard extra != 0 else { return [] }
        let record = extraRecord(extra)
        let middle = record.byteOffset &+ UInt64(record.metadataByteCount)
        let (start, count) =
            isPayload ? (middle, record.payloadByteCount) : (record.byteOffset, record.metadataByteCount)
        guard count > 0 else { return [] }
        let index = Int(extra) - 1
        if index >= extraBase {
            let from = Int(start)
            return extraBytes.array(from..<from + Int(count))
        }
        for layer in layers.reversed() where index >= Int(layer.header.extraBase) {
            guard start <= UInt64(layer.extraBytes.count),
                UInt64(count) <= UInt64(layer.extraBytes.count) - start
            else {
                layer.fail()
                return []
            }
            let slice = unsafe layer.slice(layer.extraBytes, Int(start)..<Int(start) + Int(count))
            return unsafe Array(slice)
        }
        return []
    }

    /// A row as a sample.
    func sample(_ row: UInt32) -> StoredSample? {
        let view = view(row)
        let entry = symbols.shapes[Int(view.shape)]
        guard let shape = symbols.sampleShape(view.shape) else { return nil }
        var sample = Sample(
            uuid: SampleUUID(raw: view.uuid), type: shape.type, start: Timestamp(microseconds: view.start),
            end: flags(row) & RowState.hasEnd != 0 ? Timestamp(microseconds: view.end) : nil,
            unit: shape.unit,
            source: shape.source, device: shape.device)
        switch shape.valueKind {
        case .none: break
        case .double: sample.value = .quantity(Double(bitPattern: view.value))
        case .integer: sample.value = .category(Int64(bitPattern: view.value))
        }
        if view.extra != 0 {
            let record = extraRecord(view.extra)
            if record.count > 0 { sample.count = record.count }
            let metadata = metadata(of: view.extra)
            if !metadata.isEmpty { sample.metadata = JSONText(uncheckedCompactObject: metadata) }
            let payload = payload(of: view.extra)
            if !payload.isEmpty { sample.payload = JSONText(uncheckedCompactObject: payload) }
        }
        return StoredSample(
            sample: sample, stream: symbols.streamName(entry.streamID),
            sourceName: displayName(ofSource: entry.sourceID))
    }
}

extension LayerFile {
    /// The next row with a uuid in its probe sequence; the place moves on.
    func next(_ uuid: RawUUID, hash: UInt64, probe: inout Int) -> Int? {
        guard slots.count > 0 else { return nil }
        let mask = slots.count - 1
        var slot = (Int(truncatingIfNeeded: hash) &+ probe) & mask
        while probe <= slots.count {
            let entry: UInt64 = load(slots, slot)
            if entry == 0 { return nil }
            probe += 1
            if (entry ^ hash) >> 32 == 0 {
                let index = Int(UInt32(truncatingIfNeeded: entry)) - 1
                guard index >= 0, index < rowCount else {
                    fail()
                    return nil
                }
                let other: RawUUID = load(uuids, index)
                if other == uuid { return index }
            }
            slot = (slot + 1) & mask
        }
        fail()
        return nil
    }

    /// The flags that this layer gives to a row of an older one.
    func override(of row: UInt32) -> UInt8? {
        var (low, high) = (0, overrideRows.count)
        while low < high {
            let middle = (low + high) / 2
            let candidate: UInt32 = load(overrideRows, middle)
            if candidate == row { return load(overrideFlags, middle) as UInt8 }
            if candidate < row { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// A member of a sync group; `nil` when its row is none that this layer can know.
    func syncMember(_ index: Int) -> SyncMember? {
        let member: SyncMember = load(syncMembers, index)
        guard UInt64(member.row) < header.rowBase + UInt64(rowCount) else {
            fail()
            return nil
        }
        return member
    }

    func forEachSyncMember(of group: RawDigest, _ body: (SyncMember) -> Void) {
        var (low, high) = (0, syncMembers.count)
        while low < high {
            let middle = (low + high) / 2
            let candidate: SyncMember = load(syncMembers, middle)
            if candidate.group.sum < group.sum { low = middle + 1 } else { high = middle }
        }
        while low < syncMembers.count {
            guard let member = syncMember(low), member.group == group else { return }
            body(member)
            low += 1
        }
    }

    /// Where a day bucket stands among this layer's; `nil` when it has none.
    func bucketIndex(_ key: BucketKey) -> Int? {
        let place = firstBucket(from: key)
        guard place < bucketKeys.count else { return nil }
        let found: UInt64 = load(bucketKeys, place)
        return found == key.raw ? place : nil
    }

    /// The first bucket at or after a key.
    func firstBucket(from key: BucketKey) -> Int {
        var (low, high) = (0, bucketKeys.count)
        while low < high {
            let middle = (low + high) / 2
            let candidate: UInt64 = load(bucketKeys, middle)
            if candidate < key.raw { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Calls for each bucket from a key through another one, in order.
    @inline(__always)
    func forEachBucket(
        from first: BucketKey, through last: BucketKey, _ body: (BucketKey, borrowing BucketRecord) -> Void
    ) {
        let range = firstBucket(from: first)..<max(firstBucket(from: first), endBucket(through: last))
        let keys = unsafe slice(bucketKeys, elements: range, of: UInt64.self)
        let records = unsafe slice(buckets, elements: range, of: BucketRecord.self)
        guard keys.count == range.count * 8,
            records.count == range.count * MemoryLayout<BucketRecord>.stride
        else { return }
        // Sound: both slices have been checked for `range.count` elements, and a section that was written by this
        // program begins at a multiple of 16; one that does not is read element by element.
        guard let base = records.baseAddress, UInt(bitPattern: base) & 15 == 0 else {
            for index in range {
                let record: BucketRecord = load(buckets, index)
                body(BucketKey(raw: load(bucketKeys, index)), record)
            }
            return
        }
        let aligned = unsafe base.assumingMemoryBound(to: BucketRecord.self)
        for index in 0..<range.count {
            let key = unsafe keys.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
            unsafe body(BucketKey(raw: key), aligned[index])
        }
    }

    /// The end of the buckets that are not behind a key.
    private func endBucket(through key: BucketKey) -> Int {
        key.raw == .max ? bucketKeys.count : firstBucket(from: BucketKey(raw: key.raw + 1))
    }

    /// The rows of this layer that touch a bucket.
    func forEachRow(ofBucket index: Int, _ body: (UInt32) -> Void) {
        let end: UInt64 = load(bucketRowEnds, index)
        let start: UInt64 = index == 0 ? 0 : load(bucketRowEnds, index - 1)
        guard start <= end, end <= UInt64(bucketRows.count) else {
            fail()
            return
        }
        for place in Int(start)..<Int(end) {
            let row: UInt32 = load(bucketRows, place)
            guard row >= rowBase, Int(row - rowBase) < rowCount else {
                fail()
                return
            }
            body(row)
        }
    }
}
