import HKLog

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The curves of `growth` as a picture: both axes logarithmic, so that linear growth is a straight line and no
/// growth a level one.
struct GrowthCurves {
    private struct Curve {
        var name: String
        var colour: String
        var points: [(samples: Double, seconds: Double)] = []
    }

    private var curves = [
        Curve(name: "replay all", colour: "#1f77b4"),
        Curve(name: "open to all daily statistics", colour: "#d62728"),
        Curve(name: "one type, one year", colour: "#2ca02c"),
        Curve(name: "open, append 1000, close", colour: "#9467bd"),
    ]

    mutating func add(samples: Int, replay: Double?, open: Double?, ask: Double?, append: Double?) {
        for (index, seconds) in [replay, open, ask, append].enumerated() {
            if let seconds, seconds > 0 { curves[index].points.append((Double(samples), seconds)) }
        }
    }

    func write(to path: String) throws {
        let layer = SystemFiles()
        try layer.unlinkIfThere(path)
        try layer.openFully(path, .creating).writeFully(Array(svg.utf8).span, at: 0)
    }

    private var svg: String {
        let points = curves.flatMap(\.points)
        guard let least = points.map(\.samples).min(), let most = points.map(\.samples).max(),
            let shortest = points.map(\.seconds).min(), let longest = points.map(\.seconds).max()
        else { return "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n" }
        let columns = Axis(from: least, to: most, at: 70, extent: 480)
        let rows = Axis(from: shortest, to: longest, at: 300, extent: -270)
        var text = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 350" font-family="sans-serif" font-size="12">
            <rect width="760" height="350" fill="white"/>

            """
        for power in columns.powers {
            let x = NumberText.fixed(columns.place(power), 1)
            text += "<line x1=\"\(x)\" y1=\"30\" x2=\"\(x)\" y2=\"300\" stroke=\"#ddd\"/>\n"
            text += "<text x=\"\(x)\" y=\"318\" text-anchor=\"middle\">\(NumberText.count(power))</text>\n"
        }
        for power in rows.powers {
            let y = NumberText.fixed(rows.place(power), 1)
            text += "<line x1=\"70\" y1=\"\(y)\" x2=\"550\" y2=\"\(y)\" stroke=\"#ddd\"/>\n"
            text +=
                "<text x=\"64\" y=\"\(y)\" dy=\"4\" text-anchor=\"end\">\(NumberText.time(power))</text>\n"
        }
        text += "<text x=\"310\" y=\"340\" text-anchor=\"middle\">samples in the store</text>\n"
        for (index, curve) in curves.enumerated() {
            let places = curve.points.map { point in
                NumberText.fixed(columns.place(point.samples), 1) + ","
                    + NumberText.fixed(rows.place(point.seconds), 1)
            }
            text += "<polyline fill=\"none\" stroke=\"\(curve.colour)\" stroke-width=\"2\" points=\""
            text += places.joined(separator: " ") + "\"/>\n"
            let y = 50 + index * 22
            text += "<line x1=\"562\" y1=\"\(y - 4)\" x2=\"582\" y2=\"\(y - 4)\" stroke=\"\(curve.colour)\""
            text += " stroke-width=\"2\"/>\n<text x=\"588\" y=\"\(y)\">\(curve.name)</text>\n"
        }
        return text + "</svg>\n"
    }

    /// A logarithmic axis that ends at powers of ten.
    private struct Axis {
        private let first: Int
        private let last: Int
        private let start: Double
        private let extent: Double

        init(from least: Double, to greatest: Double, at start: Double, extent: Double) {
            var first = 0
            while Axis.power(first) > least { first -= 1 }
            while Axis.power(first + 1) <= least { first += 1 }
            var last = first + 1
            while Axis.power(last) < greatest { last += 1 }
            (self.first, self.last, self.start, self.extent) = (first, last, start, extent)
        }

        static func power(_ exponent: Int) -> Double {
            var value = 1.0
            for _ in 0..<abs(exponent) { value *= 10 }
            return exponent < 0 ? 1 / value : value
        }

        var powers: [Double] { (first...last).map { Axis.power($0) } }

        func place(_ value: Double) -> Double {
            start + extent * (log10(value) - Double(first)) / Double(last - first)
        }

    }
}
