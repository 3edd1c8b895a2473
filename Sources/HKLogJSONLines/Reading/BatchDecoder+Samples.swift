internal import HKLog
internal import HKLogFormat

/// A sample's fields; the raw value is the name's bytes as a little-endian word, which no other key of strict
/// JSON has: names are at most eight bytes, and a raw zero byte cannot stand in a string.
enum SampleField: UInt64 {
    case uuid = 0x6469_7575
    case type = 0x6570_7974
    case start = 0x74_7261_7473
    case end = 0x646E_65
    case value = 0x65_756C_6176
    case unit = 0x7469_6E75
    case source = 0x6563_7275_6F73
    case device = 0x6563_6976_6564
    case metadata = 0x6174_6164_6174_656D
    case count = 0x74_6E75_6F63
    case payload = 0x64_616F_6C79_6170

    var bit: UInt16 {
        switch self {
        case .uuid: 1 << 0
        case .type: 1 << 1
        case .start: 1 << 2
        case .end: 1 << 3
        case .value: 1 << 4
        case .unit: 1 << 5
        case .source: 1 << 6
        case .device: 1 << 7
        case .metadata: 1 << 8
        case .count: 1 << 9
        case .payload: 1 << 10
        }
    }
}

/// What has been read of a sample.
///
/// Numbers out of the token tables are -1 where the field is absent.
private struct PendingSample {
    enum Value {
        case none
        case number(JSONNumberToken)
        case text(JSONStringToken)
    }

    var position: Int
    /// Which keys have stood.
    var seen: UInt16 = 0
    /// Which of the required fields have had a value.
    var hasUUID = false
    var hasStart = false
    var hasEnd = false
    var uuid = RawUUID(first: 0, second: 0)
    var start: Int64 = 0
    var end: Int64 = 0
    var endPosition = 0
    var value = Value.none
    var valuePosition = 0
    var type = -1
    var unit = -1
    var unitPosition = 0
    var source = -1
    var device = -1
    var count: UInt64 = 0
    /// The place among the latest metadata objects, where it is one of them.
    var recentMetadata = -1
    var metadata: [UInt8] = []
    var metadataRange = 0..<0
    var payload: [UInt8] = []
}

extension BatchDecoder {
    /// Reads the array of `added` into `rows`.
    mutating func readSamples(_ cursor: inout JSONCursor) throws(LineFault) {
        guard cursor.next == UInt8(ascii: "[") else {
            throw LineFault(at: cursor.position, in: "added", "an array of samples")
        }
        cursor.position += 1
        var hasElement = !cursor.take(UInt8(ascii: "]"))
        var index = 0
        while hasElement {
            do throws(LineFault) {
                try readSample(&cursor)
                hasElement = try cursor.readSeparator(end: UInt8(ascii: "]"))
            } catch {
                throw error.inside("added[\(index)]")
            }
            index &+= 1
        }
    }

    private mutating func readSample(_ cursor: inout JSONCursor) throws(LineFault) {
        forgetTokensIfFull()
        cursor.skipWhiteSpace()
        guard cursor.next == UInt8(ascii: "{") else {
            throw LineFault(at: cursor.position, "a sample object")
        }
        var sample = PendingSample(position: cursor.position)
        cursor.position += 1
        var hasMember = !cursor.take(UInt8(ascii: "}"))
        while hasMember {
            let field = try readSampleField(&cursor, seen: &sample.seen)
            if try !cursor.takeNull() { try readSampleValue(&cursor, field, into: &sample) }
            hasMember = try cursor.readSeparator(end: UInt8(ascii: "}"))
        }
        try finish(&sample, &cursor)
    }

    @inline(__always)
    private func readSampleField(_ cursor: inout JSONCursor, seen: inout UInt16) throws(LineFault)
        -> SampleField
    {
        let token = try cursor.readString("a key")
        let word = token.hasEscapes ? try escapedWord(token, &cursor) : keyWord(token, cursor)
        guard let field = SampleField(rawValue: word) else {
            throw cursor.unknownField(token, of: "a sample")
        }
        guard seen & field.bit == 0 else { throw cursor.repeatedField(token) }
        seen |= field.bit
        if cursor.next == UInt8(ascii: ":") {
            cursor.position &+= 1
        } else {
            try cursor.expect(UInt8(ascii: ":"), "':' after a key")
        }
        cursor.skipWhiteSpace()
        return field
    }

