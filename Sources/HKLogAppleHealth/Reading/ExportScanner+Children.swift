#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

// What stands inside of records nearly always looks the same, so it is read at one go where it does: to the letter
// the text that exports write, whole in the window, nothing in it to be mended. Whatever differs is left where it
// stands for the general way, which makes the same of all that is read here.
extension ExportScanner {
    /// The longest value that is looked at.
    private static let plainByteCountLimit = 250
    /// The names of a beat's attributes, `bpm` and `time`.
    private static let beatNameByteCount = 7

    /// The next metadata entry, if it stands here in the usual form and its texts need no escapes in JSON; else
    /// nothing is read.
    mutating func plainEntry() -> (key: ByteSlice, value: ByteSlice)? {
        guard let keyStart = plainMatch("<MetadataEntry key=\"", at: spaceEnd(from: position)),
            let keyEnd = plainValueEnd(from: keyStart),
            let valueStart = plainMatch("\" value=\"", at: keyEnd),
            let valueEnd = plainValueEnd(from: valueStart),
            let end = plainMatch("\"/>", at: valueEnd)
        else { return nil }
        position = end
        return (slice(keyStart, keyEnd), slice(valueStart, valueEnd))
    }

    /// Moves past the end tag of a record, if it is what comes next.
    mutating func skipRecordEnd() -> Bool {
        guard let end = plainMatch("</Record>", at: spaceEnd(from: position)) else { return false }
        position = end
        return true
    }

    /// Reads a list of beats, if it stands here in the usual form and the budget pays for it, and adds them as JSON
    /// objects with commas between them; else nothing is read, added or paid.
    ///
    /// It costs what an `ExportElement` of it would.
    mutating func plainBeats(into json: inout [UInt8], budget: inout Int) -> Bool {
        guard var index = plainMatch("<HeartRateVariabilityMetadataList>", at: spaceEnd(from: position))
        else {
            return false
        }
        let count = json.count
        var rest = budget - ExportElement.overheadByteCount
        while true {
            index = spaceEnd(from: index)
            if rest >= 0, let end = plainMatch("</HeartRateVariabilityMetadataList>", at: index) {
                position = end
                budget = rest
                return true
            }
            guard rest >= 0,
                let end = plainBeat(at: index, isFirst: json.count == count, into: &json, budget: &rest)
            else {
                json.removeLast(json.count - count)
                return false
            }
            index = end
        }
    }

    private func plainBeat(
        at index: Int, isFirst: Bool, into json: inout [UInt8], budget: inout Int
    ) -> Int? {
        guard let rateStart = plainMatch("<InstantaneousBeatsPerMinute bpm=\"", at: index),
            let rateEnd = plainNumberEnd(from: rateStart),
            let timeStart = plainMatch("\" time=\"", at: rateEnd)
        else { return nil }
        let timeEnd = find(UInt8(ascii: "\""), from: timeStart)
        // A longer text might be a date, which would be written otherwise.
        guard timeEnd - timeStart < ExportDate.leastByteCount, let end = plainMatch("\"/>", at: timeEnd)
        else {
            return nil
        }
        if !isFirst { json.append(UInt8(ascii: ",")) }
        appendLiteral("{\"bpm\":", to: &json)
        slice(rateStart, rateEnd).append(to: &json)
        appendLiteral(",\"time\":\"", to: &json)
        let time = slice(timeStart, timeEnd)
        let textStart = json.count
        if time.isPlainJSON {
            time.append(to: &json)
        } else {
            // Such as the narrow blank before `PM`.
            var text: [UInt8] = []
            guard decodeText(time, into: &text).repairs.isEmpty,
                !text.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") })
            else { return nil }
            json.append(contentsOf: text)
        }
        budget -= ExportElement.overheadByteCount + ExportScanner.beatNameByteCount
        budget -= rateEnd - rateStart + json.count - textStart
        appendLiteral("\"}", to: &json)
        return end
    }

    // MARK: - Parts

    /// Where white space is over, or the window.
    @inline(__always)
    private func spaceEnd(from start: Int) -> Int {
        var index = start
        while index < limit, unsafe isWhiteSpace(window[index]) { index += 1 }
        return index
    }

    /// Where a literal ends that stands at `index`; `nil` where anything else does, or the window ends.
    @inline(__always)
    private func plainMatch(_ literal: StaticString, at index: Int) -> Int? {
        let count = literal.utf8CodeUnitCount
        // Sound: both have so many bytes.
        guard limit - index >= count, unsafe memcmp(window + index, literal.utf8Start, count) == 0 else {
            return nil
        }
        return index + count
    }

    /// Where the quote of a short value stands whose bytes all stand for themselves, in XML and in JSON.
    @inline(__always)
    private func plainValueEnd(from start: Int) -> Int? {
        let end = find(UInt8(ascii: "\""), from: start)
        guard end - start <= ExportScanner.plainByteCountLimit, slice(start, end).isPlainJSON else {
            return nil
        }
        return end
    }

    /// Where a whole number of a few digits ends, which JSON writes alike.
    @inline(__always)
    private func plainNumberEnd(from start: Int) -> Int? {
        var index = start
        while index < limit, index - start < 6, unsafe window[index] &- 0x30 < 10 { index += 1 }
        guard index > start, index < limit, unsafe window[start] != 0x30 || index == start + 1 else {
            return nil
        }
        return index
    }
}

extension ByteSlice {
    /// Whether every byte stands for itself, in XML and in a JSON string; quotes are not looked for.
    @inline(__always)
    fileprivate var isPlainJSON: Bool {
        isPlain && firstIndex(of: UInt8(ascii: "\\")) == nil
    }
}
