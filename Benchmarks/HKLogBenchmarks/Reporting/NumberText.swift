/// Numbers for people.
enum NumberText {
    /// With so many digits after the point.
    static func fixed(_ value: Double, _ digits: Int) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int((abs(value) * scale).rounded())
        let whole = grouped(scaled / Int(scale))
        let sign = value < 0 && scaled != 0 ? "-" : ""
        guard digits > 0 else { return sign + whole }
        let rest = String(scaled % Int(scale))
        return sign + whole + "." + String(repeating: "0", count: digits - rest.count) + rest
    }

    /// With three significant digits or so.
    static func short(_ value: Double) -> String {
        switch abs(value) {
        case 100...: fixed(value, 0)
        case 10...: fixed(value, 1)
        case 1...: fixed(value, 2)
        default: fixed(value, 3)
        }
    }

    /// A number of things, in thousands or millions where there are many.
    static func count(_ value: Double) -> String {
        switch abs(value) {
        case 1e6...: short(value / 1e6) + " M"
        case 1e4...: short(value / 1e3) + " k"
        default: short(value)
        }
    }

    /// A length of time.
    static func time(_ seconds: Double) -> String {
        switch seconds {
        case 1...: short(seconds) + " s"
        case 1e-3...: short(seconds * 1e3) + " ms"
        default: short(seconds * 1e6) + " µs"
        }
    }

    static func time(_ spread: Spread) -> String {
        "\(time(spread.median)) [\(time(spread.least)) … \(time(spread.greatest))]"
    }

    private static func grouped(_ value: Int) -> String {
        let digits = String(value)
        guard digits.count > 4 else { return digits }
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0 && (digits.count - index) % 3 == 0 { text += "\u{202F}" }
            text.append(digit)
        }
        return text
    }
}
