package import HKLog

/// What an importer needs of the store that it imports into: the cells of its own stream.
///
/// Rows are numbers below `rowLimit` that stay the same until the next `append`.
package protocol ImportDestination {
    /// How many samples of the stream are live.
    var liveCount: Int { get }

    /// One more than the highest number of a row.
    var rowLimit: Int { get }

    /// Whether the stream has no cell at all, live or dead: then a first import need not look anything up.
    var isUntouched: Bool { get }

    /// Looks samples up, a few thousand at a time: `states` becomes one state for each uuid.
    func find(_ uuids: [SampleUUID], into states: inout [ImportedCell])

    /// The columns of a live row.
    func columns(ofRow row: Int) -> StoredColumns

    /// The shape of a number that `columns` has given.
    func shape(_ number: Int) -> SampleShape

    /// Whether a live row has just these texts, compact JSON each or empty for none.
    func hasTexts(_ metadata: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>, row: Int) -> Bool

    /// The texts of a live row, empty for none.
    func texts(ofRow row: Int) -> (metadata: [UInt8], payload: [UInt8])

    /// Calls `body` with the row, uuid and shape of each live sample of the stream, in any order.
    func forEachLive(_ body: (_ row: Int, _ uuid: SampleUUID, _ shape: Int) -> Void)

    /// The other streams that have live samples of each of some types.
    func otherStreams(holding types: [String]) -> [[String]]

    /// Appends a batch to the log and applies it, so that what follows sees it.
    mutating func append(_ batch: Batch) throws(HKLogError)
}

/// What the stream has of a uuid.
package enum ImportedCell: Equatable, Sendable {
    /// Nothing, or a cell that is dead or out of force since an earlier epoch: an add brings it to life.
    case absent
    /// A tombstone of the present epoch: only a later epoch brings it back.
    case deadInPresentEpoch
    /// A live sample at this row.
    case live(row: Int)
}

/// The columns of a stored sample that an importer compares.
package struct StoredColumns: Sendable {
    /// Microseconds since 1970.
    package var start: Int64
    /// Microseconds, 0 or more.
    package var duration: Int64
    /// Read as the shape says.
    package var valueBits: UInt64
    /// A number for `shape`.
    package var shape: Int

    package init(start: Int64, duration: Int64, valueBits: UInt64, shape: Int) {
        self.start = start
        self.duration = duration
        self.valueBits = valueBits
        self.shape = shape
    }
}
