internal import HKLog

/// What the decoder must know of a sample type.
///
/// The one place that asks the catalog.
struct TypeFacts {
    /// How a value of the type is read.
    enum Kind {
        case quantity
        case category
        /// Correlations, workouts and everything else: a value is no duty.
        case other
    }

    /// The full identifier.
    var identifier: String
    var kind: Kind
    /// The unit that units of the type must fit, with its text; `nil` where the catalog does not know.
    var canonicalUnit: (unit: Unit, text: String)?
    private var category: CategoryType?

    /// Looks up a type by its full identifier or short name; what is neither is kept as it is.
    init(named name: String) {
        let identifier = Catalog.fullIdentifier(name) ?? name
        self.identifier = identifier
        switch SampleKind.of(identifier) {
        case .quantity:
            kind = .quantity
            canonicalUnit = Catalog.quantityType(identifier).map { ($0.canonicalUnit, $0.canonicalUnitText) }
        case .category:
            kind = .category
            category = Catalog.categoryType(identifier)
        case .correlation, .workout, .other:
            kind = .other
        }
    }

    /// The number of a category value's name, of those that this type has.
    func categoryValue(named name: String) -> Int64? {
        category?.rawValue(named: name)
    }
}
