import HKLog
import HKLogTestSupport

/// A measurement in a process of its own: the benchmark starts itself with the worker's name and its settings.
enum Worker: String {
    /// Writes the workload as a flat file.
    case flat
    /// Writes the workload as an export of the Health app.
    case export
    /// Writes the workload as JSON Lines.
    case lines
    /// Encodes and appends batches, without views.
    case append
    /// Appends through a store, with views.
    case store
    /// Makes a store with a checkpoint, for others to measure.
    case make
    /// Replays a log into fresh views.
    case replay
    /// Opens a store and asks for daily statistics.
    case open
    /// Asks an open store for daily statistics.
    case daily
    /// Opens a store, appends one batch, closes it.
    case one
    /// Compacts a store.
    case compact
    /// The log's size with batches of one size.
    case size

    func run(_ settings: WorkerSettings) throws -> Figures {
        switch self {
        case .flat:
            try FlatFile.write(
                sampleCount: settings.samples, seed: settings.seed, batchSize: settings.batchSize,
                to: settings.path)
            return Figures()
        case .export: return try ExportFile.write(settings)
        case .lines: return try LinesFile.write(settings)
        case .append: return try AppendWorker.run(settings)
        case .store: return try StoreWorker.run(settings)
        case .make: return try StoreWorker.make(settings)
        case .replay: return try ReadingWorker.replay(settings)
        case .open: return try ReadingWorker.open(settings)
        case .daily: return try ReadingWorker.daily(settings)
        case .one: return try StoreWorker.appendOne(settings)
        case .compact: return try StoreWorker.compact(settings)
        case .size: return try AppendWorker.size(settings)
        }
    }
}

/// What a worker is told, as words `name=value`.
struct WorkerSettings {
    var samples = 0
    /// How many samples the history has of which these are the first; 0 for no more than these.
    var history = 0
    var seed: UInt64 = 0
    var batchSize = 1000
    var runs = 1
    /// Batches between syncs; 0 for none.
    var syncEvery = 0
    /// Whole seconds instead of microseconds.
    var wholeSeconds = false
    /// Files are dropped from the page cache first.
    var evicting = false
    var path = ""

    init() {}

    init(words: some Sequence<String>) {
        for word in words {
            guard let mark = word.firstIndex(of: "=") else { continue }
            let value = String(word[word.index(after: mark)...])
            switch word[..<mark] {
            case "samples": samples = Int(value) ?? 0
            case "history": history = Int(value) ?? 0
            case "seed": seed = UInt64(value) ?? 0
            case "batchSize": batchSize = Int(value) ?? 0
            case "runs": runs = Int(value) ?? 0
            case "syncEvery": syncEvery = Int(value) ?? 0
            case "wholeSeconds": wholeSeconds = value == "true"
            case "evicting": evicting = value == "true"
            case "path": path = value
            default: break
            }
        }
    }

    var words: [String] {
        [
            "samples=\(samples)", "history=\(history)", "seed=\(seed)", "batchSize=\(batchSize)",
            "runs=\(runs)",
            "syncEvery=\(syncEvery)",
            "wholeSeconds=\(wholeSeconds)", "evicting=\(evicting)", "path=\(path)",
        ]
    }
}

extension WorkerSettings {
    /// The batches that these settings ask for.
    var batches: [Batch] {
        var maker = WorkloadBatches(
            sampleCount: max(samples, history), seed: seed, batchSize: batchSize, wholeSeconds: wholeSeconds)
        return maker.all(upTo: samples)
    }
}
