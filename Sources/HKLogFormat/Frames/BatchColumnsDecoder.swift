/// Reads what `BatchColumnsEncoder` wrote.
struct BatchColumnsDecoder: Sendable {
    /// The stream of each batch, as numbered in the frame.
    private(set) var streams: [Int64] = []
    private(set) var streamCount = 0
    private var names: [[UInt8]] = []
    private var states: [StreamState] = []
    private var flags: [Int64] = []
    private var epochs: [Int64] = []
    private var sequences: [Int64] = []
    private var added: [Int64] = []
    private var deleted: [Int64] = []
    private var previous: [Int64] = []
    private var steps: [Int64] = []
    private var prefixes: [Int64] = []
    private var suffixes: [Int64] = []
    private var middles: [Int64] = []

    mutating func decode(
        _ reader: inout ByteReader, _ header: FrameHeader, _ budget: inout TextBudget,
        into batches: inout [BatchEntry]
    ) throws(CodecError) {
        let count = Int(header.batchCount)
        try readNames(&reader, batchCount: count)
        if streamCount > 1 {
            try reader.readColumn(count, into: &streams)
        } else {
            streams.resize(to: max(count, streams.count), filler: 0)
            for index in 0..<count { streams[index] = 0 }
        }
        try reader.readColumn(count, into: &flags)
        try reader.readColumn(count, into: &epochs)
        try reader.readColumn(count, into: &sequences)
        try readCounts(&reader, header)
        batches.resize(to: count, filler: BatchEntry())
        var (previousCount, anchorCount) = (0, 0)
        for index in 0..<count {
            guard let bits = UInt16(exactly: flags[index]), streams[index] >= 0,
                streams[index] < Int64(streamCount)
            else { throw .malformed }
            batches[index].flags = bits
            if bits & BatchFlags.hasPreviousAnchor != 0 { previousCount += 1 }
            if bits & BatchFlags.hasAnchor != 0 { anchorCount += 1 }
        }
        let textCount = try readTextColumns(&reader, previousCount, anchorCount)
        var texts = TextCursor(count: textCount, byteOffsets: reader)
        var latest: [UInt8] = []
        (previousCount, anchorCount) = (0, 0)
        for index in 0..<count {
            let stream = Int(streams[index])
            var state = states[stream]
            states[stream].anchor = nil
            let bits = batches[index].flags
            let isNumbered = bits & BatchFlags.isNumbered != 0
            let expected = state.expectedSequence(isNumbered, logAnchor: header.firstAnchor &+ UInt64(index))
            state.epoch = state.epoch &+ UInt64(bitPattern: epochs[index])
            state.sequence = expected &+ UInt64(bitPattern: sequences[index])
            // Entries are used again: what is the same already is left alone, since the next frame may be decoded
            // while another thread works on the last one, and both would count references to one text.
            if batches[index].stream != names[stream] { batches[index].stream = names[stream] }
            batches[index].epoch = state.epoch
            batches[index].sequence = state.sequence
            batches[index].addedCount = Int(added[index])
            batches[index].deletedCount = Int(deleted[index])
            if !batches[index].previousAnchor.isEmpty { batches[index].previousAnchor = [] }
            if !batches[index].anchor.isEmpty { batches[index].anchor = [] }
            // Nothing refers to the texts of the last batch.
            let isLast = index == count - 1
            if bits & BatchFlags.hasPreviousAnchor != 0 {
                if previous[previousCount] == 0 {
                    guard let anchor = state.anchor else { throw .malformed }
                    batches[index].previousAnchor = anchor
                } else {
                    let text = try readText(&texts, reference: state.anchor ?? latest, &budget)
                    state.anchor = text
                    latest = text
                    batches[index].previousAnchor = text
                }
                previousCount += 1
            }
            if bits & BatchFlags.hasAnchor != 0 {
                let reference = state.anchor ?? latest
                let step = steps[anchorCount]
                let text: [UInt8]
                if step == 0 {
                    text = try readText(&texts, reference: reference, &budget)
                } else {
                    try budget.take(reference.count)
                    text = try AnchorStep.text(after: reference, step: step)
                }
                if !isLast {
                    state.anchor = text
                    latest = text
                }
                batches[index].anchor = text
                anchorCount += 1
            }
            if !isLast { states[stream] = state }
        }
        guard texts.next == textCount else { throw .malformed }
        reader = texts.reader
    }

