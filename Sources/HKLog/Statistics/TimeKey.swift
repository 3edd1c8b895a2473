/// A moment in a bucket, with the sample it belongs to and the place of its source.
struct TimeKey: BitwiseCopyable, Sendable {
    var key: UInt64
    // 32 bits, so that a key is two words; a bucket of four thousand million samples is not one.
    var index: UInt32
    var place: UInt32

    @inline(__always)
    init(key: UInt64, index: Int, place: Int = 0) {
        self.key = key
        self.index = UInt32(index)
        self.place = UInt32(place)
    }
}

/// Sorts by key.
///
/// Samples mostly come in order, or in order source by source, so runs are looked for first: a few are
/// merged. Where keys are only a little out of place, as ends are, insertion is quickest. The rest is done
/// byte by byte, as the keys of a bucket have few bits.
func sort(_ keys: inout [TimeKey], spare: inout [TimeKey]) {
    var runBounds = [10 of Int](repeating: keys.count)
    runBounds[0] = 0
    var runCount = 1
    for position in keys.indices.dropFirst() where keys[position - 1].key > keys[position].key {
        if runCount <= mergedRunLimit {
            runBounds[runCount] = position
        }
        runCount += 1
    }
    if runCount == 1 { return }
    if keys.count <= 32 || runCount > mergedRunLimit {
        // A small array never reaches the limit: it has at most 496 pairs out of order.
        if insertionSort(&keys, moveLimit: 512 + 4 * keys.count) { return }
    }
    if spare.count < keys.count {
        spare = keys
    } else {
        spare.removeLast(spare.count - keys.count)
    }
    if runCount <= mergedRunLimit {
        while runCount > 1 {
            runCount = mergePairs(keys.span, runCount: runCount, bounds: &runBounds, into: &spare)
            swap(&keys, &spare)
        }
        return
    }
    var allBits: UInt64 = 0
    for entry in keys {
        allBits |= entry.key
    }
    var shift: UInt64 = 0
    while shift < 64, allBits >> shift != 0 {
        distribute(keys.span, into: &spare, byByteAt: shift)
        swap(&keys, &spare)
        shift += 8
    }
}

/// Up to this many runs are merged.
private let mergedRunLimit = 8

/// Merges each two neighbouring runs and gives the number of runs left; `bounds` holds their starts and,
/// behind the last, the number of keys.
private func mergePairs(
    _ keys: Span<TimeKey>, runCount: Int, bounds: inout [10 of Int], into target: inout [TimeKey]
) -> Int {
    var entries = target.mutableSpan
    var newCount = 0
    var run = 0
    while run < runCount {
        let start = bounds[run]
        let middle = bounds[run + 1]
        let end = run + 1 < runCount ? bounds[run + 2] : middle
        var left = start
        var right = middle
        for position in start..<end {
            let takesLeft = left < middle && (right == end || keys[left].key <= keys[right].key)
            entries[position] = keys[takesLeft ? left : right]
            left += takesLeft ? 1 : 0
            right += takesLeft ? 0 : 1
        }
        bounds[newCount] = start
        newCount += 1
        run += 2
    }
    for bound in newCount..<10 {
        bounds[bound] = keys.count
    }
    return newCount
}

/// Sorts, or stops half-way with all keys still there, when it would take more moves than allowed.
private func insertionSort(_ keys: inout [TimeKey], moveLimit: Int) -> Bool {
    guard keys.count > 1 else { return true }
    var entries = keys.mutableSpan
    var moveCount = 0
    for position in 1..<entries.count {
        let entry = entries[position]
        var hole = position
        while hole > 0, entries[hole - 1].key > entry.key {
            entries[hole] = entries[hole - 1]
            hole -= 1
        }
        entries[hole] = entry
        moveCount += position - hole
        if moveCount > moveLimit { return false }
    }
    return true
}

private func distribute(_ keys: Span<TimeKey>, into target: inout [TimeKey], byByteAt shift: UInt64) {
    var positions = [256 of Int](repeating: 0)
    for index in keys.indices {
        positions[Int(keys[index].key &>> shift & 0xff)] += 1
    }
    var total = 0
    for byte in 0..<256 {
        let count = positions[byte]
        positions[byte] = total
        total += count
    }
    var entries = target.mutableSpan
    for index in keys.indices {
        let entry = keys[index]
        let byte = Int(entry.key &>> shift & 0xff)
        entries[positions[byte]] = entry
        positions[byte] += 1
    }
}
