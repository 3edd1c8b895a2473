internal import HKLog

/// Turns a document into samples, a block at a time.
///
/// One pass, in the order of the document. What an element becomes is in the extensions: records here, the rest in
/// `ExportReader+Elements.swift`, the files beside the document in `ExportReader+SideFiles.swift`.
struct ExportReader: ~Copyable {
    /// What the reader has to know besides the bytes.
    struct Settings: Sendable {
        /// The stream's name; empty for the default one, so that it is no part of any identity.
        var streamName: [UInt8]
        /// The store's days.
        var calendar: LocalCalendar
        /// The most bytes that one top-level element may hold, with what it costs to hold them.
        var elementByteCountLimit = 64 << 20
    }

    /// The first word of every name hash; frozen with the identities.
    static let nameDomain: UInt64 = 0x5452_4F50_5845_4B48

    var scanner: ExportScanner
    let problems: ProblemLog
    let settings: Settings
    let sideFiles: (any SideFiles)?
    var shapes: ShapeTable
    var block = RowBlock()
    /// How the document ended; known once `nextBlock` has given `nil`.
    private(set) var isComplete = false
    private(set) var endOffset = 0
    /// Whether something stands behind the end that is neither white space nor a comment.
    private var isFollowed = false
    /// How many roots are open inside of the first one.
    var innerRootCount = 0
    private(set) var exportDate: Int64?
    /// How often each `HKTimeZone` came.
    private(set) var zoneCounts: [[UInt8]: Int] = [:]
    /// Which workout names a route's file, and where in the document.
    var routeReferences: [[UInt8]: RouteReference] = [:]
    /// The same by the files that are there; made when the document has been read.
    var routeReferencesByFile: [Int: RouteReference] = [:]
    /// Workouts that name a file of a route which is not beside the document.
    var workoutsWithoutRoute: Set<SampleUUID> = []
    /// Finds the files that the document names.
    let fileIndex: SideFileIndex?
    /// The first file beside the document that is damaged, in words: nothing may be concluded from its absence.
    private(set) var damagedFile: String?
    /// How many elements are lost of which nothing is known: any sample may be listed in one of them.
    private var lostElementCount = 0
    /// Files that the document names and that were read with it.
    var consumedSideFiles: Set<Int> = []

    private var typeNumbers = Interned()
    private var sources = Interned()
    private var versions = Interned()
    private var devices = Interned()
    private var units = Interned()
    private var values = Interned()
    /// Numbers of decoded types by their raw ones; a missing or new one is `.max`.
    private var typesByRaw: [UInt32] = [.max]
    private var categoryValues: [CategoryKey: CategoryValue] = [:]
    /// What was made of the heads that the scanner remembers.
    private var heads = [HeadNumbers](repeating: HeadNumbers(), count: RecordHeads.slotCount)
    private var ordinals = OrdinalTable()
    /// What names the rows of the block whose ordinals are still to be counted: the last ones.
    private var unresolved: [RowName] = []
    /// Rows of the block that were listed before.
    private var twins: [Int] = []
    /// An event that was read too early: an element that was not closed before it.
    private var unread: ExportScanner.Event?
    private var stage = Stage.document
    private var dates = UTCText()
    /// The metadata of the record in hand.
    private var entries = MetadataEntries()
    private var lastCreation: (instant: Int64, byteOffset: Int, byteCount: UInt32)?
    private var creationText = CreationText()
    private var nextSideFile = 0
    private let nameHasher: NameHasher
    private var generation = 0

    /// What is needed to count a row's ordinal, and to name it should that not be 0.
    private struct RowName {
        var key: UInt64
        var creation: Int64
        var content: TwinContent
        var type: UInt32
    }

    /// What was made of a record's head: see `RecordHeads`.
    private struct HeadNumbers {
        /// Which head it is.
        var number: UInt32 = 0
        var rawType: UInt32 = 0
        var type: UInt32 = 0
        var kind = SampleKind.quantity
        /// The shape of each kind of value; `.max` where it is not known yet.
        var shapes = [3 of UInt32](repeating: .max)
    }

