/// Finds the word that someone probably meant.
enum NearMiss {
    /// The nearest candidate, if it is near enough; letter case does not count.
    static func best(for word: String, among candidates: [String]) -> String? {
        let wanted = Array(word.lowercased().utf8.prefix(64))
        guard !wanted.isEmpty else { return nil }
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            let letters = Array(candidate.lowercased().utf8)
            let distance = letters.starts(with: wanted) ? 1 : editDistance(wanted, letters)
            if distance < best?.distance ?? Int.max { best = (candidate, distance) }
        }
        guard let best, best.distance <= max(1, min(wanted.count, best.word.utf8.count) / 3) else {
            return nil
        }
        return best.word
    }

    /// How many letters have to be put in, taken out, changed or swapped with their neighbour.
    static func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let change = left[row] == right[column] ? 0 : 1
                var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + change)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
