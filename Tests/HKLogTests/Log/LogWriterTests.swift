import HKLogFormat
import HKLogTestSupport
import Testing

@testable import HKLog

@Suite struct LogWriterTests {
    @Test func `what is appended is read, across segments and openings`() throws {
        let log = try SyntheticLog()
        for round in 0..<3 {
            let writer = try log.writer()
            #expect(writer.nextAnchor == UInt64(round * 10))
            #expect(writer.warnings.isEmpty)
            try log.append(10, to: writer)
            try writer.close()
        }
        let outcome = try log.readAll()
        #expect(outcome.anchors == Array(0..<30))
        #expect(outcome.reading == .end(tornTail: nil))
        #expect(log.segmentNames.count == 8)
        for anchor in 0...30 as ClosedRange<UInt64> {
            #expect(try log.readAll(from: anchor).anchors == Array(anchor..<30))
        }
        #expect(throws: HKLogError.self) { try log.readAll(from: 31) }
    }
}
