extension Catalog {
    /// The full identifier of a type as a person names it: full or short, in any letter case.
    ///
    /// `known` are the identifiers of a store. What stands there is found too, the catalog's types or not, and a
    /// spelling that the store has wins over the catalog's.
    ///
    /// - Throws: `invalidArgument` with the nearest names, where there are some.
    public static func resolve(_ text: String, known: [String] = []) throws(HKLogError) -> String {
        if let exact = known.first(where: { $0.utf8.elementsEqual(text.utf8) }) { return exact }
        let utf8 = text.utf8
        if let entry = entry(utf8: utf8.span) { return preferred(identifier(of: entry), known: known) }
        if let full = fullIdentifier(text) { return preferred(full, known: known) }

        let candidates = candidates(known: known)
        let wanted = folded(text)
        if let found = candidates.first(where: { $0.folded == wanted }) { return found.identifier }
        throw unknownType(text, wanted: wanted, candidates: candidates)
    }

    /// One name that somebody may mean.
    private struct Candidate {
        /// Lower-case bytes.
        var folded: [UInt8]
        /// As it is printed.
        var name: String
        var identifier: String
    }

    private static func candidates(known: [String]) -> [Candidate] {
        var result: [Candidate] = []
        func add(_ name: String, _ identifier: String) {
            result.append(Candidate(folded: folded(name), name: name, identifier: identifier))
        }
        for identifier in known {
            add(identifier, identifier)
            add(shortName(identifier), identifier)
        }
        for type in quantityTypes {
            add(type.name, type.identifier)
            add(type.identifier, type.identifier)
        }
        for type in categoryTypes {
            add(type.name, type.identifier)
            add(type.identifier, type.identifier)
            add(derivedShortName(type.identifier), type.identifier)
            if let constant = type.constantName { add(constant, type.identifier) }
        }
        for type in otherTypes {
            add(type.name, type.identifier)
            add(type.identifier, type.identifier)
            if let constant = type.constantName { add(constant, type.identifier) }
        }
        return result
    }

    /// The spelling in the store where it has one that means the same type (a constant's name in its place).
    private static func preferred(_ identifier: String, known: [String]) -> String {
        if known.contains(where: { $0.utf8.elementsEqual(identifier.utf8) }) { return identifier }
        let constant = categoryType(identifier)?.constantName ?? otherType(identifier)?.constantName
        guard let constant, known.contains(where: { $0.utf8.elementsEqual(constant.utf8) }) else {
            return identifier
        }
        return constant
    }

    private static func unknownType(_ text: String, wanted: [UInt8], candidates: [Candidate]) -> HKLogError {
        let limit = max(1, min(4, wanted.count / 4))
        var near: [(distance: Int, name: String)] = []
        // A longer text than any name has no near miss, and would cost.
        if wanted.count <= 128 {
            for candidate in candidates where abs(candidate.folded.count - wanted.count) <= limit {
                let distance = editDistance(candidate.folded, wanted)
                let isNew = !near.contains { $0.name.utf8.elementsEqual(candidate.name.utf8) }
                if distance <= limit, isNew { near.append((distance, candidate.name)) }
            }
        }
        let best = near.map(\.distance).min() ?? 0
        let names = near.filter { $0.distance <= best + 1 }.sorted { $0.distance < $1.distance }.prefix(3)
        let advice =
            names.isEmpty
            ? "'hklog types --all' lists the types"
            : "did you mean \(names.map(\.name).joined(separator: " or "))?"
        return HKLogError(.invalidArgument, "unknown type \(quoted(text)); \(advice)")
    }

    /// The bytes with ASCII capitals made small.
    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
    }

    /// How many insertions, removals, replacements and swaps of neighbours turn one text into the other.
    static func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for (row, leftByte) in left.enumerated() {
            var current = [Int](repeating: row + 1, count: right.count + 1)
            for (column, rightByte) in right.enumerated() {
                let replaced = last[column] + (leftByte == rightByte ? 0 : 1)
                var best = min(replaced, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, leftByte == right[column - 1], left[row - 1] == rightByte {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current[column + 1] = best
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
