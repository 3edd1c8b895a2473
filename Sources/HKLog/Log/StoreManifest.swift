package import HKLogFormat

/// What `store.json` holds: the store's identity, and its settings as the layer above wrote them.
///
/// ```
/// {
/// "formatVersion":1,
/// "storeID":"00112233445566778899aabbccddeeff",
/// "created":"2026-03-01T08:00:00Z",
/// "segmentBytes":67108864,
/// "settings":{…},
/// "checksum":"1a2b3c4d"
/// }
/// ```
/// The checksum is the CRC32C of all bytes before the line that bears it. Nothing but what `encoded` makes is
/// accepted: who edits the file by hand has damaged it.
package struct StoreManifest: Equatable, Sendable {
    package static let formatVersion = 1
    package static let sizeLimit = 16 << 20
    package static let segmentByteCountDefault = 64 << 20

    package var storeID: RawUUID
    /// When the store was made, as text: letters, digits, `-`, `:`, `.` and `+` alone.
    package var created: String
    /// A segment is sealed once it has reached this size.
    package var segmentByteCount: Int
    /// A JSON object, kept to the byte.
    package var settings: [UInt8]

    package init(
        storeID: RawUUID, created: String, segmentByteCount: Int = segmentByteCountDefault,
        settings: [UInt8] = Array("{}".utf8)
    ) {
        self.storeID = storeID
        self.created = created
        self.segmentByteCount = segmentByteCount
        self.settings = settings
    }

    package func encoded() -> [UInt8] {
        var bytes = Array(
            """
            {
            "formatVersion":\(Self.formatVersion),
            "storeID":"\(Self.hexadecimal(storeID))",
            "created":"\(created)",
            "segmentBytes":\(segmentByteCount),
            "settings":
            """.utf8)
        bytes += settings
        bytes += Array(",\n".utf8)
        let sum = checksum(of: bytes.span)
        bytes += Self.ending(checksum: sum)
        return bytes
    }

    /// What is wrong with a file's bytes.
    enum Flaw: Error {
        case damaged
        case newer(String)
    }

    init(decoding bytes: [UInt8]) throws(Flaw) {
        let endingByteCount = Self.ending(checksum: 0).count
        guard bytes.count > endingByteCount else { throw .damaged }
        let body = Array(bytes.dropLast(endingByteCount))
        guard Array(bytes.suffix(endingByteCount)) == Self.ending(checksum: checksum(of: body.span)) else {
            throw .damaged
        }
        var scanner = Scanner(bytes: body)
        guard scanner.skip("{\n\"formatVersion\":"), let version = scanner.text(upTo: ",\n") else {
            throw .damaged
        }
        guard version == String(Self.formatVersion) else { throw .newer(version) }
        guard scanner.skip("\"storeID\":\""), let id = scanner.text(upTo: "\",\n"),
            let storeID = Self.identifier(hexadecimal: id),
            scanner.skip("\"created\":\""), let created = scanner.text(upTo: "\",\n"),
            scanner.skip("\"segmentBytes\":"), let size = scanner.text(upTo: ",\n"),
            let segmentByteCount = Int(size), segmentByteCount > 0,
            scanner.skip("\"settings\":")
        else { throw .damaged }
        let settings = Array(body[scanner.index...].dropLast(2))
        self.init(
            storeID: storeID, created: created, segmentByteCount: segmentByteCount, settings: settings)
        guard encoded() == bytes else { throw .damaged }
    }

    private static func ending(checksum: UInt32) -> [UInt8] {
        let digits = String(checksum, radix: 16)
        let padding = String(repeating: "0", count: 8 - digits.utf8.count)
        return Array("\"checksum\":\"\(padding)\(digits)\"\n}\n".utf8)
    }

    /// The id as 32 hexadecimal digits, in the order of its bytes.
    package static func hexadecimal(_ id: RawUUID) -> String {
        HKLog.hexadecimal(id.first.byteSwapped) + HKLog.hexadecimal(id.second.byteSwapped)
    }

    private static func identifier(hexadecimal text: String) -> RawUUID? {
        guard text.utf8.count == 32, let first = UInt64(text.prefix(16), radix: 16),
            let second = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        return RawUUID(first: first.byteSwapped, second: second.byteSwapped)
    }

    private struct Scanner {
        var bytes: [UInt8]
        var index = 0

        mutating func skip(_ text: String) -> Bool {
            guard bytes[index...].starts(with: text.utf8) else { return false }
            index += text.utf8.count
            return true
        }

        mutating func text(upTo end: String) -> String? {
            let end = Array(end.utf8)
            var place = index
            while place + end.count <= bytes.count {
                if bytes[place..<place + end.count].elementsEqual(end) {
                    defer { index = place + end.count }
                    return String(decoding: bytes[index..<place], as: UTF8.self)
                }
                place += 1
            }
            return nil
        }
    }
}

