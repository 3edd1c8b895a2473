internal import HKLog

extension ExportReader {
    /// Reads one file beside the document; `false` when there are no more.
    mutating func readSideFile(_ index: Int) throws(HKLogError) -> Bool {
        guard let sideFiles else { return false }
        guard index < sideFiles.paths.count else {
            return false
        }
        if consumedSideFiles.contains(index) { return true }
        let path = sideFiles.paths[index]
        let lowered = path.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        guard hasSuffix(lowered, ".gpx") || hasSuffix(lowered, ".csv") else {
            noteNotImported(path)
            return true
        }
        guard let bytes = try sideFiles.bytes(ofFileAt: index) else {
            noteDamaged(
                "file that cannot be read", path: path, at: routeReferencesByFile[index]?.offset)
            return true
        }
        if hasSuffix(lowered, ".gpx") {
            try addRoute(bytes, path: path, reference: routeReferencesByFile[index])
        } else if !addElectrocardiogram(bytes, path: path) {
            noteNotImported(path)
        }
        return true
    }

    private func noteNotImported(_ path: [UInt8]) {
        problems.note("file not imported: \(shortText(Array(path.suffix(64))))")
    }

    // MARK: - Clinical records

    /// Adds the FHIR resource that a clinical record names, if the input holds it.
    mutating func addClinicalResource(of element: ExportElement, to payload: inout JSONMembers) {
        guard let sideFiles, let reference = element.attribute("resourceFilePath"), !reference.isEmpty else {
            return
        }
        guard let index = fileIndex?.index(ofReference: reference) else {
            problems.note("clinical record whose file is missing", at: element.offset)
            return
        }
        consumedSideFiles.insert(index)
        guard let bytes = (try? sideFiles.bytes(ofFileAt: index)) ?? nil else {
            noteDamaged("file that cannot be read", path: sideFiles.paths[index], at: element.offset)
            return
        }
        let document = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        do {
            payload.add(ExportReader.resourceKey, json: try JSONText(parsing: document).bytes)
        } catch {
            problems.note("clinical record whose file is no JSON object, kept as text", at: element.offset)
            payload.add(
                textBytes("resourceText"), string: Array(String(decoding: document, as: UTF8.self).utf8))
        }
    }

    /// The key of a clinical record's FHIR resource in its payload.
    static var resourceKey: [UInt8] { textBytes("resource") }

    /// Whether a key of a clinical record's payload holds what its file said.
    static func isResourceKey(_ key: String) -> Bool {
        key.utf8.elementsEqual(resourceKey) || key.utf8.elementsEqual("resourceText".utf8)
    }

    // MARK: - Routes

    /// Finds the file of each route that a workout names.
    mutating func bindRoutes() {
        guard let fileIndex else { return }
        var others: [Int: [RouteReference]] = [:]
        for (path, reference) in routeReferences.sorted(by: { $0.value.offset < $1.value.offset }) {
            guard let index = fileIndex.index(ofReference: path) else {
                problems.note("workout route whose file is missing", at: reference.offset)
                workoutsWithoutRoute.insert(reference.workout)
                continue
            }
            if fileIndex.isExact(path) {
                if routeReferencesByFile[index] == nil { routeReferencesByFile[index] = reference }
            } else {
                others[index, default: []].append(reference)
            }
        }
        // By its last name alone a file belongs to a workout only where no second one could mean it.
        for (index, references) in others where references.count == 1 && routeReferencesByFile[index] == nil {
            routeReferencesByFile[index] = references[0]
        }
    }

    fileprivate struct RoutePoint {
        var members = JSONMembers()
        var time: Int64?
        var hasLatitude = false
        var hasLongitude = false
    }

