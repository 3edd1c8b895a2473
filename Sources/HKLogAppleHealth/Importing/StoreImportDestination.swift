package import HKLog

/// A stream of a store as the importer's destination.
///
/// Batches go in by groups.
package struct StoreImportDestination: ImportDestination {
    private let store: Store
    private let stream: String
    private let failures = Failures()

    /// Whether the store has other streams at all.
    private let hasOtherStreams: Bool

    package let isUntouched: Bool
    package private(set) var liveCount: Int
    package private(set) var rowLimit: Int

    /// Rows before and since the views were last saved.
    private var savedRows: Int
    private var unsavedRows = 0
    /// How many rows an import leaves in memory at least before it saves the views, and which share of the others.
    ///
    /// Many times what a store leaves by itself: each save merges what was saved before. What an import that was
    /// broken off has not saved is replayed within a second or two.
    private static let unsavedRowLimit = 1 << 20
    private static let unsavedRowDivisor = 2

    /// The first failure of a call that cannot throw.
    ///
    /// Nothing is appended after one.
    private final class Failures {
        var first: HKLogError?
    }

    package init(store: Store, stream: String) throws(HKLogError) {
        self.store = store
        self.stream = stream
        hasOtherStreams = try store.streams().contains { !$0.stream.utf8.elementsEqual(stream.utf8) }
        isUntouched = try !store.hasBatches(ofStream: stream)
        liveCount = try store.liveCount(ofStream: stream)
        let rows = try store.rowLimit()
        rowLimit = rows
        savedRows = rows
    }

    package func find(_ uuids: [SampleUUID], into states: inout [ImportedCell]) {
        let cells = attempt { () throws(HKLogError) in try store.cells(of: uuids, inStream: stream) }
        states = (cells ?? []).map { cell in
            switch cell {
            case .absent: .absent
            case .deadInPresentEpoch: .deadInPresentEpoch
            case .live(let row): .live(row: row)
            }
        }
        // After a failure nothing is appended, whatever the importer makes of these.
        if states.count < uuids.count {
            states += [ImportedCell](repeating: .absent, count: uuids.count - states.count)
        }
    }

    package func columns(ofRow row: Int) -> StoredColumns {
        let row = attempt { () throws(HKLogError) in try store.row(row) }
        return StoredColumns(
            start: row?.start ?? 0, duration: row?.duration ?? 0, valueBits: row?.valueBits ?? 0,
            shape: row?.shape ?? 0)
    }

    package func shape(_ number: Int) -> SampleShape {
        attempt { () throws(HKLogError) in try store.shape(number) } ?? .unknown
    }

    package func hasTexts(_ metadata: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>, row: Int) -> Bool {
        let stored = texts(ofRow: row)
        return isSame(metadata, stored.metadata) && isSame(payload, stored.payload)
    }

    private func isSame(_ left: ArraySlice<UInt8>, _ right: [UInt8]) -> Bool {
        // Sound: the slice is used only while the bytes live.
        unsafe left.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return right.isEmpty }
            return unsafe ByteSlice(start: start, count: bytes.count).equals(right)
        }
    }

    package func texts(ofRow row: Int) -> (metadata: [UInt8], payload: [UInt8]) {
        attempt { () throws(HKLogError) in try store.texts(ofRow: row) } ?? ([], [])
    }

    package func forEachLive(_ body: (_ row: Int, _ uuid: SampleUUID, _ shape: Int) -> Void) {
        let rows = attempt { () throws(HKLogError) in try store.liveRows(ofStream: stream) } ?? []
        for row in rows { body(row.row, row.uuid, row.shape) }
    }

    package func otherStreams(holding types: [String]) -> [[String]] {
        let none = types.map { _ in [String]() }
        if !hasOtherStreams { return none }
        return attempt { () throws(HKLogError) in try store.streams(holding: types, besides: stream) } ?? none
    }

    package mutating func append(_ batch: Batch) throws(HKLogError) {
        try check()
        _ = try store.enqueue(batch)
        unsavedRows += batch.addedCount + batch.deleted.count
        guard store.frameIsDue else { return }
        try store.commit()
        let limit = max(
            StoreImportDestination.unsavedRowLimit, savedRows / StoreImportDestination.unsavedRowDivisor)
        guard unsavedRows >= limit else { return }
        store.checkpointIfDue()
        savedRows += unsavedRows
        unsavedRows = 0
    }

    /// Throws what an earlier call could not throw.
    package func check() throws(HKLogError) {
        if let failure = failures.first { throw failure }
    }

    private func attempt<Result>(_ body: () throws(HKLogError) -> Result) -> Result? {
        do throws(HKLogError) {
            return try body()
        } catch {
            if failures.first == nil { failures.first = error }
            return nil
        }
    }
}
