import HKLog
import HKLogFormat
import HKLogJSONLines

let uuidA = "0F2D0C58-5C43-4E11-9B59-6B6C0F9B8C33"
let uuidB = "6B0F0F7C-55A1-4A8C-8E1B-0B6E0C1B4E11"

/// Decodes one line that must be a batch.
func decode(_ line: String) throws -> Batch {
    var decoder = BatchDecoder()
    guard case .batch(let batch) = try decoder.decode(Array(line.utf8).span, lineNumber: 1) else {
        throw NoBatch()
    }
    return batch
}

struct NoBatch: Error {}

/// The error that a line is refused with; `nil` where it is taken.
func refusal(_ line: String) -> BatchError? {
    refusal(Array(line.utf8))
}

func refusal(_ line: [UInt8], lineNumber: Int = 1) -> BatchError? {
    var decoder = BatchDecoder()
    do throws(BatchError) {
        _ = try decoder.decode(line.span, lineNumber: lineNumber)
        return nil
    } catch {
        return error
    }
}

/// A batch of one step count sample, with some of its text replaced.
func sampleLine(
    uuid: String = "\"\(uuidA)\"", type: String = "\"stepCount\"", start: String = "\"2026-03-01T08:00:00Z\"",
    value: String = "512", unit: String = "\"count\"", more: String = "", batch: String = ""
) -> String {
    """
    {\(batch)"added":[{"uuid":\(uuid),"type":\(type),"start":\(start),"value":\(value),"unit":\(unit)\(more)}]}
    """
}

func encode(_ batch: Batch, logAnchor: UInt64? = nil) -> String {
    var writer = BatchWriter()
    var output: [UInt8] = []
    writer.append(batch, logAnchor: logAnchor, to: &output)
    return String(decoding: output, as: UTF8.self)
}

/// Reads everything, handing out `step` bytes at most at a time.
func readAll(_ input: [UInt8], step: Int, limit: Int = BatchReader.lineByteCountLimit) -> [String] {
    var position = 0
    var reader = BatchReader(lineByteCountLimit: limit) {
        (buffer: inout MutableSpan<UInt8>) throws(HKLogError) -> Int in
        let count = min(step, buffer.count, input.count - position)
        for offset in 0..<count { buffer[offset] = input[position + offset] }
        position += count
        return count
    }
    var events: [String] = []
    do throws(HKLogError) {
        while let event = try reader.next() {
            switch event {
            case .batch(let batch): events.append("\(reader.lineNumber) \(encode(batch))")
            case .rejected(let error): events.append("\(error)")
            }
        }
    } catch {
        events.append("\(error)")
    }
    return events
}

/// A small generator of repeatable random numbers.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

func isEqual(_ left: Batch, _ right: Batch) -> Bool {
    let (a, b) = (left.rows, right.rows)
    return Array(left.stream.utf8) == Array(right.stream.utf8) && left.previousAnchor == right.previousAnchor
        && left.anchor == right.anchor && left.snapshot == right.snapshot
        && left.confirmDeletions == right.confirmDeletions && left.numbering == right.numbering
        && left.deleted == right.deleted && left.digest == right.digest && left.kept == right.kept
        && a.uuids == b.uuids && a.starts == b.starts && a.durations == b.durations && a.values == b.values
        && a.shapeIDs == b.shapeIDs && a.flags == b.flags && a.extraIDs == b.extraIDs && a.shapes == b.shapes
        && a.extras == b.extras && a.extraBytes == b.extraBytes
}
