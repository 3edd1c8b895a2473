internal import HKLog

/// Everything that is no result: warnings, notices and progress, on standard error.
final class Messages {
    let isQuiet: Bool
    let isVerbose: Bool
    private let style: TextStyle
    private var progress: ProgressBar?

    init(isQuiet: Bool, isVerbose: Bool, hasColor: Bool) {
        self.isQuiet = isQuiet
        self.isVerbose = isVerbose
        self.style = TextStyle(width: nil, hasColor: hasColor && System.isTerminal(System.standardError))
    }

    /// One line that says what failed.
    func error(_ message: String) {
        print("hklog: \(style.red("error:")) \(SafeText.line(message))")
    }

    /// How a command is called, after an error in its words.
    func usage(_ text: String) {
        try? System.write(System.standardError, Array(text.utf8), name: "standard error")
    }

    /// One line that says what deserves attention, though the command goes on.
    ///
    /// Shown under `--quiet` as well.
    func warning(_ message: String) {
        print("hklog: \(style.yellow("warning:")) \(SafeText.line(message))")
    }

    /// One line that is good to know.
    func notice(_ message: String) {
        if !isQuiet { print("hklog: \(SafeText.line(message))") }
    }

    /// One line for those who want to know more.
    func detail(_ message: String) {
        if isVerbose { print("hklog: \(style.faint(SafeText.line(message)))") }
    }

    /// Tells how far something has come; shown on a terminal once it has taken half a second.
    func progress(_ what: String, done: UInt64, total: UInt64?, unit: ProgressBar.Unit) {
        guard !isQuiet else { return }
        if progress == nil { progress = ProgressBar(what: what, unit: unit) }
        progress?.update(done: done, total: total)
    }

    /// Takes the progress bar away.
    func endProgress() {
        progress?.clear()
        progress = nil
    }

    private func print(_ line: String) {
        progress?.clear()
        // Where standard error cannot be written to there is nowhere left to say so.
        try? System.write(System.standardError, Array((line + "\n").utf8), name: "standard error")
    }
}
