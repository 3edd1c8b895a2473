/// A program that a user would pick instead, on the same data.
struct Peer {
    /// The run whose hklog row it stands beside.
    var joins: Run
    var name: String
    var arguments: [String]
    /// The peer's figure, and hklog's.
    var figure = "seconds"
    /// How many times as fast hklog is to be.
    var goal: Double?

    /// The peers that can be started here.
    static func all(_ bench: Bench) -> [Peer] {
        let flat = bench.path("workload-\(bench.options.samples).flat")
        var peers: [Peer] = []
        if let sqlite = bench.program("sqlite-peer") {
            let database = bench.path("peer.sqlite")
            peers += [
                Peer(
                    joins: .appendWithViews, name: "SQLite, batches of 10 000",
                    arguments: [sqlite, flat, database, "10000", "NORMAL", "plain"], goal: 29),
                Peer(
                    joins: .appendWithViews, name: "SQLite, daily by triggers",
                    arguments: [sqlite, flat, database, "10000", "NORMAL", "daily"]),
                Peer(
                    joins: .sync, name: "SQLite FULL, batches of 1000",
                    arguments: [sqlite, flat, database, "1000", "FULL", "plain"], goal: 14),
                Peer(
                    joins: .daily, name: "SQLite, daily by triggers",
                    arguments: [sqlite, flat, database, "10000", "NORMAL", "daily"], figure: "dailySeconds",
                    goal: 5.8),
            ]
        }
        if let python = bench.options.python, let script = bench.program("columnar.py") {
            let directory = bench.options.directory
            peers += [
                Peer(
                    joins: .appendWithViews, name: "DuckDB, no key, 10 000",
                    arguments: [python, script, "duckdb", flat, directory], goal: 7.5),
                Peer(
                    joins: .daily, name: "DuckDB GROUP BY",
                    arguments: [python, script, "duckdb", flat, directory],
                    figure: "dailySeconds", goal: 20),
                Peer(
                    joins: .replay, name: "DuckDB over Parquet",
                    arguments: [python, script, "replay", flat, directory], goal: 3),
                Peer(
                    joins: .replay, name: "the same, unique uuids",
                    arguments: [python, script, "replay-keyed", flat, directory], goal: 10),
                Peer(
                    joins: .sizes, name: "Parquet, zstd",
                    arguments: [python, script, "parquet", flat, directory]),
            ]
        }
        return peers
    }
}

extension Bench {
    /// Runs a peer once beside the last row of hklog.
    mutating func comparePeer(_ peer: Peer) throws {
        _ = try flatFile()
        let figures = Figures(lines: try ChildProcess.run(peer.arguments).output)
        report.add(peer.name, figures, samples: options.samples, timed: peer.figure)
        if peer.joins != .sizes {
            report.speed(lastOwn, over: figures, called: peer.name, figure: peer.figure, atLeast: peer.goal)
        }
        if let bytes = figures.last("bytes"), let own = lastOwn.last("bytes"), own > 0 {
            report.ratio("bytes over those of \(peer.name)", own / bytes)
        }
    }
}
