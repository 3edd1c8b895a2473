internal import HKLogFormat
internal import Synchronization

/// A directory that holds a log of batches, its settings, and views of it.
///
/// One process writes, any number read. Every method may be called from any thread; calls wait for one another.
/// An app feeds it from an anchored query and keeps no anchor of its own:
///
/// ```swift
/// let store = try Store.open(at: path, access: .writeOrCreate(StoreOptions()))
/// let stream = type.identifier
/// let before = try store.sourceAnchor(stream: stream)  // nil: the query starts from nothing
/// let page = try await HKAnchoredObjectQueryDescriptor(
///     predicates: [.quantitySample(type: type)], anchor: try before.map(decodedAnchor), limit: 1000
/// ).result(for: healthStore)
/// var batch = Batch(
///     stream: stream, added: page.addedSamples.map { sample(of: $0) }, anchor: try encoded(page.newAnchor))
/// batch.previousAnchor = before.map { .anchor($0) } ?? Batch.PreviousAnchor.none
/// batch.deleted = page.deletedObjects.compactMap { SampleUUID($0.uuid.uuidString) }.map { Batch.Deletion(uuid: $0) }
/// try store.append(batch)  // returns once samples, deletions and anchor are on stable storage, together
/// ```
public final class Store: Sendable {
    // Sound: everything in the core is touched under the lock alone.
    private nonisolated(unsafe) let core: StoreCore
    private let lock = Mutex(())
    let notifier = ChangeNotifier()

    /// Where the store stands.
    public let path: String

    private init(_ core: StoreCore) {
        unsafe self.core = core
        path = core.files.store
        let notifier = notifier
        core.isWatched = { notifier.isWatched }
    }

    deinit { notifier.finish() }

    /// Opens a store.
    ///
    /// Throws `notFound` where there is none, `damaged` where `store.json` or, for a writer, the log is damaged,
    /// `locked` where another process writes, `cannotCreate` where a new one cannot be made, and `invalidArgument`
    /// for a zone that is not known. Cost: the part of the log after the newest checkpoint, once views are needed.
    public static func open(at path: String, access: StoreAccess, sync: SyncPolicy = .batch)
        throws(HKLogError)
        -> Store
    {
        try open(at: path, access: access, sync: sync, layer: SystemFiles())
    }

    package static func open(
        at path: String, access: StoreAccess, sync: SyncPolicy = .batch, layer: any FileLayer
    ) throws(HKLogError) -> Store {
        Store(try StoreCore(files: LogFiles(layer: layer, store: path), access: access, sync: sync))
    }

    /// Whether a store, or what is left of one, stands at a path.
    public static func exists(at path: String) -> Bool {
        let files = LogFiles(layer: SystemFiles(), store: path)
        if (try? files.layer.exists("\(files.store)/\(LogFiles.manifestName)")) == true { return true }
        return (try? files.hasSegments()) == true
    }

    func withCore<Result>(_ body: (StoreCore) throws(HKLogError) -> Result) throws(HKLogError) -> Result {
        // `sending` cannot be shown for values that the core hands out: they are copies.
        nonisolated(unsafe) var result: Swift.Result<Result, HKLogError>?
        lock.withLock { _ in
            do throws(HKLogError) {
                unsafe result = .success(try body(core))
            } catch {
                unsafe result = .failure(error)
            }
        }
        guard let result = unsafe result else { throw HKLogError(.internalFault, "the store gave no answer") }
        return try result.get()
    }

    private func read<Result>(_ body: (StoreCore) -> Result) -> Result {
        nonisolated(unsafe) var result: Result?
        lock.withLock { _ in unsafe result = body(core) }
        guard let result = unsafe result else { preconditionFailure("the closure has run") }
        return result
    }

    // MARK: What it is

    /// Whether opening made it.
    public var wasCreated: Bool { read { $0.wasCreated } }

    /// Warnings since the last call: a torn tail that was cut, a checkpoint that was set aside.
    public func takeWarnings() -> [String] {
        read { core in
            defer { core.warnings.removeAll() }
            return core.warnings
        }
    }

    /// Where reading met damage; answers are those of what comes before it.
    public var damage: HKLogError? { read { $0.damage } }

    /// What views depend on beside the log.
    public var settings: StoreSettings { read { $0.settings } }

    /// The rules of the store's zone.
    package var timeZoneRules: TimeZoneRules { read { $0.calendar.rules } }

    /// The store's calendar.
    package var calendar: LocalCalendar { read { $0.calendar } }

