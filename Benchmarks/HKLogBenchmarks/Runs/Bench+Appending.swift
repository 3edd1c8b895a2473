// Runs that write.
extension Bench {
    private var sampleText: String { NumberText.count(Double(options.samples)) + " samples" }

    mutating func append() throws {
        report.begin("append", "\(sampleText) in batches of 1000, log only, no sync")
        let settings = settings(path: "append")
        try compareAppending(settings, worker: .append, views: false, goal: 0.5)
    }

    mutating func appendWithViews() throws {
        report.begin("append+views", "\(sampleText) in batches of 1000, views live, no sync")
        try compareAppending(settings(path: "append-views"), worker: .store, views: true, goal: 0.55)
        for peer in Peer.all(self) where peer.joins == .appendWithViews {
            try comparePeer(peer)
        }
    }

    mutating func sync() throws {
        for (every, views, goal) in [(100, false, 0.6), (1, false, 0.8), (100, true, nil), (1, true, nil)]
            as [(Int, Bool, Double?)]
        {
            let what = views ? "views live" : "log only"
            let often = every == 1 ? "every batch" : "every \(every) batches"
            report.begin("sync", "\(sampleText) in batches of 1000, \(what), fdatasync after \(often)")
            var settings = settings(path: "sync")
            settings.syncEvery = every
            try compareAppending(settings, worker: views ? .store : .append, views: views, goal: goal)
        }
        // The last comparison was the one that does what the peers do: views, and a sync for each batch.
        for peer in Peer.all(self) where peer.joins == .sync { try comparePeer(peer) }
    }

    private mutating func compareAppending(
        _ settings: WorkerSettings, worker: Worker, views: Bool, goal: Double?
    ) throws {
        let flat = try flatFile()
        let bench = self
        let results = try takeTurns([
            ("hklog", { try bench.work(worker, settings) }),
            ("limit", { try bench.limitAppend(syncEvery: settings.syncEvery, views: views, flat: flat) }),
        ])
        var own = results["hklog"] ?? Figures()
        if let counted = try allocations(worker, settings) { own.merge(counted) }
        report.add("hklog", own, samples: options.samples)
        lastOwn = own
        guard let limit = results["limit"], !limit["seconds"].isEmpty else { return }
        report.add("limit", limit, samples: options.samples)
        report.speed(own, over: limit, called: "limit", atLeast: goal)
        if let bytes = own.last("bytes"), let other = limit.last("bytes"), settings.syncEvery == 0 {
            report.ratio("bytes over limit's", bytes / other, atMost: 0.98)
        }
        if views, let memory = own.spread("memoryKilobytes"), let other = limit.spread("memoryKilobytes") {
            report.ratio("memory over limit's", memory.greatest / other.greatest, atMost: 1.3)
        }
    }

    /// One sample a batch, as live syncing brings them.
    mutating func smallBatches() throws {
        let count = options.samples
        report.begin("small-batches", "\(sampleText) in as many batches")
        var settings = settings(path: "small")
        settings.batchSize = 1
        settings.runs = 1
        let written = try work(.store, settings)
        report.add("append+views", written, samples: count)
        let replayed = try work(.replay, settings)
        report.add("replay", replayed, samples: count)
        if let seconds = replayed.spread("seconds")?.median {
            report.ratio("million samples replayed by second", Double(count) / seconds / 1e6, atLeast: 0.5)
        }
        let compacted = try work(.compact, settings)
        guard let bytes = compacted.last("bytes") else { return }
        report.add("compact", compacted, samples: count)
        report.add("replay, compacted", try work(.replay, settings), samples: count)
        let thousands = try work(.size, self.settings(path: "size"))
        if let large = thousands.last("bytes") {
            report.ratio("compacted bytes over those of batches of 1000", bytes / large, atMost: 2)
        }
    }

    mutating func sizes() throws {
        let count = min(options.samples, 1_000_000)
        report.begin("sizes", "bytes of the log, \(NumberText.count(Double(count))) samples")
        for (batchSize, wholeSeconds) in [
            (1000, false), (1000, true), (10_000, false), (10_000, true), (100, false), (10, false),
        ] {
            var settings = settings(samples: count, path: "size")
            settings.batchSize = batchSize
            settings.wholeSeconds = wholeSeconds
            let figures = try work(.size, settings)
            let times = wholeSeconds ? "whole seconds" : "microseconds"
            report.add("batches of \(batchSize), \(times)", figures, samples: count)
            if batchSize == 1000, let bytes = figures.last("bytes") {
                report.ratio("bytes by sample", bytes / Double(count), atMost: wholeSeconds ? 23.6 : 24.5)
            }
        }
        for peer in Peer.all(self) where peer.joins == .sizes { try comparePeer(peer) }
    }
}
