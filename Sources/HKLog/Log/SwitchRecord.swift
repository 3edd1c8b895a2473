internal import HKLogFormat

/// The commit record of a rewrite: which new segments take the place of which old ones.
///
/// A rewrite first writes its new segments beside the old ones, under names that nobody reads, and syncs them.
/// Then this record appears under its name, whole, and from that moment on the log consists of the new ones:
/// readers look for them under their temporary and their final names. Renaming and removing the rest is mere
/// tidying, which whoever next opens the log for writing takes up where it was left.
struct SwitchRecord: Equatable, Sendable {
    /// Names this rewrite's files apart from those of any other.
    var token: UInt64
    /// First anchors of the new segments.
    var put: [UInt64]
    /// Names of the old segment files that go without a successor of the same name.
    var removed: [String]

    static let sizeLimit = 64 << 20
    private static let title = "hklog switch 1"

    /// The name of a new segment until it is renamed.
    func temporaryName(firstAnchor: UInt64) -> String {
        Self.temporaryName(firstAnchor: firstAnchor, token: token)
    }

    static func temporaryName(firstAnchor: UInt64, token: UInt64) -> String {
        "\(LogFiles.digits(firstAnchor)).new-\(hexadecimal(token))"
    }

    static func isTemporaryName(_ name: String) -> Bool {
        name.utf8.count > 25 && name.dropFirst(20).hasPrefix(".new-")
    }

    func encoded() -> [UInt8] {
        var text = "\(Self.title)\ntoken \(hexadecimal(token))\n"
        for anchor in put { text += "put \(anchor)\n" }
        for name in removed { text += "remove \(name)\n" }
        let sum = checksum(of: Array(text.utf8).span)
        text += "checksum \(hexadecimal(UInt64(sum)))\n"
        return Array(text.utf8)
    }

    /// Nil when a single byte is not as `encoded` made it.
    init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 4, lines.removeLast().isEmpty, lines[0] == Self.title else { return nil }
        self.init(token: 0, put: [], removed: [])
        for line in lines.dropFirst().dropLast() {
            let words = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard words.count >= 2 else { return nil }
            switch words[0] {
            case "token":
                guard let token = UInt64(words[1], radix: 16) else { return nil }
                self.token = token
            case "put":
                guard let anchor = UInt64(words[1]) else { return nil }
                put.append(anchor)
            case "remove":
                // Names come from a directory, yet a record must never reach outside it.
                guard words[1].hasSuffix(LogFiles.segmentSuffix), !words[1].utf8.contains(UInt8(ascii: "/"))
                else { return nil }
                removed.append(String(words[1]))
            default: return nil
            }
        }
        guard encoded() == bytes else { return nil }
    }

    init(token: UInt64, put: [UInt64], removed: [String]) {
        self.token = token
        self.put = put
        self.removed = removed
    }
}

extension LogFiles {
    /// The record of an unfinished switch, if there is one.
    func switchRecord() throws(HKLogError) -> SwitchRecord? {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try layer.contents(of: path(Self.switchName), limit: SwitchRecord.sizeLimit)
        } catch {
            if error.isMissing { return nil }
            throw .system(error, "read the switch record", path: path(Self.switchName))
        }
        guard let record = SwitchRecord(bytes) else {
            throw .damaged(
                LogFinding(.damagedSwitch, file: Self.shown(Self.switchName), byteCount: bytes.count))
        }
        return record
    }

    /// Makes a switch that was recorded complete, and removes what an abandoned rewrite has left.
    ///
    /// Each step may be repeated after a crash. Only for the holder of the lock.
    func settle() throws(HKLogError) {
        let record = try switchRecord()
        do throws(SystemError) {
            var names = Set(try layer.names(in: log))
            var isChanged = false
            if let record {
                for anchor in record.put {
                    let temporary = record.temporaryName(firstAnchor: anchor)
                    guard names.contains(temporary) else { continue }
                    try layer.rename(path(temporary), to: path(Self.segmentName(firstAnchor: anchor)))
                    names.remove(temporary)
                }
                for name in record.removed { try layer.unlinkIfThere(path(name)) }
                // The record may go only when what it stands for is durable.
                try layer.synchronizeDirectory(log)
                try layer.unlinkIfThere(path(Self.switchName))
                isChanged = true
            }
            for name in names where SwitchRecord.isTemporaryName(name) || name.hasSuffix(".tmp") {
                try layer.unlinkIfThere(path(name))
                isChanged = true
            }
            if isChanged { try layer.synchronizeDirectory(log) }
        } catch {
            throw .system(error, "finish an interrupted rewrite", path: log)
        }
        index.forget()
    }
}
