package import HKLog

/// Writes the person of a generated history as the Health app would export them: `export.xml`, of any size.
///
/// The form is the app's: a DOCTYPE, one element a line, records in a block for each type and in the order of
/// their arrival rather than of time, all dates in whole seconds at the phone's offset on the day of the export,
/// one unit for each type, device texts with an address that changes, readings at top level and within their
/// correlation.
package struct ExportGenerator {
    /// What differs between two exports of the same history.
    package struct Format {
        /// The phone's offset on the day of the export, in minutes.
        package var offsetMinutes = 60
        /// Miles and pounds.
        package var usesImperialUnits = false
        package var locale = "en_US"

        package init() {}
    }

    package let options: HistoryGenerator.Options
    package let format: Format
    private let quotas: [Int]

    /// Makes a generator; options out of bounds are refused as for a history.
    package init(options: HistoryGenerator.Options, format: Format = Format()) throws(HKLogError) {
        _ = try HistoryGenerator(options: options)
        self.options = options
        self.format = format
        quotas = HistoryStream.quotas(samples: options.samples, days: options.days)
    }

    /// Hands the file over in pieces of about 256 KiB.
    ///
    /// Memory does not grow with the file.
    package func write<Failure>(to sink: ([UInt8]) throws(Failure) -> Void) throws(Failure) {
        var text = ExportText(format: format)
        text.bytes.reserveCapacity(300_000)
        func flush(_ limit: Int) throws(Failure) {
            guard text.bytes.count > limit else { return }
            try sink(text.bytes)
            text.bytes.removeAll(keepingCapacity: true)
        }
        writeHead(&text)
        for kind in HistoryStream.allCases {
            for step in 0..<options.days {
                // A phone that was away for a day hands it in after the next one.
                let isLate = step % 16 == 4
                let isEarly = step % 16 == 3 && step + 1 < options.days
                write(day: isEarly ? step + 1 : isLate ? step - 1 : step, of: kind, to: &text)
                try flush(262_144)
            }
        }
        for day in 0..<options.days {
            writeSummary(day: day, to: &text)
            try flush(262_144)
        }
        text.add("</HealthData>\n")
        try flush(0)
    }

    private func count(of kind: HistoryStream, day: Int) -> (first: Int, count: Int) {
        let quota = quotas[kind.rawValue]
        let first = day * quota / options.days
        return (first, (day + 1) * quota / options.days - first)
    }

    private func write(day: Int, of kind: HistoryStream, to text: inout ExportText) {
        let (first, count) = count(of: kind, day: day)
        guard count > 0 else { return }
        let era = HistoryWriter.era(day: day, dayCount: options.days)
        text.address = 0x2_8000_0000 + UInt64(day * 7_919 + kind.rawValue * 104_729) % 0x0FFF_FFFF * 32
        switch kind {
        case .workout:
            HistoryDay(kind: kind, day: day, options: options, firstIndex: first).make(count) { row in
                text.addWorkout(row, era: era)
            }
        case .bloodPressure:
            var members: [[HistoryDay.Row]] = [[], []]
            for (index, member) in [HistoryStream.systolic, .diastolic].enumerated() {
                HistoryDay(kind: member, day: day, options: options, firstIndex: first).make(count) { row in
                    members[index].append(row)
                }
            }
            for index in 0..<count {
                text.addBloodPressure(systolic: members[0][index], diastolic: members[1][index], era: era)
            }
        default:
            HistoryDay(kind: kind, day: day, options: options, firstIndex: first).make(count) { row in
                text.addRecord(row, kind: kind, era: era, indent: " ")
            }
        }
    }

    private func writeSummary(day: Int, to text: inout ExportText) {
        var random = GeneratorRandom(seed: options.seed, stream: 4_000, index: day)
        let date = CivilDate(dayNumber: options.endDay.dayNumber - Int32(options.days - 1 - day))
        text.add(
            " <ActivitySummary dateComponents=\"\(date)\" activeEnergyBurned=\"\(random.next(220, 890))\"")
        text.add(" activeEnergyBurnedGoal=\"500\" activeEnergyBurnedUnit=\"kcal\" appleMoveTime=\"0\"")
        text.add(
            " appleMoveTimeGoal=\"0\" appleExerciseTime=\"\(random.next(5, 95))\" appleExerciseTimeGoal=\"30\""
        )
        text.add(" appleStandHours=\"\(random.next(6, 15))\" appleStandHoursGoal=\"12\"/>\n")
    }

    private func writeHead(_ text: inout ExportText) {
        text.add("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE HealthData [\n")
        text.add("<!-- HealthKit Export Version: 14 -->\n")
        for (element, content, required, optional) in ExportGenerator.grammar {
            text.add("<!ELEMENT \(element) \(content)>\n<!ATTLIST \(element)\n")
            for attribute in required.split(separator: " ") { text.add("  \(attribute) CDATA #REQUIRED\n") }
            for attribute in optional.split(separator: " ") { text.add("  \(attribute) CDATA #IMPLIED\n") }
            text.add(">\n")
        }
        text.add("]>\n<HealthData locale=\"\(format.locale)\">\n <ExportDate value=\"")
        // The morning after the last day.
        text.addDate(Int64(options.endDay.dayNumber) * LocalCalendar.dayMicroseconds + 122_400_000_000)
        text.add("\"/>\n <Me HKCharacteristicTypeIdentifierDateOfBirth=\"1984-05-17\"")
        text.add(" HKCharacteristicTypeIdentifierBiologicalSex=\"HKBiologicalSexNotSet\"")
        text.add(" HKCharacteristicTypeIdentifierBloodType=\"HKBloodTypeNotSet\"")
        text.add(" HKCharacteristicTypeIdentifierFitzpatrickSkinType=\"HKFitzpatrickSkinTypeNotSet\"")
        text.add(" HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse=\"None\"/>\n")
    }

    /// Element, content, required and other attributes.
    private static let grammar: [(String, String, String, String)] = [
        ("HealthData", "(ExportDate,Me,(Record|Correlation|Workout|ActivitySummary)*)", "locale", ""),
        ("ExportDate", "EMPTY", "value", ""),
        (
            "Me", "EMPTY",
            "HKCharacteristicTypeIdentifierDateOfBirth HKCharacteristicTypeIdentifierBiologicalSex"
                + " HKCharacteristicTypeIdentifierBloodType HKCharacteristicTypeIdentifierFitzpatrickSkinType"
                + " HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse", ""
        ),
        (
            "Record", "((MetadataEntry|HeartRateVariabilityMetadataList)*)",
            "type sourceName startDate endDate",
            "unit value sourceVersion device creationDate"
        ),
        (
            "Correlation", "((MetadataEntry|Record)*)", "type sourceName startDate endDate",
            "sourceVersion device creationDate"
        ),
        (
            "Workout", "((MetadataEntry|WorkoutEvent|WorkoutRoute|WorkoutStatistics)*)",
            "workoutActivityType sourceName startDate endDate",
            "duration durationUnit sourceVersion device creationDate"
        ),
        ("WorkoutEvent", "(MetadataEntry*)", "type date", "duration durationUnit"),
        ("WorkoutStatistics", "EMPTY", "type startDate endDate", "average minimum maximum sum unit"),
        (
            "ActivitySummary", "EMPTY", "",
            "dateComponents activeEnergyBurned activeEnergyBurnedGoal activeEnergyBurnedUnit appleMoveTime"
                + " appleMoveTimeGoal appleExerciseTime appleExerciseTimeGoal appleStandHours appleStandHoursGoal"
        ),
        ("MetadataEntry", "EMPTY", "key value", ""),
        ("HeartRateVariabilityMetadataList", "(InstantaneousBeatsPerMinute*)", "", ""),
        ("InstantaneousBeatsPerMinute", "EMPTY", "bpm time", ""),
    ]
}
