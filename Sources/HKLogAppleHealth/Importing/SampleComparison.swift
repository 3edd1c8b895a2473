internal import HKLog

/// Whether a listed sample differs from the stored one in what makes an update.
///
/// An update is a value that differs by more than a millionth in the canonical unit, another source name, other
/// metadata or another payload (its quantities with the same tolerance). The phone's display units, the device
/// and versions are none: they change from export to export.
struct SampleComparison {
    /// What is known of a pair of shapes.
    private enum ShapeVerdict {
        /// Source names differ, or units that cannot be converted into one another.
        case changed
        /// Values are compared as they are.
        case sameUnit
        /// Values are compared after conversion, the listed one by the first.
        case converted(Unit, Unit, to: Unit)
        /// Bits are compared.
        case exact
    }

    private struct Pair: Hashable {
        var listed: UInt32
        var stored: Int
    }

    private var verdicts: [Pair: ShapeVerdict] = [:]
    private var lastPair = Pair(listed: .max, stored: -1)
    private var lastVerdict = ShapeVerdict.changed
    private var generation = 0
    /// Whether a clinical record that comes without its resource says nothing of it: in a bare document, which cannot
    /// hold such files, and where an import may only add.
    let keepsResources: Bool

    init(keepsResources: Bool) {
        self.keepsResources = keepsResources
    }

    enum Result {
        case same
        case changed
        /// Changed, and the payload to write is this one.
        case changedWithPayload([UInt8])
    }

    mutating func compare<Destination: ImportDestination>(
        _ row: ImportedRow, _ block: RowBlock, with stored: Int, in destination: Destination
    ) -> Result {
        let columns = destination.columns(ofRow: stored)
        if block.generation != generation {
            verdicts = [:]
            lastPair = Pair(listed: .max, stored: -1)
            generation = block.generation
        }
        let pair = Pair(listed: row.shape, stored: columns.shape)
        if pair != lastPair {
            let shape = block.shapes[Int(row.shape)].shape
            lastVerdict = verdicts[pair] ?? verdict(shape, destination.shape(columns.shape))
            verdicts[pair] = lastVerdict
            lastPair = pair
        }
        var isChanged = row.start != columns.start || row.duration != columns.duration
        switch lastVerdict {
        case .changed: isChanged = true
        case .exact: isChanged = isChanged || row.valueBits != columns.valueBits
        case .sameUnit:
            let (listed, kept) = (Double(bitPattern: row.valueBits), Double(bitPattern: columns.valueBits))
            isChanged = isChanged || !isClose(listed, kept)
        case .converted(let from, let storedUnit, let unit):
            let listed = from.convert(Double(bitPattern: row.valueBits), to: unit)
            let kept = storedUnit.convert(Double(bitPattern: columns.valueBits), to: unit)
            if let listed, let kept, isClose(listed, kept) { break }
            isChanged = true
        }
        let metadataEnd = row.byteOffset + Int(row.metadataByteCount)
        let metadata = block.bytes[row.byteOffset..<metadataEnd]
        let payload = block.bytes[metadataEnd..<metadataEnd + Int(row.payloadByteCount)]
        if destination.hasTexts(metadata, payload, row: stored) { return isChanged ? .changed : .same }
        let texts = destination.texts(ofRow: stored)
        if !metadata.elementsEqual(texts.metadata) { isChanged = true }
        if payload.elementsEqual(texts.payload) { return isChanged ? .changed : .same }
        let listed = value(Array(payload))
        let kept = value(texts.payload)
        if isText(Array(block.shapes[Int(row.shape)].shape.type.utf8), "HKLogClinicalRecord"),
            isPoorer(listed, than: kept)
        {
            return compareClinicalRecord(listed, kept, isChanged: isChanged)
        }
        guard let listed, let kept, isClose(listed, kept, in: nil, nil, key: "") else { return .changed }
        return isChanged ? .changed : .same
    }

    /// Whether a clinical record's resource is not at hand while the store has it: a bare document cannot hold its
    /// file, or the record names a file that is missing, damaged or cut.
    private func isPoorer(_ listed: JSONValue?, than kept: JSONValue?) -> Bool {
        func has(_ key: StaticString, _ value: JSONValue?) -> Bool {
            value?.members?.contains { isText(Array($0.name.utf8), key) } ?? false
        }
        if has("resource", listed) { return false }
        if has("resourceText", listed) { return has("resource", kept) }
        return (keepsResources || has("resourceFilePath", listed))
            && (has("resource", kept) || has("resourceText", kept))
    }

    /// Compares all but the resource: what the store has of that stays.
    private func compareClinicalRecord(_ listed: JSONValue?, _ kept: JSONValue?, isChanged: Bool) -> Result {
        guard let given = listed?.members, let all = kept?.members else { return .changed }
        var members = given.filter { !ExportReader.isResourceKey($0.name) }
        let resources = all.filter { ExportReader.isResourceKey($0.name) }
        let rest = JSONValue.object(all.filter { !ExportReader.isResourceKey($0.name) })
        if !isChanged, isClose(.object(members), rest, in: nil, nil, key: "") { return .same }
        members += resources
        var bytes: [UInt8] = []
        JSONValue.object(members).write(to: &bytes)
        return .changedWithPayload(bytes)
    }

