internal import HKLog

/// What was mended in one value.
struct TextRepairs: OptionSet {
    let rawValue: UInt8
    /// A control character became U+FFFD.
    static let controlCharacter = TextRepairs(rawValue: 1)
    /// Bytes that are no UTF-8 became U+FFFD.
    static let invalidUTF8 = TextRepairs(rawValue: 2)
    /// A reference that is none of the five predefined ones stayed as it stood.
    static let unknownReference = TextRepairs(rawValue: 4)

    /// Reports each of them.
    func note(in problems: ProblemLog, at offset: Int) {
        if contains(.controlCharacter) { problems.note("control character replaced", at: offset) }
        if contains(.invalidUTF8) { problems.note("invalid UTF-8 replaced", at: offset) }
        if contains(.unknownReference) { problems.note("unknown entity kept as text", at: offset) }
    }
}

/// A value's text: references resolved, white space as XML has it, what cannot be text replaced.
func decodedText(_ slice: ByteSlice) -> [UInt8] {
    var bytes: [UInt8] = []
    _ = decodeText(slice, into: &bytes)
    return bytes
}

/// Adds a value's text to `bytes`; says what was mended and where the first mended byte stood in the value.
func decodeText(_ slice: ByteSlice, into bytes: inout [UInt8]) -> (repairs: TextRepairs, position: Int) {
    if slice.isPlain {
        slice.append(to: &bytes)
        return ([], 0)
    }
    return decodeSlowly(slice, into: &bytes)
}

private let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]

private func decodeSlowly(_ slice: ByteSlice, into bytes: inout [UInt8]) -> (
    repairs: TextRepairs, position: Int
) {
    var repairs: TextRepairs = []
    var firstPosition = -1
    func mend(_ repair: TextRepairs, _ position: Int) {
        repairs.insert(repair)
        if firstPosition < 0 || position < firstPosition { firstPosition = position }
    }
    var index = 0
    while index < slice.count {
        let byte = slice[index]
        switch byte {
        case UInt8(ascii: "&"):
            if let reference = reference(in: slice, at: index) {
                if let text = reference.text {
                    bytes.append(contentsOf: text)
                } else {
                    bytes.append(contentsOf: replacement)
                    mend(.controlCharacter, index)
                }
                index += reference.byteCount
            } else {
                bytes.append(byte)
                mend(.unknownReference, index)
                index += 1
            }
        case 0x0D:
            bytes.append(0x20)
            index += 1
            if index < slice.count, slice[index] == 0x0A { index += 1 }
        case 0x09, 0x0A:
            bytes.append(0x20)
            index += 1
        case 0..<0x20:
            bytes.append(contentsOf: replacement)
            mend(.controlCharacter, index)
            index += 1
        case 0..<0x80:
            bytes.append(byte)
            index += 1
        default:
            let sequence = utf8Sequence(in: slice, at: index)
            if sequence.isValid {
                slice[index..<index + sequence.byteCount].append(to: &bytes)
            } else {
                bytes.append(contentsOf: replacement)
                mend(.invalidUTF8, index)
            }
            index += sequence.byteCount
        }
    }
    return (repairs, max(firstPosition, 0))
}

/// One character of several bytes, or the longest beginning of one that is cut (the Unicode standard's "maximal
/// subpart", so that each fault is one replacement).
private func utf8Sequence(in slice: ByteSlice, at index: Int) -> (byteCount: Int, isValid: Bool) {
    let first = slice[index]
    let length: Int
    var range: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, range) = (3, 0xA0...0xBF)
    case 0xED: (length, range) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, range) = (4, 0x90...0xBF)
    case 0xF4: (length, range) = (4, 0x80...0x8F)
    case 0xF1...0xF3: length = 4
    default: return (1, false)
    }
    for offset in 1..<length {
        guard index + offset < slice.count, range.contains(slice[index + offset]) else {
            return (offset, false)
        }
        range = 0x80...0xBF
    }
    return (length, true)
}

/// A predefined or numeric reference; `text` is `nil` when it names no character that text may hold.
private func reference(in slice: ByteSlice, at index: Int) -> (text: [UInt8]?, byteCount: Int)? {
    // The longest that is of use is `&#x0010FFFF;`; leading zeros may make it longer.
    let window = slice[index..<min(index + 32, slice.count)]
    guard let end = window.firstIndex(of: UInt8(ascii: ";")), end >= 2 else { return nil }
    let body = window[1..<end]
    let byteCount = end + 1
    if body.equals("lt") { return ([UInt8(ascii: "<")], byteCount) }
    if body.equals("gt") { return ([UInt8(ascii: ">")], byteCount) }
    if body.equals("amp") { return ([UInt8(ascii: "&")], byteCount) }
    if body.equals("quot") { return ([UInt8(ascii: "\"")], byteCount) }
    if body.equals("apos") { return ([UInt8(ascii: "'")], byteCount) }
    guard body.count >= 2, body[0] == UInt8(ascii: "#") else { return nil }
    let isHexadecimal = body[1] == UInt8(ascii: "x")
    var code: UInt32 = 0
    let first = isHexadecimal ? 2 : 1
    guard first < body.count else { return nil }
    for position in first..<body.count {
        guard let digit = hexValue(body[position]), isHexadecimal || digit < 10 else { return nil }
        code = min(code &* (isHexadecimal ? 16 : 10) &+ UInt32(digit), 0x11_0000)
    }
    let isControl = code < 0x20 && code != 0x09 && code != 0x0A && code != 0x0D
    guard !isControl, let scalar = Unicode.Scalar(code) else { return (nil, byteCount) }
    return (Array(String(Character(scalar)).utf8), byteCount)
}
