internal import HKLog

/// The elements of a generated export as text.
struct ExportText {
    var bytes: [UInt8] = []
    /// The address that device texts show.
    var address: UInt64 = 0
    private let format: ExportGenerator.Format
    /// The source and device attributes by writer and era, cut in two where the address goes.
    private var writers: [Int: (before: [UInt8], after: [UInt8])] = [:]

    init(format: ExportGenerator.Format) {
        self.format = format
    }

    mutating func add(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// A date in whole seconds at the phone's offset; the rest is cut off.
    mutating func addDate(_ microseconds: Int64) {
        let local = floorQuotient(microseconds, 1_000_000) + Int64(format.offsetMinutes) * 60
        let day = floorQuotient(local, 86_400)
        let second = Int(local - day * 86_400)
        CivilDate(dayNumber: Int32(truncatingIfNeeded: day)).appendText(to: &bytes)
        bytes.append(UInt8(ascii: " "))
        addTwoDigits(second / 3_600)
        bytes.append(UInt8(ascii: ":"))
        addTwoDigits(second / 60 % 60)
        bytes.append(UInt8(ascii: ":"))
        addTwoDigits(second % 60)
        bytes.append(UInt8(ascii: " "))
        bytes.append(format.offsetMinutes < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
        addTwoDigits(abs(format.offsetMinutes) / 60)
        addTwoDigits(abs(format.offsetMinutes) % 60)
    }

    mutating func addRecord(_ row: HistoryDay.Row, kind: HistoryStream, era: Int, indent: String) {
        add("\(indent)<Record type=\"\(kind.type)\"")
        addWriter(row.writer, era: era)
        if row.isInteger {
            addDates(row)
            add(" value=\"\(ExportText.categoryName(Int(truncatingIfNeeded: row.valueBits), of: kind))\"")
        } else {
            let (value, unit) = converted(Double(bitPattern: row.valueBits), row: row, kind: kind)
            add(" unit=\"\(ExportText.escaped(unit))\"")
            addDates(row)
            add(" value=\"\(ExportText.number(value))\"")
        }
        guard !row.metadata.isEmpty || kind == .heartRateVariability else { return add("/>\n") }
        add(">\n")
        addMetadata(row.metadata, indent: indent + " ")
        if kind == .heartRateVariability { addBeats(row, indent: indent + " ") }
        add("\(indent)</Record>\n")
    }

    mutating func addBloodPressure(systolic: HistoryDay.Row, diastolic: HistoryDay.Row, era: Int) {
        add(" <Correlation type=\"\(HistoryStream.bloodPressure.type)\"")
        addWriter(systolic.writer, era: era)
        addDates(systolic)
        add(">\n")
        addRecord(systolic, kind: .systolic, era: era, indent: "  ")
        addRecord(diastolic, kind: .diastolic, era: era, indent: "  ")
        add(" </Correlation>\n")
    }

    mutating func addWorkout(_ row: HistoryDay.Row, era: Int) {
        guard let workout = row.workout else { return }
        let minutes = ExportText.number(Double(workout.seconds) / 60)
        add(
            " <Workout workoutActivityType=\"\(workout.activity)\" duration=\"\(minutes)\" durationUnit=\"min\""
        )
        addWriter(row.writer, era: era)
        addDates(row)
        add(">\n")
        addMetadata(row.metadata, indent: "  ")
        if let pause = workout.pause {
            for (type, date) in [("Pause", pause.start), ("Resume", pause.end)] {
                add("  <WorkoutEvent type=\"HKWorkoutEventType\(type)\" date=\"")
                addDate(date)
                add("\"/>\n")
            }
        }
        addStatistics(.activeEnergy, Double(workout.kilocalories), "kcal", row)
        if workout.metres > 0 {
            let kilometres = Double(workout.metres) / 1_000
            if format.usesImperialUnits {
                addStatistics(.distance, kilometres / 1.609344, "mi", row)
            } else {
                addStatistics(.distance, kilometres, "km", row)
            }
        }
        add(" </Workout>\n")
    }

    // MARK: - Parts

    private mutating func addStatistics(
        _ kind: HistoryStream, _ sum: Double, _ unit: String, _ row: HistoryDay.Row
    ) {
        add("  <WorkoutStatistics type=\"\(kind.type)\" startDate=\"")
        addDate(row.start)
        add("\" endDate=\"")
        addDate(row.start + row.duration)
        add("\" sum=\"\(ExportText.number(sum))\" unit=\"\(unit)\"/>\n")
    }

    /// A sample is created a few seconds after its end.
    private mutating func addDates(_ row: HistoryDay.Row) {
        add(" creationDate=\"")
        addDate(row.start + row.duration + 7_000_000 + row.start % 50 * 1_000_000)
        add("\" startDate=\"")
        addDate(row.start)
        add("\" endDate=\"")
        addDate(row.start + row.duration)
        add("\"")
    }

    private mutating func addWriter(_ writer: HistoryWriter, era: Int) {
        let key = writer.rawValue * HistoryWriter.eraCount + era
        let parts = writers[key] ?? ExportText.writerParts(writer, era: era)
        writers[key] = parts
        bytes.append(contentsOf: parts.before)
        guard !parts.after.isEmpty else { return }
        add(String(address, radix: 16))
        bytes.append(contentsOf: parts.after)
    }

    private static func writerParts(_ writer: HistoryWriter, era: Int) -> (before: [UInt8], after: [UInt8]) {
        let source = writer.source(era: era)
        var before = " sourceName=\"\(escaped(source.name ?? ""))\""
        if let version = source.version { before += " sourceVersion=\"\(version)\"" }
        guard let device = writer.device(era: era) else { return (Array(before.utf8), []) }
        before += " device=\"&lt;&lt;HKDevice: 0x"
        var after = "&gt;"
        let fields = [
            ("name", device.name), ("manufacturer", device.manufacturer), ("model", device.model),
            ("hardware", device.hardwareVersion), ("firmware", device.firmwareVersion),
            ("software", device.softwareVersion), ("localIdentifier", device.localIdentifier),
        ]
        for (name, value) in fields {
            if let value { after += ", \(name):\(escaped(value))" }
        }
        return (Array(before.utf8), Array((after + "&gt;\"").utf8))
    }

    /// Metadata as entries: the generator's own flat objects, whose texts hold neither quotes nor commas.
    private mutating func addMetadata(_ metadata: [UInt8], indent: String) {
        for member in metadata.dropFirst().dropLast().split(separator: UInt8(ascii: ",")) {
            guard let colon = member.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let key = member[..<colon].filter { $0 != UInt8(ascii: "\"") }
            var value = String(
                decoding: member[(colon + 1)...].filter { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
            if value == "true" { value = "1" }
            if value == "false" { value = "0" }
            add("\(indent)<MetadataEntry key=\"\(String(decoding: key, as: UTF8.self))\"")
            add(" value=\"\(ExportText.escaped(value))\"/>\n")
        }
    }

    /// The beats that a variability was measured by.
    private mutating func addBeats(_ row: HistoryDay.Row, indent: String) {
        add("\(indent)<HeartRateVariabilityMetadataList>\n")
        var time = row.start / 10_000
        for beat in 0..<6 {
            let pulse = 54 + (Int(truncatingIfNeeded: row.valueBits >> 40) + beat * 5) % 23
            time += Int64(6_000 / pulse)
            let ofDay = time % 8_640_000
            let hour = ofDay / 360_000
            add("\(indent) <InstantaneousBeatsPerMinute bpm=\"\(pulse)\" time=\"\((hour + 11) % 12 + 1):")
            addTwoDigits(Int(ofDay / 6_000 % 60))
            bytes.append(UInt8(ascii: ":"))
            addTwoDigits(Int(ofDay / 100 % 60))
            bytes.append(UInt8(ascii: "."))
            addTwoDigits(Int(ofDay % 100))
            add(hour < 12 ? " AM\"/>\n" : " PM\"/>\n")
        }
        add("\(indent)</HeartRateVariabilityMetadataList>\n")
    }

    /// An export shows one unit for each type, by the person's settings.
    private func converted(
        _ value: Double, row: HistoryDay.Row, kind: HistoryStream
    ) -> (value: Double, unit: String) {
        switch kind {
        case .distance:
            let kilometres = row.usesSecondUnit ? value / 1_000 : value
            return format.usesImperialUnits ? (kilometres / 1.609344, "mi") : (kilometres, "km")
        case .walkingSpeed:
            return format.usesImperialUnits ? (value / 1.609344, "mi/hr") : (value, "km/hr")
        case .bodyMass:
            let kilograms = row.usesSecondUnit ? value * 0.45359237 : value
            return format.usesImperialUnits ? (kilograms / 0.45359237, "lb") : (kilograms, "kg")
        case .bloodGlucose:
            return (row.usesSecondUnit ? value * 18.015588000005408 : value, "mg/dL")
        default:
            return (value, kind.units.first ?? "")
        }
    }

    private static func categoryName(_ value: Int, of kind: HistoryStream) -> String {
        switch kind {
        case .sleep:
            let names = ["InBed", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM"]
            return "HKCategoryValueSleepAnalysis" + names[min(max(value, 0), 5)]
        case .standHour:
            return value == 0 ? "HKCategoryValueAppleStandHourStood" : "HKCategoryValueAppleStandHourIdle"
        default:
            return "HKCategoryValueNotApplicable"
        }
    }

    private static func number(_ value: Double) -> String {
        if value.rounded(.towardZero) == value, value.magnitude < 1e15 { return String(Int64(value)) }
        return value.description
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private mutating func addTwoDigits(_ number: Int) {
        bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number / 10 % 10))
        bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
    }
}
