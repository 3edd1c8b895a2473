/// A second reader of frames, written from `docs/format.md` alone: slow, simple, and without any of the codec.
///
/// Where the two readers disagree, the document or the codec is wrong.
struct SecondReader {
    struct Failure: Error { let what: String }

    struct Batch: Equatable {
        var stream: [UInt8] = []
        var flags = 0
        var epoch: UInt64 = 0
        var sequence: UInt64 = 0
        var addedCount = 0
        var deletedCount = 0
        var previousAnchor: [UInt8]?
        var anchor: [UInt8]?
        var digest: [UInt8] = []
        var nonce: [UInt8] = []
    }

    struct Row: Equatable {
        var uuid: [UInt8] = []
        var start: Int64 = 0
        var duration: Int64 = 0
        var valueBits: UInt64 = 0
        var label: [UInt8] = []
        var kind = 0
        var flags = 0
        var count: UInt64 = 0
        var metadata: [UInt8] = []
        var payload: [UInt8] = []
    }

    private(set) var batches: [Batch] = []
    private(set) var rows: [Row] = []
    private(set) var deletions: [(uuid: [UInt8], metadata: [UInt8])] = []
    /// Which forms of columns and of orders were met.
    private(set) var forms: Set<String> = []

    /// The unpacked part.
    private(set) var raw: [UInt8] = []
    private var position = 0

    init(frame: [UInt8]) throws {
        guard Array(frame[0..<4]) == Array("HKFr".utf8), frame[4] == 1 else { throw Failure(what: "magic") }
        let checked = Array(frame[0..<8]) + Array(frame[12..<96])
        guard number(frame, 8, 4) == UInt64(crc32c(checked)) else { throw Failure(what: "header checksum") }
        let stored = Array(frame[96...])
        guard number(frame, 64, 8) == UInt64(stored.count) else { throw Failure(what: "size") }
        guard number(frame, 12, 4) == UInt64(crc32c(stored)) else { throw Failure(what: "checksum") }
        let firstAnchor = number(frame, 24, 8)
        let (batchCount, added, deleted) = (
            Int(number(frame, 32, 4)), Int(number(frame, 36, 4)), Int(number(frame, 40, 4))
        )
        let plain = Array(stored[0..<Int(number(frame, 72, 8))])
        let packed = Array(stored[plain.count...])
        raw = frame[5] == 0 ? packed : try unpackLZ4(packed)
        forms.insert(frame[5] == 0 ? "raw" : "lz4")
        guard raw.count == Int(number(frame, 80, 8)) else { throw Failure(what: "raw size") }

        try readBatches(batchCount, firstAnchor, added, deleted)
        for index in 0..<batchCount {
            let at = 16 * (added + deleted) + 24 * index
            batches[index].digest = Array(plain[at..<at + 16])
            batches[index].nonce = Array(plain[at + 16..<at + 24])
        }
        rows = (0..<added).map { Row(uuid: Array(plain[16 * $0..<16 * $0 + 16])) }
        if added > 0 { try readRows() }
        if deleted > 0 {
            let lengths = try column(deleted)
            for index in 0..<deleted {
                let at = 16 * (added + index)
                deletions.append((Array(plain[at..<at + 16]), try bytes(Int(lengths[index]))))
            }
        }
        guard position == raw.count else { throw Failure(what: "bytes are left over") }
    }

    // MARK: Batches

