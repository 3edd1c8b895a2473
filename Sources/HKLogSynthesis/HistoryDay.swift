internal import HKLog

/// Makes one stream's samples of one day.
struct HistoryDay {
    /// One sample, before it has its UUID and the number of its shape.
    struct Row {
        var start: Int64 = 0
        var duration: Int64 = 0
        var hasEnd = true
        var valueBits: UInt64 = 0
        var isInteger = false
        var hasValue = true
        var writer = HistoryWriter.watch
        var usesSecondUnit = false
        var metadata: [UInt8] = []
        var payload: [UInt8] = []
        var workout: Workout?

        mutating func set(_ value: Double) { valueBits = value.bitPattern }

        mutating func set(category value: Int) {
            valueBits = UInt64(bitPattern: Int64(value))
            isInteger = true
        }
    }

    /// What a workout was, for those who write it in another form than its payload.
    struct Workout {
        var activity: String
        var seconds: Int
        var kilocalories: Int
        /// 0 where no way was gone.
        var metres: Int
        var pause: (start: Int64, end: Int64)?
    }

    let kind: HistoryStream
    let day: Int
    let seed: UInt64
    let calendar: LocalCalendar
    /// The index of the day's first sample in its stream.
    let firstIndex: Int
    /// When the day begins, in microseconds since 1970.
    private let midnight: Int64
    private let zone: [UInt8]

    init(kind: HistoryStream, day: Int, options: HistoryGenerator.Options, firstIndex: Int) {
        self.kind = kind
        self.day = day
        self.firstIndex = firstIndex
        seed = options.seed
        calendar = options.calendar
        let number = Int64(options.endDay.dayNumber) - Int64(options.days - 1 - day)
        midnight = calendar.dayStart(Int32(truncatingIfNeeded: number))
        zone = Array("\"HKTimeZone\":\"\(calendar.rules.identifier)\"".utf8)
    }

    /// What an app that syncs calls its sample, so that a correction replaces it: every tenth one of these
    /// corrects the one before.
    static func syncIdentifier(kind: HistoryStream?, index: Int) -> String? {
        guard kind == .bodyMass || kind == .water || kind == .bloodGlucose, index % 3 != 0 else { return nil }
        return "record-\(isCorrection(index) ? index - 1 : index)"
    }

    private static func isCorrection(_ index: Int) -> Bool { index % 30 == 2 }

    /// Makes `count` samples and hands each over.
    func make(_ count: Int, _ add: (Row) -> Void) {
        var random = GeneratorRandom(seed: seed, stream: kind.rawValue, index: day)
        switch kind {
        case .heartRate: makeHeartRate(count, &random, add)
        case .stepCount, .distance, .activeEnergy, .basalEnergy, .flights, .exerciseTime:
            makeActivity(count, &random, add)
        case .sleep: makeNight(count, &random, add)
        case .standHour: makeStandHours(count, &random, add)
        case .workout: makeWorkouts(count, &random, add)
        case .systolic, .diastolic, .bloodPressure: makeBloodPressure(count, add)
        default: makeReadings(count, &random, add)
        }
    }

    // MARK: - Dense types

    /// A fifth by night, the rest between 07:00 and midnight; the pulse follows the hour.
    private func makeHeartRate(_ count: Int, _ random: inout GeneratorRandom, _ add: (Row) -> Void) {
        let night = count / 5
        for index in 0..<count {
            var row = Row()
            let second: Int
            if index < night {
                second = place(index, of: night, from: 0, to: 25_200, &random)
            } else {
                second = place(index - night, of: count - night, from: 25_200, to: 86_400, &random)
            }
            row.start = time(second, milliseconds: random.next(below: 1_000))
            let base = second < 25_200 ? 52 : (second / 3_600 == 18 ? 118 : 74)
            row.set(Double(max(random.next(around: base, spread: second < 25_200 ? 7 : 22), 38)))
            // The last years' watches say whether one moved.
            if random.next(below: 8) == 0 {
                row.metadata = Array(
                    "{\"HKMetadataKeyHeartRateMotionContext\":\(random.next(below: 3))}".utf8)
            }
            add(row)
        }
    }