    private enum Stage {
        case document, sideFiles, done
    }

    private struct CategoryKey: Hashable {
        var type: UInt32
        var value: UInt32
    }

    private enum CategoryValue {
        case known(Int64)
        case unknown
    }

    /// Reads on from a scanner whose prolog was read.
    init(scanner: consuming ExportScanner, settings: Settings, sideFiles: (any SideFiles)?) {
        problems = scanner.problems
        let isEmpty = scanner.isSelfClosing
        self.scanner = scanner
        self.settings = settings
        self.sideFiles = sideFiles
        fileIndex = sideFiles.map { SideFileIndex($0) }
        var hasher = NameHasher(domain: ExportReader.nameDomain)
        hasher.add(settings.streamName)
        nameHasher = hasher
        shapes = ShapeTable(hasher: hasher)
        if isEmpty {
            isComplete = true
            stage = .sideFiles
        }
    }

    /// The next samples; `nil` at the end.
    mutating func nextBlock() throws(HKLogError) -> RowBlock? {
        while stage != .done, block.rows.count + block.skippedUUIDs.count < RowBlock.rowCountLimit,
            block.bytes.count < RowBlock.byteCountLimit, problems.cases.count < RowBlock.rowCountLimit
        {
            switch stage {
            case .document:
                if try !readElement() { stage = .sideFiles }
            case .sideFiles:
                if nextSideFile == 0 { bindRoutes() }
                if try !readSideFile(nextSideFile) { stage = .done }
                nextSideFile += 1
            case .done:
                break
            }
        }
        if stage == .done, block.rows.isEmpty, block.skipped == 0 { return nil }
        resolve()
        var finished = block
        finished.cases = problems.takeCases()
        if !twins.isEmpty { finished.rows.remove(atSorted: twins) }
        twins = []
        finished.shapes = shapes.shapes
        finished.byteOffset = scanner.byteOffset
        finished.generation = generation
        if isCrowded { startOver() }
        block = RowBlock()
        block.rows.reserveCapacity(RowBlock.rowCountLimit + 64)
        block.bytes.reserveCapacity(finished.bytes.count + finished.bytes.count / 4)
        lastCreation = nil
        return finished
    }

    /// How many distinct texts and shapes are remembered.
    ///
    /// No real export comes near; one in which every record is its own source must not make the tables its size.
    private static let shapeCountLimit = 1 << 14

    private var isCrowded: Bool {
        shapes.shapes.count > ExportReader.shapeCountLimit
            || shapes.types.count > ExportReader.shapeCountLimit
            || typeNumbers.count > ExportReader.shapeCountLimit
            || sources.count > ExportReader.shapeCountLimit
            || versions.count > ExportReader.shapeCountLimit || devices.count > ExportReader.shapeCountLimit
            || units.count > ExportReader.shapeCountLimit || values.count > ExportReader.shapeCountLimit
    }

    /// Forgets all texts and shapes.
    private mutating func startOver() {
        shapes = ShapeTable(hasher: nameHasher)
        typeNumbers = Interned()
        sources = Interned()
        versions = Interned()
        devices = Interned()
        units = Interned()
        values = Interned()
        typesByRaw = [.max]
        categoryValues = [:]
        heads = [HeadNumbers](repeating: HeadNumbers(), count: RecordHeads.slotCount)
        generation += 1
    }

    /// What is known of the whole document.
    func ending(fault: String?) -> ReaderEnding {
        let damage = damagedFile ?? (isFollowed ? "something follows the end at byte \(endOffset)" : nil)
        if !isComplete || fault != nil { problems.note("document cut before its end", at: endOffset) }
        return ReaderEnding(
            isComplete: isComplete && fault == nil && damage == nil,
            lostElementCount: lostElementCount + scanner.skippedTagCount, endOffset: endOffset, fault: fault,
            damage: isComplete && fault == nil ? damage : nil,
            workoutsWithoutRoute: workoutsWithoutRoute, exportDate: exportDate,
            zoneCounts: zoneCounts, problems: problems.problems, cases: problems.takeCases())
    }

