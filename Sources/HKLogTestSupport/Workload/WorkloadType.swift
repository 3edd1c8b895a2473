/// A quantity type of the workload.
package struct WorkloadType: Sendable {
    /// How values come about.
    package enum Values: Sendable {
        case heartRate
        case resting
        case activeEnergy
        case steps
        case distance
        case basalEnergy
        case breathing
        case saturation
        case decibels
        case smallCount
        case one
        case hundredths
        case centimetres
        case percent
    }

    package var identifier: String
    package var unit: String
    /// Samples of a cumulative type follow one another, with a duration.
    package var isCumulative: Bool
    /// A point in time, or a span before the time it was recorded at.
    package var hasDuration = false
    /// How many of 10 000 samples are of the type.
    package var weight: Int
    package var values: Values

    /// Twenty types with the shares that a watch and a phone bring.
    package static let all: [WorkloadType] = [
        discrete("HeartRate", "count/min", 5000, .heartRate),
        cumulative("ActiveEnergyBurned", "kcal", 2000, .activeEnergy),
        cumulative("StepCount", "count", 750, .steps),
        cumulative("DistanceWalkingRunning", "km", 750, .distance),
        cumulative("BasalEnergyBurned", "kcal", 500, .basalEnergy),
        discrete("RespiratoryRate", "count/min", 200, .breathing),
        discrete("OxygenSaturation", "%", 120, .saturation),
        discrete("HeartRateVariabilitySDNN", "ms", 80, .decibels),
        discrete("EnvironmentalAudioExposure", "dBASPL", 120, .decibels, hasDuration: true),
        discrete("HeadphoneAudioExposure", "dBASPL", 60, .decibels, hasDuration: true),
        cumulative("AppleStandTime", "min", 100, .smallCount),
        cumulative("AppleExerciseTime", "min", 80, .one),
        cumulative("FlightsClimbed", "count", 60, .smallCount),
        discrete("WalkingSpeed", "km/hr", 60, .hundredths, hasDuration: true),
        discrete("WalkingStepLength", "cm", 60, .centimetres, hasDuration: true),
        discrete("WalkingDoubleSupportPercentage", "%", 30, .percent, hasDuration: true),
        discrete("RestingHeartRate", "count/min", 10, .resting),
        discrete("BodyMass", "kg", 8, .hundredths),
        discrete("VO2Max", "mL/min·kg", 4, .hundredths),
        discrete("WalkingAsymmetryPercentage", "%", 8, .percent),
    ]

    private static func cumulative(_ name: String, _ unit: String, _ weight: Int, _ values: Values)
        -> WorkloadType
    {
        WorkloadType(
            identifier: "HKQuantityTypeIdentifier\(name)", unit: unit, isCumulative: true, weight: weight,
            values: values)
    }

    private static func discrete(
        _ name: String, _ unit: String, _ weight: Int, _ values: Values, hasDuration: Bool = false
    ) -> WorkloadType {
        WorkloadType(
            identifier: "HKQuantityTypeIdentifier\(name)", unit: unit, isCumulative: false,
            hasDuration: hasDuration, weight: weight, values: values)
    }
}
