/// What HealthKit defines: types, their units, styles and values.
///
/// Read from generated tables at the first use; costs nothing before.
/// Names are exact and compared as bytes; `resolve` is for people, who may write them loosely.
public enum Catalog {
    /// All quantity types.
    public static var quantityTypes: [QuantityType] { CatalogContents.quantities }
    /// All category types.
    public static var categoryTypes: [CategoryType] { CatalogContents.categories }
    /// All types of other kinds, samples or not.
    public static var otherTypes: [OtherType] { CatalogContents.others }
    /// All kinds of workout.
    public static var workoutActivities: [WorkoutActivity] { CatalogContents.workouts }

    /// The quantity type of a full identifier.
    public static func quantityType(_ identifier: String) -> QuantityType? {
        let utf8 = identifier.utf8
        return quantityType(utf8: utf8.span)
    }

    /// The quantity type of a full identifier given as its bytes.
    package static func quantityType(utf8 identifier: Span<UInt8>) -> QuantityType? {
        guard case .quantity(let index)? = entry(utf8: identifier) else { return nil }
        return CatalogContents.quantities[index]
    }

    /// The category type of a full identifier, or of the constant's name where that differs.
    public static func categoryType(_ identifier: String) -> CategoryType? {
        let utf8 = identifier.utf8
        return categoryType(utf8: utf8.span)
    }

    /// The category type of a full identifier given as its bytes.
    package static func categoryType(utf8 identifier: Span<UInt8>) -> CategoryType? {
        guard case .category(let index)? = entry(utf8: identifier) else { return nil }
        return CatalogContents.categories[index]
    }

    /// The type of another kind of a full identifier, or of the constant's name where that differs.
    public static func otherType(_ identifier: String) -> OtherType? {
        let utf8 = identifier.utf8
        guard case .other(let index)? = entry(utf8: utf8.span) else { return nil }
        return CatalogContents.others[index]
    }

    /// The kind of workout of an integer.
    public static func workoutActivity(_ rawValue: Int64) -> WorkoutActivity? {
        CatalogContents.workouts.first { $0.rawValue == rawValue }
    }

    /// The kind of workout of an exact name, full or short.
    public static func workoutActivity(named name: String) -> WorkoutActivity? {
        CatalogContents.workouts.first {
            $0.identifier.utf8.elementsEqual(name.utf8) || $0.name.utf8.elementsEqual(name.utf8)
        }
    }

    /// The full identifier of an exact short name, such as `stepCount`.
    ///
    /// Should two kinds ever share a short name, the quantity type wins, then the category type, then the rest in
    /// the order of the table; a test sees to it that today none do.
    public static func fullIdentifier(_ shortName: String) -> String? {
        let utf8 = shortName.utf8
        return fullIdentifier(utf8: utf8.span)
    }

    /// The full identifier of an exact short name given as its bytes.
    package static func fullIdentifier(utf8 shortName: Span<UInt8>) -> String? {
        CatalogContents.shortNames.value(of: shortName).map { identifier(of: Entry(packed: $0)) }
    }

    /// The short name of a full identifier; for types that the catalog does not know, made from the identifier.
    public static func shortName(_ identifier: String) -> String {
        let utf8 = identifier.utf8
        switch entry(utf8: utf8.span) {
        case .quantity(let index): return CatalogContents.quantities[index].name
        case .category(let index): return CatalogContents.categories[index].name
        case .other(let index): return CatalogContents.others[index].name
        case nil: return derivedShortName(identifier)
        }
    }

    /// The value of a constant of HealthKit's enumerations, such as `HKBiologicalSexFemale`.
    public static func constant(named name: String) -> Int64? { CatalogContents.constants.value(of: name) }

    /// Where a type stands in the catalog.
    enum Entry {
        case quantity(Int)
        case category(Int)
        case other(Int)

        init(packed: Int64) {
            let index = Int(packed >> 2)
            switch packed & 3 {
            case 0: self = .quantity(index)
            case 1: self = .category(index)
            default: self = .other(index)
            }
        }

        var packed: Int64 {
            switch self {
            case .quantity(let index): Int64(index) << 2
            case .category(let index): Int64(index) << 2 | 1
            case .other(let index): Int64(index) << 2 | 2
            }
        }
    }

    /// Looks in the table that the identifier's prefix names, so that the others need not be read.
    static func entry(utf8 identifier: Span<UInt8>) -> Entry? {
        switch SampleKind.of(utf8: identifier) {
        case .quantity:
            CatalogContents.quantityIdentifiers.value(of: identifier).map { .quantity(Int($0)) }
        case .category:
            CatalogContents.categoryIdentifiers.value(of: identifier).map { .category(Int($0)) }
        default:
            otherEntry(utf8: identifier)
        }
    }

    private static func otherEntry(utf8 identifier: Span<UInt8>) -> Entry? {
        for (place, type) in CatalogContents.others.enumerated() {
            if equal(type.identifier, identifier) { return .other(place) }
            if let constant = type.constantName, equal(constant, identifier) { return .other(place) }
        }
        return nil
    }

    static func identifier(of entry: Entry) -> String {
        switch entry {
        case .quantity(let index): CatalogContents.quantities[index].identifier
        case .category(let index): CatalogContents.categories[index].identifier
        case .other(let index): CatalogContents.others[index].identifier
        }
    }

    static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    private static func equal(_ name: String, _ bytes: Span<UInt8>) -> Bool {
        let utf8 = name.utf8
        return equal(utf8.span, bytes)
    }

    static func starts(_ text: Span<UInt8>, with prefix: StaticString) -> Bool {
        guard prefix.hasPointerRepresentation, text.count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount {
            // Sound: the index is below the literal's own length.
            if unsafe prefix.utf8Start[index] != text[index] { return false }
        }
        return true
    }

    /// `HKQuantityTypeIdentifierStepCount` → `stepCount`, `HKWorkoutTypeIdentifier` → `workout`,
    /// `HKDocumentTypeIdentifierCDA` → `cda`; a text of another form stays as it is.
    static func derivedShortName(_ identifier: String) -> String {
        let bytes = Array(identifier.utf8)
        guard bytes.starts(with: "HK".utf8) else { return identifier }
        var name = bytes.dropFirst(2)
        if let marker = firstIndex(of: "TypeIdentifier", in: bytes) {
            let ending = bytes.dropFirst(marker + "TypeIdentifier".utf8.count)
            name = ending.isEmpty ? bytes[2..<max(2, marker)] : ending
        } else if bytes.starts(with: "HKDataType".utf8) {
            name = bytes.dropFirst("HKDataType".utf8.count)
        } else {
            return identifier
        }
        // The leading capitals go small, save the one that begins the next word: `CDA` → `cda`, `VO2Max` → `vo2Max`.
        var result = Array(name)
        func isUpper(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") }
        func isLower(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }
        for index in result.indices {
            guard isUpper(result[index]) else { break }
            if index > 0, index + 1 < result.count, isLower(result[index + 1]) { break }
            result[index] |= 0x20
        }
        return result.isEmpty ? identifier : String(decoding: result, as: UTF8.self)
    }

    private static func firstIndex(of part: String, in bytes: [UInt8]) -> Int? {
        let part = Array(part.utf8)
        guard bytes.count >= part.count else { return nil }
        return (0...(bytes.count - part.count)).first { bytes[$0...].starts(with: part) }
    }
}
