// Fuzzes the reader of Apple Health exports with libFuzzer.
//
// Build and run it with tools/fuzz/ExportFuzz.sh. Each input is a document; its first two bytes choose the sizes of
// the window and of the pieces it comes in. Beyond not trapping, the samples and problems must not depend on them,
// and a second pass must give the same samples.

@testable import HKLog

@testable import HKLogAppleHealth

private struct Reading: Equatable {
    var samples: [Sample] = []
    var problems: [ImportReport.Problem] = []
    var isComplete = false
}

private func read(_ document: [UInt8], windowByteCount: Int, pieceByteCount: Int) -> Reading {
    var reading = Reading()
    var scanner = ExportScanner(
        source: MemorySource(document, pieceByteCount: pieceByteCount), problems: ProblemLog(),
        windowByteCount: windowByteCount)
    do {
        guard try scanner.readProlog() == .root else { return reading }
        var reader = ExportReader(
            scanner: scanner,
            settings: ExportReader.Settings(streamName: [], calendar: LocalCalendar(rules: .utc)),
            sideFiles: nil)
        while let block = try reader.nextBlock() {
            reading.samples +=
                Batch(
                    stream: "fuzz", importing: block.rows, shapes: block.shapes, bytes: block.bytes
                ).added
        }
        let ending = reader.ending(fault: nil)
        reading.problems = ending.problems
        reading.isComplete = ending.isComplete
    } catch {
        preconditionFailure("memory cannot fail: \(error)")
    }
    for sample in reading.samples {
        for text in [sample.metadata, sample.payload] {
            guard let text else { continue }
            // What is handed on must be compact JSON with no key twice.
            precondition((try? JSONText(parsing: text.text)) == text, "not compact JSON: \(text.text)")
        }
    }
    return reading
}

/// One run of the fuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzExport(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count > 2 else { return 0 }
    let document = Array(input[2...])
    let whole = read(document, windowByteCount: 1 << 16, pieceByteCount: 1 << 16)
    let cut = read(document, windowByteCount: Int(input[0]) + 1, pieceByteCount: Int(input[1]) + 1)
    precondition(whole == cut, "the result depends on where buffers end")
    return 0
}
