import HKLogFormat

/// The contents behind the golden files.
///
/// Never changed: version 1 stays readable for ever.
enum GoldenContents {
    static let names = ["empty-batch", "one-sample", "mixed", "small-batches", "columns"]

    static func content(_ name: String) -> FrameContent {
        switch name {
        case "empty-batch": emptyBatch()
        case "one-sample": oneSample()
        case "mixed": mixed()
        case "small-batches": smallBatches()
        default: columns()
        }
    }

    /// A batch with nothing in it but an anchor.
    static func emptyBatch() -> FrameContent {
        var content = FrameContent()
        content.batches = [batch("HKQuantityTypeIdentifierStepCount", number: 1, anchor: "YnBsaXN0MDE=")]
        return content
    }

    static func oneSample() -> FrameContent {
        var content = FrameContent()
        var only = batch("HKQuantityTypeIdentifierStepCount", number: 1, anchor: "a-2", previous: "a-1")
        only.addedCount = 1
        content.batches = [only]
        content.rows.shapes = [shape("StepCount|count|iPhone", .double, 0)]
        add(&content.rows, 1, start: 1_772_323_200_000_000, duration: 600_000_000, 512.0.bitPattern, shape: 0)
        return content
    }

    /// Three batches of several types and sources, with deletions, metadata, counts and payloads.
    static func mixed() -> FrameContent {
        var content = FrameContent()
        var numbers = SeededNumbers(seed: 1)
        let kinds: [RowValueKind] = [.double, .double, .integer, .none]
        for type in 0..<4 {
            for source in 0..<2 {
                let label = "HKTypeIdentifier\(type)|unit|Watch number \(source)"
                content.rows.shapes.append(shape(label, kinds[type], UInt32(type)))
            }
        }
        var time: Int64 = 1_772_323_200_000_000
        for index in 0..<90 {
            time += Int64(numbers.below(400)) * 1_000_000
            let type = [0, 0, 0, 1, 1, 2, 3][numbers.below(7)]
            let value: UInt64 =
                switch type {
                case 0: Double(50 + numbers.below(90)).bitPattern
                case 1: (Double(numbers.below(12_000)) / 1000).bitPattern
                case 2: UInt64(bitPattern: Int64(numbers.below(5)))
                default: 0
                }
            let duration = type == 1 ? Int64(1 + numbers.below(600)) * 1_000_000 : 0
            let source = numbers.below(10) < 8 ? 0 : 1
            add(
                &content.rows, index + 1, start: time, duration: duration, value,
                shape: UInt32(2 * type + source))
            content.rows.flags[index] = type == 3 ? 0 : 1
            content.rows.extraIDs.append(extra(index, &content.rows))
        }
        content.deletions = (0..<5).map { index in
            let metadata = index == 3 ? Array(#"{"reason":"user"}"#.utf8) : []
            return DeletionEntry(uuid: uuid(1000 + index), metadata: metadata)
        }
        for index in 0..<3 {
            let anchor = "YnBsaXN0MDA\(index)Qx="
            let previous = index == 0 ? "YnBsaXN0MDAxQx=" : "YnBsaXN0MDA\(index - 1)Qx="
            var entry = batch("export", number: index + 1, anchor: anchor, previous: previous)
            entry.addedCount = 30
            entry.deletedCount = [0, 4, 1][index]
            entry.flags |= BatchFlags.isNumbered | (index == 0 ? BatchFlags.opensSnapshot : 0)
            entry.epoch = 3
            content.batches.append(entry)
        }
        return content
    }

    private static func extra(_ index: Int, _ rows: inout RowColumns) -> UInt32 {
        if index % 10 == 7 { return UInt32(rows.extras.count) }
        guard index % 3 == 1 else { return 0 }
        let metadata = index % 2 == 0 ? Array(#"{"HKWasUserEntered":\#(index % 4 == 0)}"#.utf8) : []
        let payload = index % 5 == 0 ? Array(#"{"members":\#(index)}"#.utf8) : []
        rows.extras.append(
            RowExtra(
                count: index % 2 == 1 ? UInt64(index) : 0, byteOffset: rows.extraBytes.count,
                metadataByteCount: metadata.count, payloadByteCount: payload.count))
        rows.extraBytes += metadata + payload
        return UInt32(rows.extras.count)
    }

    /// Sixty batches of one sample each, of three streams with counting anchors.
    static func smallBatches() -> FrameContent {
        var content = FrameContent()
        var numbers = SeededNumbers(seed: 2)
        var last = [1000, 500, 77]
        content.rows.shapes = (0..<3).map { shape("type \($0)", .double, UInt32($0)) }
        for index in 0..<60 {
            let stream = [0, 0, 0, 1, 1, 2][numbers.below(6)]
            var entry = batch(
                "stream-\(stream)", number: index + 8, anchor: "a-\(last[stream] + 1)",
                previous: "a-\(last[stream])")
            last[stream] += 1
            entry.addedCount = 1
            content.batches.append(entry)
            let start = 1_700_000_000_000_000 + Int64(index) * 61_000_000 + Int64(numbers.below(5_000_000))
            let value = Double(numbers.below(50)) / 2
            add(&content.rows, index + 1, start: start, duration: 0, value.bitPattern, shape: UInt32(stream))
        }
        return content
    }

    /// One batch whose runs make use of each form of column.
    static func columns() -> FrameContent {
        var content = FrameContent()
        var numbers = SeededNumbers(seed: 3)
        var entry = batch("columns", number: 1, anchor: nil)
        entry.addedCount = 6 * 40
        content.batches = [entry]
        content.rows.shapes = (0..<6).map { shape("run \($0)", $0 == 4 ? .integer : .double, UInt32($0)) }
        let special: [Double] = [-0.0, .nan, .infinity, 1e300, -1.5e-300, 0.1]
        for run in 0..<6 {
            var time: Int64 = 1_600_000_000_000_000
            for index in 0..<40 {
                var duration: Int64 = 0
                let value: UInt64
                switch run {
                case 0:  // Starts with a few long pauses: unary and exceptions.
                    time += 1000 + Int64(numbers.below(900)) + (index % 13 == 12 ? 3_600_000_000 : 0)
                    value = Double(60 + numbers.below(8) * numbers.below(8)).bitPattern
                case 1:  // Samples that follow one another at whole seconds: sparse gaps, strides.
                    duration = Int64(1 + numbers.below(50)) * 1_000_000
                    value = (Double(numbers.below(4000)) / 100).bitPattern
                case 2:  // Values that need all 64 bits: planes.
                    time += 60_000_000
                    value = special[index % special.count].bitPattern
                case 3:  // Unsorted times: zigzag.
                    time += Int64(numbers.below(3001)) - 1500 + (index == 20 ? -9_000_000_000 : 0)
                    value = (Double(numbers.below(4000)) / 7).bitPattern
                case 4:  // Both signs at their limits.
                    time = index % 2 == 0 ? Int64.min : Int64.max
                    value = UInt64(bitPattern: index % 3 == 0 ? Int64.max : Int64.min)
                default:  // Nothing changes.
                    time += 1_000_000
                    value = 1.0.bitPattern
                }
                let id = run * 40 + index + 1
                add(&content.rows, id, start: time, duration: duration, value, shape: UInt32(run))
                if run == 1 { time += duration + (index % 4 == 3 ? Int64(numbers.below(90)) * 1_000_000 : 0) }
            }
        }
        return content
    }

    private static func batch(
        _ stream: String, number: Int, anchor: String?, previous: String? = nil
    ) -> BatchEntry {
        var entry = BatchEntry()
        entry.stream = Array(stream.utf8)
        if let anchor {
            entry.flags |= BatchFlags.hasAnchor
            entry.anchor = Array(anchor.utf8)
        }
        if let previous {
            entry.flags |= BatchFlags.hasPreviousAnchor
            entry.previousAnchor = Array(previous.utf8)
        }
        entry.sequence = UInt64(number)
        entry.digest = RawDigest(low: UInt64(number) &* 0x0101_0101, high: 0xD1)
        entry.nonce = 0xA0A0_0000 + UInt64(number)
        return entry
    }

    private static func shape(_ label: String, _ kind: RowValueKind, _ group: UInt32) -> RowShape {
        RowShape(label: Array(label.utf8), valueKind: kind, group: group)
    }

    private static func uuid(_ number: Int) -> RawUUID {
        RawUUID(first: UInt64(number) &* 0x9E37_79B9_7F4A_7C15, second: UInt64(number))
    }

    private static func add(
        _ rows: inout RowColumns, _ number: Int, start: Int64, duration: Int64, _ value: UInt64, shape: UInt32
    ) {
        rows.uuids.append(uuid(number))
        rows.starts.append(start)
        rows.durations.append(duration)
        rows.values.append(value)
        rows.shapeIDs.append(shape)
        rows.flags.append(1)
    }
}
