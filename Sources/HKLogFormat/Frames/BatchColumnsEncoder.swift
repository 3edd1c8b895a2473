/// Writes the batches' own fields as columns.
///
/// See `docs/format.md`, "Batches".
///
/// A number that follows from the batch before, in the stream or in the log, is stored as 0, so that a thousand
/// batches of one sample cost little beyond digest and nonce.
struct BatchColumnsEncoder: Sendable {
    private var streamIDs: [[UInt8]: Int] = [:]
    private var states: [StreamState] = []
    private var streamColumn: [Int64] = []
    private var flagColumn: [Int64] = []
    private var epochColumn: [Int64] = []
    private var sequenceColumn: [Int64] = []
    private var addedColumn: [Int64] = []
    private var deletedColumn: [Int64] = []
    private var previousColumn: [Int64] = []
    private var stepColumn: [Int64] = []
    private var prefixColumn: [Int64] = []
    private var suffixColumn: [Int64] = []
    private var middleColumn: [Int64] = []
    private var middles: [UInt8] = []
    private var names: [[UInt8]] = []

    /// The stream of each batch, as numbered in the frame.
    ///
    /// Filled by `encode`, used for the order of rows.
    var streams: [Int64] { streamColumn }
    /// How many streams the frame has.
    var streamCount: Int { names.count }

    /// Appends the section.
    ///
    /// Returns how many bytes of anchors a reader makes of it.
    mutating func encode(
        _ batches: [BatchEntry], firstAnchor: UInt64, sharing: Bool, _ columns: inout ColumnEncoder,
        into output: inout [UInt8]
    ) -> Int {
        reset()
        var textByteCount = 0
        var latest: [UInt8] = []
        for (index, batch) in batches.enumerated() {
            let stream = streamID(batch.stream)
            var state = states[stream]
            streamColumn.append(Int64(stream))
            flagColumn.append(Int64(batch.flags))
            addedColumn.append(Int64(batch.addedCount))
            deletedColumn.append(Int64(batch.deletedCount))
            epochColumn.append(Int64(bitPattern: batch.epoch &- state.epoch))
            let isNumbered = batch.flags & BatchFlags.isNumbered != 0
            let expected = state.expectedSequence(isNumbered, logAnchor: firstAnchor &+ UInt64(index))
            sequenceColumn.append(Int64(bitPattern: batch.sequence &- expected))
            state.epoch = batch.epoch
            state.sequence = batch.sequence
            if batch.flags & BatchFlags.hasPreviousAnchor != 0 {
                if state.anchor == batch.previousAnchor {
                    previousColumn.append(0)
                } else {
                    previousColumn.append(1)
                    addText(batch.previousAnchor, reference: state.anchor ?? latest, sharing)
                    textByteCount += batch.previousAnchor.count
                    state.anchor = batch.previousAnchor
                    latest = batch.previousAnchor
                }
            }
            if batch.flags & BatchFlags.hasAnchor != 0 {
                let reference = state.anchor ?? latest
                if sharing, let step = AnchorStep.step(from: reference, to: batch.anchor) {
                    stepColumn.append(step)
                } else {
                    stepColumn.append(0)
                    addText(batch.anchor, reference: reference, sharing)
                }
                textByteCount += batch.anchor.count
                state.anchor = batch.anchor
                latest = batch.anchor
            }
            states[stream] = state
        }
        write(batchCount: batches.count, &columns, into: &output)
        return textByteCount
    }

    private mutating func reset() {
        streamIDs.removeAll(keepingCapacity: true)
        states.removeAll(keepingCapacity: true)
        names.removeAll(keepingCapacity: true)
        streamColumn.removeAll(keepingCapacity: true)
        flagColumn.removeAll(keepingCapacity: true)
        epochColumn.removeAll(keepingCapacity: true)
        sequenceColumn.removeAll(keepingCapacity: true)
        addedColumn.removeAll(keepingCapacity: true)
        deletedColumn.removeAll(keepingCapacity: true)
        previousColumn.removeAll(keepingCapacity: true)
        stepColumn.removeAll(keepingCapacity: true)
        prefixColumn.removeAll(keepingCapacity: true)
        suffixColumn.removeAll(keepingCapacity: true)
        middleColumn.removeAll(keepingCapacity: true)
        middles.removeAll(keepingCapacity: true)
    }

    private mutating func streamID(_ name: [UInt8]) -> Int {
        // One batch, or many of one stream: no hashing.
        if let last = streamColumn.last, names[Int(last)] == name { return Int(last) }
        if let id = streamIDs[name] { return id }
        let id = names.count
        names.append(name)
        states.append(StreamState())
        streamIDs[name] = id
        return id
    }

    private mutating func addText(_ text: [UInt8], reference: [UInt8], _ sharing: Bool) {
        var (prefix, suffix) = (0, 0)
        if sharing {
            unsafe text.withUnsafeBufferPointer { text in
                unsafe reference.withUnsafeBufferPointer { reference in
                    prefix = unsafe SharedText.prefix(text, reference)
                    suffix = unsafe SharedText.suffix(text, reference, limit: text.count - prefix)
                }
            }
        }
        prefixColumn.append(Int64(prefix))
        suffixColumn.append(Int64(suffix))
        middleColumn.append(Int64(text.count - prefix - suffix))
        middles.append(contentsOf: text[prefix..<text.count - suffix])
    }

    private func write(batchCount: Int, _ columns: inout ColumnEncoder, into output: inout [UInt8]) {
        output.appendVarint(names.count)
        for name in names {
            output.appendVarint(name.count)
            output.append(contentsOf: name)
        }
        if names.count > 1 { columns.encode(streamColumn, count: batchCount, into: &output) }
        columns.encode(flagColumn, count: batchCount, into: &output)
        columns.encode(epochColumn, count: batchCount, into: &output)
        columns.encode(sequenceColumn, count: batchCount, into: &output)
        if batchCount > 1 {
            columns.encode(addedColumn, count: batchCount, into: &output)
            columns.encode(deletedColumn, count: batchCount, into: &output)
        }
        columns.encode(previousColumn, count: previousColumn.count, into: &output)
        columns.encode(stepColumn, count: stepColumn.count, into: &output)
        columns.encode(prefixColumn, count: prefixColumn.count, into: &output)
        columns.encode(suffixColumn, count: suffixColumn.count, into: &output)
        columns.encode(middleColumn, count: middleColumn.count, into: &output)
        output.append(contentsOf: middles)
    }
}

/// What is known of a stream while a frame's batches are gone through.
struct StreamState: Sendable {
    var epoch: UInt64 = 1
    /// The sequence of the stream's last batch in this frame; 0 for none.
    var sequence: UInt64 = 0
    /// The last anchor of the stream in this frame, if any.
    var anchor: [UInt8]?

    /// A numbered batch follows the last one of its stream; any other has the log's anchor after it.
    func expectedSequence(_ isNumbered: Bool, logAnchor: UInt64) -> UInt64 {
        isNumbered ? sequence &+ 1 : logAnchor &+ 1
    }
}
