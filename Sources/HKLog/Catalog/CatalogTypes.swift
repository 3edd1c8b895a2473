/// How the values of a quantity type add up: `HKQuantityAggregationStyle`.
public enum AggregationStyle: String, Sendable, CaseIterable {
    /// Parts of a whole, such as steps: they sum.
    case cumulative
    /// Readings whose mean is arithmetic.
    case discreteArithmetic
    /// Readings that Apple weights by time, by a formula it does not publish.
    case discreteTemporallyWeighted
    /// Sound levels, averaged by energy over time.
    case discreteEquivalentContinuousLevel

    /// Whether values sum; all other styles have minimum, maximum and average.
    public var isCumulative: Bool { self == .cumulative }
}

/// A quantity type of HealthKit.
public struct QuantityType: Sendable {
    /// The full identifier, such as `HKQuantityTypeIdentifierStepCount`.
    public let identifier: String
    /// The short name, such as `stepCount`.
    public let name: String
    /// How its values add up, as SDK 26.6 says.
    public let style: AggregationStyle
    /// How its values added up before SDK 26.6; differs for cycling and resting heart rates.
    public let styleBeforeSDK26_6: AggregationStyle
    /// The unit of its statistics, which is the unit that exports use.
    public let canonicalUnit: Unit
    /// The text of `canonicalUnit` as HealthKit spells it.
    public let canonicalUnitText: String
    /// What it measures in words, such as `volume/time`.
    public let dimension: String
    /// The iOS release that brought it.
    public let introducedInIOS: String
}

/// A category type of HealthKit.
public struct CategoryType: Sendable {
    /// One value that a category type can have.
    public struct Value: Sendable, Hashable {
        /// The integer that HealthKit stores.
        public let rawValue: Int64
        /// The name in exports, such as `HKCategoryValueSleepAnalysisAsleepCore`.
        public let name: String
        /// Whether the name is an old one, read but never written.
        public let isLegacyName: Bool
    }

    /// The full identifier as data has it, such as `HKCategoryTypeIdentifierSleepAnalysis`.
    public let identifier: String
    /// The name of the constant in the SDK where it differs from the identifier in data.
    public let constantName: String?
    /// The short name, such as `sleepAnalysis`.
    public let name: String
    /// The enumeration of its values, such as `HKCategoryValueSleepAnalysis`.
    public let valueEnumeration: String
    /// Its values; the legacy names come last.
    public let values: [Value]
    /// The iOS release that brought it.
    public let introducedInIOS: String

    /// The integer of a value's exact name, legacy names too; `nil` where the type has no such value.
    public func rawValue(named name: String) -> Int64? {
        let utf8 = name.utf8
        return rawValue(utf8: utf8.span)
    }

    /// The integer of a value's exact name given as its bytes.
    package func rawValue(utf8 name: Span<UInt8>) -> Int64? {
        for value in values {
            let candidate = value.name.utf8
            if Catalog.equal(candidate.span, name) { return value.rawValue }
        }
        return nil
    }

    /// The name that exports write for an integer; `nil` for one that the catalog does not know.
    public func name(of rawValue: Int64) -> String? {
        values.first { $0.rawValue == rawValue }?.name
    }
}

/// A type that is neither quantity nor category: correlations, workouts, routes, electrocardiograms and so on.
public struct OtherType: Sendable {
    /// The full identifier as data has it, such as `HKWorkoutTypeIdentifier`.
    public let identifier: String
    /// The name of the constant in the SDK where it differs from the identifier in data.
    public let constantName: String?
    /// The short name, such as `workout`.
    public let name: String
    /// What Apple's classes make of it, such as `correlation`, `series`, `clinical` or `characteristic`.
    public let group: String
    /// What hklog makes of it.
    public let kind: SampleKind
}

/// A kind of workout: `HKWorkoutActivityType`.
public struct WorkoutActivity: Sendable {
    /// The integer that HealthKit stores.
    public let rawValue: Int64
    /// The name in exports, such as `HKWorkoutActivityTypeRunning`.
    public let identifier: String
    /// The short name, such as `running`.
    public let name: String
}