    /// The bytes of a key as a word; 0, which is no field, for the empty key and for longer ones.
    @inline(__always)
    private func keyWord(_ token: JSONStringToken, _ cursor: borrowing JSONCursor) -> UInt64 {
        let count = token.end &- token.start
        guard count <= 8, count > 0 else { return 0 }
        if token.start &+ 8 <= cursor.bytes.count {
            return cursor.word(at: token.start) & (UInt64.max >> UInt64(64 &- count &* 8))
        }
        var word: UInt64 = 0
        for offset in 0..<count { word |= UInt64(cursor.bytes[token.start + offset]) << UInt64(offset * 8) }
        return word
    }

    private func escapedWord(_ token: JSONStringToken, _ cursor: inout JSONCursor) throws(LineFault) -> UInt64
    {
        guard token.byteCount <= 8 else { return 0 }
        var text: [UInt8] = []
        try cursor.appendText(of: token, to: &text)
        var word: UInt64 = 0
        for (offset, byte) in text.enumerated() {
            if byte == 0 { return 0 }
            word |= UInt64(byte) << UInt64(offset * 8)
        }
        return word
    }

    @inline(__always)
    private mutating func readSampleValue(
        _ cursor: inout JSONCursor, _ field: SampleField, into sample: inout PendingSample
    ) throws(LineFault) {
        switch field {
        case .uuid:
            let start = cursor.position
            sample.uuid = try readUUID(&cursor, "uuid")
            sample.hasUUID = true
            guard uuids.insert(sample.uuid) else {
                throw LineFault(at: start, in: "uuid", "each uuid once in added")
            }
        case .type:
            if let known = types.find(&cursor) {
                sample.type = known
            } else {
                sample.type = try readType(&cursor)
            }
        case .start:
            sample.start = try readDate(&cursor, "start")
            sample.hasStart = true
        case .end:
            sample.endPosition = cursor.position
            sample.end = try readDate(&cursor, "end")
            sample.hasEnd = true
        case .value:
            sample.valuePosition = cursor.position
            sample.value = try readValue(&cursor)
        case .unit:
            sample.unitPosition = cursor.position
            if let known = units.find(&cursor) {
                sample.unit = known
            } else {
                sample.unit = try readUnit(&cursor)
            }
        case .source:
            if let known = sources.find(&cursor) {
                sample.source = known
            } else {
                sample.source = try readSource(&cursor)
            }
        case .device:
            if let known = devices.find(&cursor) {
                sample.device = known
            } else {
                sample.device = try readDevice(&cursor)
            }
        case .metadata:
            if let recent = recentMetadata.find(&cursor) {
                sample.recentMetadata = recent
            } else {
                let start = cursor.position
                try copyObject(&cursor, "metadata")
                sample.metadata = copier.text
                sample.metadataRange = start..<cursor.position
            }
        case .count:
            sample.count = try readPositive(&cursor, "count")
        case .payload:
            try copyObject(&cursor, "payload")
            sample.payload = copier.text
        }
    }

    // MARK: - Dates and values

    @inline(__always)
    private mutating func readDate(_ cursor: inout JSONCursor, _ field: String) throws(LineFault) -> Int64 {
        let start = cursor.position
        if cursor.next == UInt8(ascii: "\"") {
            let token: JSONStringToken
            do throws(LineFault) {
                token = try cursor.scanString()
            } catch {
                throw error.inside(field)
            }
            if !token.hasEscapes, let date = DateText.parse(cursor.bytes.extracting(token.start..<token.end))
            {
                return date
            }
            if let date = try escapedDate(token, &cursor) { return date }
        } else if startsNumber(cursor.next) {
            let token: JSONNumberToken
            do throws(LineFault) {
                token = try cursor.scanNumber()
            } catch {
                throw error.inside(field)
            }
            if let date = DateText.parseSeconds(cursor.bytes.extracting(token.start..<token.end)) {
                return date
            }
        }
        throw LineFault(
            at: start, in: field,
            "a date in the years 1 to 9999: RFC 3339 with offset, '2026-03-01 08:00:00 +0900', or seconds since 1970"
        )
    }

    private func escapedDate(_ token: JSONStringToken, _ cursor: inout JSONCursor) throws(LineFault) -> Int64?
    {
        guard token.hasEscapes, token.byteCount <= 64 else { return nil }
        var text: [UInt8] = []
        try cursor.appendText(of: token, to: &text)
        return DateText.parse(text.span)
    }