    // MARK: - Elements

    /// The next event, an unread one first.
    mutating func nextEvent() throws(HKLogError) -> ExportScanner.Event {
        if let event = unread {
            unread = nil
            return event
        }
        let event = try scanner.next()
        if !scanner.text.isEmpty, event != .endOfInput {
            problems.note("text between elements", at: scanner.textOffset)
            _ = scanner.takeText()
        }
        return event
    }

    /// Gives an event back, to be read once more by who is outside.
    mutating func putBack(_ event: ExportScanner.Event) {
        unread = event
    }

    /// Reads one top-level element; `false` at the end of the document.
    private mutating func readElement() throws(HKLogError) -> Bool {
        let event = try nextEvent()
        switch event {
        case .record:
            if case .cut = try readRecord(isChild: false) { return cut() }
            return true
        case .start:
            return try readOther() ? true : cut()
        case .end:
            if scanner.name.equals("HealthData") {
                if innerRootCount > 0 {
                    innerRootCount -= 1
                    return true
                }
                try finish()
                return false
            }
            problems.note("end tag without its start", at: scanner.tagOffset)
            return true
        case .endOfInput:
            return cut()
        }
    }

    private mutating func finish() throws(HKLogError) {
        isComplete = true
        endOffset = scanner.byteOffset
        while true {
            switch try scanner.next() {
            case .endOfInput:
                // Padding with zeros is what some transfers leave.
                if scanner.takeText().contains(where: { $0 != 0 && !isWhiteSpace($0) }) {
                    problems.note("text after the end", at: scanner.textOffset)
                    isFollowed = true
                }
                return
            case .record, .start:
                problems.note("element after the end not imported", at: scanner.tagOffset)
                isFollowed = true
            case .end:
                break
            }
        }
    }

    private mutating func cut() -> Bool {
        isComplete = false
        endOffset = scanner.endOffset
        _ = scanner.takeText()
        return false
    }

    /// Reports a file beside the document that is not whole: the import is incomplete then.
    mutating func noteDamaged(_ what: String, path: [UInt8], at offset: Int?) {
        let name = shortText(Array(path.suffix(64)))
        problems.note("\(what): \(name)", at: offset)
        if damagedFile == nil { damagedFile = "\(what): \(name)" }
    }

    /// Skips an element whose tag is broken.
    mutating func skipBroken() {
        lostElementCount += 1
        block.skipped += 1
    }

    mutating func note(exportDate instant: Int64?) {
        exportDate = instant
    }

    // MARK: - Records

    /// A workout's mention of the file of its route.
    struct RouteReference {
        var workout: SampleUUID
        var offset: Int
    }

    enum Outcome {
        case sample(SampleUUID)
        case skipped
        /// The document ends within the element.
        case cut
    }

    /// A record's columns while its children are read.
    private struct Draft {
        var shape: UInt32
        var start: Int64
        var end: Int64
        var hasEnd: Bool
        var creation: Int64?
        var valueBits: UInt64
        var offset: Int
    }

    /// Reads the record whose start tag is in hand, with its children.
    mutating func readRecord(isChild: Bool) throws(HKLogError) -> Outcome {
        entries.removeAll()
        let isSelfClosing = scanner.isSelfClosing
        if scanner.isBroken { lostElementCount += 1 }
        let draft = scanner.isBroken ? nil : draftRecord(isChild: isChild)
        if isSelfClosing {
            guard let draft else {
                block.skipped += 1
                return .skipped
            }
            return finish(draft, payload: [], isChild: isChild)
        }
        var payload = JSONMembers()
        guard try readRecordChildren(isChild: isChild, payload: &payload) else { return .cut }
        guard let draft else {
            block.skipped += 1
            return .skipped
        }
        return finish(draft, payload: payload.isEmpty ? [] : payload.json, isChild: isChild)
    }

