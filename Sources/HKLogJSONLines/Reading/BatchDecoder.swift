public import HKLog
internal import HKLogFormat

/// What a line of JSON Lines holds.
public enum DecodedLine: Sendable {
    /// A batch.
    case batch(Batch)
    /// Nothing to append: the log's anchor alone, or the report of a gap.
    case nothing
}

/// Reads batches, one from each line.
///
/// See `docs/json-lines.md`. Keep one for all lines of a sequence: it remembers the types, units, sources and devices it has met.
public struct BatchDecoder {
    var types = TokenTable<TypeEntry>()
    var units = TokenTable<UnitEntry>()
    var sources = TokenTable<SourceEntry>()
    var devices = TokenTable<DeviceEntry>()
    var copier = JSONCopier()
    /// Shapes by the numbers of their texts.
    var knownShapes: [UInt64: KnownShape] = [:]

    // What belongs to the batch that is being read.
    var rows = RowBuilder()
    var uuids = UUIDSet()
    var shapes = BatchShapes()
    var lastShape: (key: UInt64, id: UInt32) = (.max, 0)
    var recentMetadata = RecentExtras()
    var kept = false
    var batchType: Int?
    /// The one type of all samples so far.
    var sharedType: Int?
    var typesDiffer = false

    struct TypeEntry {
        var facts: TypeFacts
        var isLong: Bool
    }

    /// What is known of a combination of texts, whatever the batch.
    struct KnownShape {
        var shape: RowShape
        /// It passes the checks that `kept` lifts.
        var passesChecks: Bool
    }

    struct UnitEntry {
        var text: String
        /// `nil` where the text is no unit.
        var unit: Unit?
        var isLong: Bool
    }

    struct SourceEntry {
        var source: Source
        var isLong: Bool
    }

    struct DeviceEntry {
        var device: Device
        var isLong: Bool
    }

    /// Makes a decoder.
    public init() {}

    /// Reads one line, without its line break.
    ///
    /// - Throws: `BatchError` where the line is no valid batch; nothing of it is kept.
    public mutating func decode(_ line: Span<UInt8>, lineNumber: Int) throws(BatchError) -> DecodedLine {
        do throws(LineFault) {
            return try decode(line, ahead: nil)
        } catch {
            let fault = error
            // `type` and `kept` may stand behind the samples that need them. That is rare, so it is looked for only
            // now, and then the line is read once more.
            guard fault.mayBeLifted, let ahead = lookAhead(line) else {
                throw BatchError(fault, lineNumber: lineNumber)
            }
            do throws(LineFault) {
                return try decode(line, ahead: ahead)
            } catch {
                throw BatchError(error, lineNumber: lineNumber)
            }
        }
    }

    /// What stands somewhere in a line and matters for all of it.
    private struct Ahead {
        var typePosition: Int?
        var kept = false
    }

    private mutating func lookAhead(_ line: Span<UInt8>) -> Ahead? {
        var cursor = JSONCursor(line)
        var ahead = Ahead()
        do throws(LineFault) {
            guard cursor.take(UInt8(ascii: "{")) else { return nil }
            repeat {
                let key = try cursor.readString("a key")
                try cursor.expect(UInt8(ascii: ":"), "':' after a key")
                cursor.skipWhiteSpace()
                switch try cursor.text(of: key) {
                case "type":
                    if cursor.next == UInt8(ascii: "\"") { ahead.typePosition = cursor.position }
                    try cursor.skipValue()
                case "kept":
                    if let kept = try cursor.takeBool() { ahead.kept = kept } else { try cursor.skipValue() }
                default:
                    try cursor.skipValue()
                }
            } while try cursor.readSeparator(end: UInt8(ascii: "}"))
        } catch {
            // The second reading meets the fault and says it better.
        }
        return ahead.kept || ahead.typePosition != nil ? ahead : nil
    }

    // MARK: - The batch

    private static let fieldNames = FieldNames([
        "stream", "type", "previousAnchor", "anchor", "snapshot", "confirmDeletions", "epoch", "seq",
        "deleted",
        "added", "digest", "kept", "logAnchor", "logCheck", "gap",
    ])

    private enum Field: Int {
        case stream, type, previousAnchor, anchor, snapshot, confirmDeletions, epoch, seq, deleted
        case added, digest, kept, logAnchor, logCheck, gap

        var bit: UInt64 { 1 << UInt64(rawValue) }
    }

