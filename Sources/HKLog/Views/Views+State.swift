internal import HKLogFormat

// The small state of a checkpoint: symbols, streams, counters. It stands whole in each layer, so that the newest
// one is enough to go on from.
extension Views {
    /// The state as bytes.
    ///
    /// `row` gives the new number of a row, `nil` for one that is not kept.
    func encodedState(row: (UInt32) -> UInt32?) -> [UInt8] {
        var writer = StateWriter()
        // The settings come first and are plain text: repair reads them where everything else is lost.
        writer.put(settings.encoded())
        writer.put(symbols.streams.count)
        for id in 0..<symbols.streams.count { writer.put(symbols.streams.bytes(id)) }
        writer.put(symbols.shapes.count)
        for (id, shape) in symbols.shapes.enumerated() {
            writer.put(symbols.label(of: UInt32(id)))
            writer.put(shape.streamID)
            writer.put(shape.isManual)
            writer.put(shape.shownCount)
            writer.put(shape.firstStart)
            writer.put(shape.lastStart)
            writer.put(shape.extremesAreStale)
        }
        writer.put(symbols.types.count)
        for type in symbols.types {
            let long = type.longRows.compactMap(row)
            writer.put(long.count)
            for row in long { writer.put(row) }
            writer.put(type.ranking.count)
            for source in type.ranking { writer.put(source) }
        }
        writer.put(streams.count)
        for stream in streams {
            writer.put(stream.anchor != nil)
            writer.put(stream.anchor ?? [])
            for value in [
                stream.anchorEpoch, stream.anchorSequence, stream.epoch, stream.completeEpoch,
                stream.lastSequence,
                stream.batches, stream.logAnchor, stream.snapshotListed, stream.liveAtOpening,
                UInt64(stream.lastBatch), UInt64(stream.firstBatch), UInt64(stream.firstCompleteBatch),
            ] { writer.put(value) }
            for value in [stream.isNumbered, stream.snapshotIsOpen, stream.hasGap] { writer.put(value) }
            writer.put(stream.cells.count)
            for cells in stream.cells {
                writer.put(cells.epoch)
                writer.put(cells.live)
                writer.put(cells.dead)
            }
        }
        writer.put(UInt64(truncatingIfNeeded: digestSum))
        writer.put(UInt64(truncatingIfNeeded: digestSum >> 64))
        writer.put(shownCount)
        writer.put(tombstoneCount)
        writer.put(bucketCount)
        return writer.bytes
    }

    /// The settings that a layer was made under; `nil` when they cannot be read.
    static func settings(of layer: LayerFile) -> StoreSettings? {
        let bytes = unsafe Array(layer.slice(layer.state, 0..<layer.state.count))
        var reader = StateReader(bytes)
        let text = reader.text()
        return reader.isDamaged ? nil : StoreSettings(encoded: text)
    }

    /// Takes over what the newest layer says.
    ///
    /// Anything that does not fit marks the layer as damaged.
    func loadState(of layer: LayerFile) {
        var reader = StateReader(unsafe Array(layer.slice(layer.state, 0..<layer.state.count)))
        _ = reader.text()
        for _ in 0..<reader.count(of: 8) { _ = symbols.internStream(reader.text().span) }
        for index in 0..<reader.count(of: 56) {
            let label = reader.text()
            let stream = reader.number()
            let isManual = reader.flag()
            let known = symbols.shapes.count
            guard Int(stream) < symbols.streams.count,
                let id = symbols.internShape(label.span, stream: stream, isManual: isManual),
                Int(id) == index,
                symbols.shapes.count == known + 1
            else { return layer.fail() }
            let (count, first, last, stale) = (
                reader.integer(), reader.signed(), reader.signed(), reader.flag()
            )
            // No more rows are shown than there are, and their days are days of the calendar.
            let days = Timestamp.earliest.microseconds...Timestamp.latest.microseconds
            guard count == 0 || days.contains(first) && days.contains(last), (0...rowBase).contains(count)
            else { return layer.fail() }
            symbols.withShape(id) { entry in
                entry.shownCount = count
                entry.firstStart = first
                entry.lastStart = last
                entry.extremesAreStale = stale
            }
        }
        let typeCount = reader.count(of: 16)
        guard typeCount == symbols.types.count else { return layer.fail() }
        for type in 0..<typeCount {
            let long = (0..<reader.count(of: 8)).map { _ in reader.number() }
            let ranking = (0..<reader.count(of: 8)).map { _ in reader.number() }
            let sourceCount = symbols.sources.count
            guard long.allSatisfy({ Int($0) < rowBase }), ranking.allSatisfy({ Int($0) < sourceCount }) else {
                return layer.fail()
            }
            symbols.withType(UInt32(type)) { entry in
                entry.longRows = long
                entry.ranking = ranking
                for (rank, source) in ranking.enumerated() { entry.rankOfSource[source] = Int32(rank) }
                entry.rankingIsStale = false
            }
        }
        let streamCount = reader.count(of: 144)
        guard streamCount == symbols.streams.count else { return layer.fail() }
        // Numbers that are counted on from: far from where a sum would not fit.
        let counts = -Int(UInt32.max)...Int(UInt32.max)
        for _ in 0..<streamCount {
            var stream = StreamState()
            let hasAnchor = reader.flag()
            let anchor = reader.text()
            stream.anchor = hasAnchor ? anchor : nil
            stream.anchorEpoch = reader.word()
            stream.anchorSequence = reader.word()
            stream.epoch = reader.word()
            stream.completeEpoch = reader.word()
            stream.lastSequence = reader.word()
            stream.batches = reader.word()
            stream.logAnchor = reader.word()
            stream.snapshotListed = reader.word()
            stream.liveAtOpening = reader.word()
            stream.lastBatch = reader.number()
            stream.firstBatch = reader.number()
            stream.firstCompleteBatch = reader.number()
            stream.isNumbered = reader.flag()
            stream.snapshotIsOpen = reader.flag()
            stream.hasGap = reader.flag()
            for _ in 0..<reader.count(of: 24) {
                let cells = StreamState.EpochCells(
                    epoch: reader.word(), live: reader.integer(), dead: reader.integer())
                guard counts.contains(cells.live), counts.contains(cells.dead) else { return layer.fail() }
                stream.cells.append(cells)
            }
            guard Int(stream.lastBatch) <= batchBase, stream.batches <= UInt64(UInt32.max),
                stream.snapshotListed <= UInt64(Int64.max)
            else { return layer.fail() }
            streams.append(stream)
        }
        let low = reader.word()
        digestSum = UInt128(reader.word()) << 64 | UInt128(low)
        shownCount = reader.integer()
        tombstoneCount = reader.integer()
        bucketCount = reader.integer()
        guard !reader.isDamaged, reader.isAtEnd, counts.contains(shownCount),
            counts.contains(tombstoneCount), counts.contains(bucketCount)
        else { return layer.fail() }
        anchor = layer.header.toAnchor
        nonce = layer.header.nonce
        guard layer.header.segmentByteOffset <= UInt64(Int.max),
            layer.header.lastFrameByteOffset <= UInt64(Int.max)
        else { return layer.fail() }
        logPosition = LogPosition(
            anchor: anchor, nonce: nonce, segment: layer.header.segmentAnchor,
            byteOffset: Int(layer.header.segmentByteOffset),
            lastFrameByteOffset: Int(layer.header.lastFrameByteOffset))
    }
}
