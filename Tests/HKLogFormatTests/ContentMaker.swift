import HKLogFormat

/// A small random generator (SplitMix64) with a fixed sequence for each seed.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}

/// Makes frame contents of every kind from a seed.
struct ContentMaker {
    var numbers: SeededNumbers

    init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    mutating func content() -> FrameContent {
        var content = FrameContent()
        let batchCount = 1 + numbers.below([1, 3, 12, 60][numbers.below(4)])
        let shapeCount = 1 + numbers.below(numbers.chance(30) ? 40 : 5)
        let sizes = [0, 1, 3, 20, 120]
        var rowCounts = (0..<batchCount).map { _ in numbers.below(1 + sizes[numbers.below(sizes.count)]) }
        if batchCount == 1 && numbers.chance(30) { rowCounts[0] = 700 }
        let rowCount = rowCounts.reduce(0, +)
        content.rows = rows(count: rowCount, shapeCount: shapeCount)
        let streams = (0..<1 + numbers.below(4)).map { "stream-\($0)".utf8.map { $0 } }
        var anchors = [[UInt8]](repeating: [], count: streams.count)
        let style = numbers.below(4)
        for index in 0..<batchCount {
            let stream = numbers.below(streams.count)
            var batch = BatchEntry()
            batch.stream = streams[stream]
            batch.flags = UInt16(truncatingIfNeeded: numbers.next()) & 0x1FF
            batch.epoch = numbers.chance(80) ? 1 : numbers.next()
            batch.sequence = numbers.chance(80) ? UInt64(index + 1) : numbers.next()
            let deletedCount = numbers.chance(40) ? numbers.below(6) : 0
            batch.addedCount = rowCounts[index]
            batch.deletedCount = deletedCount
            if batch.flags & BatchFlags.hasPreviousAnchor != 0 {
                batch.previousAnchor = numbers.chance(70) ? anchors[stream] : numbers.bytes(numbers.below(30))
            }
            if batch.flags & BatchFlags.hasAnchor != 0 {
                batch.anchor = anchor(style, index)
                anchors[stream] = batch.anchor
            }
            batch.digest = RawDigest(low: numbers.next(), high: numbers.next())
            batch.nonce = numbers.next()
            content.batches.append(batch)
            for _ in 0..<deletedCount {
                let metadata = numbers.chance(20) ? numbers.bytes(numbers.below(50)) : []
                content.deletions.append(DeletionEntry(uuid: uuid(), metadata: metadata))
            }
        }
        return content
    }

    private mutating func anchor(_ style: Int, _ index: Int) -> [UInt8] {
        switch style {
        case 0: Array("a-\(100_000 + index)".utf8)
        case 1: Array("\(index * 97)".utf8)
        case 2: numbers.bytes(numbers.below(40))
        default: Array("bplist00".utf8) + numbers.bytes(3) + [UInt8](repeating: 7, count: 40)
        }
    }

    private mutating func uuid() -> RawUUID { RawUUID(first: numbers.next(), second: numbers.next()) }

    private mutating func rows(count: Int, shapeCount: Int) -> RowColumns {
        var rows = RowColumns()
        guard count > 0 else { return rows }
        let groupCount = 1 + numbers.below(shapeCount)
        var kinds: [RowValueKind] = []
        for _ in 0..<groupCount { kinds.append([.none, .double, .double, .integer][numbers.below(4)]) }
        for index in 0..<shapeCount {
            let group = index % groupCount
            var label = Array("HKQuantityTypeIdentifier\(group)".utf8)
            label += numbers.chance(70) ? Array("-source \(index % 7)".utf8) : numbers.bytes(numbers.below(9))
            rows.shapes.append(
                RowShape(label: label, valueKind: kinds[group], group: UInt32(group * 1_000_003)))
        }
        let hasExtras = numbers.chance(50)
        let valueStyle = numbers.below(6)
        let timeStyle = numbers.below(5)
        let isMixed = numbers.chance(70)
        var time: Int64 = 1_700_000_000_000_000
        for index in 0..<count {
            rows.uuids.append(uuid())
            let shape = isMixed ? numbers.below(shapeCount) : index * shapeCount / count
            rows.shapeIDs.append(UInt32(shape))
            let (start, duration) = times(timeStyle, &time)
            rows.starts.append(start)
            rows.durations.append(duration)
            rows.values.append(value(rows.shapes[shape].valueKind, valueStyle))
            rows.flags.append(timeStyle == 1 ? UInt8(numbers.below(256)) : 1)
            guard hasExtras else { continue }
            if numbers.chance(60) || index == count - 1 {
                if rows.extras.isEmpty || numbers.chance(60) { addExtra(&rows) }
                let isNewest = numbers.chance(70)
                rows.extraIDs.append(
                    UInt32(isNewest ? rows.extras.count : 1 + numbers.below(rows.extras.count)))
            } else {
                rows.extraIDs.append(0)
            }
        }
        return compacted(rows)
    }

