/// Reads a compiled time zone file (RFC 9636): versions 1 to 4, leap seconds ignored.
///
/// Nothing in the bytes is believed before it is checked: a file that is not sound gives `nil`.
enum TZif {
    /// The offsets of a file's bytes.
    static func offsetTable(of bytes: [UInt8]) -> OffsetTable? {
        guard let first = Header(bytes, at: 0) else { return nil }
        let block: Block?
        var footer: ArraySlice<UInt8> = []
        if first.version == 0 {
            block = Block(bytes, header: first, at: Header.byteCount, timeByteCount: 4)
        } else {
            let secondHeader = Header.byteCount + first.blockByteCount(timeByteCount: 4)
            guard let second = Header(bytes, at: secondHeader) else { return nil }
            let start = secondHeader + Header.byteCount
            block = Block(bytes, header: second, at: start, timeByteCount: 8)
            // The footer stands between two line feeds.
            let footerStart = start + second.blockByteCount(timeByteCount: 8)
            guard block != nil, footerStart < bytes.count, bytes[footerStart] == UInt8(ascii: "\n"),
                let end = bytes[(footerStart + 1)...].firstIndex(of: UInt8(ascii: "\n"))
            else { return nil }
            footer = bytes[(footerStart + 1)..<end]
        }
        guard let block else { return nil }
        guard !footer.isEmpty else {
            return OffsetTable(firstOffset: block.firstOffset, changes: block.changes, repeatsFromYear: nil)
        }
        guard let rule = PosixZone(Array(footer)) else { return nil }
        return OffsetTable(block: block, rule: rule)
    }

    fileprivate struct Header {
        static let byteCount = 44
        var version: UInt8
        var isUTCount: Int
        var isStandardCount: Int
        var leapCount: Int
        var timeCount: Int
        var typeCount: Int
        var abbreviationByteCount: Int

        init?(_ bytes: [UInt8], at offset: Int) {
            guard offset >= 0, bytes.count - offset >= Header.byteCount,
                bytes[offset..<offset + 4].elementsEqual("TZif".utf8)
            else { return nil }
            version = bytes[offset + 4]
            func count(_ index: Int) -> Int {
                Int(readBigEndian(bytes, at: offset + 20 + index * 4, byteCount: 4))
            }
            isUTCount = count(0)
            isStandardCount = count(1)
            leapCount = count(2)
            timeCount = count(3)
            typeCount = count(4)
            abbreviationByteCount = count(5)
        }

        /// Sound: six counts below 2^32 times at most 12 stay far below 2^63.
        func blockByteCount(timeByteCount: Int) -> Int {
            timeCount * (timeByteCount + 1) + typeCount * 6 + abbreviationByteCount
                + leapCount * (timeByteCount + 4) + isStandardCount + isUTCount
        }
    }

    struct Block {
        var firstOffset: Int32
        var changes: [OffsetTable.Change] = []

        fileprivate init?(_ bytes: [UInt8], header: Header, at start: Int, timeByteCount: Int) {
            guard start <= bytes.count,
                header.blockByteCount(timeByteCount: timeByteCount) <= bytes.count - start,
                (1...256).contains(header.typeCount)
            else { return nil }
            let typeIndices = start + header.timeCount * timeByteCount
            let types = typeIndices + header.timeCount
            var offsets: [Int32] = []
            for index in 0..<header.typeCount {
                let bits = UInt32(readBigEndian(bytes, at: types + index * 6, byteCount: 4))
                let offset = Int32(bitPattern: bits)
                guard (-OffsetTable.offsetLimit...OffsetTable.offsetLimit).contains(offset) else {
                    return nil
                }
                offsets.append(offset)
            }
            // Before the first change the first type holds.
            firstOffset = offsets[0]
            var previous = Int64.min
            for index in 0..<header.timeCount {
                let word = readBigEndian(bytes, at: start + index * timeByteCount, byteCount: timeByteCount)
                let time =
                    timeByteCount == 4 ? Int64(Int32(bitPattern: UInt32(word))) : Int64(bitPattern: word)
                let type = Int(bytes[typeIndices + index])
                guard time >= previous, type < offsets.count else { return nil }
                previous = time
                if time < TZif.earliestSeconds {
                    firstOffset = offsets[type]
                } else if time < TZif.latestSeconds {
                    changes.append(OffsetTable.Change(seconds: time, offset: offsets[type]))
                }
            }
        }
    }

    /// Nothing before the year 0 (some files begin at the Big Bang) or after the year 9999 can matter.
    static let earliestSeconds: Int64 = -62_167_219_200
    static let latestSeconds: Int64 = 253_402_300_800

    private static func readBigEndian(_ bytes: [UInt8], at offset: Int, byteCount: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<byteCount { word = word << 8 | UInt64(bytes[offset + index]) }
        return word
    }
}

extension OffsetTable {
    /// Writes a file's changes and the rule that follows them out into one table.
    fileprivate convenience init(block: TZif.Block, rule: PosixZone) {
        var changes = block.changes
        let lastSeconds = changes.last?.seconds
        guard let saving = rule.saving else {
            // A file without changes says it all in its footer.
            if changes.isEmpty {
                self.init(firstOffset: rule.standardOffset, changes: [], repeatsFromYear: nil)
            } else {
                self.init(firstOffset: block.firstOffset, changes: changes, repeatsFromYear: nil)
            }
            return
        }
        let firstYear = lastSeconds.map { CivilDate(dayNumber: Int32(floorQuotient($0, 86_400))).year } ?? 1
        // Files with and without the years up to 2037 give the same table.
        let ruleYear = max(firstYear, 2037)
        var added: [(change: Change, isSaving: Bool)] = []
        for year in max(firstYear - 1, 1)...ruleYear + 403 {
            let begin = saving.begin.seconds(year: year) - Int64(rule.standardOffset)
            let end = saving.end.seconds(year: year) - Int64(saving.offset)
            added.append((Change(seconds: begin, offset: saving.offset), true))
            added.append((Change(seconds: end, offset: rule.standardOffset), false))
        }
        // Saving that ends at the instant it begins again never ends.
        added.sort { ($0.change.seconds, $0.isSaving ? 1 : 0) < ($1.change.seconds, $1.isSaving ? 1 : 0) }
        for entry in added where entry.change.seconds > lastSeconds ?? .min { changes.append(entry.change) }
        self.init(
            firstOffset: lastSeconds == nil ? rule.standardOffset : block.firstOffset, changes: changes,
            repeatsFromYear: ruleYear + 402)
    }
}
