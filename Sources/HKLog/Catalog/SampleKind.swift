/// What a sample's type says of its value: the kinds that hklog treats apart.
public enum SampleKind: String, Sendable, CaseIterable {
    /// A number in a unit.
    case quantity
    /// One of a few named integers over a time.
    case category
    /// Several samples that belong together, such as the two values of a blood pressure.
    case correlation
    /// A workout.
    case workout
    /// Everything else: routes, series, electrocardiograms, characteristics, and what is not known.
    case other

    /// The kind of a full type identifier, known to the catalog or not: its prefix tells.
    public static func of(_ identifier: String) -> SampleKind {
        let utf8 = identifier.utf8
        return of(utf8: utf8.span)
    }

    /// The kind of a full type identifier given as its bytes.
    package static func of(utf8 identifier: Span<UInt8>) -> SampleKind {
        if Catalog.starts(identifier, with: "HKQuantityTypeIdentifier") { return .quantity }
        if Catalog.starts(identifier, with: "HKCategoryTypeIdentifier") { return .category }
        if Catalog.starts(identifier, with: "HKCorrelationTypeIdentifier") { return .correlation }
        let workout: StaticString = "HKWorkoutTypeIdentifier"
        if identifier.count == workout.utf8CodeUnitCount, Catalog.starts(identifier, with: workout) {
            return .workout
        }
        return .other
    }
}
