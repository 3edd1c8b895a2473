internal import HKLog

extension ExportScanner {
    /// What stands at the beginning of a document.
    enum Prolog {
        /// The root's start tag was read: it is `name`, with its `attributes`.
        case root
        /// Nothing but white space.
        case empty
        /// Text that is no markup, or markup with no element in it.
        case noElement
        /// Two bytes a character.
        case utf16
    }

    /// The most bytes that a DOCTYPE may have: it has to be in memory as a whole.
    private static let doctypeByteCountLimit = 128 << 20

    /// Reads what comes before the root, and the root's start tag.
    mutating func readProlog() throws(HKLogError) -> Prolog {
        while limit - position < 4 {
            guard try refill() else { break }
        }
        let head = slice(position, min(position + 4, limit)).bytes
        if head.starts(with: [0xEF, 0xBB, 0xBF]) {
            position += 3
        } else if head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0xFE, 0xFF])
            || head.starts(with: [0x3C, 0x00]) || head.starts(with: [0x00, 0x3C])
        {
            return .utf16
        }
        while true {
            while position < limit, isWhiteSpace(slice(position, limit)[0]) { position += 1 }
            if position == limit {
                if try refill() { continue }
                return .empty
            }
            if limit - position < 9, try refill() { continue }
            let rest = slice(position, limit)
            guard rest[0] == UInt8(ascii: "<") else { return .noElement }
            if rest.hasPrefix("<?") {
                guard try skip(past: "?>", after: 2) else { return .noElement }
            } else if rest.hasPrefix("<!--") {
                guard try skip(past: "-->", after: 4) else { return .noElement }
            } else if rest.hasPrefix("<!DOCTYPE") || rest.hasPrefix("<!doctype") {
                guard try skipDoctype() else { return .noElement }
            } else {
                guard rest.count > 1, rest[1] != UInt8(ascii: "!"), rest[1] != UInt8(ascii: "/") else {
                    return .noElement
                }
                switch try next() {
                case .start, .record: return .root
                case .end, .endOfInput: return .noElement
                }
            }
        }
    }

    /// Moves past the DOCTYPE; `false` when it has no end.
    ///
    /// Its declarations need not parse (those of iOS 16.0 do not), so nothing in it is read. Its end is where `]`
    /// and `>` are followed by the root. First, quoted literals are passed over, because an entity may hold
    /// anything; where no end is found that way a quote is missing its partner, and quotes mean nothing.
    private mutating func skipDoctype() throws(HKLogError) -> Bool {
        while !isAtEnd, limit - position <= ExportScanner.doctypeByteCountLimit {
            if let end = doctypeEnd(mindingQuotes: true, needsRoot: true) {
                position = end
                return true
            }
            _ = try refill()
        }
        let end =
            doctypeEnd(mindingQuotes: true, needsRoot: true) ?? doctypeEnd(
                mindingQuotes: false, needsRoot: true)
            ?? doctypeEnd(mindingQuotes: true, needsRoot: false)
        guard let end else { return false }
        position = end
        return true
    }

    private func doctypeEnd(mindingQuotes: Bool, needsRoot: Bool) -> Int? {
        let bytes = slice(position, limit)
        var index = 9
        var isInSubset = false
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                if mindingQuotes {
                    guard let end = bytes.firstIndex(of: bytes[index], from: index + 1) else { return nil }
                    index = end
                }
            case UInt8(ascii: "<"):
                if let end = ExportScanner.endOfAside(bytes, from: index) {
                    guard end <= bytes.count else { return nil }
                    index = end - 1
                }
            case UInt8(ascii: "["):
                isInSubset = true
            case UInt8(ascii: "]"):
                var next = index + 1
                while next < bytes.count, isWhiteSpace(bytes[next]) { next += 1 }
                if isInSubset, next < bytes.count, bytes[next] == UInt8(ascii: ">"),
                    !needsRoot || ExportScanner.isRootNext(bytes, from: next + 1)
                {
                    return position + next + 1
                }
            case UInt8(ascii: ">"):
                if !isInSubset { return position + index + 1 }
            default:
                break
            }
            index += 1
        }
        return nil
    }

    /// Where a comment or processing instruction that begins at `index` ends; past the bytes when they do not hold
    /// its end; `nil` when it is none.
    private static func endOfAside(_ bytes: ByteSlice, from index: Int) -> Int? {
        let rest = bytes[index..<bytes.count]
        let isComment = rest.hasPrefix("<!--")
        guard isComment || rest.hasPrefix("<?") else { return nil }
        var found = index + (isComment ? 4 : 2)
        while let end = bytes.firstIndex(of: UInt8(ascii: ">"), from: found) {
            let isEnd =
                isComment
                ? end >= index + 6 && bytes[end - 1] == UInt8(ascii: "-")
                    && bytes[end - 2] == UInt8(ascii: "-")
                : bytes[end - 1] == UInt8(ascii: "?")
            if isEnd { return end + 1 }
            found = end + 1
        }
        return bytes.count + 1
    }

    /// Whether the root `HealthData` comes next, after white space, comments and instructions.
    private static func isRootNext(_ bytes: ByteSlice, from start: Int) -> Bool {
        var index = start
        while index < bytes.count {
            if isWhiteSpace(bytes[index]) {
                index += 1
            } else if let end = endOfAside(bytes, from: index) {
                index = end
            } else {
                let rest = bytes[index..<bytes.count]
                guard rest.hasPrefix("<HealthData"), rest.count > 11 else { return false }
                return isWhiteSpace(rest[11]) || rest[11] == UInt8(ascii: ">")
                    || rest[11] == UInt8(ascii: "/")
            }
        }
        return false
    }
}
