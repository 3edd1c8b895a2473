internal import HKLog

/// A chart as an SVG picture, fit for a report: no script, no font files, readable in black and white.
struct SVGChart {
    let model: ChartModel

    private static let width = 960.0
    private static let height = 440.0
    private static let left = 76.0
    private static let right = 24.0
    private static let top = 76.0
    private static let bottom = 56.0
    private static let colors = ["#2f6fab", "#d9822b", "#5a9e4b", "#a64ca6", "#c94f4f", "#6b7a8f"]

    private var plotWidth: Double { Self.width - Self.left - Self.right }
    private var plotHeight: Double { Self.height - Self.top - Self.bottom }
    private var baseline: Double { Self.top + plotHeight }

    func text() -> String {
        let scale = Scale(model.range)
        var svg = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 440" width="960" height="440" role="img" \
            font-family="Helvetica, Arial, sans-serif" font-size="13">
            <title>\(SafeText.markup(model.title))</title>
            <desc>\(SafeText.markup(model.subtitle))</desc>
            <rect width="960" height="440" fill="#ffffff"/>
            <text x="\(Self.number(Self.left))" y="30" font-size="20" font-weight="bold" fill="#1c2733">\
            \(SafeText.markup(model.title))</text>
            <text x="\(Self.number(Self.left))" y="50" fill="#5b6875">\(SafeText.markup(model.subtitle))</text>

            """
        svg += grid(scale)
        svg += labels()
        svg += "<g>\n"
        for (index, bar) in model.bars.enumerated() { svg += draw(bar, at: index, scale: scale) }
        svg += "</g>\n"
        svg += averageLine(scale)
        svg += legend()
        return svg + "</svg>\n"
    }

    // MARK: Axes

    private func grid(_ scale: Scale) -> String {
        var svg = ""
        for tick in scale.ticks {
            let y = Self.number(verticalPosition(tick, scale))
            let x2 = Self.number(Self.width - Self.right)
            let stroke = tick == 0 ? "#5b6875" : "#dde3e9"
            svg +=
                "<line x1=\"\(Self.number(Self.left))\" x2=\"\(x2)\" y1=\"\(y)\" y2=\"\(y)\" stroke=\"\(stroke)\"/>\n"
            let label = SafeText.markup(model.text(tick))
            svg +=
                "<text x=\"\(Self.number(Self.left - 8))\" y=\"\(y)\" dy=\"4\" text-anchor=\"end\" fill=\"#5b6875\">"
            svg += "\(label)</text>\n"
        }
        return svg
    }

    private func labels() -> String {
        let step = max(1, (model.bars.count + 7) / 8)
        var svg = ""
        for index in stride(from: 0, to: model.bars.count, by: step) {
            let x = Self.number(Self.left + (Double(index) + 0.5) * slot)
            svg +=
                "<text x=\"\(x)\" y=\"\(Self.number(baseline + 22))\" text-anchor=\"middle\" fill=\"#5b6875\">"
            svg += "\(SafeText.markup(model.bars[index].label))</text>\n"
        }
        return svg
    }

    private var slot: Double { plotWidth / Double(max(1, model.bars.count)) }

    private func verticalPosition(_ value: Double, _ scale: Scale) -> Double {
        baseline - (value - scale.low) / (scale.high - scale.low) * plotHeight
    }

    // MARK: Buckets

    private func draw(_ bar: ChartModel.Bar, at index: Int, scale: Scale) -> String {
        let gap = slot > 4 ? slot * 0.15 : 0
        let x = Self.left + Double(index) * slot + gap
        let width = max(0.5, slot - 2 * gap)
        let tip = SafeText.markup("\(bar.label): \(model.numbers(of: bar.shape))")
        func box(from low: Double, to high: Double, color: String, opacity: String = "1") -> String {
            let top = verticalPosition(high, scale)
            let height = max(0.5, verticalPosition(low, scale) - top)
            return "<rect x=\"\(Self.number(x))\" y=\"\(Self.number(top))\" width=\"\(Self.number(width))\""
                + " height=\"\(Self.number(height))\" fill=\"\(color)\" fill-opacity=\"\(opacity)\">"
                + "<title>\(tip)</title></rect>\n"
        }
        switch bar.shape {
        case .empty: return ""
        case .sum(let sum): return box(from: min(0, sum), to: max(0, sum), color: Self.colors[0])
        case .band(let least, _, let greatest):
            return box(from: least, to: greatest, color: Self.colors[0], opacity: "0.3")
        case .stack(let parts):
            var svg = ""
            var total = 0.0
            for part in parts {
                let color = Self.colors[part.series % Self.colors.count]
                svg += box(from: total, to: total + part.amount, color: color)
                total += part.amount
            }
            return svg
        }
    }

    /// The averages as a line that breaks where buckets are empty.
    private func averageLine(_ scale: Scale) -> String {
        var svg = ""
        var points: [String] = []
        func finish() {
            if points.count == 1, let point = points.first {
                let parts = point.split(separator: ",")
                svg += "<circle cx=\"\(parts[0])\" cy=\"\(parts[1])\" r=\"2.5\" fill=\"#1c3f63\"/>\n"
            } else if points.count > 1 {
                svg +=
                    "<polyline points=\"\(points.joined(separator: " "))\" fill=\"none\" stroke=\"#1c3f63\""
                svg += " stroke-width=\"2\" stroke-linejoin=\"round\"/>\n"
            }
            points = []
        }
        for (index, bar) in model.bars.enumerated() {
            if case .band(_, let average, _) = bar.shape {
                let x = Self.left + (Double(index) + 0.5) * slot
                points.append("\(Self.number(x)),\(Self.number(verticalPosition(average, scale)))")
            } else {
                finish()
            }
        }
        finish()
        return svg
    }

    private func legend() -> String {
        var svg = ""
        var x = Self.left
        for (index, name) in model.series.enumerated() {
            let color = Self.colors[index % Self.colors.count]
            svg += "<rect x=\"\(Self.number(x))\" y=\"418\" width=\"11\" height=\"11\" fill=\"\(color)\"/>\n"
            svg +=
                "<text x=\"\(Self.number(x + 16))\" y=\"428\" fill=\"#1c2733\">\(SafeText.markup(name))</text>\n"
            x += 16 + Double(DisplayWidth.of(name)) * 7.5 + 18
        }
        return svg
    }

    private static func number(_ value: Double) -> String {
        NumberText.exact((value * 100).rounded() / 100) ?? "0"
    }
}

/// A vertical axis with round numbers.
struct Scale {
    let low: Double
    let high: Double
    let ticks: [Double]

    init(_ range: ClosedRange<Double>) {
        let span = range.upperBound - range.lowerBound
        guard span > 0, span.isFinite else {
            (low, high, ticks) = (0, 1, [0, 1])
            return
        }
        let step = Self.step(for: span / 5)
        var first = (range.lowerBound / step).rounded(.down)
        var last = (range.upperBound / step).rounded(.up)
        if last - first < 1 || last - first > 20 {
            first = 0
            last = 1
        }
        let ticks = (0...Int(last - first)).map { (first + Double($0)) * step }
        (low, high) = (min(ticks[0], range.lowerBound), max(ticks[ticks.count - 1], range.upperBound))
        self.ticks = ticks
    }

    /// 1, 2 or 5 times a power of ten, not below the rough one.
    private static func step(for rough: Double) -> Double {
        var power = 1.0
        // Sound: a positive finite double leaves both loops after at most 400 steps.
        while power * 10 <= rough { power *= 10 }
        while power > rough && power > 1e-300 { power /= 10 }
        for factor in [1.0, 2, 5] where power * factor >= rough { return power * factor }
        return power * 10
    }
}
