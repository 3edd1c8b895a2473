/// What the command line asks for.
struct Options {
    /// The names of the runs, in the order in which they are made.
    var runs: [String] = []
    var samples = 1_000_000
    var seed: UInt64 = 42
    /// Warm runs of each program in each round.
    var warmRuns = 3
    /// How often hklog and the programs it is compared with take turns.
    var rounds = 2
    var json: String?
    var picture: String?
    var directory = "/tmp/hklog-benchmarks"
    /// Where `limit`, `sqlite-peer` and the allocation counter stand, as `tools/benchmark` builds them.
    var programs: String?
    /// A Python that has DuckDB and PyArrow.
    var python: String?
    /// The `hklog` command, for runs of whole processes.
    var command: String?

    static let usage = """
        usage: hklog-benchmarks [RUN …] [options]

        runs: \(Run.allCases.map(\.rawValue).joined(separator: ", ")); all of them when none is named

          --samples N       samples in the workload (1000000)
          --seed N          seed of the workload (42)
          --runs N          warm runs of each program in each round (3)
          --rounds N        how often the programs take turns (2)
          --json FILE       writes every figure to a file
          --picture FILE    writes the curves of 'growth' to an SVG file
          --directory DIR   where stores and inputs are made (/tmp/hklog-benchmarks)
          --programs DIR    where the programs to compare with stand (see tools/benchmark)
          --python FILE     a Python with duckdb and pyarrow, for the peers that need it
          --command FILE    the hklog command, for the runs of whole processes

        """

    struct Problem: Error, CustomStringConvertible {
        var description: String
    }

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                guard Run(rawValue: word) != nil else {
                    throw Problem(description: "there is no run '\(word)'\n\n\(Options.usage)")
                }
                runs.append(word)
                continue
            }
            guard let value = rest.popFirst() else {
                throw Problem(description: "\(word): a value is missing")
            }
            func number() throws -> Int {
                guard let number = Int(value), number > 0 else {
                    throw Problem(description: "\(word): expected a number from 1, not '\(value)'")
                }
                return number
            }
            switch word {
            case "--samples": samples = try number()
            case "--seed": seed = UInt64(try number())
            case "--runs": warmRuns = try number()
            case "--rounds": rounds = try number()
            case "--json": json = value
            case "--picture": picture = value
            case "--directory": directory = value
            case "--programs": programs = value
            case "--python": python = value
            case "--command": command = value
            default: throw Problem(description: "there is no option \(word)\n\n\(Options.usage)")
            }
        }
        if runs.isEmpty { runs = Run.allCases.map(\.rawValue) }
    }
}