    private mutating func decode(_ line: Span<UInt8>, ahead: Ahead?) throws(LineFault) -> DecodedLine {
        begin()
        var cursor = JSONCursor(line)
        if let ahead {
            kept = ahead.kept
            if let position = ahead.typePosition {
                cursor.position = position
                batchType = try readType(&cursor)
                cursor.position = 0
            }
        }
        var batch = Batch(stream: "")
        var stream: String?
        var numbers: (epoch: UInt64?, sequence: UInt64?) = (nil, nil)
        var seen: UInt64 = 0
        // Fields with a value other than null.
        var given: UInt64 = 0

        cursor.skipWhiteSpace()
        guard cursor.next == UInt8(ascii: "{") else {
            throw LineFault(at: cursor.position, "malformed JSON: expected one object a line")
        }
        cursor.position += 1
        var hasMember = !cursor.take(UInt8(ascii: "}"))
        while hasMember {
            let name = try cursor.readField(Self.fieldNames, seen: &seen, of: "a batch")
            guard let field = Field(rawValue: name) else { break }
            if try cursor.takeNull() {
                if field == .previousAnchor {
                    batch.previousAnchor = .none
                    given |= field.bit
                }
            } else {
                given |= field.bit
                switch field {
                case .stream:
                    stream = try readText(&cursor, "stream")
                case .type:
                    batchType = try readType(&cursor)
                case .previousAnchor:
                    batch.previousAnchor = .anchor(try readAnchor(&cursor, "previousAnchor"))
                case .anchor:
                    batch.anchor = try readAnchor(&cursor, "anchor")
                case .snapshot:
                    batch.snapshot = try readSnapshot(&cursor)
                case .confirmDeletions:
                    batch.confirmDeletions = try readBool(&cursor, "confirmDeletions")
                case .epoch:
                    numbers.epoch = try readPositive(&cursor, "epoch")
                case .seq:
                    numbers.sequence = try readPositive(&cursor, "seq")
                case .deleted:
                    batch.deleted = try readDeletions(&cursor)
                case .added:
                    try readSamples(&cursor)
                case .digest:
                    batch.digest = try readDigest(&cursor)
                case .kept:
                    batch.kept = try readBool(&cursor, "kept")
                    kept = kept || batch.kept
                case .logAnchor, .logCheck:
                    do throws(LineFault) {
                        try copier.copyValue(&cursor, checksLength: !kept)
                    } catch {
                        throw error.inside(field == .logAnchor ? "logAnchor" : "logCheck")
                    }
                case .gap:
                    try readGap(&cursor)
                }
            }
            hasMember = try cursor.readSeparator(end: UInt8(ascii: "}"))
        }
        cursor.skipWhiteSpace()
        guard cursor.position == line.count else { throw cursor.malformed("the end of the line") }

        let ignored = Field.logAnchor.bit | Field.logCheck.bit
        if given & ~ignored == Field.gap.bit { return .nothing }
        if given & ~ignored == 0 && seen & ignored != 0 { return .nothing }
        if given & Field.gap.bit != 0 {
            throw LineFault(at: 0, in: "gap", "a gap in a line of its own")
        }
        switch numbers {
        case (let epoch?, let sequence?):
            batch.numbering = Batch.Numbering(epoch: epoch, sequence: sequence)
        case (nil, nil):
            break
        case (_, nil):
            throw LineFault(at: 0, in: "seq", "epoch and seq together, or neither")
        case (nil, _):
            throw LineFault(at: 0, in: "epoch", "epoch and seq together, or neither")
        }
        if let stream {
            batch.stream = stream
        } else {
            batch.stream = try streamOfTypes()
        }
        batch.rows = rows.finish()
        batch.rows.shapes = shapes.rows
        return .batch(batch)
    }

    private mutating func begin() {
        if types.isFull || units.isFull || sources.isFull || devices.isFull { forgetTokens() }
        rows = RowBuilder()
        uuids.removeAll()
        shapes.removeAll()
        lastShape = (.max, 0)
        recentMetadata.removeAll()
        kept = false
        batchType = nil
        sharedType = nil
        typesDiffer = false
    }

    /// Begins the tables anew.
    ///
    /// Only where no number out of them is in use.
    private mutating func forgetTokens() {
        types = TokenTable()
        units = TokenTable()
        sources = TokenTable()
        devices = TokenTable()
        knownShapes.removeAll()
    }

