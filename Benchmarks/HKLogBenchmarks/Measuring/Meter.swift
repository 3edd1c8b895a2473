/// Runs a piece of work several times in this process and notes what each warm run took.
struct Meter {
    private(set) var figures = Figures()
    let runs: Int

    /// `runs` are the warm runs; one more goes ahead and counts for memory alone, because only a process's first
    /// run finds memory as a fresh process does.
    init(runs: Int) { self.runs = runs }

    mutating func measure<State>(
        setUp: () throws -> State, work: (inout State) throws -> Void,
        tearDown: (consuming State) throws -> Void
    ) throws {
        for run in 0...max(1, runs) {
            var state = try setUp()
            let before = run == 0 ? ProcessFigures.beginPeak() : 0
            let allocations = ProcessFigures.allocations()
            let processor = ProcessFigures.processorSeconds()
            let clock = ContinuousClock()
            let began = clock.now
            try work(&state)
            let elapsed = clock.now - began
            let processorUsed = ProcessFigures.processorSeconds() - processor
            if run == 0 {
                figures.append("memoryKilobytes", ProcessFigures.peakKilobytes() - before)
                if let allocations, let now = ProcessFigures.allocations() {
                    figures.append("allocations", now - allocations)
                }
            } else {
                figures.append("seconds", elapsed.inSeconds)
                figures.append("processorSeconds", processorUsed)
            }
            try tearDown(state)
        }
    }

    /// The same for work that leaves nothing behind.
    mutating func measure(_ work: () throws -> Void) throws {
        try measure(setUp: {}, work: { _ in try work() }, tearDown: { _ in })
    }

    mutating func note(_ name: String, _ value: Double) { figures.append(name, value) }

    mutating func note(_ name: String, _ value: Int) { figures.append(name, value) }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