    private mutating func addExtra(_ rows: inout RowColumns) {
        let metadata = numbers.bytes(numbers.below(30))
        let payload = numbers.chance(20) ? numbers.bytes(numbers.below(60)) : []
        rows.extras.append(
            RowExtra(
                count: numbers.chance(20) ? numbers.next() : 0, byteOffset: rows.extraBytes.count,
                metadataByteCount: metadata.count, payloadByteCount: payload.count))
        rows.extraBytes += metadata + payload
    }

    private mutating func times(_ style: Int, _ time: inout Int64) -> (start: Int64, duration: Int64) {
        switch style {
        case 0:
            time += Int64(numbers.below(600_000_000))
            return (time, 0)
        case 1: return (Int64(bitPattern: numbers.next()), Int64(bitPattern: numbers.next()))
        case 2:
            let duration = Int64(1 + numbers.below(600)) * 1_000_000
            time += numbers.chance(5) ? 86_400_000_000 * Int64(numbers.below(1000)) : 0
            defer { time += duration }
            return (time, duration)
        case 3: return ([Int64.min, Int64.max, 0, -1][numbers.below(4)], [0, Int64.max][numbers.below(2)])
        default:
            time += 1_000_000 * Int64(numbers.below(900))
            return (time - Int64(numbers.below(100)) * 1_000_000, 60_000_000)
        }
    }

    private mutating func value(_ kind: RowValueKind, _ style: Int) -> UInt64 {
        switch (kind, style) {
        case (.none, _): return 0
        case (_, 0): return numbers.next()
        case (.integer, 1): return UInt64(bitPattern: [Int64.min, Int64.max, 0, -1][numbers.below(4)])
        case (.integer, _): return UInt64(bitPattern: Int64(numbers.below(7)) - 3)
        case (.double, 1):
            let special: [Double] = [
                -0.0, 0, .nan, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
                Double(bitPattern: 0x7FF8_0000_DEAD_BEEF), 0.1, 1e300,
            ]
            return special[numbers.below(special.count)].bitPattern
        case (.double, 2): return Double(40 + numbers.below(100)).bitPattern
        case (.double, 3): return (Double(numbers.below(40_000)) / 100_000).bitPattern
        case (.double, 4): return (Double(numbers.below(1000)) / 7).bitPattern
        case (.double, _): return (Double(numbers.below(5000) - 2500) / 10).bitPattern
        }
    }

    /// Without the shapes and extras that no row names: what an encoder leaves out.
    private func compacted(_ rows: RowColumns) -> RowColumns {
        var result = rows
        var numberOfShape: [UInt32: UInt32] = [:]
        result.shapes = []
        for (index, shape) in rows.shapes.enumerated() where rows.shapeIDs.contains(UInt32(index)) {
            numberOfShape[UInt32(index)] = UInt32(result.shapes.count)
            result.shapes.append(shape)
        }
        result.shapeIDs = rows.shapeIDs.map { numberOfShape[$0] ?? 0 }
        var numberOfExtra: [UInt32: UInt32] = [0: 0]
        result.extras = []
        result.extraBytes = []
        for (index, extra) in rows.extras.enumerated() where rows.extraIDs.contains(UInt32(index + 1)) {
            var copy = extra
            copy.byteOffset = result.extraBytes.count
            let end = extra.byteOffset + extra.metadataByteCount + extra.payloadByteCount
            result.extraBytes += rows.extraBytes[extra.byteOffset..<end]
            result.extras.append(copy)
            numberOfExtra[UInt32(index + 1)] = UInt32(result.extras.count)
        }
        result.extraIDs = result.extras.isEmpty ? [] : rows.extraIDs.map { numberOfExtra[$0] ?? 0 }
        return result
    }
}

/// What a frame keeps of a content, in a form that compares: groups are hints and come back as 0.
func differences(_ first: FrameContent, _ second: FrameContent) -> [String] {
    var names: [String] = []
    func check(_ name: String, _ isEqual: Bool) { if !isEqual { names.append(name) } }
    check("batches", first.batches == second.batches)
    check("deletions", first.deletions == second.deletions)
    let (a, b) = (first.rows, second.rows)
    check("uuids", a.uuids == b.uuids)
    check("starts", a.starts == b.starts)
    check("durations", a.durations == b.durations)
    check("values", a.values == b.values)
    check("shapeIDs", a.shapeIDs == b.shapeIDs)
    check("flags", a.flags == b.flags)
    check("extraIDs", a.extraIDs == b.extraIDs)
    check("labels", a.shapes.map(\.label) == b.shapes.map(\.label))
    check("kinds", a.shapes.map(\.valueKind) == b.shapes.map(\.valueKind))
    check("extras", a.extras == b.extras)
    check("extraBytes", a.extraBytes == b.extraBytes)
    return names
}