    private mutating func readBatches(_ count: Int, _ firstAnchor: UInt64, _ added: Int, _ deleted: Int)
        throws
    {
        var names: [[UInt8]] = []
        for _ in 0..<(try varint()) { names.append(try bytes(Int(varint()))) }
        let streams = names.count > 1 ? try column(count) : [Int64](repeating: 0, count: count)
        let flags = try column(count)
        let epochs = try column(count)
        let sequences = try column(count)
        let addedCounts = count > 1 ? try column(count) : [Int64(added)]
        let deletedCounts = count > 1 ? try column(count) : [Int64(deleted)]
        let previousKinds = try column(flags.count { $0 & 2 != 0 })
        let steps = try column(flags.count { $0 & 1 != 0 })
        let textCount = previousKinds.count { $0 == 1 } + steps.count { $0 == 0 }
        let prefixes = try column(textCount)
        let suffixes = try column(textCount)
        let middles = try column(textCount)
        var epochOf = [UInt64](repeating: 1, count: names.count)
        var sequenceOf = [UInt64](repeating: 0, count: names.count)
        var anchorOf = [[UInt8]?](repeating: nil, count: names.count)
        var latest: [UInt8] = []
        var (nextPrevious, nextStep, nextText) = (0, 0, 0)
        func text(_ reader: inout SecondReader, like reference: [UInt8]) throws -> [UInt8] {
            defer { nextText += 1 }
            let middle = try reader.bytes(Int(middles[nextText]))
            return reference.prefix(Int(prefixes[nextText])) + middle
                + reference.suffix(Int(suffixes[nextText]))
        }
        for index in 0..<count {
            var batch = Batch()
            let stream = Int(streams[index])
            batch.stream = names[stream]
            batch.flags = Int(flags[index])
            batch.epoch = epochOf[stream] &+ UInt64(bitPattern: epochs[index])
            let isNumbered = flags[index] & 64 != 0
            let expected = isNumbered ? sequenceOf[stream] &+ 1 : firstAnchor + UInt64(index) + 1
            batch.sequence = expected &+ UInt64(bitPattern: sequences[index])
            (epochOf[stream], sequenceOf[stream]) = (batch.epoch, batch.sequence)
            batch.addedCount = Int(addedCounts[index])
            batch.deletedCount = Int(deletedCounts[index])
            if flags[index] & 2 != 0 {
                if previousKinds[nextPrevious] == 0 {
                    forms.insert("chained anchor")
                } else {
                    anchorOf[stream] = try text(&self, like: anchorOf[stream] ?? latest)
                    latest = anchorOf[stream] ?? []
                }
                batch.previousAnchor = anchorOf[stream]
                nextPrevious += 1
            }
            if flags[index] & 1 != 0 {
                let reference = anchorOf[stream] ?? latest
                let step = steps[nextStep]
                nextStep += 1
                if step == 0 {
                    batch.anchor = try text(&self, like: reference)
                } else {
                    forms.insert("anchor step")
                    var digits = 0
                    while digits < min(18, reference.count),
                        (0x30...0x39).contains(reference[reference.count - 1 - digits])
                    { digits += 1 }
                    let old = Int64(String(decoding: reference.suffix(digits), as: UTF8.self)) ?? 0
                    let new = String(old + step)
                    let zeros = [UInt8](repeating: 0x30, count: digits - new.utf8.count)
                    batch.anchor = Array(reference.dropLast(digits)) + zeros + Array(new.utf8)
                }
                anchorOf[stream] = batch.anchor
                latest = batch.anchor ?? []
            }
            batches.append(batch)
        }
        streamOfBatch = streams.map(Int.init)
        streamCount = names.count
    }

    private var streamOfBatch: [Int] = []
    private var streamCount = 0

    // MARK: Rows

    private mutating func readRows() throws {
        let (labels, kinds) = try readShapes()
        let flags = try column(rows.count)
        for index in rows.indices { rows[index].flags = Int(flags[index]) }
        try readExtras()
        let runCount = Int(try varint())
        let runOfRow = try readOrder(runCount)
        var reference: Int64 = 0
        var done = 0
        for run in 0..<runCount {
            let count = Int(try varint())
            let places = runOfRow.map { order in order.indices.filter { order[$0] == run } }
            try readRun(places ?? Array(done..<done + count), count, labels, kinds, &reference)
            done += count
        }
    }

