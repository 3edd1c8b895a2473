/// One line on the terminal that shows how far a long task has come, how fast, and how long it will take.
struct ProgressBar {
    /// What is counted.
    enum Unit {
        case bytes
        case batches
        case samples
    }

    private let what: String
    private let unit: Unit
    private let isShown: Bool
    private let began = System.monotonicSeconds
    private var lastDrawn = 0.0
    private var isDrawn = false

    init(what: String, unit: Unit) {
        self.what = what
        self.unit = unit
        self.isShown = System.isTerminal(System.standardError)
    }

    mutating func update(done: UInt64, total: UInt64?) {
        guard isShown else { return }
        let now = System.monotonicSeconds
        guard now - began > 0.5, now - lastDrawn > 0.1 else { return }
        lastDrawn = now
        isDrawn = true
        let width = System.terminalWidth(System.standardError) ?? 80
        let line = Self.line(
            what: what, unit: unit, done: done, total: total, seconds: now - began, width: width - 1)
        draw("\r" + line + "\u{1B}[K")
    }

    mutating func clear() {
        guard isDrawn else { return }
        isDrawn = false
        draw("\r\u{1B}[K")
    }

    /// The line itself, no wider than `width`.
    static func line(
        what: String, unit: Unit, done: UInt64, total: UInt64?, seconds: Double, width: Int
    ) -> String {
        let rate = Double(done) / max(seconds, 0.001)
        func amount(_ value: Double) -> String {
            let whole = UInt64(max(0, min(value, 1e18)))
            return unit == .bytes ? NumberText.bytes(whole) : NumberText.readable(whole)
        }
        var tail = "\(amount(Double(done)))  \(amount(rate))/s"
        var bar = ""
        if let total, total > 0 {
            let share = min(1, Double(done) / Double(total))
            if rate > 0 { tail += "  \(NumberText.duration(Double(total - min(done, total)) / rate)) left" }
            let room = min(30, width - what.count - tail.count - 10)
            if room >= 5 {
                let full = Int(Double(room) * share)
                bar = String(repeating: "█", count: full) + String(repeating: "░", count: room - full) + " "
            }
            bar += "\(Int(share * 100))%  "
        }
        return DisplayWidth.cut("\(what)  \(bar)\(tail)", to: width)
    }

    private func draw(_ text: String) {
        // A bar that cannot be drawn is no reason to fail.
        try? System.write(System.standardError, Array(text.utf8), name: "standard error")
    }
}
