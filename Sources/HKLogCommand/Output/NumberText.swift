internal import HKLogJSONLines

/// Numbers as text.
enum NumberText {
    /// The shortest text that reads back as the same number; `nil` for NaN and infinities.
    static func exact(_ value: Double) -> String? {
        guard value.isFinite else { return nil }
        var bytes: [UInt8] = []
        JSONOutput.append(value, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The number as people like to read it: rounded to what matters, thousands set apart.
    static func readable(_ value: Double) -> String {
        guard value.isFinite else { return "" }
        let size = value.magnitude
        if size >= 1e15 || (size > 0 && size < 1e-4) { return value.description }
        let decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 0.1 ? 2 : 5
        return fixed(value, decimals: decimals, trimmed: true)
    }

    /// The number with thousands set apart.
    static func readable(_ value: UInt64) -> String { grouped(String(value)) }

    /// The number with thousands set apart.
    static func readable(_ value: Int) -> String {
        value < 0 ? "-" + grouped(String(value.magnitude)) : grouped(String(value))
    }

    /// Rounded to so many decimals.
    ///
    /// The magnitude must be below 1e15.
    static func fixed(_ value: Double, decimals: Int, trimmed: Bool = false) -> String {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = (value.magnitude * scale).rounded(.toNearestOrEven)
        guard scaled < 9.2e18 else { return value.description }
        let whole = UInt64(scaled)
        let divisor = UInt64(scale)
        var text = grouped(String(whole / divisor))
        if decimals > 0 {
            let digits = String(whole % divisor)
            var fraction = String(repeating: "0", count: decimals - digits.count) + digits
            if trimmed { while fraction.last == "0" { fraction.removeLast() } }
            if !fraction.isEmpty { text += "." + fraction }
        }
        return value < 0 && whole > 0 ? "-" + text : text
    }

    /// A number of bytes.
    static func bytes(_ count: UInt64) -> String {
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
        guard count >= 1000 else { return "\(count) B" }
        var value = Double(count) / 1000
        var index = 0
        while value >= 999.95 && index + 1 < units.count {
            value /= 1000
            index += 1
        }
        return fixed(value, decimals: 1) + " " + units[index]
    }

    /// A length of time for people: `8 s`, `12 min`, `7 h 45 min`, `3 d 4 h`.
    static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 1e12 else { return "" }
        if seconds < 60 { return fixed(seconds, decimals: seconds < 10 ? 1 : 0, trimmed: true) + " s" }
        let minutes = Int((seconds / 60).rounded())
        if minutes < 60 { return "\(minutes) min" }
        let hours = minutes / 60
        if hours < 48 { return minutes % 60 == 0 ? "\(hours) h" : "\(hours) h \(minutes % 60) min" }
        return hours % 24 == 0 ? "\(hours / 24) d" : "\(hours / 24) d \(hours % 24) h"
    }

    private static func grouped(_ digits: String) -> String {
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0 && (digits.count - index) % 3 == 0 { result.append(",") }
            result.append(digit)
        }
        return result
    }
}