    /// The columns of the record whose tag is in hand; `nil` when it cannot become a sample.
    @inline(__always)
    private mutating func draftRecord(isChild: Bool) -> Draft? {
        let fields = scanner.fields
        let offset = scanner.tagOffset
        if !scanner.attributes.isEmpty { takeInUnknownAttributes() }
        guard let start = fields.instant(.startDate) else {
            problems.note("record without a start skipped", at: offset)
            return nil
        }
        var end = start
        if fields[.endDate].isPresent {
            if let given = fields.instant(.endDate) {
                end = given
                if end < start {
                    problems.note("end before the start, the start taken", at: offset)
                    end = start
                }
            } else {
                problems.note("end that is no date, the start taken", at: offset)
            }
        }
        let creation = fields.instant(.creationDate)
        if creation == nil, fields[.creationDate].isPresent {
            problems.note("creation date that is no date dropped", at: offset)
        }
        // Most records share their head with one before, of which all this is known.
        let place = Int(fields.head) % RecordHeads.slotCount
        if fields.head == 0 || heads[place].number != fields.head {
            guard let head = readHead(of: fields) else {
                problems.note("record without a type skipped", at: offset)
                return nil
            }
            heads[place] = head
        }
        let (type, kind) = (heads[place].type, heads[place].kind)
        guard let (bits, valueKind) = value(of: fields, type: type, kind: kind, offset: offset) else {
            problems.note("quantity whose value is missing or no finite number skipped", at: offset)
            noteSkipped(type: type, start: start, end: end, creation: creation ?? .min, isChild: isChild)
            return nil
        }
        var shape = heads[place].shapes[Int(valueKind)]
        if shape == .max {
            shape = self.shape(of: fields, heads[place], valueKind: valueKind)
            heads[place].shapes[Int(valueKind)] = shape
        } else if shapes.infos[Int(shape)].hasRepairs {
            for repair in shapes.repairs[shape] ?? [] { repair.note(in: problems, at: offset) }
        }
        let info = shapes.infos[Int(shape)]
        if info.unitFault != .none { note(info.unitFault, at: offset) }
        if info.isPercent, valueKind == 1, Double(bitPattern: bits) > 1.5 {
            problems.note("percent value above 1.5 kept as given", at: offset)
        }
        return Draft(
            shape: shape, start: start, end: end, hasEnd: fields[.endDate].isPresent, creation: creation,
            valueBits: bits, offset: offset)
    }

    /// What is made of the attributes that records share; `nil` where they name no type.
    @inline(never)
    private mutating func readHead(of fields: RecordFields) -> HeadNumbers? {
        let (rawType, isNewType) = typeNumbers.number(of: fields[.type])
        if isNewType { typesByRaw.append(shapes.typeNumber(decodedText(fields[.type]))) }
        let type = typesByRaw[Int(rawType)]
        guard type != .max, !fields[.type].isEmpty else { return nil }
        return HeadNumbers(
            number: fields.head, rawType: rawType, type: type, kind: shapes.typeKinds[Int(type)])
    }

    /// The number of a record's shape.
    @inline(never)
    private mutating func shape(of fields: RecordFields, _ head: HeadNumbers, valueKind: UInt8) -> UInt32 {
        let device = fields[.device]
        let key = ShapeTable.Key(
            type: head.rawType, source: sources.number(of: fields[.sourceName]).number,
            version: versions.number(of: fields[.sourceVersion]).number,
            device: device.isPresent
                ? devices.number(of: device[DeviceText.stableStart(device)..<device.count]).number : 0,
            unit: units.number(of: fields[.unit]).number, valueKind: valueKind)
        guard let known = shapes.known(key) else {
            return makeShape(key, fields: fields, type: head.type, kind: head.kind)
        }
        if shapes.infos[Int(known)].hasRepairs {
            for repair in shapes.repairs[known] ?? [] { repair.note(in: problems, at: scanner.tagOffset) }
        }
        return known
    }