    private mutating func readShapes() throws -> (labels: [[UInt8]], kinds: [Int64]) {
        let count = Int(try varint())
        let kinds = try column(count)
        let prefixFrom = try column(count - 1)
        let prefixes = try column(count - 1)
        let suffixFrom = try column(count - 1)
        let suffixes = try column(count - 1)
        let middles = try column(count)
        var labels: [[UInt8]] = []
        for index in 0..<count {
            let middle = try bytes(Int(middles[index]))
            guard index > 0 else {
                labels.append(middle)
                continue
            }
            let (front, back) = (Int(prefixFrom[index - 1]), Int(suffixFrom[index - 1]))
            let prefix = front == 0 ? [] : labels[index - front].prefix(Int(prefixes[index - 1]))
            let suffix = back == 0 ? [] : labels[index - back].suffix(Int(suffixes[index - 1]))
            labels.append(prefix + middle + suffix)
        }
        return (labels, kinds)
    }

    private mutating func readExtras() throws {
        let count = Int(try varint())
        guard count > 0 else { return }
        let codes = try column(rows.count)
        let counts = try column(count)
        let metadataCounts = try column(count)
        let payloadCounts = try column(count)
        var texts: [(metadata: [UInt8], payload: [UInt8])] = []
        for index in 0..<count {
            texts.append((try bytes(Int(metadataCounts[index])), try bytes(Int(payloadCounts[index]))))
        }
        var newest = 0
        for index in rows.indices where codes[index] != 0 {
            let code = UInt64(codes[index] - 1)
            let difference = code % 2 == 0 ? Int(code / 2) : -Int(code / 2) - 1
            let extra = newest + 1 - difference
            newest = max(newest, extra)
            rows[index].count = UInt64(bitPattern: counts[extra - 1])
            rows[index].metadata = texts[extra - 1].metadata
            rows[index].payload = texts[extra - 1].payload
        }
    }

    private mutating func readOrder(_ runCount: Int) throws -> [Int]? {
        guard runCount > 1 else { return nil }
        let kind = try byte()
        forms.insert("order \(kind)")
        switch kind {
        case 0: return nil
        case 1: return try column(rows.count).map(Int.init)
        default:
            let runs = try column(streamCount)
            var order: [Int] = []
            for (index, batch) in batches.enumerated() {
                order += [Int](repeating: Int(runs[streamOfBatch[index]]), count: batch.addedCount)
            }
            return order
        }
    }

    private mutating func readRun(
        _ places: [Int], _ count: Int, _ labels: [[UInt8]], _ kinds: [Int64], _ reference: inout Int64
    ) throws {
        let control = try byte()
        var shapes: [Int] = []
        if control & 1 == 0 {
            shapes = [Int](repeating: Int(try varint()), count: count)
        } else {
            var list: [Int] = []
            for _ in 0..<(try varint()) { list.append(Int(try varint())) }
            shapes = try column(count).map { list[Int($0)] }
        }
        let durations = control & 2 != 0 ? try column(count) : [Int64](repeating: 0, count: count)
        reference &+= try signed()
        let differences = try column(count - 1)
        var start = reference
        let encoding = Int(control >> 4)
        forms.insert("values \(encoding)")
        if control & 4 != 0 { forms.insert("starts follow ends") }
        let values = encoding == 0 ? [Int64](repeating: 0, count: count) : try column(count)
        for index in 0..<count {
            let row = places[index]
            if index > 0 {
                start &+= differences[index - 1] &+ (control & 4 != 0 ? durations[index - 1] : 0)
            }
            rows[row].start = start
            rows[row].duration = durations[index]
            rows[row].label = labels[shapes[index]]
            rows[row].kind = Int(kinds[shapes[index]])
            if encoding >= 2 {
                var divisor = 1.0
                for _ in 0..<encoding - 2 { divisor *= 10 }
                rows[row].valueBits = (Double(values[index]) / divisor).bitPattern
            } else {
                rows[row].valueBits = UInt64(bitPattern: values[index])
            }
        }
    }

    // MARK: Columns

