// libFuzzer's entry for the JSON Lines reader. Builds and runs with
//
//     tools/fuzz/JSONFuzz.sh [seconds] [corpus folder]
//
// Whatever the bytes are: no trap, and a batch that comes out comes back from its own encoding.

import HKLog
import HKLogJSONLines

/// Reads the bytes, cut as the first of them says, and sends what comes out around once more.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    var position = 0
    // The first byte says how the rest is cut.
    let step = 1 + Int(input.first ?? 0)
    var reader = BatchReader(lineByteCountLimit: 1 << 16) { (buffer: inout MutableSpan<UInt8>) in
        let count = min(step, buffer.count, input.count - position)
        for offset in 0..<count { buffer[offset] = input[position + offset] }
        position += count
        return count
    }
    var writer = BatchWriter()
    while true {
        let event: BatchReader.Event?
        do { event = try reader.next() } catch { return 0 }
        switch event {
        case nil:
            return 0
        case .rejected(let error):
            precondition(!error.description.isEmpty)
        case .batch(let batch):
            var output: [UInt8] = []
            writer.append(batch, to: &output)
            output.removeLast()
            var decoder = BatchDecoder()
            guard case .batch(let again)? = try? decoder.decode(output.span, lineNumber: 1) else {
                preconditionFailure("an encoded batch was refused")
            }
            var second: [UInt8] = []
            writer.append(again, to: &second)
            second.removeLast()
            precondition(output == second, "an encoded batch came back another")
        }
    }
}