    private struct TextCursor {
        let count: Int
        var next = 0
        var reader: ByteReader

        init(count: Int, byteOffsets reader: ByteReader) {
            self.count = count
            self.reader = reader
        }
    }

    private mutating func readNames(_ reader: inout ByteReader, batchCount: Int) throws(CodecError) {
        streamCount = try reader.readCount(upTo: batchCount)
        guard streamCount > 0 else { throw .malformed }
        states.removeAll(keepingCapacity: true)
        // Streams seldom change from frame to frame: a name that is the same keeps its memory.
        for index in 0..<streamCount {
            let length = try reader.readCount(upTo: reader.remaining)
            let start = try unsafe reader.take(length)
            let name = unsafe UnsafeRawBufferPointer(start: start, count: length)
            if index == names.count {
                unsafe names.append([UInt8](name))
            } else if unsafe !names[index].elementsEqual(name) {
                unsafe names[index] = [UInt8](name)
            }
            states.append(StreamState())
        }
    }

    private mutating func readCounts(_ reader: inout ByteReader, _ header: FrameHeader) throws(CodecError) {
        let count = Int(header.batchCount)
        if count == 1 {
            added.resize(to: max(1, added.count), filler: 0)
            deleted.resize(to: max(1, deleted.count), filler: 0)
            added[0] = Int64(header.addedCount)
            deleted[0] = Int64(header.deletedCount)
            return
        }
        try reader.readColumn(count, into: &added)
        try reader.readColumn(count, into: &deleted)
        var (addedSum, deletedSum) = (Int64(0), Int64(0))
        for index in 0..<count {
            guard added[index] >= 0, added[index] <= Int64(header.addedCount), deleted[index] >= 0,
                deleted[index] <= Int64(header.deletedCount)
            else { throw .malformed }
            addedSum += added[index]
            deletedSum += deleted[index]
        }
        guard addedSum == Int64(header.addedCount), deletedSum == Int64(header.deletedCount) else {
            throw .malformed
        }
    }

    /// Reads the columns that say how anchors are stored.
    ///
    /// Returns how many are stored as text.
    private mutating func readTextColumns(
        _ reader: inout ByteReader, _ previousCount: Int, _ anchorCount: Int
    ) throws(CodecError) -> Int {
        try reader.readColumn(previousCount, into: &previous)
        try reader.readColumn(anchorCount, into: &steps)
        var textCount = 0
        for index in 0..<previousCount {
            guard previous[index] == 0 || previous[index] == 1 else { throw .malformed }
            textCount += Int(previous[index])
        }
        for index in 0..<anchorCount where steps[index] == 0 { textCount += 1 }
        try reader.readColumn(textCount, into: &prefixes)
        try reader.readColumn(textCount, into: &suffixes)
        try reader.readColumn(textCount, into: &middles)
        return textCount
    }

    private func readText(
        _ texts: inout TextCursor, reference: [UInt8], _ budget: inout TextBudget
    ) throws(CodecError) -> [UInt8] {
        let index = texts.next
        guard index < texts.count, middles[index] >= 0, middles[index] <= texts.reader.remaining else {
            throw .malformed
        }
        let middle = try unsafe texts.reader.take(Int(middles[index]))
        texts.next += 1
        var text: [UInt8] = []
        try unsafe SharedText.join(
            prefixOf: reference, prefixes[index],
            UnsafeRawBufferPointer(start: middle, count: Int(middles[index])), suffixOf: reference,
            suffixes[index], &budget, into: &text)
        return text
    }
}