    /// Counts the ordinal of a record without a usable value, as if it had one, so that it and its like keep their
    /// identities.
    @inline(never)
    private mutating func noteSkipped(
        type: UInt32, start: Int64, end: Int64, creation: Int64, isChild: Bool
    ) {
        resolve()
        var uuid = shapes.hashers[Int(type)].uuid(adding: start, end, creation)
        let (ordinal, _) = ordinals.ordinal(key: uuid.tableKey, content: .none, isChild: isChild)
        if ordinal > 0 {
            var hasher = shapes.hashers[Int(type)]
            hasher.add(UInt64(bitPattern: start))
            hasher.add(UInt64(bitPattern: end))
            hasher.add(UInt64(bitPattern: creation))
            hasher.add(UInt64(ordinal))
            uuid = hasher.uuid
        }
        block.skippedUUIDs.append(uuid)
    }

    private func note(_ fault: ShapeTable.UnitFault, at offset: Int) {
        switch fault {
        case .none: break
        case .missing: problems.note("quantity without a unit kept", at: offset)
        case .unreadable: problems.note("unit that does not parse kept as given", at: offset)
        case .unfit: problems.note("unit that does not fit the type kept as given", at: offset)
        }
    }

    /// The value's bits and kind; `nil` when the record has to be skipped.
    @inline(__always)
    private mutating func value(
        of fields: RecordFields, type: UInt32, kind: SampleKind, offset: Int
    ) -> (bits: UInt64, kind: UInt8)? {
        if kind == .quantity {
            if fields.hasNumber { return (fields.number.bitPattern, 1) }
            guard let number = slowNumber(fields[.value]) else { return nil }
            return (number.bitPattern, 1)
        }
        if kind == .category {
            return (UInt64(bitPattern: categoryValue(of: fields, type: type, offset: offset)), 2)
        }
        guard fields[.value].isPresent else { return (0, 0) }
        if fields.hasNumber { return (fields.number.bitPattern, 1) }
        if let number = slowNumber(fields[.value]) { return (number.bitPattern, 1) }
        entries.add(textBytes("HKLogValue"), decodedText(fields[.value]))
        return (0, 0)
    }

    @inline(never)
    private func slowNumber(_ slice: ByteSlice) -> Double? {
        guard !slice.isEmpty else { return nil }
        return finiteNumber(decodedText(slice.trimmed))
    }

    private mutating func categoryValue(of fields: RecordFields, type: UInt32, offset: Int) -> Int64 {
        let slice = fields[.value]
        guard slice.isPresent else { return 0 }
        let key = CategoryKey(type: type, value: values.number(of: slice).number)
        let found: CategoryValue
        if let known = categoryValues[key] {
            found = known
        } else {
            found = readCategoryValue(decodedText(slice.trimmed), type: type)
            categoryValues[key] = found
        }
        switch found {
        case .known(let value):
            return value
        case .unknown:
            problems.note("category value of unknown name kept as -1, its name in the metadata", at: offset)
            entries.add(textBytes("HKLogValue"), decodedText(slice))
            return -1
        }
    }

    private func readCategoryValue(_ text: [UInt8], type: UInt32) -> CategoryValue {
        if text.isEmpty { return .known(0) }
        let identifier = shapes.types[Int(type)]
        if let value = Catalog.categoryType(utf8: identifier.span)?.rawValue(utf8: text.span) {
            return .known(value)
        }
        if let number = finiteNumber(text), let value = Int64(exactly: number) { return .known(value) }
        if let value = Catalog.constant(named: String(decoding: text, as: UTF8.self)) { return .known(value) }
        return .unknown
    }

    @inline(never)
    private mutating func takeInUnknownAttributes() {
        for attribute in scanner.attributes {
            let name = decodedText(attribute.name)
            problems.note(
                "unknown attribute '\(shortText(name))' of Record kept in the metadata",
                at: scanner.offset(of: attribute.name))
            entries.add(name, dateAsUTC(decode(attribute.value)))
        }
    }

