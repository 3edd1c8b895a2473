internal import HKLog

/// A chart of characters: one line a bucket.
struct TerminalChart {
    let model: ChartModel
    let style: TextStyle

    /// The lines, none wider than the terminal (80 columns where there is none).
    func lines() -> [String] {
        let width = style.width ?? 80
        let labelWidth = model.bars.map { DisplayWidth.of($0.label) }.max() ?? 0
        let numbers = model.bars.map { model.numbers(of: $0.shape) }
        let numberWidth = numbers.map { DisplayWidth.of($0) }.max() ?? 0
        let room = max(10, width - labelWidth - numberWidth - 4)
        let range = model.range
        var lines = [
            style.bold(DisplayWidth.cut(SafeText.line(model.title), to: width)),
            style.faint(DisplayWidth.cut(SafeText.line(model.subtitle), to: width)),
        ]
        if !model.series.isEmpty { lines.append(legend()) }
        for (bar, number) in zip(model.bars, numbers) {
            let drawing = draw(bar.shape, range: range, room: room)
            if number.isEmpty {
                lines.append(style.faint(bar.label))
                continue
            }
            var line = style.faint(DisplayWidth.pad(bar.label, to: labelWidth)) + "  " + drawing.text
            line += String(repeating: " ", count: room - drawing.width + 2)
            line += DisplayWidth.pad(number, to: numberWidth, atStart: true)
            lines.append(line)
        }
        if case .band? = model.bars.first(where: { if case .band = $0.shape { true } else { false } })?.shape
        {
            lines.append(style.faint("░ minimum to maximum, █ average"))
        }
        return lines
    }

    private static let glyphs = ["█", "▓", "▒", "░", "▚", "▞"]

    private func legend() -> String {
        model.series.enumerated().map { index, name in
            style.color(Self.glyphs[index % Self.glyphs.count], index: index) + " " + SafeText.line(name)
        }.joined(separator: "  ")
    }

    private func draw(_ shape: ChartModel.Shape, range: ClosedRange<Double>, room: Int) -> (
        text: String, width: Int
    ) {
        let span = range.upperBound - range.lowerBound
        func position(_ value: Double, of steps: Int) -> Int {
            guard span > 0, value.isFinite else { return 0 }
            return min(steps, max(0, Int(((value - range.lowerBound) / span * Double(steps)).rounded())))
        }
        switch shape {
        case .empty:
            return ("", 0)
        case .sum(let sum):
            let bar = Self.bar(eighths: position(sum, of: room * 8))
            return (style.cyan(bar), bar.count)
        case .band(let least, let average, let greatest):
            let first = position(least, of: room - 1)
            let last = position(greatest, of: room - 1)
            let middle = min(last, max(first, position(average, of: room - 1)))
            let text =
                String(repeating: " ", count: first)
                + style.cyan(String(repeating: "░", count: middle - first)) + style.bold("█")
                + style.cyan(String(repeating: "░", count: last - middle))
            return (text, last + 1)
        case .stack(let parts):
            var text = ""
            var used = 0
            var total = 0.0
            for part in parts {
                total += part.amount
                let end = position(total, of: room)
                let glyph = Self.glyphs[part.series % Self.glyphs.count]
                text += style.color(String(repeating: glyph, count: max(0, end - used)), index: part.series)
                used = max(used, end)
            }
            return (text, used)
        }
    }

    /// A bar of eighths of a column.
    private static func bar(eighths: Int) -> String {
        let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
        return String(repeating: "█", count: eighths / 8) + partial
    }
}
