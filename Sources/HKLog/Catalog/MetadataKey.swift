/// A metadata key of HealthKit, in the two spellings that data has: the constant's name and the short form.
///
/// Which one an app or an export writes differs from key to key and release to release, so both are read.
public struct MetadataKey: Hashable, Sendable {
    /// The constant's name, such as `HKMetadataKeySyncIdentifier`.
    public let constantName: String
    /// The short form, such as `HKSyncIdentifier`.
    public let shortForm: String
    /// The spelling that was seen in exports; `nil` where none was.
    public let observedSpelling: String?
    /// What the value is: `string`, `number`, `boolean`, `enum` or `quantity`.
    public let valueKind: String

    /// Names a sample across its versions.
    public static let syncIdentifier = known("SyncIdentifier", "string")
    /// Orders the versions of a sample.
    public static let syncVersion = known("SyncVersion", "number")
    /// Whether a person typed the sample in.
    public static let wasUserEntered = known("WasUserEntered", "boolean")
    /// The IANA time zone in which the sample was taken.
    public static let timeZone = known("TimeZone", "string")

    /// All keys that HealthKit defines.
    public static let all: [MetadataKey] = TableRows(CatalogTables.metadataKeys, columnCount: 4).map { row in
        MetadataKey(
            constantName: "HKMetadataKey" + row[0], shortForm: "HK" + row[1],
            observedSpelling: row[2].isEmpty ? nil : "HK" + row[2], valueKind: row[3])
    }

    /// Whether a key of some metadata is this one, in either spelling.
    public func matches(_ key: String) -> Bool {
        key.utf8.elementsEqual(constantName.utf8) || key.utf8.elementsEqual(shortForm.utf8)
    }

    private static func known(_ ending: String, _ valueKind: String) -> MetadataKey {
        all.first { $0.shortForm == "HK" + ending }
            ?? MetadataKey(
                constantName: "HKMetadataKey" + ending, shortForm: "HK" + ending, observedSpelling: nil,
                valueKind: valueKind)
    }
}