    /// Watch and phone measure the same walks: three of five samples are the watch's, in whole milliseconds, the
    /// others the phone's, in whole seconds, and their intervals overlap.
    private func makeActivity(_ count: Int, _ random: inout GeneratorRandom, _ add: (Row) -> Void) {
        let isOfWatch = kind == .basalEnergy || kind == .exerciseTime || kind == .activeEnergy
        let phoneCount = isOfWatch ? 0 : count * 2 / 5
        let watchCount = count - phoneCount
        let (from, to) = kind == .basalEnergy ? (0, 86_400) : (24_300, 81_900)
        var watchIndex = 0
        var phoneIndex = 0
        for _ in 0..<count {
            var row = Row()
            // In the order of their slots.
            let isPhone =
                phoneIndex < phoneCount
                && (watchIndex == watchCount || phoneIndex * watchCount <= watchIndex * phoneCount)
            let slots = isPhone ? phoneCount : watchCount
            let index = isPhone ? phoneIndex : watchIndex
            let slot = max((to - from) / slots, 1)
            let longest = min(slot, isPhone ? 600 : 300)
            let second = place(index, of: slots, from: from, to: to, &random)
            let length = random.next(max(longest / 4, 1), max(longest, 2))
            if isPhone {
                phoneIndex += 1
                row.writer = .phone
                row.start = time(second)
                row.duration = Int64(length) * 1_000_000
            } else {
                watchIndex += 1
                row.start = time(second, milliseconds: random.next(below: 1_000))
                row.duration = Int64(length) * 1_000_000 + Int64(random.next(below: 1_000)) * 1_000
            }
            // Hundredths of a step a second: a stroll now and then, mostly sitting.
            let pace = random.next(below: 4) == 0 ? random.next(80, 190) : random.next(8, 60)
            let steps = max(length * pace / 100, 1)
            switch kind {
            case .stepCount: row.set(Double(steps))
            case .distance:
                if isPhone {
                    row.usesSecondUnit = true
                    row.set(Double(steps * random.next(66, 79)) / 100)
                } else {
                    row.set(Double(steps * random.next(66, 79)) / 100_000)
                }
            case .activeEnergy: row.set(Double(steps * random.next(30, 52)) / 1_000)
            case .basalEnergy: row.set(Double(length * random.next(170, 195)) / 10_000)
            case .flights: row.set(Double(random.next(1, 3)))
            default:
                row.duration = 60_000_000
                row.set(1)
            }
            add(row)
        }
    }

    // MARK: - Readings

    private func makeReadings(_ count: Int, _ random: inout GeneratorRandom, _ add: (Row) -> Void) {
        for position in 0..<count {
            var row = Row()
            let index = firstIndex + position
            let isNight = kind == .respiratoryRate || kind == .oxygenSaturation
            let second = place(
                position, of: count, from: isNight ? 1_800 : 25_200, to: isNight ? 24_000 : 82_800, &random)
            row.start = time(second)
            switch kind {
            case .restingHeartRate:
                row.start = time(60)
                row.duration = Int64(random.next(60_000, 82_000)) * 1_000_000
                row.set(Double(random.next(around: 56, spread: 5)))
            case .heartRateVariability:
                row.start = time(second, milliseconds: random.next(below: 1_000))
                row.duration = Int64(random.next(58_000, 66_000)) * 1_000
                row.set(Double(random.next(around: 48_000, spread: 26_000)) / 1_000)
            case .oxygenSaturation:
                row.set(Double(min(random.next(around: 97, spread: 4), 100)) / 100)
            case .respiratoryRate:
                row.set(Double(random.next(around: 29, spread: 6)) / 2)
            case .walkingSpeed:
                row.writer = .phone
                row.duration = Int64(random.next(12, 90)) * 1_000_000
                row.set(Double(random.next(around: 4_600, spread: 900)) / 1_000)
            case .audioExposure:
                row.duration = Int64(random.next(300, 1_800)) * 1_000_000
                row.set(Double(random.next(around: 6_300, spread: 1_900)) / 100)
            case .bloodGlucose:
                row.writer = .glucoseMeter
                row.hasEnd = false
                // Older records of the meter are in the other unit.
                row.usesSecondUnit = index % 7 == 0
                let milligrams = random.next(around: 104, spread: 34)
                row.set(row.usesSecondUnit ? Double(milligrams * 10 / 18) / 10 : Double(milligrams))
            case .bodyMass:
                row.writer = .scale
                row.hasEnd = false
                row.start = time(random.next(24_600, 27_000))
                row.usesSecondUnit = index % 5 == 0
                let grams = 71_500 + (day % 400) * 4 + random.next(around: 0, spread: 600)
                row.set(row.usesSecondUnit ? Double(grams * 22 / 1_000) / 10 : Double(grams / 50) / 20)
            case .water:
                row.writer = .waterApp
                row.set(Double(random.next(3, 12) * 50))
            default:
                row.writer = .breathingApp
                row.duration = Int64(random.next(1, 15)) * 60_000_000
                row.set(category: 0)
            }
            describe(&row, index: index)
            add(row)
        }
    }

    /// What the writers say beyond the value.
    private func describe(_ row: inout Row, index: Int) {
        if let identifier = HistoryDay.syncIdentifier(kind: kind, index: index) {
            let version = HistoryDay.isCorrection(index) ? 2 : 1
            row.metadata = Array(
                "{\"HKMetadataKeySyncIdentifier\":\"\(identifier)\",\"HKMetadataKeySyncVersion\":\(version)}"
                    .utf8)
        } else if kind == .bodyMass || kind == .water || kind == .bloodGlucose {
            row.writer = .byHand
            row.metadata = Array("{\"HKWasUserEntered\":true,".utf8) + zone + [UInt8(ascii: "}")]
        }
    }

