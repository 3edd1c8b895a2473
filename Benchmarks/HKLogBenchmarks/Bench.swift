import HKLog

/// Starts workers and the programs they are compared with, and knows what has been made already.
struct Bench {
    let options: Options
    var report = Report()
    private var flatFiles: [Int: String] = [:]
    private var stores: [Int: String] = [:]
    /// The row of hklog that peers are set beside.
    var lastOwn = Figures()

    init(_ options: Options) throws {
        self.options = options
        try Directory.make(options.directory)
    }

    func path(_ name: String) -> String { "\(options.directory)/\(name)" }

    // MARK: Workers and programs

    func settings(samples: Int? = nil, path name: String) -> WorkerSettings {
        var settings = WorkerSettings()
        settings.samples = samples ?? options.samples
        settings.seed = options.seed
        settings.runs = options.warmRuns
        settings.path = path(name)
        return settings
    }

    func work(_ worker: Worker, _ settings: WorkerSettings) throws -> Figures {
        let arguments = [try ownPath(), "worker", worker.rawValue] + settings.words
        return Figures(lines: try ChildProcess.run(arguments).output)
    }

    /// One run with the allocation counter loaded; its times are worth nothing.
    func allocations(_ worker: Worker, _ settings: WorkerSettings) throws -> Figures? {
        guard let counter = program("allocations.so") else { return nil }
        var once = settings
        once.runs = 1
        let arguments = [try ownPath(), "worker", worker.rawValue] + once.words
        let counted = Figures(lines: try ChildProcess.run(arguments, preloading: counter).output)
        var figures = Figures()
        figures.append("allocations", counted["allocations"])
        return figures
    }

    /// This program.
    ///
    /// On Linux the link is right wherever it was started from.
    private func ownPath() throws -> String {
        let link = "/proc/self/exe"
        return try SystemFiles().exists(link) ? link : CommandLine.arguments[0]
    }

    /// A program of `--programs`, if it stands there.
    func program(_ name: String) -> String? {
        guard let directory = options.programs, (try? SystemFiles().exists("\(directory)/\(name)")) == true
        else {
            return nil
        }
        return "\(directory)/\(name)"
    }

    /// Lets programs take turns, so that a bad minute of the machine hits them all.
    func takeTurns(_ turns: [(String, () throws -> Figures)]) throws -> [String: Figures] {
        var results: [String: Figures] = [:]
        for _ in 0..<options.rounds {
            for (name, turn) in turns { results[name, default: Figures()].merge(try turn()) }
        }
        return results
    }

    // MARK: The machine's limit

    func limitAppend(syncEvery: Int, views: Bool, flat: String) throws -> Figures {
        guard let limit = program("limit") else { return Figures() }
        return Figures(
            lines: try ChildProcess.run([
                limit, "append", flat, path("limit.log"), "\(options.warmRuns + 1)", "\(syncEvery)",
                views ? "1" : "0",
            ]).output
        ).withoutFirstRun
    }

    func limitReplay() throws -> Figures {
        guard let limit = program("limit") else { return Figures() }
        return Figures(
            lines: try ChildProcess.run([limit, "replay", path("limit.log"), "\(options.warmRuns + 1)"])
                .output
        ).withoutFirstRun
    }

    // MARK: Inputs

    /// The workload as a flat file.
    mutating func flatFile(samples: Int? = nil) throws -> String {
        let count = samples ?? options.samples
        if let known = flatFiles[count] { return known }
        var settings = settings(samples: count, path: "workload-\(count).flat")
        settings.samples = count
        _ = try work(.flat, settings)
        flatFiles[count] = settings.path
        return settings.path
    }

    /// A store of the workload with a checkpoint; its name in the directory.
    mutating func store(samples: Int? = nil) throws -> String {
        let count = samples ?? options.samples
        if let known = stores[count] { return known }
        let name = "store-\(count)"
        let made = try work(.make, settings(samples: count, path: name))
        if let seconds = made.last("checkpointSeconds") {
            report.note(
                "\(NumberText.count(Double(count))) samples: the checkpoint took \(NumberText.time(seconds))")
        }
        stores[count] = name
        return name
    }

    /// A store that has been changed is made anew for whoever asks for it next.
    mutating func forgetStore(samples: Int) { stores[samples] = nil }
}

extension Figures {
    /// The limit program warms up inside its runs: its first run counts for memory alone.
    var withoutFirstRun: Figures {
        var rest = Figures()
        for name in names {
            let values = self[name]
            if name == "memoryKilobytes" {
                rest.append(name, Array(values.prefix(1)))
            } else {
                rest.append(name, values.count > 1 ? Array(values.dropFirst()) : values)
            }
        }
        return rest
    }
}
