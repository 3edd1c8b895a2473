internal import HKLogFormat

/// What a stream has of a uuid, for an importer that compares.
package enum StreamCell: Equatable, Sendable {
    /// Nothing, or a cell that a later add of the present epoch brings to life.
    case absent
    /// A tombstone of the present epoch: only a later epoch brings it back.
    case deadInPresentEpoch
    /// A live sample at this row of the views.
    case live(row: Int)
}

/// The columns of a stored sample.
package struct StreamRow: Sendable {
    /// Microseconds since 1970.
    package var start: Int64
    /// Microseconds, 0 or more.
    package var duration: Int64
    /// Read as the shape says.
    package var valueBits: UInt64
    /// A number for `Store.shape`.
    package var shape: Int
}

// What an importer asks of the views. Rows keep their numbers until something is appended.
extension Store {
    /// How many samples of a stream are live.
    package func liveCount(ofStream stream: String) throws(HKLogError) -> Int {
        try withViews { views throws(HKLogError) in
            views.symbols.streamID(stream).map { views.streams[Int($0)].liveCells } ?? 0
        }
    }

    /// Whether the log has batches of a stream.
    package func hasBatches(ofStream stream: String) throws(HKLogError) -> Bool {
        try withViews { views throws(HKLogError) in
            views.symbols.streamID(stream).map { views.streams[Int($0)].hasBatches } ?? false
        }
    }

    /// One more than the highest number of a row.
    package func rowLimit() throws(HKLogError) -> Int {
        try withViews { views throws(HKLogError) in views.rowBase + views.table.count }
    }

    /// What a stream has of some uuids, one cell for each.
    package func cells(of uuids: [SampleUUID], inStream stream: String) throws(HKLogError) -> [StreamCell] {
        try withViews { views throws(HKLogError) in
            guard let streamID = views.symbols.streamID(stream) else {
                return [StreamCell](repeating: .absent, count: uuids.count)
            }
            let epoch = views.streams[Int(streamID)].epoch
            return uuids.map { uuid in
                guard let row = views.cell(of: uuid.raw, stream: streamID) else { return .absent }
                let flags = views.flags(row)
                if flags & (RowState.dead | RowState.swept) == 0 { return .live(row: Int(row)) }
                let isOfPresentEpoch = views.batchRecord(of: row).epoch >= epoch
                return flags & RowState.dead != 0 && isOfPresentEpoch ? .deadInPresentEpoch : .absent
            }
        }
    }

    /// The columns of a row.
    package func row(_ row: Int) throws(HKLogError) -> StreamRow {
        try withViews { views throws(HKLogError) in
            let view = views.view(UInt32(truncatingIfNeeded: row))
            return StreamRow(
                start: view.start, duration: view.duration, valueBits: view.value, shape: Int(view.shape))
        }
    }

    /// The shape of a number that `row` has given.
    package func shape(_ number: Int) throws(HKLogError) -> SampleShape {
        try withViews { views throws(HKLogError) in
            guard let shape = views.symbols.sampleShape(UInt32(truncatingIfNeeded: number)) else {
                throw HKLogError(
                    .damaged, "\(self.path): a checkpoint names a kind of sample that is not there")
            }
            return shape
        }
    }

    /// Metadata and payload of a row, compact JSON objects or empty for none.
    package func texts(ofRow row: Int) throws(HKLogError) -> (metadata: [UInt8], payload: [UInt8]) {
        try withViews { views throws(HKLogError) in
            let extra = views.view(UInt32(truncatingIfNeeded: row)).extra
            guard extra != 0 else { return ([], []) }
            return (views.metadata(of: extra), views.payload(of: extra))
        }
    }

    /// Row, uuid and shape of each live sample of a stream.
    package func liveRows(
        ofStream stream: String
    ) throws(HKLogError) -> [(row: Int, uuid: SampleUUID, shape: Int)] {
        try withViews { views throws(HKLogError) in
            guard let streamID = views.symbols.streamID(stream) else { return [] }
            var rows: [(row: Int, uuid: SampleUUID, shape: Int)] = []
            let rowCount = views.rowBase + views.table.count
            // The count comes from a checkpoint: no more room is made than there are rows.
            rows.reserveCapacity(min(max(views.streams[Int(streamID)].liveCells, 0), rowCount))
            for row in 0..<UInt32(rowCount) {
                guard views.flags(row) & (RowState.dead | RowState.gone | RowState.swept) == 0 else {
                    continue
                }
                let view = views.view(row)
                guard views.symbols.shapes[Int(view.shape)].streamID == streamID else { continue }
                rows.append((Int(row), SampleUUID(raw: view.uuid), Int(view.shape)))
            }
            return rows
        }
    }

    /// For each type, the other streams that have shown samples of it, by name.
    ///
    /// One pass over the shapes, however many types are asked for.
    package func streams(holding types: [String], besides stream: String) throws(HKLogError) -> [[String]] {
        try withViews { views throws(HKLogError) in
            let own = views.symbols.streamID(stream)
            var streamsByType: [UInt32: Set<UInt32>] = [:]
            for shape in views.symbols.shapes where shape.shownCount > 0 && shape.streamID != own {
                streamsByType[shape.typeID, default: []].insert(shape.streamID)
            }
            return types.map { type in
                let streams = views.symbols.typeID(type).flatMap { streamsByType[$0] } ?? []
                return streams.map { views.symbols.streamName($0) }.sorted()
            }
        }
    }
}

extension SampleShape {
    /// Stands for a shape that could not be read.
    package static let unknown = SampleShape(valueKind: .none, type: "")
}
