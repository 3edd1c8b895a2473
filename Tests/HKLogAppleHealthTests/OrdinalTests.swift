import Testing

@testable import HKLogAppleHealth

@Suite struct OrdinalTests {
    private func content(_ value: UInt64) -> TwinContent {
        TwinContent(exact: value, by: TwinContent.Scale(source: nil, unit: nil, canonical: nil))
    }

    @Test func `ordinals count the samples of an identity, however large the table grows`() {
        var table = OrdinalTable()
        // Keys that differ in their highest bits, in their lowest ones but two, and the one that is all zeros.
        let keys: [UInt64] = (0..<20_000).map { $0 << 2 } + (1..<20_000).map { $0 << 46 }
        for expected: UInt32 in 0..<3 {
            for key in keys {
                let (ordinal, isTwin) = table.ordinal(key: key, content: content(7), isChild: false)
                #expect(ordinal == expected && !isTwin)
            }
        }
    }

    @Test func `a child meets the first sample at the top level of its content, once`() {
        var table = OrdinalTable()
        func next(_ value: UInt64, isChild: Bool) -> UInt32 {
            let (ordinal, isTwin) = table.ordinal(key: 1 << 40, content: content(value), isChild: isChild)
            return isTwin ? ordinal + 100 : ordinal
        }
        #expect(next(1, isChild: false) == 0)
        #expect(next(2, isChild: false) == 1)
        #expect(next(2, isChild: true) == 101)
        #expect(next(1, isChild: true) == 100)
        #expect(next(1, isChild: true) == 2)
        #expect(next(1, isChild: false) == 102)
        #expect(next(2, isChild: false) == 3)
    }
}
