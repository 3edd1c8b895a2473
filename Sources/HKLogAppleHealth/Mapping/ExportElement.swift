internal import HKLog

/// One element with what is in it, its texts decoded: for all elements but records, which are too many.
struct ExportElement {
    var name: [UInt8]
    var attributes: [(name: [UInt8], value: [UInt8])] = []
    var children: [ExportElement] = []
    var text: [UInt8] = []
    /// Where it begins in the document.
    var offset: Int
    /// Whether its tag is broken: nothing is known but that it is there.
    var isBroken = false

    /// How deep elements may stand in one another.
    static let depthLimit = 24
    /// What an element takes besides its texts from what a top-level element may hold, so that many small ones stay
    /// within bounds.
    static let overheadByteCount = 512

    /// What it takes of that, with what is in it; no deeper than `depthLimit`.
    var cost: Int {
        attributes.reduce(text.count + ExportElement.overheadByteCount) {
            $0 + $1.name.count + $1.value.count
        }
            + children.reduce(0) { $0 + $1.cost }
    }

    /// The first value of an attribute.
    func attribute(_ wanted: StaticString) -> [UInt8]? {
        for attribute in attributes where isText(attribute.name, wanted) { return attribute.value }
        return nil
    }

    func isNamed(_ wanted: StaticString) -> Bool { isText(name, wanted) }
}

/// Whether bytes are those of a literal.
func isText(_ bytes: [UInt8], _ text: StaticString) -> Bool {
    guard bytes.count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { literal in
        for index in bytes.indices where unsafe bytes[index] != literal[index] { return false }
        return true
    }
}

func hasSuffix(_ bytes: [UInt8], _ text: StaticString) -> Bool {
    isText(Array(bytes.suffix(text.utf8CodeUnitCount)), text)
}

func hasPrefix(_ bytes: [UInt8], _ text: StaticString) -> Bool {
    isText(Array(bytes.prefix(text.utf8CodeUnitCount)), text)
}

/// The bytes of a literal.
func textBytes(_ text: StaticString) -> [UInt8] {
    var bytes: [UInt8] = []
    appendLiteral(text, to: &bytes)
    return bytes
}

// MARK: - As payload

extension ExportElement {
    /// How an element's names are written in a payload.
    enum Naming {
        /// As in the file.
        case asInFile
        /// The names of a workout's payload.
        case workout
    }

    /// The element as a JSON object: its attributes, then its children by name, each an array.
    ///
    /// What stands in the columns of a sample, changes from export to export, and makes no difference of content
    /// is left out: the device with its address, and the source's version.
    func payload(_ naming: Naming, omitting omitted: [StaticString] = []) -> JSONMembers {
        var members = JSONMembers()
        var dates = UTCText()
        for attribute in attributes {
            if isText(attribute.name, "device") || isText(attribute.name, "sourceVersion") { continue }
            if omitted.contains(where: { isText(attribute.name, $0) }) { continue }
            let key = naming == .workout ? ExportElement.workoutName(attribute.name) : attribute.name
            if isNumeric(attribute.name) {
                var json: [UInt8] = []
                appendJSONNumber(attribute.value, to: &json)
                members.add(key, json: json)
            } else if let instant = ExportDate.instant(attribute.value) {
                var text: [UInt8] = []
                dates.append(instant, to: &text)
                members.add(key, string: text)
            } else {
                members.add(key, string: attribute.value)
            }
        }
        addChildren(naming, to: &members)
        if !text.isEmpty { members.add(textBytes("text"), string: text) }
        return members
    }

    private func addChildren(_ naming: Naming, to members: inout JSONMembers) {
        let metadata = metadata()
        if !metadata.isEmpty { members.add(textBytes("metadata"), json: metadata.json) }
        for child in children where !child.isNamed("MetadataEntry") {
            if naming == .workout, isNamed("WorkoutRoute"), child.isNamed("FileReference"),
                let path = child.attribute("path")
            {
                members.add(textBytes("path"), string: path)
                continue
            }
            let key = naming == .workout ? ExportElement.workoutName(child.name) : child.name
            members.addElement(key, json: child.payload(naming).json)
        }
    }

    /// The metadata entries among the children.
    func metadata() -> JSONMembers {
        var members = JSONMembers()
        for child in children where child.isNamed("MetadataEntry") {
            guard let key = child.attribute("key") else { continue }
            members.add(key, string: child.attribute("value") ?? [])
        }
        return members
    }

    private static let workoutNames: [(StaticString, StaticString)] = [
        ("startDate", "start"), ("endDate", "end"), ("workoutActivityType", "activity"),
        ("WorkoutStatistics", "statistics"), ("WorkoutEvent", "events"), ("WorkoutActivity", "activities"),
        ("WorkoutRoute", "routes"), ("Location", "locations"),
    ]

    private static func workoutName(_ name: [UInt8]) -> [UInt8] {
        for (given, written) in workoutNames where isText(name, given) { return textBytes(written) }
        return name
    }

    /// Whether an attribute holds a number by its meaning; others stay strings even where they look like one.
    private func isNumeric(_ attribute: [UInt8]) -> Bool {
        if hasSuffix(attribute, "Unit") { return false }
        if isNamed("Workout") || isNamed("WorkoutEvent") || isNamed("WorkoutActivity") {
            return isText(attribute, "duration") || hasPrefix(attribute, "total")
        }
        if isNamed("WorkoutStatistics") {
            return ["average", "minimum", "maximum", "sum"].contains { isText(attribute, $0) }
        }
        if isNamed("ActivitySummary") { return !isText(attribute, "dateComponents") }
        if isNamed("SensitivityPoint") {
            return hasSuffix(attribute, "Value") || hasSuffix(attribute, "Bound")
        }
        if isNamed("RightEye") || isNamed("LeftEye") { return true }
        if isNamed("InstantaneousBeatsPerMinute") { return isText(attribute, "bpm") }
        if isNamed("Location") { return !isText(attribute, "date") }
        return false
    }
}
