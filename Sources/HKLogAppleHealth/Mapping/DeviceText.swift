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
        let escaped: StaticString = "&lt;&lt;HKDevice: 0x"
        let plain: StaticString = "<<HKDevice: 0x"
        guard slice.hasPrefix(escaped) || slice.hasPrefix(plain) else { return 0 }
        var index = slice.hasPrefix(escaped) ? escaped.utf8CodeUnitCount : plain.utf8CodeUnitCount
        while index < slice.count, hexValue(slice[index]) != nil { index += 1 }
        return index
    }

    /// The device of a decoded text, with or without its beginning up to the address.
    static func device(_ text: [UInt8]) -> Device? {
        guard !text.isEmpty else { return nil }
        var body = text[...]
        if body.starts(with: "<<HKDevice:".utf8) {
            guard let end = body.firstIndex(of: UInt8(ascii: ">")) else { return named(text) }
            body = body[end...]
        }
        guard body.first == UInt8(ascii: ">") else { return named(text) }
        body = body.dropFirst()
        if body.last == UInt8(ascii: ">") { body = body.dropLast() }
        var device = Device()
        let fields = starts(of: body)
        for (place, field) in fields.enumerated() {
            let end = place + 1 < fields.count ? fields[place + 1].start : body.endIndex
            let value = String(decoding: body[field.valueStart..<end], as: UTF8.self)
            set(field.key, value, in: &device)
        }
        return device == Device() ? nil : device
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
