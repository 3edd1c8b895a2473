internal import HKLog

/// Whether a listed sample differs from the stored one in what makes an update.
///
/// An update is a value that differs by more than a millionth in the canonical unit, another source name, other
/// metadata or another payload (its quantities with the same tolerance). The phone's display units, the device,
/// versions and the order of metadata are none: they change from export to export.
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
            isChanged = isChanged || !PayloadComparison.isClose(listed, kept)
        case .converted(let from, let storedUnit, let unit):
            let listed = from.convert(Double(bitPattern: row.valueBits), to: unit)
            let kept = storedUnit.convert(Double(bitPattern: columns.valueBits), to: unit)
            if let listed, let kept, PayloadComparison.isClose(listed, kept) { break }
            isChanged = true
        }
        let metadataEnd = row.byteOffset + Int(row.metadataByteCount)
        let metadata = block.bytes[row.byteOffset..<metadataEnd]
        let payload = block.bytes[metadataEnd..<metadataEnd + Int(row.payloadByteCount)]
        if destination.hasTexts(metadata, payload, row: stored) { return isChanged ? .changed : .same }
        let texts = destination.texts(ofRow: stored)
        if !isChanged, !metadata.elementsEqual(texts.metadata) {
            isChanged = !haveSameEntries(value(Array(metadata)), value(texts.metadata))
        }
        if payload.elementsEqual(texts.payload) { return isChanged ? .changed : .same }
        let listed = value(Array(payload))
        let kept = value(texts.payload)
        if isText(Array(block.shapes[Int(row.shape)].shape.type.utf8), "HKLogClinicalRecord"),
            isPoorer(listed, than: kept)
        {
            return compareClinicalRecord(listed, kept, isChanged: isChanged)
        }
        let payloads = PayloadComparison(ofType: block.shapes[Int(row.shape)].shape.type)
        guard let listed, let kept, payloads.isSame(listed, kept) else { return .changed }
        return isChanged ? .changed : .same
    }

    /// Whether two metadata objects hold the same keys and texts, in whatever order the keys stand.
    private func haveSameEntries(_ listed: JSONValue?, _ kept: JSONValue?) -> Bool {
        guard let listed = listed?.members, let kept = kept?.members else { return false }
        return PayloadComparison.byName(listed) == PayloadComparison.byName(kept)
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
        let payloads = PayloadComparison(ofType: "HKLogClinicalRecord")
        if !isChanged, payloads.isSame(.object(members), rest) { return .same }
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
}