    /// Adds the route of a GPX file.
    ///
    /// A file that is cut becomes no route: its end, which is part of its identity, is not known.
    private mutating func addRoute(
        _ bytes: [UInt8], path: [UInt8], reference: RouteReference?
    ) throws(HKLogError) {
        var gpx = ExportScanner(source: MemorySource(bytes), problems: ProblemLog(), windowByteCount: 1 << 16)
        guard try gpx.readProlog() == .root else {
            noteDamaged("route file cut before its end", path: path, at: reference?.offset)
            return
        }
        guard gpx.name.equals("gpx") else {
            problems.note("route file without usable data: \(shortText(Array(path.suffix(64))))")
            return
        }
        var points: [UInt8] = [UInt8(ascii: "[")]
        var first = Int64.max
        var last = Int64.min
        var point: RoutePoint?
        var field: [UInt8] = []
        var dropped = 0
        var isWhole = gpx.isSelfClosing
        func close(_ finished: RoutePoint?) {
            guard let finished else { return }
            guard finished.hasLatitude, finished.hasLongitude else {
                dropped += 1
                return
            }
            if let time = finished.time {
                first = min(first, time)
                last = max(last, time)
            }
            if points.count > 1 { points.append(UInt8(ascii: ",")) }
            points.append(contentsOf: finished.members.json)
        }
        reading: while true {
            let event = try gpx.next()
            let text = gpx.takeText()
            switch event {
            case .endOfInput:
                break reading
            case .start, .record:
                if gpx.name.equals("trkpt") || gpx.name.equals("rtept") || gpx.name.equals("wpt") {
                    close(point)
                    point = openPoint(gpx)
                    if gpx.isSelfClosing {
                        close(point)
                        point = nil
                    }
                }
                field = gpx.isSelfClosing ? [] : gpx.name.bytes
            case .end:
                if gpx.name.equals("trkpt") || gpx.name.equals("rtept") || gpx.name.equals("wpt") {
                    close(point)
                    point = nil
                } else if gpx.name.equals(field) {
                    point?.add(field, text: text)
                } else if gpx.name.equals("gpx") {
                    isWhole = true
                }
                field = []
            }
        }
        guard isWhole else {
            noteDamaged("route file cut before its end", path: path, at: reference?.offset)
            return
        }
        if dropped > 0 { problems.note("route point without latitude or longitude dropped") }
        guard points.count > 1, first <= last else {
            problems.note("route file without usable data: \(shortText(Array(path.suffix(64))))")
            return
        }
        points.append(UInt8(ascii: "]"))
        var payload = JSONMembers()
        if let reference {
            payload.add(textBytes("workout"), string: Array(reference.workout.description.utf8))
        }
        payload.add(textBytes("points"), json: points)
        let type = shapes.typeNumber(textBytes("HKWorkoutRouteTypeIdentifier"))
        _ = addRow(
            shape: shapes.number(type: type, source: nil, device: nil), name: .dates(hasEnd: true),
            start: first,
            end: last, creation: nil, metadata: [], payload: payload.json)
    }

    private func openPoint(_ gpx: borrowing ExportScanner) -> RoutePoint {
        var point = RoutePoint()
        var latitude: [UInt8]?
        var longitude: [UInt8]?
        for attribute in gpx.attributes {
            if attribute.name.equals("lat") { latitude = decodedText(attribute.value.trimmed) }
            if attribute.name.equals("lon") { longitude = decodedText(attribute.value.trimmed) }
        }
        if let latitude, let number = finiteNumber(latitude), abs(number) <= 90 {
            point.members.addNumber("latitude", latitude)
            point.hasLatitude = true
        }
        if let longitude, let number = finiteNumber(longitude), abs(number) <= 180 {
            point.members.addNumber("longitude", longitude)
            point.hasLongitude = true
        }
        return point
    }
}

extension ExportReader.RoutePoint {
    fileprivate static let names: [(StaticString, StaticString)] = [
        ("ele", "altitude"), ("speed", "speed"), ("course", "course"), ("hAcc", "horizontalAccuracy"),
        ("vAcc", "verticalAccuracy"),
    ]

    /// Takes in the text of one of a point's elements.
    fileprivate mutating func add(_ field: [UInt8], text: [UInt8]) {
        let trimmed = trimmedText(text)
        if isText(field, "time") {
            guard time == nil, let instant = ExportDate.instant(trimmed) else { return }
            time = instant
            var dates = UTCText()
            var written: [UInt8] = []
            dates.append(instant, to: &written)
            members.add(textBytes("time"), string: written)
            return
        }
        for (given, written) in Self.names where isText(field, given) {
            if finiteNumber(trimmed) != nil { members.addNumber(written, trimmed) }
        }
    }
}

extension JSONMembers {
    fileprivate mutating func addNumber(_ key: StaticString, _ text: [UInt8]) {
        var json: [UInt8] = []
        appendJSONNumber(text, to: &json)
        add(textBytes(key), json: json)
    }
}

/// A text without white space at its ends.
func trimmedText(_ text: [UInt8]) -> [UInt8] {
    guard let first = text.firstIndex(where: { !isWhiteSpace($0) }),
        let last = text.lastIndex(where: { !isWhiteSpace($0) })
    else { return [] }
    return Array(text[first...last])
}
