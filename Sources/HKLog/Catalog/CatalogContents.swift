/// The catalog in memory: each part is read from `CatalogTables` when it is first needed, and costs nothing before.
enum CatalogContents {
    static let quantities: [QuantityType] = readQuantities()
    static let categories: [CategoryType] = readCategories()
    static let others: [OtherType] = readOthers()

    static let workouts: [WorkoutActivity] = TableRows(CatalogTables.workoutActivities, columnCount: 3)
        .compactMap { row in
            row.integer(0).map {
                WorkoutActivity(
                    rawValue: $0, identifier: row.text(1, after: "HKWorkoutActivityType"), name: row[2])
            }
        }

    /// Full identifiers of quantity types to places in `quantities`.
    static let quantityIdentifiers: NameIndex = {
        var index = NameIndex(nameCount: quantities.count)
        for (place, type) in quantities.enumerated() { index.insert(type.identifier, Int64(place)) }
        return index
    }()

    /// Full identifiers and constants' names of category types to places in `categories`.
    static let categoryIdentifiers: NameIndex = {
        var index = NameIndex(nameCount: categories.count + 8)
        for (place, type) in categories.enumerated() {
            index.insert(type.identifier, Int64(place))
            if let constant = type.constantName { index.insert(constant, Int64(place)) }
        }
        return index
    }()

    /// Short names to packed entries.
    ///
    /// What is inserted first stays: quantities, then categories, then the rest.
    static let shortNames: NameIndex = {
        var index = NameIndex(nameCount: quantities.count + categories.count + others.count)
        for (place, type) in quantities.enumerated() {
            index.insert(type.name, Catalog.Entry.quantity(place).packed)
        }
        for (place, type) in categories.enumerated() {
            index.insert(type.name, Catalog.Entry.category(place).packed)
        }
        for (place, type) in others.enumerated() {
            index.insert(type.name, Catalog.Entry.other(place).packed)
        }
        return index
    }()

    /// Every constant of HealthKit's enumerations.
    static let constants: NameIndex = {
        var index = NameIndex(nameCount: 512)
        for row in TableRows(CatalogTables.constants, columnCount: 2) {
            if let value = row.integer(0) { index.insert(row.text(1, after: "HK"), value) }
        }
        return index
    }()

    private static func readQuantities() -> [QuantityType] {
        var result: [QuantityType] = []
        result.reserveCapacity(128)
        var units: [String: Unit] = [:]
        for row in TableRows(CatalogTables.quantityTypes, columnCount: 7) {
            let unitText = row[4]
            // Sound: a test reads every row of the golden table back.
            guard let unit = units[unitText] ?? (try? Unit(unitText)),
                let style = AggregationStyle(rawValue: row[2]),
                let styleBefore = AggregationStyle(rawValue: row[3])
            else { continue }
            units[unitText] = unit
            result.append(
                QuantityType(
                    identifier: row.text(0, after: "HKQuantityTypeIdentifier"), name: row[1], style: style,
                    styleBeforeSDK26_6: styleBefore, canonicalUnit: unit, canonicalUnitText: unitText,
                    dimension: row[5], introducedInIOS: row[6]))
        }
        return result
    }

    private static func readCategories() -> [CategoryType] {
        var values: [String: [CategoryType.Value]] = [:]
        var enumeration = ""
        for row in TableRows(CatalogTables.categoryValues, columnCount: 1) {
            if row.count == 1 {
                enumeration = String(row[0].dropFirst())
            } else if let rawValue = row.integer(0) {
                values[enumeration, default: []].append(
                    CategoryType.Value(
                        rawValue: rawValue, name: row.text(1, after: "HKCategoryValue"),
                        isLegacyName: row.count > 2))
            }
        }
        let prefix = "HKCategoryTypeIdentifier"
        return TableRows(CatalogTables.categoryTypes, columnCount: 5).map { row in
            CategoryType(
                identifier: row.text(0, after: prefix),
                constantName: row.isEmpty(1) ? nil : row.text(1, after: prefix), name: row[2],
                valueEnumeration: row.text(3, after: "HKCategoryValue"), values: values[row[3]] ?? [],
                introducedInIOS: row[4])
        }
    }

    private static func readOthers() -> [OtherType] {
        TableRows(CatalogTables.otherTypes, columnCount: 3).map { row in
            let identifier = row[1]
            return OtherType(
                identifier: identifier, constantName: row.isEmpty(2) ? nil : row[2],
                name: Catalog.derivedShortName(identifier), group: row[0], kind: SampleKind.of(identifier))
        }
    }
}