    @inline(__always)
    private mutating func readValue(_ cursor: inout JSONCursor) throws(LineFault) -> PendingSample.Value {
        do throws(LineFault) {
            if startsNumber(cursor.next) { return .number(try cursor.scanNumber()) }
            if cursor.next == UInt8(ascii: "\"") {
                let token = try cursor.scanString()
                guard kept || token.byteCount <= JSONLimits.stringByteCount else {
                    throw .stringTooLong(token)
                }
                return .text(token)
            }
            throw LineFault(at: cursor.position, "a number, or text that is one")
        } catch {
            throw error.inside("value")
        }
    }

    private func quantityBits(
        _ value: PendingSample.Value, at position: Int, _ cursor: inout JSONCursor
    ) throws(LineFault) -> UInt64 {
        let double: Double?
        switch value {
        case .none: double = nil
        case .number(let token): double = cursor.double(of: token)
        case .text(let token): double = try number(in: token, &cursor)
        }
        guard let double else { throw LineFault(at: position, in: "value", "a finite number") }
        return double.bitPattern
    }

    /// Text that is a number by the grammar of JSON, as a double.
    private func number(in token: JSONStringToken, _ cursor: inout JSONCursor) throws(LineFault) -> Double? {
        var text: [UInt8] = []
        try cursor.appendText(of: token, to: &text)
        var inner = JSONCursor(text.span)
        guard startsNumber(inner.next), let number = try? inner.scanNumber(), number.end == text.count else {
            return nil
        }
        return inner.double(of: number)
    }

    private func categoryBits(
        _ value: PendingSample.Value, _ facts: TypeFacts, at position: Int, _ cursor: inout JSONCursor
    ) throws(LineFault) -> UInt64 {
        let integer: Int64?
        switch value {
        case .none:
            integer = nil
        case .number(let token):
            integer = token.integer
        case .text(let token):
            var text: [UInt8] = []
            try cursor.appendText(of: token, to: &text)
            var inner = JSONCursor(text.span)
            if startsNumber(inner.next) {
                let number = try? inner.scanNumber()
                integer = number.flatMap { $0.end == text.count ? $0.integer : nil }
            } else {
                integer = facts.categoryValue(named: String(decoding: text, as: UTF8.self))
            }
        }
        guard let integer else {
            throw LineFault(at: position, in: "value", "an integer, or the name of a value of this type")
        }
        return UInt64(bitPattern: integer)
    }

    // MARK: - The whole sample

    @inline(__always)
    private mutating func finish(_ sample: inout PendingSample, _ cursor: inout JSONCursor) throws(LineFault)
    {
        guard sample.hasUUID else {
            throw LineFault(at: sample.position, in: "uuid", "a uuid (it is required)")
        }
        guard sample.hasStart else {
            throw LineFault(at: sample.position, in: "start", "a date (it is required)")
        }
        if sample.hasEnd, sample.end < sample.start {
            throw LineFault(at: sample.endPosition, in: "end", "an end that is not before the start")
        }
        if sample.type < 0 {
            guard let batchType else {
                throw LineFault(
                    at: sample.position, in: "type", "a type (the batch has none either)", mayBeLifted: true)
            }
            sample.type = batchType
        }
        noteType(sample.type)

        let kind: RowValueKind
        var bits: UInt64 = 0
        switch types.values[sample.type].facts.kind {
        case .quantity:
            kind = .double
            if case .none = sample.value { throw missingValue(sample) }
            if sample.unit < 0 && !kept {
                throw LineFault(
                    at: sample.position, in: "unit", "a unit (quantity types require one)", mayBeLifted: true)
            }
            bits = try quantityBits(sample.value, at: sample.valuePosition, &cursor)
        case .category:
            kind = .integer
            if case .none = sample.value { throw missingValue(sample) }
            bits = try categoryBits(
                sample.value, types.values[sample.type].facts, at: sample.valuePosition, &cursor)
        case .other:
            if case .none = sample.value {
                kind = .none
            } else {
                kind = .double
                bits = try quantityBits(sample.value, at: sample.valuePosition, &cursor)
            }
        }
        let shape = try shapeID(of: sample, kind)
        let extra = extraID(of: sample, cursor)
        rows.add(
            uuid: sample.uuid, start: sample.start, duration: sample.hasEnd ? sample.end &- sample.start : 0,
            hasEnd: sample.hasEnd, valueBits: bits, shapeID: shape, extraID: extra)
    }

