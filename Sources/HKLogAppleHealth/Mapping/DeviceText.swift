internal import HKLog

/// Takes apart what exports write for a device: `<<HKDevice: 0x283c5a1b0>, name:Apple Watch, …>`.
///
/// The address changes with every export, so it is dropped, and so is a creation date, which has no place in a
/// device. Commas occur inside values: a field begins where `, ` and one of the known keys stand.
enum DeviceText {
    private static let keys: [StaticString] = [
        "name", "manufacturer", "model", "hardware", "firmware", "software", "localIdentifier",
        "local identifier", "UDI", "UDI device identifier", "udiDeviceIdentifier", "FDA UDI", "creation date",
    ]

    /// Where the text that tells devices apart begins, behind the address, in a value as it stands in the file.
    static func stableStart(_ slice: ByteSlice) -> Int {
        let beginnings: [StaticString] = [
            "&lt;&lt;HKDevice: 0x", "<<HKDevice: 0x", "&lt;HKDevice: 0x", "<HKDevice: 0x",
        ]
        guard let beginning = beginnings.first(where: { slice.hasPrefix($0) }) else { return 0 }
        var index = beginning.utf8CodeUnitCount
        while index < slice.count, hexValue(slice[index]) != nil { index += 1 }
        // Else what is left would not show that an address stood before it.
        let rest = slice[index..<slice.count]
        return rest.hasPrefix("&gt;") || rest.hasPrefix(">") ? index : 0
    }

    /// The device of a decoded text, with or without its beginning up to the address.
    static func device(_ text: [UInt8]) -> Device? {
        guard !text.isEmpty else { return nil }
        var body = text[...]
        if let rest = withoutAddress(body) { return fields(of: rest) }
        guard body.first == UInt8(ascii: ">") else { return named(text) }
        body = body.dropFirst()
        return fields(of: body)
    }

    private static func fields(of text: ArraySlice<UInt8>) -> Device? {
        var body = text
        if body.last == UInt8(ascii: ">") { body = body.dropLast() }
        if body.suffix(4).elementsEqual("&gt;".utf8) { body = body.dropLast(4) }
        var device = Device()
        let fields = starts(of: body)
        for (place, field) in fields.enumerated() {
            let end = place + 1 < fields.count ? fields[place + 1].start : body.endIndex
            let value = String(decoding: body[field.valueStart..<end], as: UTF8.self)
            set(field.key, value, in: &device)
        }
        return device == Device() ? nil : device
    }

    /// What stands behind `HKDevice: 0x` and its digits, with one bracket, two or none before it, escaped once more
    /// or not; `nil` for a text that does not begin so.
    private static func withoutAddress(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var rest = text
        while true {
            if rest.first == UInt8(ascii: "<") {
                rest = rest.dropFirst()
            } else if rest.starts(with: "&lt;".utf8) {
                rest = rest.dropFirst(4)
            } else {
                break
            }
        }
        guard rest.starts(with: "HKDevice:".utf8) else { return nil }
        rest = rest.dropFirst(9).drop { $0 == UInt8(ascii: " ") }
        guard rest.starts(with: "0x".utf8) else { return nil }
        return rest.dropFirst(2).drop { hexValue($0) != nil }
    }

    /// A device that is only a text.
    private static func named(_ text: [UInt8]) -> Device {
        Device(name: String(decoding: text, as: UTF8.self))
    }

    private static func starts(of body: ArraySlice<UInt8>) -> [(start: Int, valueStart: Int, key: Int)] {
        var fields: [(start: Int, valueStart: Int, key: Int)] = []
        var index = body.startIndex
        while index + 2 < body.endIndex {
            if body[index] == UInt8(ascii: ","), body[index + 1] == UInt8(ascii: " ") {
                let rest = body[(index + 2)...]
                for (key, name) in keys.enumerated() {
                    let count = name.utf8CodeUnitCount
                    guard rest.count > count, rest[rest.startIndex + count] == UInt8(ascii: ":"),
                        isText(Array(rest.prefix(count)), name)
                    else { continue }
                    fields.append((index, index + 2 + count + 1, key))
                    break
                }
            }
            index += 1
        }
        return fields
    }

    private static func set(_ key: Int, _ value: String, in device: inout Device) {
        switch key {
        case 0: device.name = value
        case 1: device.manufacturer = value
        case 2: device.model = value
        case 3: device.hardwareVersion = value
        case 4: device.firmwareVersion = value
        case 5: device.softwareVersion = value
        case 6, 7: device.localIdentifier = value
        case 8, 9, 10, 11: device.udiDeviceIdentifier = value
        default: break
        }
    }
}