    /// Begins the tables anew between two samples, where they have grown too large within one batch.
    @inline(__always)
    mutating func forgetTokensIfFull() {
        guard units.isFull || sources.isFull || devices.isFull || types.isFull else { return }
        units = TokenTable()
        sources = TokenTable()
        devices = TokenTable()
        // The numbers of the batch's type and of the shared type live on.
        let remembered = [batchType, sharedType].map { number in number.map { types.values[$0] } }
        types = TokenTable()
        batchType = remembered[0].map { types.add(Array($0.facts.identifier.utf8), $0) }
        sharedType = remembered[1].map { types.add([0] + Array($0.facts.identifier.utf8), $0) }
        knownShapes.removeAll()
        shapes.forgetNumbers()
        lastShape = (.max, 0)
    }

    private func streamOfTypes() throws(LineFault) -> String {
        if let batchType { return types.values[batchType].facts.identifier }
        if let sharedType, !typesDiffer { return types.values[sharedType].facts.identifier }
        throw LineFault(
            at: 0, in: "stream",
            typesDiffer
                ? "a stream, since the samples are of several types"
                : "a stream, a type, or samples that tell it")
    }

    // MARK: - Its fields

    private mutating func readText(_ cursor: inout JSONCursor, _ field: String) throws(LineFault) -> String {
        let token = try readStringToken(&cursor, field, "a string")
        return try cursor.text(of: token)
    }

    /// Reads a string that is a field's value.
    mutating func readStringToken(
        _ cursor: inout JSONCursor, _ field: String, _ expected: String
    ) throws(LineFault) -> JSONStringToken {
        guard cursor.next == UInt8(ascii: "\"") else {
            throw LineFault(at: cursor.position, in: field, expected)
        }
        let token: JSONStringToken
        do throws(LineFault) {
            token = try cursor.scanString()
        } catch {
            throw error.inside(field)
        }
        guard kept || token.byteCount <= JSONLimits.stringByteCount else {
            throw LineFault.stringTooLong(token).inside(field)
        }
        return token
    }

    private mutating func readAnchor(_ cursor: inout JSONCursor, _ field: String) throws(LineFault) -> String
    {
        let token = try readStringToken(&cursor, field, "a string")
        guard token.byteCount <= JSONLimits.anchorByteCount else {
            throw LineFault(at: token.start - 1, in: field, "an anchor of at most 64 KiB")
        }
        return try cursor.text(of: token)
    }

    private mutating func readSnapshot(_ cursor: inout JSONCursor) throws(LineFault) -> Batch.Snapshot {
        let expected = "\"begin\", \"end\" or \"whole\""
        let token = try readStringToken(&cursor, "snapshot", expected)
        switch try cursor.text(of: token) {
        case "begin": return .begin
        case "end": return .end
        case "whole": return .whole
        default: throw LineFault(at: token.start - 1, in: "snapshot", expected)
        }
    }

    private func readBool(_ cursor: inout JSONCursor, _ field: String) throws(LineFault) -> Bool {
        do throws(LineFault) {
            guard let value = try cursor.takeBool() else {
                throw LineFault(at: cursor.position, "true or false")
            }
            return value
        } catch {
            throw error.inside(field)
        }
    }

    /// Reads an integer of 1 or more.
    func readPositive(_ cursor: inout JSONCursor, _ field: String) throws(LineFault) -> UInt64 {
        let start = cursor.position
        guard startsNumber(cursor.next) else {
            throw LineFault(at: start, in: field, "an integer of 1 or more")
        }
        do throws(LineFault) {
            let token = try cursor.scanNumber()
            guard !token.isNegative, let value = token.wholeMagnitude, value >= 1 else {
                throw LineFault(at: start, "an integer of 1 or more, below 2^64")
            }
            return value
        } catch {
            throw error.inside(field)
        }
    }

    private mutating func readDigest(_ cursor: inout JSONCursor) throws(LineFault) -> ContentDigest {
        let expected = "32 hexadecimal digits"
        let token = try readStringToken(&cursor, "digest", expected)
        guard let digest = ContentDigest(try cursor.text(of: token)) else {
            throw LineFault(at: token.start - 1, in: "digest", expected)
        }
        return digest
    }

