internal import HKLog

/// Fields that samples repeat: read once, then found by their bytes in a `TokenTable`.
extension BatchDecoder {
    /// Reads a type, full or short.
    mutating func readType(_ cursor: inout JSONCursor) throws(LineFault) -> Int {
        let token = try readStringToken(&cursor, "type", "a string")
        guard token.byteCount > 0 else { throw LineFault(at: token.start, in: "type", "a type's name") }
        let bytes = copy(cursor, token.start - 1..<token.end + 1)
        if let known = types.number(of: bytes) { return known }
        let entry = TypeEntry(facts: TypeFacts(named: try cursor.text(of: token)), isLong: isLong(token))
        return types.add(bytes, entry)
    }

    /// Reads a unit; whether it fits is asked where the type is known.
    mutating func readUnit(_ cursor: inout JSONCursor) throws(LineFault) -> Int {
        let token = try readStringToken(&cursor, "unit", "a string")
        let bytes = copy(cursor, token.start - 1..<token.end + 1)
        if let known = units.number(of: bytes) { return known }
        let text = try cursor.text(of: token)
        return units.add(bytes, UnitEntry(text: text, unit: try? Unit(text), isLong: isLong(token)))
    }

    private static let sourceFieldNames = FieldNames([
        "name", "bundleIdentifier", "version", "productType", "operatingSystemVersion",
    ])

    /// Reads a source: an object, or its name alone.
    mutating func readSource(_ cursor: inout JSONCursor) throws(LineFault) -> Int {
        let start = cursor.position
        let source: Source
        var isLong = false
        if cursor.next == UInt8(ascii: "\"") {
            let token = try readStringToken(&cursor, "source", "a string")
            isLong = self.isLong(token)
            source = Source(name: try cursor.text(of: token))
        } else {
            let texts = try readTexts(
                &cursor, "source", Self.sourceFieldNames, count: 5, "a source object, or its name", &isLong)
            source = Source(
                name: texts[0], bundleIdentifier: texts[1], version: texts[2], productType: texts[3],
                operatingSystemVersion: texts[4])
        }
        let bytes = copy(cursor, start..<cursor.position)
        return sources.number(of: bytes) ?? sources.add(bytes, SourceEntry(source: source, isLong: isLong))
    }

    private static let deviceFieldNames = FieldNames([
        "name", "manufacturer", "model", "hardwareVersion", "firmwareVersion", "softwareVersion",
        "localIdentifier", "udiDeviceIdentifier",
    ])

    /// Reads a device.
    mutating func readDevice(_ cursor: inout JSONCursor) throws(LineFault) -> Int {
        let start = cursor.position
        var isLong = false
        let texts = try readTexts(
            &cursor, "device", Self.deviceFieldNames, count: 8, "a device object", &isLong)
        let device = Device(
            name: texts[0], manufacturer: texts[1], model: texts[2], hardwareVersion: texts[3],
            firmwareVersion: texts[4], softwareVersion: texts[5], localIdentifier: texts[6],
            udiDeviceIdentifier: texts[7])
        let bytes = copy(cursor, start..<cursor.position)
        return devices.number(of: bytes) ?? devices.add(bytes, DeviceEntry(device: device, isLong: isLong))
    }

    /// Reads an object whose fields are all texts.
    private mutating func readTexts(
        _ cursor: inout JSONCursor, _ field: String, _ names: FieldNames, count: Int, _ expected: String,
        _ isLong: inout Bool
    ) throws(LineFault) -> [String?] {
        guard cursor.next == UInt8(ascii: "{") else {
            throw LineFault(at: cursor.position, in: field, expected)
        }
        cursor.position += 1
        var texts = [String?](repeating: nil, count: count)
        var seen: UInt64 = 0
        do throws(LineFault) {
            var hasMember = !cursor.take(UInt8(ascii: "}"))
            while hasMember {
                let index = try cursor.readField(names, seen: &seen, of: "a \(field)")
                if try !cursor.takeNull() {
                    let token = try readStringToken(&cursor, names.name(index), "a string")
                    if self.isLong(token) { isLong = true }
                    texts[index] = try cursor.text(of: token)
                }
                hasMember = try cursor.readSeparator(end: UInt8(ascii: "}"))
            }
        } catch {
            throw error.inside(field)
        }
        return texts
    }

    /// Only in a batch that is `kept` can a long string come this far; others must not find it afterwards.
    private func isLong(_ token: JSONStringToken) -> Bool { token.byteCount > JSONLimits.stringByteCount }

    private func copy(_ cursor: borrowing JSONCursor, _ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(copying: cursor.bytes, in: range)
        return bytes
    }
}
