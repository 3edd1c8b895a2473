internal import HKLog

extension ExportReader {
    /// Elements that stand at the top level and nowhere else (but a record in a correlation): where one begins
    /// inside of another element, that one was not closed.
    private static let topLevelNames: [StaticString] = [
        "Record", "Correlation", "Workout", "ActivitySummary", "ClinicalRecord", "Audiogram",
        "VisionPrescription",
        "Me", "ExportDate", "HealthData",
    ]

    private var isTopLevelName: Bool {
        ExportReader.topLevelNames.contains { scanner.name.equals($0) }
    }

    // MARK: - Children

    /// What comes next inside of an element.
    private enum Child {
        case record
        case start
        /// The element's own end, or the beginning of something that shows that it has none.
        case end
        /// The document ends first.
        case cut
    }

    private mutating func nextChild(of parent: StaticString, allowsRecord: Bool = false) throws(HKLogError)
        -> Child
    {
        while true {
            let event = try nextEvent()
            switch event {
            case .endOfInput:
                return .cut
            case .record:
                if allowsRecord { return .record }
                problems.note("element without its end tag", at: scanner.tagOffset)
                putBack(event)
                return .end
            case .start:
                guard isTopLevelName else { return .start }
                problems.note("element without its end tag", at: scanner.tagOffset)
                putBack(event)
                return .end
            case .end:
                if scanner.name.equals(parent) { return .end }
                if isTopLevelName {
                    problems.note("element without its end tag", at: scanner.tagOffset)
                    putBack(event)
                    return .end
                }
                problems.note("end tag without its start", at: scanner.tagOffset)
            }
        }
    }

    /// Reads what stands inside of a record; `false` when the document ends before it does.
    mutating func readRecordChildren(isChild: Bool, payload: inout JSONMembers) throws(HKLogError) -> Bool {
        var budget = settings.elementByteCountLimit
        while true {
            if readPlainChildren(payload: &payload, budget: &budget) { return true }
            switch try nextChild(of: "Record") {
            case .cut: return false
            case .end, .record: return true
            case .start:
                if scanner.name.equals("MetadataEntry") {
                    if !scanner.isBroken { addMetadataEntry() }
                    if !scanner.isSelfClosing {
                        guard try readElement(budget: settings.elementByteCountLimit) != nil else {
                            return false
                        }
                    }
                    continue
                }
                let isBeyond = budget <= 0
                if isBeyond { problems.note("element too large, its rest skipped", at: scanner.tagOffset) }
                guard let element = try readElement(budget: budget) else { return false }
                if element.isBroken || isBeyond { continue }
                budget -= element.cost
                if element.isNamed("HeartRateVariabilityMetadataList") {
                    noteUnknownParts(of: element)
                    for beat in element.children {
                        payload.addElement(textBytes("beats"), json: beat.payload(.asInFile).json)
                    }
                    for attribute in element.attributes {
                        payload.add(attribute.name, string: dateAsUTC(attribute.value))
                    }
                } else {
                    noteUnknown(element, in: "Record")
                    payload.addElement(element.name, json: element.payload(.asInFile).json)
                }
            }
        }
    }

    private func noteUnknown(_ element: ExportElement, in parent: String) {
        problems.note(
            "unknown element '\(shortText(element.name))' in \(parent) kept in the payload",
            at: element.offset)
    }

