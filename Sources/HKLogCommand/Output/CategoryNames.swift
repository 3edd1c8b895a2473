internal import HKLog

/// Names of category values.
enum CategoryNames {
    /// An integer in JSON; elsewhere the catalog's name, or the integer where it has none.
    static func cell(type: String, value: Int64) -> Cell {
        .named(value, name(type: type, value: value))
    }

    static func name(type: String, value: Int64) -> String {
        Catalog.categoryType(type)?.name(of: value) ?? String(value)
    }

    /// The name without what all names of the type begin with, for people: `AsleepCore`.
    static func shortName(type: String, value: Int64) -> String {
        let full = name(type: type, value: value)
        guard let enumeration = Catalog.categoryType(type)?.valueEnumeration,
            full.utf8.starts(with: enumeration.utf8), full.utf8.count > enumeration.utf8.count
        else { return full }
        return String(full.dropFirst(enumeration.count))
    }
}