    /// How many batches stand in the log, as far as it can be read.
    public var logAnchor: UInt64 { read { (try? $0.views().anchor) ?? 0 } }

    // MARK: Writing

    /// Appends a batch; returns once it is as durable as the sync policy says.
    ///
    /// A repeat writes nothing and says so. Throws `conflict` where the batch contradicts the log, `invalidData`
    /// where it is not valid, `inputOutput` where it cannot be written: then the log is as it was.
    @discardableResult
    public func append(_ batch: Batch) throws(HKLogError) -> AppendResult {
        let result = try withCore { core throws(HKLogError) in
            let result = try core.enqueue(batch, syncing: core.sync == .batch)
            try core.commit()
            return result
        }
        if !result.duplicate && !result.stale { try notify() }
        return result
    }

    /// Appends a batch that is not acknowledged before the next `commit`.
    @discardableResult
    public func enqueue(_ batch: Batch) throws(HKLogError) -> AppendResult {
        try withCore { core throws(HKLogError) in try core.enqueue(batch, syncing: false) }
    }

    /// Whether the group of enqueued batches has reached 100 batches, 8 MiB or 10 ms.
    public var groupIsDue: Bool { read { $0.groupIsDue } }

    /// Whether the enqueued batches are as much as one frame should hold, 32 Ki samples or 8 MiB, however long they
    /// have waited: for an importer, of which nothing need be durable before its end.
    package var frameIsDue: Bool { read { $0.frameIsDue } }

    /// Puts what was enqueued on stable storage.
    ///
    /// Under the policies `batch` and `none` there is nothing to do: what `enqueue` took was written at once,
    /// under `none` without a sync.
    ///
    /// When it throws, nothing that waited is acknowledged, and nothing of it waits any more: enqueue it again.
    public func commit() throws(HKLogError) {
        try withCore { core throws(HKLogError) in try core.commit() }
        try notify()
    }

    private func notify() throws(HKLogError) {
        guard let notice = try withCore({ core throws(HKLogError) in core.takeNotice() }) else { return }
        notifier.send(notice)
    }

    /// Saves the views as they are, so that opening need not replay what they cover.
    public func checkpoint() throws(HKLogError) {
        try withCore { core throws(HKLogError) in try core.checkpoint(whole: false, required: true) }
    }

    /// Saves the views if much has come in since the last checkpoint, as every command does after its answer.
    ///
    /// That they cannot be saved is no failure.
    public func checkpointIfDue() {
        read { $0.checkpointIfDue() }
    }

    /// Commits, saves the views if that is due, and lets go of the store.
    ///
    /// Everything after it throws.
    public func close() throws(HKLogError) {
        notifier.finish()
        try withCore { core throws(HKLogError) in try core.close() }
    }

    /// Changes settings.
    ///
    /// What depends on them is rebuilt. In `styles` and `priorities` a `nil` value removes one.
    public func set(
        timeZone: String? = nil, styles: [String: AggregationStyle?] = [:],
        priorities: [String: [String]?] = [:]
    ) throws(HKLogError) {
        try withCore { core throws(HKLogError) in
            try core.change(timeZone: timeZone, styles: styles, priorities: priorities)
        }
    }

    // MARK: Reading

    /// Applies the batches from an anchor on again, on fresh views, and saves those if `end` is `nil`.
    ///
    /// Throws `anchorBeyondEnd`. Cost: the whole log.
    public func replay(
        from start: UInt64, to end: UInt64? = nil, progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(HKLogError) -> ReplayReport {
        try withCore { core throws(HKLogError) in try core.replay(from: start, to: end, progress: progress) }
    }

    /// Calls a body with views that are up to date with what this store has opened or written.
    ///
    /// Where a checkpoint turns out to be damaged, the views are rebuilt from the log and the body runs again.
    func withViews<Result>(_ body: (Views) throws(HKLogError) -> Result) throws(HKLogError) -> Result {
        try withCore { core throws(HKLogError) in
            // What is not acknowledged yet is not shown either.
            try core.commit()
            for _ in 0..<2 {
                let views = try core.views()
                views.flush()
                let result: Result
                do throws(HKLogError) {
                    result = try body(views)
                } catch {
                    guard views.isDamaged else { throw error }
                    try core.rebuildViews()
                    continue
                }
                guard views.isDamaged else { return result }
                try core.rebuildViews()
            }
            throw HKLogError(.damaged, "\(core.files.store): the checkpoints cannot be read")
        }
    }
}
