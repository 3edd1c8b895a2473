import HKLog

// Runs of whole processes: the `hklog` command, from its start to its end.
extension Bench {
    /// `hklog append` of JSON Lines.
    mutating func json() throws {
        guard let command = hklog("json") else { return }
        let lines = settings(path: "workload.jsonl")
        let size = try work(.lines, lines).last("inputBytes") ?? 0
        report.begin(
            "json", "hklog append of \(NumberText.fixed(size / 1e6, 0)) MB of JSON Lines, group commit")
        let store = path("json.hklog")
        let figures = try wholeProcess(
            before: { try Directory.remove(store) },
            [command, "append", "--store", store, "--sync", "group", lines.path])
        report.add("hklog append", figures, samples: options.samples)
        report.ratio("MB/s", figures.spread("seconds").map { size / 1e6 / $0.median }, atLeast: 150)
        reportMemoryBeyondViews(figures)
    }

    /// `hklog import` of an export, as a document and zipped.
    mutating func importing() throws {
        guard let command = hklog("import") else { return }
        let export = settings(path: "export.xml")
        let size = try work(.export, export).last("inputBytes") ?? 0
        report.begin("import", "hklog import of an export.xml of \(NumberText.fixed(size / 1e6, 0)) MB")
        let store = path("import.hklog")
        func imported(_ input: String) throws -> Figures {
            try wholeProcess(
                before: { try Directory.remove(store) }, [command, "import", "--store", store, input])
        }
        let document = try imported(export.path)
        report.add("export.xml", document, samples: options.samples)
        report.ratio("MB/s", document.spread("seconds").map { size / 1e6 / $0.median }, atLeast: 450)
        reportMemoryBeyondViews(document)
        for (name, goal) in [("libxml2", 3.0), ("healthkit-to-sqlite", 45.0)] {
            guard let peer = importPeer(name, export.path) else { continue }
            let figures = try ChildProcess.run(peer).figures
            report.add(name, figures, samples: options.samples)
            report.speed(document, over: figures, called: name, atLeast: goal)
        }
        let archive = path("export.zip")
        try Directory.remove(archive)
        guard (try? ChildProcess.run(["zip", "-q", "-j", archive, export.path])) != nil else {
            report.note("no export.zip: 'zip' is not installed")
            return
        }
        report.begin("import", "hklog import of the same as export.zip")
        let zipped = try imported(archive)
        report.add("export.zip", zipped, samples: options.samples)
        guard let plain = try? wholeProcess(before: {}, ["sh", "-c", "unzip -p '\(archive)' > /dev/null"])
        else {
            return
        }
        report.add("unzip -p", plain, samples: options.samples)
        report.speed(zipped, over: plain, called: "unzip -p", atLeast: 0.8)
    }

    private func importPeer(_ name: String, _ export: String) -> [String]? {
        if name == "libxml2" { return program("xml-peer").map { [$0, export] } }
        guard let python = options.python, let slash = python.lastIndex(of: "/") else { return nil }
        let tool = python[...slash] + "healthkit-to-sqlite"
        guard (try? SystemFiles().exists(String(tool))) == true else { return nil }
        let database = path("peer-import.sqlite")
        try? Directory.remove(database)
        return [String(tool), export, database, "--xml"]
    }

    private func reportMemoryBeyondViews(_ figures: Figures) {
        guard let memory = figures.spread("memoryKilobytes") else { return }
        report.note("whole process: at most \(NumberText.fixed(memory.greatest / 1024, 1)) MB")
    }

    private func hklog(_ run: String) -> String? {
        if let command = options.command, (try? SystemFiles().exists(command)) == true { return command }
        report.note("\n\(run): left out, because no hklog command is there (--command)")
        return nil
    }

    private func wholeProcess(before: () throws -> Void, _ arguments: [String]) throws -> Figures {
        var figures = Figures()
        for run in 0...options.warmRuns {
            try before()
            let outcome = try ChildProcess.run(arguments)
            if run > 0 { figures.merge(outcome.figures) }
        }
        return figures
    }
}
