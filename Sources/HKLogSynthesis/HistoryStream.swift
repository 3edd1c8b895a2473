/// The streams of a generated history: one a type, as anchored queries have it.
enum HistoryStream: Int, CaseIterable {
    case heartRate, stepCount, distance, activeEnergy, basalEnergy
    case exerciseTime, flights, restingHeartRate, heartRateVariability, oxygenSaturation, respiratoryRate
    case walkingSpeed, audioExposure, bloodGlucose, bodyMass, water
    case systolic, diastolic, bloodPressure, sleep, standHour, mindfulSession, workout

    var type: String {
        switch self {
        case .heartRate: "HKQuantityTypeIdentifierHeartRate"
        case .stepCount: "HKQuantityTypeIdentifierStepCount"
        case .distance: "HKQuantityTypeIdentifierDistanceWalkingRunning"
        case .activeEnergy: "HKQuantityTypeIdentifierActiveEnergyBurned"
        case .basalEnergy: "HKQuantityTypeIdentifierBasalEnergyBurned"
        case .exerciseTime: "HKQuantityTypeIdentifierAppleExerciseTime"
        case .flights: "HKQuantityTypeIdentifierFlightsClimbed"
        case .restingHeartRate: "HKQuantityTypeIdentifierRestingHeartRate"
        case .heartRateVariability: "HKQuantityTypeIdentifierHeartRateVariabilitySDNN"
        case .oxygenSaturation: "HKQuantityTypeIdentifierOxygenSaturation"
        case .respiratoryRate: "HKQuantityTypeIdentifierRespiratoryRate"
        case .walkingSpeed: "HKQuantityTypeIdentifierWalkingSpeed"
        case .audioExposure: "HKQuantityTypeIdentifierEnvironmentalAudioExposure"
        case .bloodGlucose: "HKQuantityTypeIdentifierBloodGlucose"
        case .bodyMass: "HKQuantityTypeIdentifierBodyMass"
        case .water: "HKQuantityTypeIdentifierDietaryWater"
        case .systolic: "HKQuantityTypeIdentifierBloodPressureSystolic"
        case .diastolic: "HKQuantityTypeIdentifierBloodPressureDiastolic"
        case .bloodPressure: "HKCorrelationTypeIdentifierBloodPressure"
        case .sleep: "HKCategoryTypeIdentifierSleepAnalysis"
        case .standHour: "HKCategoryTypeIdentifierAppleStandHour"
        case .mindfulSession: "HKCategoryTypeIdentifierMindfulSession"
        case .workout: "HKWorkoutTypeIdentifier"
        }
    }

    /// The unit, and a second one that some of the writers use.
    var units: (first: String?, second: String?) {
        switch self {
        case .heartRate, .restingHeartRate, .respiratoryRate: ("count/min", nil)
        case .stepCount, .flights: ("count", nil)
        case .distance: ("km", "m")
        case .activeEnergy, .basalEnergy: ("kcal", nil)
        case .exerciseTime: ("min", nil)
        case .heartRateVariability: ("ms", nil)
        case .oxygenSaturation: ("%", nil)
        case .walkingSpeed: ("km/hr", nil)
        case .audioExposure: ("dBASPL", nil)
        case .bloodGlucose: ("mg/dL", "mmol<180.15588000005408>/L")
        case .bodyMass: ("kg", "lb")
        case .water: ("mL", nil)
        case .systolic, .diastolic: ("mmHg", nil)
        case .bloodPressure, .sleep, .standHour, .mindfulSession, .workout: (nil, nil)
        }
    }

    /// How many samples a thousand days hold in real life, for types whose number does not grow with the wealth
    /// of a history; 0 for the dense ones, which share the rest.
    var samplesPerThousandDays: Int {
        switch self {
        case .heartRate, .stepCount, .distance, .activeEnergy, .basalEnergy: 0
        case .exerciseTime: 18_000
        case .flights: 6_000
        case .restingHeartRate: 1_000
        case .heartRateVariability: 5_000
        case .oxygenSaturation: 12_000
        case .respiratoryRate: 14_000
        case .walkingSpeed: 9_000
        case .audioExposure: 16_000
        case .bloodGlucose: 4_000
        case .bodyMass: 450
        case .water: 3_000
        case .systolic, .diastolic, .bloodPressure: 400
        case .sleep: 22_000
        case .standHour: 13_000
        case .mindfulSession: 500
        case .workout: 600
        }
    }

    /// The share of the dense types, in hundredths of what the others leave.
    var denseShare: Int {
        switch self {
        case .heartRate: 34
        case .stepCount: 16
        case .distance: 15
        case .activeEnergy: 25
        case .basalEnergy: 10
        default: 0
        }
    }

    /// How many samples of each stream there are, so that all of them together are `samples`.
    static func quotas(samples: Int, days: Int) -> [Int] {
        let natural = allCases.map { $0.samplesPerThousandDays * days / 1_000 }
        let naturalTotal = natural.reduce(0, +)
        // Small histories keep the proportions of life: four fifths belong to the dense types at least.
        let limit = samples / 5
        var quotas = natural.map { naturalTotal <= limit ? $0 : $0 * limit / naturalTotal }
        // A reading has three parts.
        let readings = quotas[HistoryStream.bloodPressure.rawValue]
        quotas[HistoryStream.systolic.rawValue] = readings
        quotas[HistoryStream.diastolic.rawValue] = readings
        let rest = samples - quotas.reduce(0, +)
        for stream in allCases where stream.denseShare > 0 {
            quotas[stream.rawValue] = rest * stream.denseShare / 100
        }
        quotas[HistoryStream.heartRate.rawValue] += samples - quotas.reduce(0, +)
        return quotas
    }
}