    /// A text as it is, but a date in UTC: the offset in an export is that of its day.
    mutating func dateAsUTC(_ text: [UInt8]) -> [UInt8] {
        guard let instant = ExportDate.instant(text) else { return text }
        var written: [UInt8] = []
        dates.append(instant, to: &written)
        return written
    }

    /// A value's text; what was mended in it is counted.
    func decode(_ slice: ByteSlice) -> [UInt8] {
        var bytes: [UInt8] = []
        let (repairs, position) = decodeText(slice, into: &bytes)
        if !repairs.isEmpty { repairs.note(in: problems, at: scanner.offset(of: slice) + position) }
        return bytes
    }

    @inline(never)
    private mutating func makeShape(
        _ key: ShapeTable.Key, fields: RecordFields, type: UInt32, kind: SampleKind
    ) -> UInt32 {
        var repairs: [TextRepairs] = []
        _ = text(fields[.type], &repairs)
        let name = text(fields[.sourceName], &repairs)
        let version = text(fields[.sourceVersion], &repairs)
        let device = text(fields[.device], &repairs).flatMap(DeviceText.device)
        let unit = text(fields[.unit], &repairs)
        let unitText = unit.map { String(decoding: $0, as: UTF8.self) }
        let identifier = shapes.types[Int(type)]
        let canonical = Catalog.quantityType(utf8: identifier.span)?.canonicalUnit
        var info = ShapeTable.Info(
            type: type, kind: kind,
            twinScale: TwinContent.Scale(source: name, unit: unitText, canonical: canonical))
        if kind == .quantity {
            info.unitFault = unitFault(unitText, type: type)
            info.isPercent = unit.map { isText($0, "%") } ?? false
        }
        let shape = SampleShape(
            value: ImportedValue(rawValue: key.valueKind) ?? .none,
            type: String(decoding: shapes.types[Int(type)], as: UTF8.self), unit: unitText,
            source: source(name: name, version: version), device: device)
        return shapes.add(key, shape: shape, info: info, repairs: repairs)
    }

    private func text(_ slice: ByteSlice, _ repairs: inout [TextRepairs]) -> [UInt8]? {
        guard slice.isPresent else { return nil }
        var bytes: [UInt8] = []
        let (repair, position) = decodeText(slice, into: &bytes)
        if !repair.isEmpty {
            repairs.append(repair)
            repair.note(in: problems, at: scanner.offset(of: slice) + position)
        }
        return bytes
    }

    func source(name: [UInt8]?, version: [UInt8]?) -> Source? {
        if name == nil && version == nil { return nil }
        return Source(
            name: name.map { String(decoding: $0, as: UTF8.self) },
            version: version.map { String(decoding: $0, as: UTF8.self) })
    }

    private func unitFault(_ text: String?, type: UInt32) -> ShapeTable.UnitFault {
        guard let text else { return .missing }
        guard let unit = try? Unit(text) else { return .unreadable }
        let identifier = shapes.types[Int(type)]
        guard let known = Catalog.quantityType(utf8: identifier.span) else { return .none }
        return known.canonicalUnit.isCompatible(with: unit) ? .none : .unfit
    }

    /// Adds a record's row.
    @inline(__always)
    private mutating func finish(_ draft: Draft, payload: [UInt8], isChild: Bool) -> Outcome {
        let info = shapes.infos[Int(draft.shape)]
        let creation = draft.creation ?? .min
        let base = shapes.hashers[Int(info.type)]
        var row = ImportedRow(
            uuid: base.uuid(adding: draft.start, draft.end, creation), start: draft.start,
            duration: draft.end &- draft.start, hasEnd: draft.hasEnd, valueBits: draft.valueBits,
            shape: draft.shape)
        addExtra(to: &row, creation: draft.creation, payload: payload)
        let content =
            info.kind == .quantity
            ? TwinContent(quantity: Double(bitPattern: draft.valueBits), by: info.twinScale)
            : TwinContent(exact: draft.valueBits, by: info.twinScale)
        unresolved.append(
            RowName(key: row.uuid.tableKey, creation: creation, content: content, type: info.type))
        if !isChild {
            block.rows.append(row)
            return .sample(row.uuid)
        }
        let name = unresolved.removeLast()
        resolve()
        return .sample(add(row, name, isChild: true))
    }

