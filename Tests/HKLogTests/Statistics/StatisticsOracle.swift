import HKLog

private let day: Int64 = 86_400_000_000

/// The rules of `docs/statistics.md` written down once more, as slowly and plainly as they can be said.
enum StatisticsOracle {
    /// What each sample counts, and whether it touches the bucket.
    static func cumulativeParts(of samples: [KernelSample], in bucket: Range<Int64>)
        -> [(touches: Bool, part: BigRational)]
    {
        samples.map { sample in
            let covers = samples.filter { $0.rank < sample.rank && hasInterval($0) }
            guard hasInterval(sample) else {
                let isCovered = covers.contains { $0.start <= sample.start && sample.start < $0.end }
                let touches = bucket.contains(sample.start)
                return (touches, touches && !isCovered ? BigRational(sample.value) : BigRational(0 as Int64))
            }
            let lower = max(sample.start, bucket.lowerBound)
            let upper = min(sample.end, bucket.upperBound)
            guard lower < upper else { return (false, BigRational(0 as Int64)) }
            var uncovered: Int64 = 0
            for piece in pieces(of: lower..<upper, cutBy: covers.map { ($0.start, $0.end) })
            where !covers.contains(where: { $0.start <= piece.lowerBound && piece.upperBound <= $0.end }) {
                uncovered += piece.upperBound - piece.lowerBound
            }
            let part = BigRational(sample.value) * BigRational(uncovered)
            return (true, part.divided(by: UInt64(sample.end - sample.start)))
        }
    }

    /// Rows of a category bucket by value.
    static func categoryRows(
        of samples: [KernelCategorySample], in bucket: Range<Int64>, isSleep: Bool
    ) -> [CategoryRow] {
        func layer(_ value: Int64) -> Int { isSleep && value == 0 ? 1 : 0 }
        func isPresent(_ sample: KernelCategorySample, in piece: Range<Int64>) -> Bool {
            sample.start <= piece.lowerBound && piece.upperBound <= sample.end
        }
        var rows: [CategoryRow] = []
        for value in Set(samples.map(\.value)).sorted() {
            let own = samples.filter { $0.value == value }
            var row = CategoryRow(value: value, count: 0, microseconds: 0)
            row.count = UInt64(own.filter { bucket.contains($0.start) }.count)
            for piece in pieces(of: bucket, cutBy: samples.map { ($0.start, $0.end) }) {
                for rank in Set(own.map(\.rank))
                where own.contains(where: { $0.rank == rank && isPresent($0, in: piece) })
                    && !samples.contains(where: {
                        $0.rank < rank && layer($0.value) == layer(value) && isPresent($0, in: piece)
                    })
                {
                    row.microseconds += UInt64(piece.upperBound - piece.lowerBound)
                }
            }
            if row.count > 0 || row.microseconds > 0 {
                rows.append(row)
            }
        }
        return rows
    }

    private static func hasInterval(_ sample: KernelSample) -> Bool {
        sample.start < sample.end && sample.end - sample.start <= 366 * day
    }

    /// The range cut at every bound that lies inside it.
    private static func pieces(of range: Range<Int64>, cutBy intervals: [(Int64, Int64)]) -> [Range<Int64>] {
        guard !range.isEmpty else { return [] }
        let inner = intervals.flatMap { [$0.0, $0.1] }.filter { range.contains($0) }
        let cuts = Set([range.lowerBound, range.upperBound] + inner).sorted()
        return zip(cuts, cuts.dropFirst()).map { $0..<$1 }
    }
}
