internal import HKLog

/// Adds a JSON string, with the shortest escapes, as `JSONText` has them.
func appendJSONString(_ text: [UInt8], to bytes: inout [UInt8]) {
    appendJSONString(text[...], to: &bytes)
}

/// The same for a part of an array.
func appendJSONString(_ text: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var isPlain = true
    for byte in text where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        isPlain = false
        break
    }
    if isPlain {
        bytes.append(contentsOf: text)
    } else {
        for byte in text {
            switch byte {
            case 0..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"): appendShortestEscape(byte, to: &bytes)
            default: bytes.append(byte)
            }
        }
    }
    bytes.append(UInt8(ascii: "\""))
}

/// Adds a literal.
func appendLiteral(_ text: StaticString, to bytes: inout [UInt8]) {
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
}

/// Whether a text is a JSON number to the letter, and a finite one.
func isJSONNumber(_ text: [UInt8]) -> Bool {
    var index = 0
    func peek() -> UInt8? { index < text.count ? text[index] : nil }
    func skipDigits() -> Bool {
        let start = index
        while let byte = peek(), byte >= 0x30, byte <= 0x39 { index += 1 }
        return index > start
    }
    if peek() == UInt8(ascii: "-") { index += 1 }
    if peek() == 0x30 {
        index += 1
    } else {
        guard skipDigits() else { return false }
    }
    if peek() == UInt8(ascii: ".") {
        index += 1
        guard skipDigits() else { return false }
    }
    if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
        index += 1
        if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { index += 1 }
        guard skipDigits() else { return false }
    }
    return index == text.count && finiteNumber(text) != nil
}

/// The finite number that a text is; `nil` for anything else: a comma, `NaN`, `0x10`, an overflow, nothing.
func finiteNumber(_ text: [UInt8]) -> Double? {
    guard !text.isEmpty, text.count <= 1024 else { return nil }
    for byte in text {
        switch byte {
        case 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"),
            UInt8(ascii: "E"):
            break
        default: return nil
        }
    }
    guard let number = Double(String(decoding: text, as: UTF8.self)), number.isFinite else { return nil }
    return number
}

/// Adds a number: to the letter where the text is a JSON number, else as the shortest text of its value, else as
/// the string that it is.
func appendJSONNumber(_ text: [UInt8], to bytes: inout [UInt8]) {
    if isJSONNumber(text) {
        bytes.append(contentsOf: text)
    } else if let number = finiteNumber(text) {
        bytes.append(contentsOf: shortestText(number))
    } else {
        appendJSONString(text, to: &bytes)
    }
}

/// The shortest text that reads as the same number, without `.0` on whole ones.
func shortestText(_ number: Double) -> [UInt8] {
    if number == number.rounded(), abs(number) < 1e15 { return Array(String(Int64(number)).utf8) }
    return Array(String(number).utf8)
}