    /// Writes the metadata and payload of a row and points the row at them.
    @inline(__always)
    private mutating func addExtra(to row: inout ImportedRow, creation: Int64?, payload: [UInt8]) {
        if let creation, entries.isEmpty, payload.isEmpty {
            // The usual case. Neighbours often share the instant.
            if let last = lastCreation, last.instant == creation {
                row.byteOffset = last.byteOffset
                row.metadataByteCount = last.byteCount
                return
            }
            row.byteOffset = block.bytes.count
            creationText.append(creation, to: &block.bytes)
            row.metadataByteCount = UInt32(block.bytes.count - row.byteOffset)
            lastCreation = (creation, row.byteOffset, row.metadataByteCount)
            return
        }
        addFullExtra(to: &row, creation: creation, payload: payload)
    }

    @inline(never)
    private mutating func addFullExtra(to row: inout ImportedRow, creation: Int64?, payload: [UInt8]) {
        row.byteOffset = block.bytes.count
        entries.write(creation: creation, &creationText, to: &block.bytes)
        row.metadataByteCount = UInt32(block.bytes.count - row.byteOffset)
        block.bytes.append(contentsOf: payload)
        row.payloadByteCount = UInt32(payload.count)
    }

    // MARK: - Rows of other elements

    /// Adds a row with its metadata and payload and says which uuid it has.
    mutating func addRow(
        shape: UInt32, name: SampleName, start: Int64, end: Int64?, creation: Int64?,
        metadata: [(key: [UInt8], value: [UInt8])], payload: [UInt8]
    ) -> SampleUUID {
        entries.removeAll()
        for entry in metadata { add(metadataKey: entry.key, value: entry.value) }
        let end = max(end ?? start, start)
        let type = shapes.infos[Int(shape)].type
        var hasher = shapes.hashers[Int(type)]
        switch name {
        case .dates:
            hasher.add(UInt64(bitPattern: start))
            hasher.add(UInt64(bitPattern: end))
            hasher.add(UInt64(bitPattern: creation ?? .min))
        case .key(let key):
            hasher.add(key)
        }
        resolve()
        var row = ImportedRow(
            uuid: hasher.uuid, start: start, duration: end &- start, hasEnd: name.hasEnd, valueBits: 0,
            shape: shape)
        let (ordinal, _) = ordinals.ordinal(key: row.uuid.tableKey, content: .none, isChild: false)
        if ordinal > 0 {
            hasher.add(UInt64(ordinal))
            row.uuid = hasher.uuid
        }
        addFullExtra(to: &row, creation: creation, payload: payload)
        block.rows.append(row)
        return row.uuid
    }

    /// What a sample's uuid is made of, besides its type.
    enum SampleName {
        /// Its dates. `hasEnd` says whether an end was given.
        case dates(hasEnd: Bool)
        /// A key of its own: a day, an identifier, nothing.
        case key([UInt8])

        var hasEnd: Bool {
            if case .dates(let hasEnd) = self { hasEnd } else { false }
        }
    }

    /// Counts the ordinal of a row and adds it; a twin of one that was listed before is marked.
    private mutating func add(_ row: ImportedRow, _ name: RowName, isChild: Bool) -> SampleUUID {
        var row = row
        let (ordinal, isTwin) = ordinals.ordinal(key: name.key, content: name.content, isChild: isChild)
        if ordinal > 0 { row.uuid = uuid(of: row, name, ordinal: ordinal) }
        if isTwin { twins.append(block.rows.count) }
        block.rows.append(row)
        return row.uuid
    }