    /// Reads the element whose start tag is in hand, whole; `nil` when the document ends before it does.
    ///
    /// A stack of its own, so that depth costs no recursion. What lies too deep, or is beyond the budget of bytes,
    /// is skipped and reported.
    mutating func readElement(budget: Int) throws(HKLogError) -> ExportElement? {
        var budget = budget
        var stack = [openElement(budget: &budget)]
        var isClosed = scanner.isSelfClosing
        var skippedDepth = 0
        while true {
            if isClosed {
                guard stack.count > 1 else { return stack.removeLast() }
                closeInnermost(&stack)
                isClosed = false
            }
            let event = try scanner.next()
            if event != .endOfInput, !scanner.text.isEmpty {
                take(text: scanner.takeText(), into: &stack[stack.count - 1], budget: &budget)
            }
            switch event {
            case .endOfInput:
                return nil
            case .record:
                putBack(event)
                return close(stack)
            case .start:
                if isTopLevelName {
                    putBack(event)
                    return close(stack)
                }
                if skippedDepth > 0 || stack.count >= ExportElement.depthLimit || budget <= 0 {
                    problems.note(
                        budget <= 0
                            ? "element too large, its rest skipped" : "element nested too deep skipped",
                        at: scanner.tagOffset)
                    if !scanner.isSelfClosing { skippedDepth += 1 }
                    continue
                }
                stack.append(openElement(budget: &budget))
                isClosed = scanner.isSelfClosing
            case .end:
                if skippedDepth > 0 {
                    skippedDepth -= 1
                } else if scanner.name.equals(stack[stack.count - 1].name) {
                    isClosed = true
                } else if isTopLevelName || stack.contains(where: { scanner.name.equals($0.name) }) {
                    // An inner element was not closed; the outer one is.
                    problems.note("element without its end tag", at: scanner.tagOffset)
                    while stack.count > 1, !scanner.name.equals(stack[stack.count - 1].name) {
                        closeInnermost(&stack)
                    }
                    guard scanner.name.equals(stack[stack.count - 1].name) else {
                        putBack(event)
                        return close(stack)
                    }
                    isClosed = true
                } else {
                    problems.note("end tag without its start", at: scanner.tagOffset)
                }
            }
        }
    }

    /// Closes what is open because something began that cannot stand there.
    private func close(_ open: [ExportElement]) -> ExportElement? {
        problems.note("element without its end tag", at: scanner.tagOffset)
        var stack = open
        while stack.count > 1 { closeInnermost(&stack) }
        return stack.first
    }

    /// Moves the innermost of several open elements into the one around it; one whose tag is broken is lost.
    private func closeInnermost(_ stack: inout [ExportElement]) {
        let inner = stack.removeLast()
        if !inner.isBroken { stack[stack.count - 1].children.append(inner) }
    }

    private mutating func openElement(budget: inout Int) -> ExportElement {
        var element = ExportElement(
            name: decodedText(scanner.name), offset: scanner.tagOffset, isBroken: scanner.isBroken)
        let isStatistics = element.isNamed("WorkoutStatistics")
        for attribute in scanner.attributes {
            var name = decodedText(attribute.name)
            let isRepeated =
                element.attributes.count <= 64 && element.attributes.contains { $0.name == name }
            if isRepeated, isStatistics, isText(name, "startDate"),
                !scanner.attributes.contains(where: { $0.name.equals("endDate") }),
                element.attribute("endDate") == nil
            {
                // iOS 16.0 writes the end under the name of the start.
                problems.note("startDate given twice, the second one taken as the end", at: element.offset)
                name = textBytes("endDate")
            } else if isRepeated {
                problems.note(
                    "attribute given twice, the first one taken", at: scanner.offset(of: attribute.name))
                continue
            }
            let value = decode(attribute.value)
            budget -= name.count + value.count
            element.attributes.append((name, value))
        }
        budget -= ExportElement.overheadByteCount
        return element
    }