    private func value(_ bytes: [UInt8]) -> JSONValue? {
        if bytes.isEmpty { return .object([]) }
        return try? JSONValue(parsing: String(decoding: bytes, as: UTF8.self))
    }

    // MARK: - Shapes

    private func verdict(_ listed: SampleShape, _ stored: SampleShape) -> ShapeVerdict {
        let names = (listed.source?.name, stored.source?.name)
        guard listed.importedValue == stored.importedValue, isSameText(names.0, names.1) else {
            return .changed
        }
        guard listed.importedValue == .quantity else { return .exact }
        if isSameText(listed.unit, stored.unit) { return .sameUnit }
        guard let listedUnit = unit(listed.unit), let storedUnit = unit(stored.unit),
            listedUnit.isCompatible(with: storedUnit)
        else { return .changed }
        let identifier = Array(listed.type.utf8)
        let canonical = Catalog.quantityType(utf8: identifier.span)?.canonicalUnit
        if let canonical, canonical.isCompatible(with: listedUnit) {
            return .converted(listedUnit, storedUnit, to: canonical)
        }
        return .converted(listedUnit, storedUnit, to: storedUnit)
    }

    private func unit(_ text: String?) -> Unit? {
        guard let text else { return nil }
        return try? Unit(text)
    }

    private func isSameText(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.utf8.elementsEqual(right.utf8)
    }

    // MARK: - Payloads

    private func isClose(_ left: Double, _ right: Double) -> Bool {
        left == right || abs(left - right) <= 1e-6 * max(abs(left), abs(right))
    }

    /// Whether two payloads are the same but for noise in their quantities.
    ///
    /// `leftOwner` and `rightOwner` are the objects that the values stand in under `key`: their units stand beside.
    private func isClose(
        _ left: JSONValue, _ right: JSONValue, in leftOwner: JSONValue?, _ rightOwner: JSONValue?, key: String
    ) -> Bool {
        switch (left, right) {
        case (.number, .number):
            guard let leftNumber = left.doubleValue, let rightNumber = right.doubleValue else {
                return left == right
            }
            let leftUnit = leftOwner.flatMap { unitText(of: key, in: $0) }
            let rightUnit = rightOwner.flatMap { unitText(of: key, in: $0) }
            if isSameText(leftUnit, rightUnit) { return isClose(leftNumber, rightNumber) }
            guard let leftUnit = unit(leftUnit), let rightUnit = unit(rightUnit),
                let converted = leftUnit.convert(leftNumber, to: rightUnit)
            else { return false }
            return isClose(converted, rightNumber)
        case (.array(let leftItems), .array(let rightItems)):
            guard leftItems.count == rightItems.count else { return false }
            for (leftItem, rightItem) in zip(leftItems, rightItems)
            where !isClose(leftItem, rightItem, in: leftOwner, rightOwner, key: key) {
                return false
            }
            return true
        case (.object(let leftMembers), .object(let rightMembers)):
            guard leftMembers.count == rightMembers.count else { return false }
            for (leftMember, rightMember) in zip(leftMembers, rightMembers) {
                guard isSameText(leftMember.name, rightMember.name) else { return false }
                // Units differ where the display setting does; the numbers beside them decide.
                if isUnitKey(leftMember.name), hasConvertibleUnits(leftMember.value, rightMember.value) {
                    continue
                }
                guard isClose(leftMember.value, rightMember.value, in: left, right, key: leftMember.name)
                else {
                    return false
                }
            }
            return true
        default:
            return left == right
        }
    }

    private func isUnitKey(_ key: String) -> Bool {
        hasSuffix(Array(key.utf8), "Unit") || isText(Array(key.utf8), "unit")
    }

    private func hasConvertibleUnits(_ left: JSONValue, _ right: JSONValue) -> Bool {
        guard case .string(let leftText) = left, case .string(let rightText) = right else { return false }
        if isSameText(leftText, rightText) { return true }
        guard let leftUnit = unit(leftText), let rightUnit = unit(rightText) else { return false }
        return leftUnit.isCompatible(with: rightUnit)
    }

    /// The unit that goes with a number: `sumUnit` or `unit` with `sum`, and for the names that Apple gives to
    /// several numbers of one unit, the one that they share.
    private func unitText(of key: String, in owner: JSONValue) -> String? {
        var stems = [key]
        for ending in ["Goal", "Value", "ClampingRangeLowerBound", "ClampingRangeUpperBound"]
        where key.hasSuffix(ending) {
            stems.append(String(key.dropLast(ending.count)))
        }
        for stem in stems {
            if case .string(let text)? = owner[stem + "Unit"] { return text }
        }
        if case .string(let text)? = owner["unit"] { return text }
        return nil
    }
}