    private func missingValue(_ sample: PendingSample) -> LineFault {
        LineFault(at: sample.position, in: "value", "a value (quantity and category types require one)")
    }

    @inline(__always)
    private mutating func noteType(_ type: Int) {
        if sharedType == type || typesDiffer { return }
        guard let shared = sharedType else {
            sharedType = type
            return
        }
        // The full identifier and the short name are one type, with a number each.
        typesDiffer = !types.values[shared].facts.identifier.utf8.elementsEqual(
            types.values[type].facts.identifier.utf8)
    }

    @inline(__always)
    private mutating func shapeID(of sample: PendingSample, _ kind: RowValueKind) throws(LineFault) -> UInt32
    {
        let key =
            UInt64(kind.rawValue) | UInt64(sample.type &+ 1) << 2 | UInt64(sample.unit &+ 1) << 17
            | UInt64(sample.source &+ 1) << 32 | UInt64(sample.device &+ 1) << 47
        if key == lastShape.key { return lastShape.id }
        let id: UInt32
        if let known = shapes.id(of: key) {
            id = known
        } else {
            let shape = try knownShape(of: sample, kind, key)
            id = shapes.add(shape, key: key)
        }
        lastShape = (key, id)
        return id
    }

    /// The shape that a sample is the first of in its batch to have, after the checks of its texts.
    private mutating func knownShape(
        of sample: PendingSample, _ kind: RowValueKind, _ key: UInt64
    ) throws(LineFault) -> RowShape {
        if let known = knownShapes[key], known.passesChecks || kept { return known.shape }
        let fault = textFault(in: sample)
        if let fault, !kept { throw fault }
        let type = types.values[sample.type].facts.identifier
        let label = SampleShape(
            valueKind: kind, type: type, unit: sample.unit < 0 ? nil : units.values[sample.unit].text,
            source: sample.source < 0 ? nil : sources.values[sample.source].source,
            device: sample.device < 0 ? nil : devices.values[sample.device].device
        ).label
        let shape = RowShape(label: label, valueKind: kind, group: 0)
        if knownShapes.count >= 1 << 14 { knownShapes.removeAll() }
        knownShapes[key] = KnownShape(shape: shape, passesChecks: fault == nil)
        return shape
    }

    /// What is wrong with a sample's texts, of what `kept` lifts.
    private func textFault(in sample: PendingSample) -> LineFault? {
        let type = types.values[sample.type]
        let unit = sample.unit < 0 ? nil : units.values[sample.unit]
        let long: [(String, Bool?)] = [
            ("type", type.isLong), ("unit", unit?.isLong),
            ("source", sample.source < 0 ? nil : sources.values[sample.source].isLong),
            ("device", sample.device < 0 ? nil : devices.values[sample.device].isLong),
        ]
        for (field, isLong) in long where isLong == true {
            return LineFault(at: sample.position, in: field, "strings of at most 1 MiB", mayBeLifted: true)
        }
        guard let unit else { return nil }
        guard let parsed = unit.unit else {
            return LineFault(
                at: sample.unitPosition, in: "unit", "a HealthKit unit string", mayBeLifted: true)
        }
        guard let canonical = type.facts.canonicalUnit, !parsed.isCompatible(with: canonical.unit) else {
            return nil
        }
        return LineFault(
            at: sample.unitPosition, in: "unit", "a unit that fits the type, such as '\(canonical.text)'",
            mayBeLifted: true)
    }

    @inline(__always)
    private mutating func extraID(of sample: PendingSample, _ cursor: borrowing JSONCursor) -> UInt32 {
        let standsAlone = sample.count == 0 && sample.payload.isEmpty
        if sample.recentMetadata >= 0 {
            let entry = recentMetadata.entries[sample.recentMetadata]
            return standsAlone
                ? entry.extraID
                : rows.extraID(count: sample.count, metadata: entry.compact, payload: sample.payload)
        }
        if standsAlone && sample.metadata.isEmpty { return 0 }
        let id = rows.extraID(count: sample.count, metadata: sample.metadata, payload: sample.payload)
        if standsAlone {
            recentMetadata.add(
                cursor.bytes.extracting(sample.metadataRange), compact: sample.metadata, extraID: id)
        }
        return id
    }
}