    /// A reading is a systolic and a diastolic sample and the correlation that names both.
    ///
    /// The three streams draw the same numbers.
    private func makeBloodPressure(_ count: Int, _ add: (Row) -> Void) {
        for position in 0..<count {
            let index = firstIndex + position
            var random = GeneratorRandom(seed: seed, stream: 500, index: index)
            var row = Row()
            row.writer = .cuff
            row.start = time(random.next(28_800, 75_600))
            let systolic = random.next(around: 121, spread: 14)
            let diastolic = systolic * 2 / 3 + random.next(below: 7) - 3
            switch kind {
            case .systolic: row.set(Double(systolic))
            case .diastolic: row.set(Double(diastolic))
            default:
                row.hasValue = false
                let members = [HistoryStream.systolic, .diastolic].map { stream in
                    "\"\(HistoryGenerator.uuid(seed: seed, stream: stream.rawValue, index: index))\""
                }
                row.payload = Array("{\"members\":[\(members.joined(separator: ","))]}".utf8)
            }
            add(row)
        }
    }

    // MARK: - Nights, hours, workouts

    /// The night before the day's morning: the phone says when one lay in bed, the watch the stages of sleep, and
    /// an app has a guess of its own.
    private func makeNight(_ count: Int, _ random: inout GeneratorRandom, _ add: (Row) -> Void) {
        let begin = -random.next(1_200, 5_400)
        let length = random.next(22_000, 31_000)
        let metadata = [UInt8(ascii: "{")] + zone + [UInt8(ascii: "}")]
        func row(_ writer: HistoryWriter, _ value: Int, _ from: Int, _ to: Int) -> Row {
            var row = Row()
            row.writer = writer
            row.start = time(begin + from)
            row.duration = Int64(max(to - from, 1)) * 1_000_000
            row.set(category: value)
            row.metadata = metadata
            return row
        }
        add(row(.phone, 0, 0, length))
        guard count > 1 else { return }
        if count > 2 { add(row(.sleepApp, 1, random.next(600, 1_500), length - random.next(300, 900))) }
        // Core, deep, core, REM, and now and then awake.
        let stages = count - (count > 2 ? 2 : 1)
        let cycle = [3, 4, 3, 5, 3, 5, 2]
        var from = random.next(300, 1_200)
        for index in 0..<stages {
            let to = index == stages - 1 ? length - 60 : from + max((length - from) / (stages - index), 30)
            add(row(.watch, cycle[index % cycle.count], from, to))
            from = to
        }
    }

    /// Clock hours, most of them stood in.
    private func makeStandHours(_ count: Int, _ random: inout GeneratorRandom, _ add: (Row) -> Void) {
        for index in 0..<count {
            var row = Row()
            row.start = time((8 + index) % 24 * 3_600)
            row.duration = 3_600_000_000
            row.set(category: random.next(below: 6) == 0 ? 1 : 0)
            add(row)
        }
    }

    private func makeWorkouts(_ count: Int, _ random: inout GeneratorRandom, _ add: (Row) -> Void) {
        let activities = ["Running", "Walking", "Cycling", "TraditionalStrengthTraining", "Yoga"]
        for index in 0..<count {
            var row = Row()
            let activity = random.next(below: activities.count)
            let seconds = random.next(900, 4_800)
            row.start = time(place(index, of: count, from: 61_200, to: 70_000, &random))
            row.duration = Int64(seconds) * 1_000_000
            row.hasValue = false
            row.metadata =
                Array("{\"HKIndoorWorkout\":\(activity >= 3),".utf8) + zone + [UInt8(ascii: "}")]
            var workout = Workout(
                activity: "HKWorkoutActivityType" + activities[activity], seconds: seconds,
                kilocalories: seconds * random.next(6, 14) / 60,
                metres: activity < 3 ? seconds * [28, 14, 62][activity] / 10 : 0)
            if random.next(below: 3) == 0 {
                let pause = row.start + Int64(random.next(300, 600)) * 1_000_000
                workout.pause = (pause, pause + Int64(random.next(20, 200)) * 1_000_000)
            }
            row.workout = workout
            var payload =
                "{\"workoutActivityType\":\"\(workout.activity)\",\"duration\":\(seconds),\"durationUnit\":\"s\""
                + ",\"totalEnergyBurned\":\(workout.kilocalories),\"totalEnergyBurnedUnit\":\"kcal\""
            if workout.metres > 0 {
                payload += ",\"totalDistance\":\(workout.metres),\"totalDistanceUnit\":\"m\""
            }
            if let pause = workout.pause {
                let (start, end) = (Timestamp(microseconds: pause.start), Timestamp(microseconds: pause.end))
                payload +=
                    ",\"events\":[{\"type\":\"HKWorkoutEventTypePause\",\"date\":\"\(start)\"}"
                    + ",{\"type\":\"HKWorkoutEventTypeResume\",\"date\":\"\(end)\"}]"
            }
            row.payload = Array((payload + "}").utf8)
            add(row)
        }
    }

    // MARK: - Times

    private func time(_ second: Int, milliseconds: Int = 0) -> Int64 {
        midnight + Int64(second) * 1_000_000 + Int64(milliseconds) * 1_000
    }

    /// A second in one of equal slots between two times of day.
    private func place(_ index: Int, of count: Int, from: Int, to: Int, _ random: inout GeneratorRandom)
        -> Int
    {
        let span = to - from
        let begin = from + index * span / count
        return begin + random.next(below: max(span / count, 1))
    }
}