extension LogFiles {
    /// Reads `store.json`.
    ///
    /// Throws `notFound` where there is no store, `damaged` where there is a log but no sound `store.json`.
    package func readManifest() throws(HKLogError) -> StoreManifest {
        let path = "\(store)/\(Self.manifestName)"
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try layer.contents(of: path, limit: StoreManifest.sizeLimit)
        } catch {
            guard error.isMissing else { throw .system(error, "read", path: path) }
            if isUnfinishedCopy() {
                throw HKLogError(
                    .notFound,
                    "\(store) is a backup that broke off; run 'hklog backup' to it again, or delete it")
            }
            if try hasSegments() {
                throw HKLogError(
                    .damaged, "\(path) is missing beside a log; run 'hklog repair' to rebuild it")
            }
            throw HKLogError(
                .notFound,
                "\(store) is no store: it has no \(Self.manifestName); name one with --store, or make one with "
                    + "'hklog init'")
        }
        do throws(StoreManifest.Flaw) {
            return try StoreManifest(decoding: bytes)
        } catch {
            switch error {
            case .newer(let version):
                throw HKLogError(
                    .damaged,
                    "\(path): the store is of format version \(version), this program reads up to "
                        + "\(StoreManifest.formatVersion); use a newer hklog")
            case .damaged:
                throw HKLogError(.damaged, "\(path) is damaged; run 'hklog repair' to rebuild it")
            }
        }
    }

    /// Puts a `store.json` in place, atomically.
    package func writeManifest(_ manifest: StoreManifest) throws(HKLogError) {
        let bytes = manifest.encoded()
        do throws(SystemError) {
            try layer.writeAtomically(bytes.span, to: Self.manifestName, in: store)
        } catch {
            throw .system(error, "write", path: "\(store)/\(Self.manifestName)")
        }
    }

    /// Whether there is at least one segment file.
    package func hasSegments() throws(HKLogError) -> Bool {
        do throws(SystemError) {
            return try layer.names(in: log).contains { $0.hasSuffix(Self.segmentSuffix) }
        } catch {
            if error.isMissing { return false }
            throw .system(error, "list the segments", path: log)
        }
    }

    /// Makes a new store in a directory that holds none (the directory is made when it is not there).
    ///
    /// A crash in between leaves either no store, over which this can be called again, or the new one.
    package func createStore(_ manifest: StoreManifest) throws(HKLogError) {
        if try hasSegments() {
            throw HKLogError(.cannotCreate, "\(store): there is a log already")
        }
        do throws(SystemError) {
            if try layer.exists("\(store)/\(Self.manifestName)") {
                throw SystemError(.open, ErrorNumber.exists)
            }
            try makeDurableDirectory(store)
            try makeDurableDirectory(log)
            // The first segment waits under another name until the store stands, so that a store without any
            // segment is always a damaged one.
            var header = SegmentHeader()
            header.storeID = manifest.storeID
            var bytes: [UInt8] = []
            header.encode(into: &bytes)
            let first = path(Self.firstSegmentName)
            try layer.unlinkIfThere(first)
            let file = try layer.openFully(first, .creating)
            try file.writeFully(bytes.span, at: 0)
            try file.synchronizeFully()
            try layer.synchronizeDirectory(log)
            let text = manifest.encoded()
            try layer.writeAtomically(text.span, to: Self.manifestName, in: store)
            try placeFirstSegment()
        } catch {
            throw HKLogError(
                .cannotCreate,
                "\(store): cannot make the store: \(ErrorNumber.text(of: error.number))")
        }
    }

    /// Completes an interrupted `createStore`.
    func placeFirstSegment() throws(SystemError) {
        let first = path(Self.firstSegmentName)
        guard try layer.exists(first) else { return }
        try layer.rename(first, to: path(Self.segmentName(firstAnchor: 0)))
        try layer.synchronizeDirectory(log)
    }

    /// Makes a directory and its entry durable; one that is there already is as good.
    func makeDurableDirectory(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try layer.makeDirectory(path)
        } catch {
            guard error.number == ErrorNumber.exists else { throw error }
        }
        // Also when it was there: an interrupted run may have made it.
        try layer.synchronizeDirectory(Self.parent(of: path))
    }

    /// The directory that holds the path's last part.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
