/// The elements and attributes that exports up to iOS 26 are known to have, so that new ones can be reported.
///
/// Nothing is refused by it: what it does not know is kept as well, and counted.
struct ElementGrammar {
    private let attributes: [StaticString]
    private let children: [StaticString]
    /// Attributes that begin so are known, too.
    private let prefix: StaticString?

    private init(_ attributes: [StaticString], _ children: [StaticString] = [], prefix: StaticString? = nil) {
        self.attributes = attributes
        self.children = children
        self.prefix = prefix
    }

    func knows(attribute: [UInt8]) -> Bool {
        if let prefix, hasPrefix(attribute, prefix) { return true }
        return attributes.contains { isText(attribute, $0) }
    }

    func knows(child: [UInt8]) -> Bool {
        children.contains { isText(child, $0) }
    }

    /// The grammar of an element; `nil` for one that is not known.
    static func of(_ name: [UInt8]) -> ElementGrammar? {
        for (known, grammar) in all where isText(name, known) { return grammar }
        return nil
    }

    private static let dated: [StaticString] = [
        "sourceName", "sourceVersion", "device", "creationDate", "startDate", "endDate",
    ]

    private static let lens: [StaticString] = [
        "sphere", "sphereUnit", "cylinder", "cylinderUnit", "axis", "axisUnit", "add", "addUnit", "vertex",
        "vertexUnit", "prismAmount", "prismAmountUnit", "prismAngle", "prismAngleUnit", "farPD", "farPDUnit",
        "nearPD", "nearPDUnit", "baseCurve", "baseCurveUnit", "diameter", "diameterUnit",
    ]

    private static let all: [(StaticString, ElementGrammar)] = [
        ("Correlation", ElementGrammar(["type"] + dated, ["MetadataEntry", "Record"])),
        (
            "Workout",
            ElementGrammar(
                ["workoutActivityType", "duration", "durationUnit"] + dated,
                ["MetadataEntry", "WorkoutEvent", "WorkoutRoute", "WorkoutStatistics", "WorkoutActivity"],
                prefix: "total")
        ),
        (
            "WorkoutActivity",
            ElementGrammar(
                ["uuid", "startDate", "endDate", "duration", "durationUnit", "workoutActivityType"],
                ["MetadataEntry", "WorkoutEvent", "WorkoutStatistics"])
        ),
        ("WorkoutEvent", ElementGrammar(["type", "date", "duration", "durationUnit"], ["MetadataEntry"])),
        (
            "WorkoutStatistics",
            ElementGrammar(["type", "startDate", "endDate", "average", "minimum", "maximum", "sum", "unit"])
        ),
        ("WorkoutRoute", ElementGrammar(dated, ["MetadataEntry", "FileReference", "Location"])),
        ("FileReference", ElementGrammar(["path"])),
        (
            "Location",
            ElementGrammar([
                "date", "latitude", "longitude", "altitude", "horizontalAccuracy", "verticalAccuracy",
                "course",
                "speed",
            ])
        ),
        (
            "ActivitySummary",
            ElementGrammar([
                "dateComponents", "activeEnergyBurned", "activeEnergyBurnedGoal", "activeEnergyBurnedUnit",
                "appleMoveTime", "appleMoveTimeGoal", "appleExerciseTime", "appleExerciseTimeGoal",
                "appleStandHours", "appleStandHoursGoal",
            ])
        ),
        ("MetadataEntry", ElementGrammar(["key", "value"])),
        ("HeartRateVariabilityMetadataList", ElementGrammar([], ["InstantaneousBeatsPerMinute"])),
        ("InstantaneousBeatsPerMinute", ElementGrammar(["bpm", "time"])),
        (
            "ClinicalRecord",
            ElementGrammar([
                "type", "identifier", "sourceName", "sourceURL", "fhirVersion", "receivedDate",
                "resourceFilePath",
            ])
        ),
        ("Audiogram", ElementGrammar(["type"] + dated, ["MetadataEntry", "SensitivityPoint"])),
        (
            "SensitivityPoint",
            ElementGrammar([
                "frequencyValue", "frequencyUnit", "leftEarValue", "leftEarUnit", "leftEarMasked",
                "leftEarClampingRangeLowerBound", "leftEarClampingRangeUpperBound", "rightEarValue",
                "rightEarUnit", "rightEarMasked", "rightEarClampingRangeLowerBound",
                "rightEarClampingRangeUpperBound",
            ])
        ),
        (
            "VisionPrescription",
            ElementGrammar(
                ["type", "dateIssued", "expirationDate", "brand"],
                ["RightEye", "LeftEye", "Attachment", "MetadataEntry"])
        ),
        ("RightEye", ElementGrammar(lens)), ("LeftEye", ElementGrammar(lens)),
        ("Attachment", ElementGrammar(["identifier"])),
        ("Me", ElementGrammar([], prefix: "HKCharacteristicTypeIdentifier")),
        ("ExportDate", ElementGrammar(["value"])),
    ]
}

extension ExportReader {
    /// Counts what the grammar does not know of an element and of what is in it.
    func noteUnknownParts(of element: ExportElement) {
        guard let grammar = ElementGrammar.of(element.name) else { return }
        for attribute in element.attributes where !grammar.knows(attribute: attribute.name) {
            problems.note(
                "unknown attribute '\(shortText(attribute.name))' of \(shortText(element.name)) kept in the payload",
                at: element.offset)
        }
        for child in element.children {
            if grammar.knows(child: child.name) {
                noteUnknownParts(of: child)
            } else {
                problems.note(
                    "unknown element '\(shortText(child.name))' in \(shortText(element.name)) kept in the payload",
                    at: child.offset)
            }
        }
        if !element.text.isEmpty {
            problems.note("text in \(shortText(element.name)) kept in the payload", at: element.offset)
        }
    }
}
