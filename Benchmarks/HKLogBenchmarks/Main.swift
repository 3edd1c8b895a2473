import HKLog

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Measures hklog beside the machine's limit and beside what people use instead.
///
/// `docs/performance.md` says how to read what it prints.
@main
struct Main {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.contains("--help") {
            print(Options.usage, terminator: "")
            return
        }
        do {
            if arguments.first == "worker" {
                try work(Array(arguments.dropFirst()))
            } else {
                try measure(Options(Array(arguments)))
            }
        } catch {
            let text = "hklog-benchmarks: \(error)\n"
            _ = try? Platform.write(Array(text.utf8).span, to: .errors)
            exit(1)
        }
    }

    private static func work(_ words: [String]) throws {
        guard let name = words.first, let worker = Worker(rawValue: name) else {
            throw Options.Problem(description: "there is no such worker")
        }
        let figures = try worker.run(WorkerSettings(words: words.dropFirst()))
        print(figures.lines, terminator: "")
    }

    private static func measure(_ options: Options) throws {
        var bench = try Bench(options)
        print("hklog-benchmarks on \(Machine.description)")
        print(
            "\(options.rounds) rounds of 1 + \(options.warmRuns) runs; medians of the warm runs [least … greatest]"
        )
        for name in options.runs {
            guard let run = Run(rawValue: name) else { continue }
            try run.execute(&bench)
        }
        guard let path = options.json else { return }
        let layer = SystemFiles()
        try layer.unlinkIfThere(path)
        var text: [UInt8] = []
        bench.report.json(options).write(to: &text)
        text.append(UInt8(ascii: "\n"))
        try layer.openFully(path, .creating).writeFully(text.span, at: 0)
    }
}
