/// The offsets of an IANA time zone over all time, from the system's own time zone files.
///
/// Foundation is not asked: in a statically linked program it knows no zones, and says so by answering GMT.
package struct TimeZoneRules: Sendable {
    /// The name it was asked for by, such as `Europe/Paris`.
    package let identifier: String
    let table: OffsetTable

    /// A checksum of the rules: it changes when the zone's offsets do, and not with the files' layout.
    package var checksum: UInt64 { table.checksum }

    /// UTC, which needs no files.
    package static let utc = TimeZoneRules(
        identifier: "UTC", table: OffsetTable(firstOffset: 0, changes: [], repeatsFromYear: nil))

    private init(identifier: String, table: OffsetTable) {
        self.identifier = identifier
        self.table = table
    }

    /// The rules of a zone.
    ///
    /// `UTC`, `GMT` and their `Etc/` forms are always there.
    package init(identifier: String) throws(HKLogError) {
        guard TimeZoneRules.isValid(identifier) else {
            throw HKLogError(.invalidArgument, "unknown time zone \(quoted(identifier))")
        }
        if TimeZoneRules.namesOfUTC.contains(identifier) {
            self.init(identifier: identifier, table: TimeZoneRules.utc.table)
            return
        }
        let folders = TimeZoneRules.folders
        for folder in folders {
            let path = folder + "/" + identifier
            guard let bytes = ZoneSystem.readWholeFile(path, byteCountLimit: 1 << 20) else { continue }
            guard let table = TZif.offsetTable(of: bytes) else {
                throw HKLogError(
                    .invalidArgument,
                    "unknown time zone \"\(identifier)\": \(path) is no sound time zone file; reinstall tzdata"
                )
            }
            self.init(identifier: identifier, table: table)
            return
        }
        let advice =
            folders.contains(where: ZoneSystem.isDirectory)
            ? "; use an IANA name such as Europe/Paris"
            : ": there are no time zone files; install tzdata or set TZDIR"
        throw HKLogError(.invalidArgument, "unknown time zone \"\(identifier)\"\(advice)")
    }

    /// Makes rules of a file's bytes; `nil` when they are not sound.
    package init?(identifier: String, bytes: [UInt8]) {
        guard let table = TZif.offsetTable(of: bytes) else { return nil }
        self.init(identifier: identifier, table: table)
    }

    /// The system's zone: `TZ`, else where `/etc/localtime` points to, else what `/etc/timezone` names, else UTC.
    package static func system() -> TimeZoneRules {
        for name in systemNames() {
            if let rules = try? TimeZoneRules(identifier: name) { return rules }
        }
        return utc
    }

    /// Seconds east of UTC at an instant in microseconds since 1970.
    package func offset(at instant: Int64) -> Int32 {
        let index = table.segmentIndex(at: table.folded(instant).instant)
        return Int32(truncatingIfNeeded: table.segments[index].shift / 1_000_000)
    }

    // MARK: - Names

    private static let namesOfUTC = ["UTC", "GMT", "Etc/UTC", "Etc/GMT"]

    private static var folders: [String] {
        var folders = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/var/db/timezone/zoneinfo"]
        if let folder = Platform.environment("TZDIR"), !folder.isEmpty {
            folders.insert(folder, at: 0)
        }
        return folders
    }

    /// Whether the text can be a name at all: it becomes part of a path.
    ///
    /// `localtime` and its like are files beside the zones that mean another zone on each machine; the files
    /// under `right` count leap seconds.
    private static func isValid(_ identifier: String) -> Bool {
        guard (1...128).contains(identifier.utf8.count) else { return false }
        for byte in identifier.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
                UInt8(ascii: "_"),
                UInt8(ascii: "/"):
                continue
            default: return false
            }
        }
        let parts = identifier.split(separator: "/", omittingEmptySubsequences: false)
        return !parts.contains("") && !["right", "posix", "localtime", "posixrules"].contains(parts[0])
    }

    private static func systemNames() -> [String] {
        var names: [String] = []
        func addPath(_ path: String) {
            let bytes = Array(path.utf8)
            let marker = Array("zoneinfo/".utf8)
            guard bytes.count > marker.count else { return }
            for start in 0..<bytes.count - marker.count
            where bytes[start..<start + marker.count].elementsEqual(marker) {
                var name = String(decoding: bytes[(start + marker.count)...], as: UTF8.self)
                for prefix in ["posix/", "right/"] where name.hasPrefix(prefix) {
                    name.removeFirst(prefix.count)
                }
                names.append(name)
                return
            }
        }
        if var zone = Platform.environment("TZ") {
            if zone.hasPrefix(":") { zone.removeFirst() }
            // Set and empty means UTC, as POSIX has it.
            if zone.isEmpty { return ["UTC"] }
            if zone.hasPrefix("/") {
                addPath(zone)
            } else {
                names.append(zone)
            }
        }
        if let target = ZoneSystem.symbolicLinkTarget("/etc/localtime") { addPath(target) }
        if let bytes = ZoneSystem.readWholeFile("/etc/timezone", byteCountLimit: 4_096) {
            let name = bytes.prefix { $0 > UInt8(ascii: " ") }
            names.append(String(decoding: name, as: UTF8.self))
        }
        return names
    }
}