    /// Counts the ordinals of the rows that are waiting for it.
    ///
    /// In one go for many, so that their places in the table are fetched side by side.
    private mutating func resolve() {
        let first = block.rows.count - unresolved.count
        for (place, name) in unresolved.enumerated() {
            let (ordinal, isTwin) = ordinals.ordinal(key: name.key, content: name.content, isChild: false)
            if ordinal > 0 {
                block.rows[first + place].uuid = uuid(of: block.rows[first + place], name, ordinal: ordinal)
            }
            if isTwin { twins.append(first + place) }
        }
        unresolved.removeAll(keepingCapacity: true)
    }

    private func uuid(of row: ImportedRow, _ name: RowName, ordinal: UInt32) -> SampleUUID {
        var hasher = shapes.hashers[Int(name.type)]
        hasher.add(UInt64(bitPattern: row.start))
        hasher.add(UInt64(bitPattern: row.start &+ row.duration))
        hasher.add(UInt64(bitPattern: name.creation))
        hasher.add(UInt64(ordinal))
        return hasher.uuid
    }

    // MARK: - Metadata

    /// Takes in what stands inside of a record as long as it has its usual form; `true` once the record's end was
    /// read.
    mutating func readPlainChildren(payload: inout JSONMembers, budget: inout Int) -> Bool {
        guard unread == nil, scanner.text.isEmpty else { return false }
        // What is beyond the bound is counted in the general way.
        while entries.cost < settings.elementByteCountLimit {
            if let entry = scanner.plainEntry() {
                if entry.key.equals("HKTimeZone") || entry.key.equals("HKMetadataKeyTimeZone") {
                    zoneCounts[entry.value.bytes, default: 0] += 1
                }
                entries.add(plain: entry.key, entry.value, isPlainJSON: true)
            } else if scanner.skipRecordEnd() {
                return true
            } else {
                var beats: [UInt8] = []
                guard scanner.plainBeats(into: &beats, budget: &budget) else { return false }
                if !beats.isEmpty { payload.addElement(textBytes("beats"), json: beats) }
            }
        }
        return false
    }

    /// Takes in the metadata entry whose start tag is in hand.
    mutating func addMetadataEntry() {
        var key = ByteSlice.absent
        var value = ByteSlice.absent
        for index in scanner.attributes.indices {
            let attribute = scanner.attributes[index]
            if attribute.name.equals("key"), !key.isPresent {
                key = attribute.value
            } else if attribute.name.equals("value"), !value.isPresent {
                value = attribute.value
            } else {
                problems.note(
                    "unknown attribute '\(shortText(decodedText(attribute.name)))' of MetadataEntry dropped",
                    at: scanner.offset(of: attribute.name))
            }
        }
        guard key.isPresent else {
            problems.note("metadata entry without a key dropped", at: scanner.tagOffset)
            return
        }
        guard entries.cost < settings.elementByteCountLimit else {
            problems.note("element too large, its rest skipped", at: scanner.tagOffset)
            return
        }
        // The value was too long: an entry without one would say something else.
        if !value.isPresent, !scanner.excisions.isEmpty { return }
        if key.equals("HKTimeZone") || key.equals("HKMetadataKeyTimeZone") {
            zoneCounts[decodedText(value), default: 0] += 1
        }
        if key.isPlain, value.isPlain {
            entries.add(plain: key, value)
        } else {
            entries.add(decode(key), decode(value))
        }
    }

    private mutating func add(metadataKey key: [UInt8], value: [UInt8]) {
        if isText(key, "HKTimeZone") || isText(key, "HKMetadataKeyTimeZone") {
            zoneCounts[value, default: 0] += 1
        }
        entries.add(key, value)
    }

    /// A text from the file, short enough for a message.
    func shortText(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes.prefix(64), as: UTF8.self)
        return String(
            text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
    }
}

extension Array {
    /// Removes the elements at indices in ascending order.
    fileprivate mutating func remove(atSorted indices: [Int]) {
        var place = 0
        var kept = 0
        for index in self.indices {
            if place < indices.count, indices[place] == index {
                place += 1
            } else {
                self[kept] = self[index]
                kept += 1
            }
        }
        removeLast(count - kept)
    }
}
