// Runs that read.
extension Bench {
    mutating func replay() throws {
        report.begin(
            "replay", "\(NumberText.count(Double(options.samples))) samples from the log into fresh views")
        let store = try store()
        let flat = try flatFile()
        if program("limit") != nil { _ = try limitAppend(syncEvery: 0, views: false, flat: flat) }
        let bench = self
        let settings = settings(path: store)
        let results = try takeTurns([
            ("hklog", { try bench.work(.replay, settings) }), ("limit", { try bench.limitReplay() }),
        ])
        var own = results["hklog"] ?? Figures()
        if let counted = try allocations(.replay, settings) { own.merge(counted) }
        report.add("hklog", own, samples: options.samples)
        lastOwn = own
        if let memory = own.spread("memoryKilobytes") {
            let bytes = (memory.greatest * 1024 - 10e6) / Double(options.samples)
            report.ratio(
                "bytes of memory by sample beyond 10 MB", bytes,
                atMost: options.samples >= 10_000_000 ? 75 : 90)
        }
        if let limit = results["limit"], !limit["seconds"].isEmpty {
            report.add("limit", limit, samples: options.samples)
            report.speed(own, over: limit, called: "limit", atLeast: 0.55)
            if let memory = own.spread("memoryKilobytes"), let other = limit.spread("memoryKilobytes") {
                report.ratio("memory over limit's", memory.greatest / other.greatest, atMost: 1.3)
            }
        }
        for peer in Peer.all(self) where peer.joins == .replay { try comparePeer(peer) }
    }

    mutating func open() throws {
        let samples = options.samples
        let sizes = [samples / 100, samples / 10, samples].filter { $0 >= 1000 }
        for size in sizes {
            let store = try store(samples: size)
            report.begin(
                "open", "\(NumberText.count(Double(size))) samples with a checkpoint, to all daily statistics"
            )
            var settings = settings(samples: size, path: store)
            settings.runs = options.warmRuns * 3
            let hot = try work(.open, settings)
            report.add("hot", hot, samples: 0)
            settings.evicting = true
            let cold = try work(.open, settings)
            report.add("evicted", cold, samples: 0)
            guard size == samples else { continue }
            lastOwn = hot
            report.ratio("hot ms", hot.spread("seconds").map { $0.median * 1e3 }, atMost: 3)
            report.ratio("evicted ms", cold.spread("seconds").map { $0.median * 1e3 }, atMost: 20)
        }
    }

    mutating func daily() throws {
        report.begin("daily", "statistics of days from the view")
        let store = try store()
        var figures = try work(.daily, settings(path: store))
        report.add("all types, all days", figures, samples: 0)
        report.add("the same as rows with their texts", figures, samples: 0, timed: "rowsSeconds")
        report.add("one type, one year", figures, samples: 0, timed: "yearSeconds")
        report.ratio("all: ms", figures.spread("seconds").map { $0.median * 1e3 }, atMost: 1)
        report.ratio(
            "one type and year: µs", figures.spread("yearSeconds").map { $0.median * 1e6 }, atMost: 50)
        if program("limit") != nil {
            let flat = try flatFile()
            _ = try limitAppend(syncEvery: 0, views: false, flat: flat)
            let limit = try limitReplay()
            report.add("limit", limit, samples: 0, timed: "dailySeconds")
            report.speed(figures, over: limit, called: "limit", of: "dailySeconds", atLeast: 0.5)
        }
        figures.append("dailySeconds", figures["seconds"])
        lastOwn = figures
        for peer in Peer.all(self) where peer.joins == .daily { try comparePeer(peer) }
    }

    /// What must not grow with history, and what must grow no faster than it.
    mutating func growth() throws {
        let samples = options.samples
        let sizes = [samples / 100, samples / 30, samples / 10, samples / 3, samples].filter { $0 >= 1000 }
        var curves = GrowthCurves()
        report.begin("growth", "the same work on stores of more and more samples")
        for size in sizes {
            let store = try store(samples: size)
            let settings = settings(samples: size, path: store)
            let replay = try work(.replay, settings)
            let open = try work(.open, settings)
            let daily = try work(.daily, settings)
            let one = try work(.one, settings)
            report.note("\(NumberText.count(Double(size))) samples")
            report.add("replay", replay, samples: size)
            report.add("open to daily answer", open, samples: 0)
            report.add("one type, one year", daily, samples: 0, timed: "yearSeconds")
            report.add("open, append 1000, close", one, samples: 0)
            curves.add(
                samples: size, replay: replay.spread("seconds")?.median, open: open.spread("seconds")?.median,
                ask: daily.spread("yearSeconds")?.median, append: one.spread("seconds")?.median)
            // The store has grown by the batches of `one`.
            forgetStore(samples: size)
        }
        if let picture = options.picture { try curves.write(to: picture) }
    }
}