    private mutating func take(text: [UInt8], into element: inout ExportElement, budget: inout Int) {
        var decoded: [UInt8] = []
        // Sound: the slice is used only while the array lives.
        unsafe text.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            let slice = unsafe ByteSlice(start: start, count: bytes.count).trimmed
            let (repairs, position) = decodeText(slice, into: &decoded)
            if !repairs.isEmpty { repairs.note(in: problems, at: scanner.textOffset + position) }
        }
        budget -= decoded.count
        element.text.append(contentsOf: decoded)
    }

    // MARK: - Other elements at the top level

    /// Reads an element that is no record; `false` when the document ends within it.
    mutating func readOther() throws(HKLogError) -> Bool {
        if scanner.name.equals("Correlation") { return try readCorrelation() }
        if scanner.name.equals("HealthData") {
            problems.note("second root element, its contents taken", at: scanner.tagOffset)
            if !scanner.isSelfClosing { innerRootCount += 1 }
            return true
        }
        guard let element = try readElement(budget: settings.elementByteCountLimit) else { return false }
        if element.isNamed("ExportDate") {
            note(exportDate: element.attribute("value").flatMap { ExportDate.instant($0) })
        } else if element.isBroken {
            skipBroken()
        } else if element.isNamed("Workout") {
            addWorkout(element)
        } else {
            addOther(element)
        }
        return true
    }

    private struct Common {
        var start: Int64?
        var end: Int64?
        var creation: Int64?
        var hasEnd: Bool
        var source: Source?
        var device: Device?
    }

    private func common(of element: ExportElement) -> Common {
        func instant(_ name: StaticString, _ problem: String) -> Int64? {
            guard let text = element.attribute(name) else { return nil }
            let instant = ExportDate.instant(text)
            if instant == nil { problems.note(problem, at: element.offset) }
            return instant
        }
        let start = instant("startDate", "start that is no date")
        var end = instant("endDate", "end that is no date, the start taken")
        if let start, let given = end, given < start {
            problems.note("end before the start, the start taken", at: element.offset)
            end = start
        }
        return Common(
            start: start, end: end,
            creation: instant("creationDate", "creation date that is no date dropped"),
            hasEnd: element.attribute("endDate") != nil,
            source: source(
                name: element.attribute("sourceName"), version: element.attribute("sourceVersion")),
            device: element.attribute("device").flatMap(DeviceText.device))
    }

    private func metadataEntries(of element: ExportElement) -> [(key: [UInt8], value: [UInt8])] {
        var entries: [(key: [UInt8], value: [UInt8])] = []
        for child in element.children where child.isNamed("MetadataEntry") {
            if let key = child.attribute("key") {
                entries.append((key, child.attribute("value") ?? []))
            } else {
                problems.note("metadata entry without a key dropped", at: child.offset)
            }
        }
        return entries
    }

    private mutating func skip(_ what: String, _ element: ExportElement) {
        problems.note(what, at: element.offset)
        block.skipped += 1
    }

    // MARK: - Correlations

    private mutating func readCorrelation() throws(HKLogError) -> Bool {
        var budget = settings.elementByteCountLimit
        var element = openElement(budget: &budget)
        var members: [SampleUUID] = []
        if !scanner.isSelfClosing {
            reading: while true {
                switch try nextChild(of: "Correlation", allowsRecord: true) {
                case .cut:
                    return false
                case .end:
                    break reading
                case .record:
                    switch try readRecord(isChild: true) {
                    case .cut: return false
                    case .skipped: break
                    case .sample(let uuid): members.append(uuid)
                    }
                case .start:
                    let isBeyond = budget <= 0
                    if isBeyond {
                        problems.note("element too large, its rest skipped", at: scanner.tagOffset)
                    }
                    guard let child = try readElement(budget: budget) else { return false }
                    if child.isBroken || isBeyond { continue }
                    budget -= child.cost
                    element.children.append(child)
                }
            }
        }
        guard !element.isBroken else {
            skipBroken()
            return true
        }
        addCorrelation(element, members: members)
        return true
    }

    private mutating func addCorrelation(_ element: ExportElement, members: [SampleUUID]) {
        guard let type = element.attribute("type"), !type.isEmpty else {
            return skip("correlation without a type skipped", element)
        }
        let common = common(of: element)
        guard let start = common.start else {
            return skip("correlation without a start skipped", element)
        }
        var payload = JSONMembers()
        var list: [UInt8] = [UInt8(ascii: "[")]
        for (index, uuid) in members.enumerated() {
            if index > 0 { list.append(UInt8(ascii: ",")) }
            appendJSONString(Array(uuid.description.utf8), to: &list)
        }
        list.append(UInt8(ascii: "]"))
        payload.add(textBytes("members"), json: list)
        noteUnknownParts(of: element)
        let grammar = ElementGrammar.of(element.name)
        for attribute in element.attributes where grammar?.knows(attribute: attribute.name) != true {
            payload.add(attribute.name, string: dateAsUTC(attribute.value))
        }
        for child in element.children where !child.isNamed("MetadataEntry") {
            payload.addElement(child.name, json: child.payload(.asInFile).json)
        }
        let shape = shapes.number(type: shapes.typeNumber(type), source: common.source, device: common.device)
        _ = addRow(
            shape: shape, name: .dates(hasEnd: common.hasEnd), start: start, end: common.end,
            creation: common.creation, metadata: metadataEntries(of: element), payload: payload.json)
    }

    // MARK: - Workouts

    private mutating func addWorkout(_ element: ExportElement) {
        let common = common(of: element)
        guard let start = common.start else { return skip("workout without a start skipped", element) }
        let columns: [StaticString] = ["sourceName", "creationDate", "startDate", "endDate"]
        var payloadElement = element
        payloadElement.children.removeAll { $0.isNamed("MetadataEntry") }
        let payload = payloadElement.payload(.workout, omitting: columns)
        noteUnknownParts(of: element)
        let shape = shapes.number(
            type: shapes.typeNumber(textBytes("HKWorkoutTypeIdentifier")), source: common.source,
            device: common.device)
        let uuid = addRow(
            shape: shape, name: .dates(hasEnd: common.hasEnd), start: start, end: common.end,
            creation: common.creation, metadata: metadataEntries(of: element),
            payload: payload.isEmpty ? [] : payload.json)
        for route in element.children where route.isNamed("WorkoutRoute") {
            for file in route.children where file.isNamed("FileReference") {
                guard let path = file.attribute("path") else { continue }
                if routeReferences[path] == nil {
                    routeReferences[path] = RouteReference(workout: uuid, offset: file.offset)
                }
            }
        }
    }

    // MARK: - Everything else

    private static let knownOthers: [StaticString] = [
        "Me", "ActivitySummary", "ClinicalRecord", "Audiogram", "VisionPrescription",
    ]

    private mutating func addOther(_ element: ExportElement) {
        if !ExportReader.knownOthers.contains(where: { element.isNamed($0) }) {
            problems.note("unknown element '\(shortText(element.name))' kept", at: element.offset)
        }
        noteUnknownParts(of: element)
        let common = common(of: element)
        var payloadElement = element
        payloadElement.children.removeAll { $0.isNamed("MetadataEntry") }
        var payload = payloadElement.payload(.asInFile)
        var name = SampleName.dates(hasEnd: common.hasEnd)
        var start = common.start
        if start == nil { start = element.attribute("dateIssued").flatMap { ExportDate.instant($0) } }
        if start == nil { start = element.attribute("receivedDate").flatMap { ExportDate.instant($0) } }
        if let text = element.attribute("dateComponents") {
            if let day = CivilDate(String(decoding: text, as: UTF8.self)) {
                if start == nil { start = settings.calendar.start(of: day) }
                if element.isNamed("ActivitySummary") { name = .key(Array(day.description.utf8)) }
            } else {
                problems.note("dateComponents that are no day", at: element.offset)
            }
        }
        if element.isNamed("Me") { name = .key([]) }
        if element.isNamed("ClinicalRecord") {
            if let identifier = element.attribute("identifier") { name = .key(identifier) }
            addClinicalResource(of: element, to: &payload)
        }
        let type = textBytes("HKLog") + element.name
        let shape = shapes.number(type: shapes.typeNumber(type), source: common.source, device: common.device)
        _ = addRow(
            shape: shape, name: name, start: start ?? 0, end: common.end, creation: common.creation,
            metadata: metadataEntries(of: element), payload: payload.isEmpty ? [] : payload.json)
    }
}
