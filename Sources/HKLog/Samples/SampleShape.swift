package import HKLogFormat

/// What many samples share: type, kind of value, unit, source and device.
///
/// Interned once, named by a number.
///
/// `label` is its byte form: for each of the texts in a fixed order a length + 1 as a varint (0 for an absent
/// text) and the UTF-8 bytes, after one byte of the value kind. Two shapes are the same when their labels are:
/// texts are compared as bytes, never by Unicode equivalence.
package struct SampleShape: Equatable, Sendable {
    package var valueKind: RowValueKind
    package var type: String
    package var unit: String?
    package var source: Source?
    package var device: Device?

    package init(
        valueKind: RowValueKind, type: String, unit: String? = nil, source: Source? = nil,
        device: Device? = nil
    ) {
        self.valueKind = valueKind
        self.type = type
        self.unit = unit
        self.source = source
        self.device = device
    }

    /// The bytes that stand for the shape in frames.
    package var label: [UInt8] {
        var bytes: [UInt8] = [valueKind.rawValue]
        bytes.reserveCapacity(96)
        func add(_ text: String?) {
            guard let text else {
                bytes.append(0)
                return
            }
            var rest = UInt64(text.utf8.count) + 1
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
            bytes.append(contentsOf: text.utf8)
        }
        add(type)
        add(unit)
        bytes.append(source == nil ? 0 : 1)
        if let source {
            add(source.name)
            add(source.bundleIdentifier)
            add(source.version)
            add(source.productType)
            add(source.operatingSystemVersion)
        }
        bytes.append(device == nil ? 0 : 1)
        if let device {
            add(device.name)
            add(device.manufacturer)
            add(device.model)
            add(device.hardwareVersion)
            add(device.firmwareVersion)
            add(device.softwareVersion)
            add(device.localIdentifier)
            add(device.udiDeviceIdentifier)
        }
        return bytes
    }

    /// Reads a label; `nil` when the bytes are not one.
    package init?(label bytes: [UInt8]) {
        var position = 0
        func byte() -> UInt8? {
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            return bytes[position]
        }
        /// The outer optional is for damage, the inner one for an absent text.
        func text() -> String?? {
            var length: UInt64 = 0
            var shift: UInt64 = 0
            while true {
                guard let next = byte(), shift < 63 else { return nil }
                length |= UInt64(next & 0x7F) << shift
                if next < 0x80 { break }
                shift += 7
            }
            if length == 0 { return .some(nil) }
            guard length - 1 <= UInt64(bytes.count - position) else { return nil }
            let end = position + Int(length - 1)
            defer { position = end }
            return String(decoding: bytes[position..<end], as: UTF8.self)
        }
        guard let kind = byte().flatMap(RowValueKind.init(rawValue:)) else { return nil }
        guard case .some(.some(let type)) = text(), let unit = text() else { return nil }
        var source: Source?
        switch byte() {
        case 0: break
        case 1:
            guard let name = text(), let bundle = text(), let version = text(), let product = text(),
                let system = text()
            else { return nil }
            source = Source(
                name: name, bundleIdentifier: bundle, version: version, productType: product,
                operatingSystemVersion: system)
        default: return nil
        }
        var device: Device?
        switch byte() {
        case 0: break
        case 1:
            guard let name = text(), let manufacturer = text(), let model = text(), let hardware = text(),
                let firmware = text(), let software = text(), let local = text(), let udi = text()
            else { return nil }
            device = Device(
                name: name, manufacturer: manufacturer, model: model, hardwareVersion: hardware,
                firmwareVersion: firmware, softwareVersion: software, localIdentifier: local,
                udiDeviceIdentifier: udi)
        default: return nil
        }
        guard position == bytes.count else { return nil }
        self.init(valueKind: kind, type: type, unit: unit, source: source, device: device)
    }
}

/// What must be known of a label before its rows are taken: found without making a text of anything.
package struct LabelOutline: Equatable {
    /// Where the type's text stands in the label.
    package var type: Range<Int>
    package var hasUnit: Bool

    /// Looks through a label; `nil` exactly where `SampleShape(label:)` is.
    package init?(label bytes: Span<UInt8>) {
        var position = 0
        /// Moves over the text that begins here; `absent` where there is none, nil for damage.
        func text() -> Range<Int>? {
            var length: UInt64 = 0
            var shift: UInt64 = 0
            while true {
                guard position < bytes.count, shift < 63 else { return nil }
                let next = bytes[position]
                position += 1
                length |= UInt64(next & 0x7F) << shift
                if next < 0x80 { break }
                shift += 7
            }
            if length == 0 { return LabelOutline.absent }
            guard length - 1 <= UInt64(bytes.count - position) else { return nil }
            let start = position
            position += Int(length - 1)
            return start..<position
        }
        /// Moves over so many texts when a byte says that they follow; false for damage.
        func group(of count: Int) -> Bool {
            guard position < bytes.count, bytes[position] <= 1 else { return false }
            let isThere = bytes[position] == 1
            position += 1
            guard isThere else { return true }
            for _ in 0..<count {
                guard text() != nil else { return false }
            }
            return true
        }
        guard position < bytes.count, RowValueKind(rawValue: bytes[position]) != nil else { return nil }
        position += 1
        guard let type = text(), type != LabelOutline.absent, let unit = text() else { return nil }
        guard group(of: LabelOutline.sourceTexts), group(of: LabelOutline.deviceTexts),
            position == bytes.count
        else { return nil }
        self.type = type
        hasUnit = unit != LabelOutline.absent
    }

    private static let absent = -1 ..< -1
    private static let sourceTexts = 5
    private static let deviceTexts = 8
}
