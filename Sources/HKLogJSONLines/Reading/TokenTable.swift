/// Remembers values by the very bytes they were read from.
///
/// The samples of a batch repeat a few types, units, sources and devices. A token that was read and checked
/// before is found again by comparing bytes at the place of reading: no scan, no string, no hash. Sound: a token
/// that is a whole string or object cannot be the beginning of a longer one.
struct TokenTable<Value> {
    private(set) var values: [Value] = []
    private var bytes: [UInt8] = []
    private var ranges: [Range<Int>] = []
    private var numbers: [[UInt8]: Int] = [:]
    /// The tokens to try, the latest first.
    private var recent: [Int] = []

    private static var recentCount: Int { 8 }

    /// Whether it has grown enough to begin anew.
    var isFull: Bool { values.count >= 4096 || bytes.count >= 1 << 20 }

    /// Moves past the token that is next and gives its number, where it is one of the latest.
    @inline(__always)
    mutating func find(_ cursor: inout JSONCursor) -> Int? {
        var place = 0
        while place < recent.count {
            let number = recent[place]
            if cursor.starts(with: bytes.span, in: ranges[number]) {
                cursor.position &+= ranges[number].count
                if place > 0 { recent.swapAt(place, place - 1) }
                return number
            }
            place &+= 1
        }
        return nil
    }

    /// The number of a token that has been read, where it is known.
    mutating func number(of token: [UInt8]) -> Int? {
        guard let number = numbers[token] else { return nil }
        makeRecent(number)
        return number
    }

    /// Remembers a token that has been read and checked.
    mutating func add(_ token: [UInt8], _ value: Value) -> Int {
        let number = values.count
        values.append(value)
        ranges.append(bytes.count..<bytes.count + token.count)
        bytes.append(contentsOf: token)
        numbers[token] = number
        makeRecent(number)
        return number
    }

    private mutating func makeRecent(_ number: Int) {
        if let place = recent.firstIndex(of: number) {
            recent.remove(at: place)
        } else if recent.count == Self.recentCount {
            recent.removeLast()
        }
        recent.insert(number, at: 0)
    }
}

/// The latest metadata objects of a batch: most samples of a type bear the same one.
struct RecentExtras {
    struct Entry {
        /// The object as it stands in the line.
        var token: [UInt8]
        /// The same as compact text.
        var compact: [UInt8]
        /// Its number in the batch being built, where it stands alone.
        var extraID: UInt32
    }

    private(set) var entries: [Entry] = []
    private var nextPlace = 0

    private static let entryCount = 4
    private static let tokenByteCount = 1024

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        nextPlace = 0
    }

    /// Moves past the object that is next and gives its place among the entries, where it is one of them.
    @inline(__always)
    func find(_ cursor: inout JSONCursor) -> Int? {
        var place = 0
        while place < entries.count {
            let token = entries[place].token
            if cursor.starts(with: token.span, in: 0..<token.count) {
                cursor.position &+= token.count
                return place
            }
            place &+= 1
        }
        return nil
    }

    mutating func add(_ token: Span<UInt8>, compact: [UInt8], extraID: UInt32) {
        guard token.count <= Self.tokenByteCount else { return }
        var copy: [UInt8] = []
        copy.append(copying: token, in: 0..<token.count)
        let entry = Entry(token: copy, compact: compact, extraID: extraID)
        if entries.count < Self.entryCount {
            entries.append(entry)
        } else {
            entries[nextPlace] = entry
            nextPlace = (nextPlace + 1) % Self.entryCount
        }
    }
}