    private mutating func column(_ count: Int) throws -> [Int64] {
        if count <= 0 { return [] }
        let control = try byte()
        let options = control & 0x80 != 0 ? try byte() : 0
        let base = try signed()
        let stride = options & 1 != 0 ? try varint() : 1
        var isStored = [Bool](repeating: true, count: count)
        if options & 2 != 0 {
            let bitmap = try bytes((count + 7) / 8)
            for index in 0..<count { isStored[index] = bitmap[index / 8] >> UInt8(index % 8) & 1 == 1 }
        }
        let stored = isStored.count { $0 }
        let width = Int(control & 0x3F)
        var numbers = [UInt64](repeating: 0, count: stored)
        if width == 63 {
            let planes = try bytes(8 * stored)
            for index in 0..<stored {
                for plane in 0..<8 {
                    numbers[index] |= UInt64(planes[plane * stored + index]) << UInt64(8 * plane)
                }
            }
        } else {
            let packed = try bytes((stored * width + 7) / 8)
            for index in 0..<stored {
                for bit in 0..<width where bitIsSet(packed, index * width + bit) {
                    numbers[index] |= 1 << UInt64(bit)
                }
            }
        }
        if control & 0x40 != 0 {
            let unary = try bytes(Int(varint()))
            var bit = 0
            for index in 0..<stored {
                while !bitIsSet(unary, bit) {
                    numbers[index] &+= 1 << UInt64(width)
                    bit += 1
                }
                bit += 1
            }
        }
        if options & 4 != 0 {
            var index = 0
            for _ in 0..<(try varint()) {
                index += Int(try varint())
                numbers[index] |= try varint() << UInt64(width)
                index += 1
            }
        }
        noteForms(control, options)
        var next = 0
        return isStored.map { isStored in
            guard isStored else { return 0 }
            defer { next += 1 }
            let number = numbers[next]
            let signed = options & 8 != 0 ? unzigzag(number) : Int64(bitPattern: number)
            return base &+ Int64(bitPattern: stride) &* signed
        }
    }

    private mutating func noteForms(_ control: UInt8, _ options: UInt8) {
        if control == 0 { forms.insert("constant") }
        if control & 0x3F == 63 { forms.insert("planes") }
        if control & 0x40 != 0 { forms.insert("unary") }
        for (bit, name) in ["stride", "sparse", "exceptions", "zigzag"].enumerated()
        where options >> UInt8(bit) & 1 == 1 {
            forms.insert(name)
        }
    }

    private func bitIsSet(_ bytes: [UInt8], _ bit: Int) -> Bool { bytes[bit / 8] >> UInt8(bit % 8) & 1 == 1 }

    // MARK: Bytes

    private mutating func byte() throws -> UInt8 {
        guard position < raw.count else { throw Failure(what: "end of bytes") }
        defer { position += 1 }
        return raw[position]
    }

    private mutating func bytes(_ count: Int) throws -> [UInt8] {
        guard count >= 0, count <= raw.count - position else { throw Failure(what: "end of bytes") }
        defer { position += count }
        return Array(raw[position..<position + count])
    }

    private mutating func varint() throws -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            value |= UInt64(next & 0x7F) << shift
            if next < 0x80 { return value }
            shift += 7
        }
    }

    private mutating func signed() throws -> Int64 { unzigzag(try varint()) }
}

private func unzigzag(_ value: UInt64) -> Int64 {
    value % 2 == 0 ? Int64(value / 2) : -Int64(value / 2) - 1
}

private func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
}

/// CRC32C bit by bit.
func crc32c(_ bytes: [UInt8]) -> UInt32 {
    var crc = ~UInt32(0)
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
    }
    return ~crc
}

/// An LZ4 block, from its published description.
private func unpackLZ4(_ packed: [UInt8]) throws -> [UInt8] {
    var output: [UInt8] = []
    var index = 0
    func length(_ start: UInt8, _ index: inout Int) -> Int {
        var length = Int(start)
        guard start == 15 else { return length }
        while true {
            let next = packed[index]
            index += 1
            length += Int(next)
            if next != 255 { return length }
        }
    }
    while index < packed.count {
        let token = packed[index]
        index += 1
        let literals = length(token >> 4, &index)
        output += packed[index..<index + literals]
        index += literals
        guard index < packed.count else { break }
        let distance = Int(packed[index]) | Int(packed[index + 1]) << 8
        index += 2
        let matched = length(token & 15, &index) + 4
        for _ in 0..<matched { output.append(output[output.count - distance]) }
    }
    return output
}