    /// Reads `[a, b]`: the first and last log anchor of batches that are lost.
    private func readGap(_ cursor: inout JSONCursor) throws(LineFault) {
        let expected = "two log anchors, as in [3,7]"
        let start = cursor.position
        do throws(LineFault) {
            guard cursor.next == UInt8(ascii: "[") else { throw LineFault(at: start, expected) }
            cursor.position += 1
            for end in [UInt8(ascii: ","), UInt8(ascii: "]")] {
                cursor.skipWhiteSpace()
                guard startsNumber(cursor.next) else { throw LineFault(at: cursor.position, expected) }
                let token = try cursor.scanNumber()
                guard !token.isNegative, token.wholeMagnitude != nil, cursor.take(end) else {
                    throw LineFault(at: cursor.position, expected)
                }
            }
        } catch {
            throw error.inside("gap")
        }
    }

    // MARK: - Deletions

    private static let deletionFieldNames = FieldNames(["uuid", "metadata"])

    private mutating func readDeletions(_ cursor: inout JSONCursor) throws(LineFault) -> [Batch.Deletion] {
        guard cursor.next == UInt8(ascii: "[") else {
            throw LineFault(at: cursor.position, in: "deleted", "an array of uuids")
        }
        cursor.position += 1
        var deletions: [Batch.Deletion] = []
        var hasElement = !cursor.take(UInt8(ascii: "]"))
        while hasElement {
            do throws(LineFault) {
                cursor.skipWhiteSpace()
                deletions.append(try readDeletion(&cursor))
                hasElement = try cursor.readSeparator(end: UInt8(ascii: "]"))
            } catch {
                throw error.inside("deleted[\(deletions.count)]")
            }
        }
        return deletions
    }

    private mutating func readDeletion(_ cursor: inout JSONCursor) throws(LineFault) -> Batch.Deletion {
        if cursor.next == UInt8(ascii: "\"") {
            return Batch.Deletion(uuid: SampleUUID(raw: try readUUID(&cursor, nil)))
        }
        guard cursor.next == UInt8(ascii: "{") else {
            throw LineFault(at: cursor.position, "a uuid, or an object with uuid and metadata")
        }
        let start = cursor.position
        cursor.position += 1
        var seen: UInt64 = 0
        var uuid: RawUUID?
        var metadata: JSONText?
        var hasMember = !cursor.take(UInt8(ascii: "}"))
        while hasMember {
            let field = try cursor.readField(Self.deletionFieldNames, seen: &seen, of: "a deletion")
            if try !cursor.takeNull() {
                if field == 0 {
                    uuid = try readUUID(&cursor, "uuid")
                } else {
                    try copyObject(&cursor, "metadata")
                    metadata = JSONText(uncheckedCompactObject: copier.text)
                }
            }
            hasMember = try cursor.readSeparator(end: UInt8(ascii: "}"))
        }
        guard let uuid else { throw LineFault(at: start, in: "uuid", "a uuid (it is required)") }
        return Batch.Deletion(uuid: SampleUUID(raw: uuid), metadata: metadata)
    }

    // MARK: - Parts of samples and deletions alike

    /// Reads the object that is a field's value into the copier.
    mutating func copyObject(_ cursor: inout JSONCursor, _ field: String) throws(LineFault) {
        do throws(LineFault) {
            guard try copier.copyObject(&cursor, checksLength: !kept) else {
                throw LineFault(at: cursor.position, "an object")
            }
        } catch {
            throw error.inside(field)
        }
    }

    @inline(__always)
    mutating func readUUID(_ cursor: inout JSONCursor, _ field: String?) throws(LineFault) -> RawUUID {
        // Nearly every uuid is 36 plain characters between quotes.
        let start = cursor.position
        if cursor.bytes.count &- start >= 38, cursor.next == UInt8(ascii: "\""),
            cursor.bytes[start &+ 37] == UInt8(ascii: "\""), let uuid = cursor.uuid(at: start &+ 1)
        {
            cursor.position = start &+ 38
            return uuid
        }
        return try readUUIDSlowly(&cursor, field)
    }

    @inline(never)
    private mutating func readUUIDSlowly(
        _ cursor: inout JSONCursor, _ field: String?
    ) throws(LineFault) -> RawUUID {
        let expected = "a uuid such as 0F2D0C58-5C43-4E11-9B59-6B6C0F9B8C33"
        let token = try readStringToken(&cursor, field ?? "", expected)
        var text: [UInt8] = []
        if token.byteCount == 36 { try cursor.appendText(of: token, to: &text) }
        guard let uuid = RawUUID(hyphenatedText: text.span) else {
            throw LineFault(at: token.start - 1, in: field ?? "", expected)
        }
        return uuid
    }

    @inline(__always)
    func startsNumber(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") <= 9
    }
}
