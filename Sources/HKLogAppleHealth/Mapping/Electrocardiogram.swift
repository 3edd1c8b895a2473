internal import HKLog

/// An ECG as exports write it: a few rows of a name and a value, then one voltage a line.
///
/// Names and many values are in the phone's language, so rows are known by their place: one of the first, the third
/// as a rule, bears the date it was recorded, and the others are counted from there. Blank ones do not count.
struct Electrocardiogram {
    var name: [UInt8]
    var dateOfBirth: [UInt8]
    var recorded: Int64
    var classification: [UInt8]
    var symptoms: [UInt8]
    var softwareVersion: [UInt8]
    var device: [UInt8]
    var sampleRate: [UInt8]
    var lead: [UInt8]
    var unit: [UInt8]
    /// The voltages as JSON numbers.
    var voltages: [[UInt8]] = []
    /// Lines where a voltage should be and none is.
    var unreadableCount = 0

    /// How many rows before the date are looked at, and how many follow it.
    private static let dateRowLimit = 6
    private static let rowCountAfterDate = 7

    /// Reads the file; `nil` when it has not that form.
    init?(_ bytes: [UInt8]) {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        let lines = text.split(omittingEmptySubsequences: true) { $0 == 0x0A || $0 == 0x0D }
        var rows: [[UInt8]] = []
        var date: (row: Int, instant: Int64)?
        var index = lines.startIndex
        while index < lines.endIndex {
            let line = trimmedText(Array(lines[index]))
            index += 1
            // A blank row may still have its separators.
            if !line.contains(where: { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") }) { continue }
            let value = Electrocardiogram.value(of: line)
            if date == nil, let instant = ExportDate.instant(value) { date = (rows.count, instant) }
            rows.append(value)
            if let date {
                if rows.count > date.row + Electrocardiogram.rowCountAfterDate { break }
            } else if rows.count >= Electrocardiogram.dateRowLimit {
                return nil
            }
        }
        guard let date, rows.count > date.row + Electrocardiogram.rowCountAfterDate else { return nil }
        recorded = date.instant
        name = date.row >= 2 ? rows[date.row - 2] : []
        dateOfBirth = date.row >= 1 ? rows[date.row - 1] : []
        classification = rows[date.row + 1]
        symptoms = rows[date.row + 2]
        softwareVersion = rows[date.row + 3]
        device = rows[date.row + 4]
        sampleRate = rows[date.row + 5]
        lead = rows[date.row + 6]
        unit = rows[date.row + 7]
        for line in lines[index...] {
            let text = trimmedText(Array(line))
            if !text.contains(where: { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") }) { continue }
            if let number = localizedNumber(Electrocardiogram.unquoted(text)) {
                voltages.append(number)
            } else {
                unreadableCount += 1
            }
        }
    }

    /// What stands behind the first separator that is outside of quotes, its own quotes taken off.
    private static func value(of line: [UInt8]) -> [UInt8] {
        var isQuoted = false
        for (index, byte) in line.enumerated() {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if !isQuoted, byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") {
                return unquoted(trimmedText(Array(line[(index + 1)...])))
            }
        }
        return []
    }

    private static func unquoted(_ text: [UInt8]) -> [UInt8] {
        guard text.count >= 2, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") else {
            return valid(text)
        }
        var bytes: [UInt8] = []
        var index = 1
        while index < text.count - 1 {
            bytes.append(text[index])
            if text[index] == UInt8(ascii: "\""), text[index + 1] == UInt8(ascii: "\"") { index += 1 }
            index += 1
        }
        return valid(bytes)
    }

    private static func valid(_ text: [UInt8]) -> [UInt8] {
        Array(String(decoding: text, as: UTF8.self).utf8)
    }

    /// The sample rate's number, without the word for hertz.
    var sampleRateNumber: [UInt8]? {
        let head = String(decoding: sampleRate, as: UTF8.self).prefix { !$0.isWhitespace && !$0.isLetter }
        return localizedNumber(Array(head.utf8))
    }
}

/// A number as some language writes it, as a JSON number; `nil` for anything else.
///
/// A comma or an Arabic separator stands for the point, a typographic minus for the minus; digits may be of any
/// script.
func localizedNumber(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
        switch scalar {
        case "0"..."9", "-", "+", ".", "e", "E": bytes.append(UInt8(truncatingIfNeeded: scalar.value))
        case ",", "\u{66B}": bytes.append(UInt8(ascii: "."))
        case "\u{2212}", "\u{2010}"..."\u{2013}", "\u{FE63}", "\u{FF0D}": bytes.append(UInt8(ascii: "-"))
        case "\u{200E}", "\u{200F}", "\u{61C}", "\u{A0}", "\u{202F}", " ": continue
        default:
            guard scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue else {
                return nil
            }
            bytes.append(0x30 + UInt8(value))
        }
    }
    guard finiteNumber(bytes) != nil else { return nil }
    var json: [UInt8] = []
    appendJSONNumber(bytes, to: &json)
    return json
}

extension ExportReader {
    /// Adds the ECG of a file; `false` when the file is none.
    mutating func addElectrocardiogram(_ bytes: [UInt8], path: [UInt8]) -> Bool {
        guard let ecg = Electrocardiogram(bytes) else { return false }
        if ecg.unreadableCount > 0 { problems.note("ECG line without a voltage dropped") }
        guard !ecg.voltages.isEmpty else {
            problems.note("ECG file without usable data: \(shortText(Array(path.suffix(64))))")
            return true
        }
        var payload = JSONMembers()
        payload.add(textBytes("classification"), string: ecg.classification)
        payload.add(textBytes("symptoms"), string: ecg.symptoms)
        if let rate = ecg.sampleRateNumber {
            payload.add(textBytes("sampleRate"), json: rate)
        } else {
            payload.add(textBytes("sampleRate"), string: ecg.sampleRate)
        }
        payload.add(textBytes("lead"), string: ecg.lead)
        payload.add(textBytes("unit"), string: ecg.unit)
        payload.add(textBytes("name"), string: ecg.name)
        payload.add(textBytes("dateOfBirth"), string: ecg.dateOfBirth)
        var list: [UInt8] = [UInt8(ascii: "[")]
        for (index, voltage) in ecg.voltages.enumerated() {
            if index > 0 { list.append(UInt8(ascii: ",")) }
            list.append(contentsOf: voltage)
        }
        list.append(UInt8(ascii: "]"))
        payload.add(textBytes("voltages"), json: list)
        let device = Device(
            hardwareVersion: ecg.device.isEmpty ? nil : String(decoding: ecg.device, as: UTF8.self),
            softwareVersion: ecg.softwareVersion.isEmpty
                ? nil : String(decoding: ecg.softwareVersion, as: UTF8.self))
        let type = shapes.typeNumber(textBytes("HKDataTypeIdentifierElectrocardiogram"))
        _ = addRow(
            shape: shapes.number(type: type, source: nil, device: device == Device() ? nil : device),
            name: .dates(hasEnd: false), start: ecg.recorded, end: nil, creation: nil, metadata: [],
            payload: payload.json)
        return true
    }
}
