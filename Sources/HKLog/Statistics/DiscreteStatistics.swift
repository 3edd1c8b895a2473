#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How the average of a discrete type is formed.
package enum DiscreteMean: Sendable {
    /// The arithmetic mean: `discreteArithmetic`, and `discreteTemporallyWeighted`, whose formula is not
    /// published.
    case arithmetic
    /// The level of equal energy, with the durations as weights: `discreteEquivalentContinuousLevel`.
    case equivalentContinuousLevel
}

/// A bucket of a discrete type.
package struct DiscreteBucket: Sendable, Equatable, BitwiseCopyable {
    /// How many measurements the samples stand for.
    package var count: UInt64
    /// The least value; `-0` is below `+0`.
    package var minimum: Double
    /// The greatest value.
    package var maximum: Double
    /// The average, in which each sample counts once.
    package var average: Double
    /// The value of the sample with the latest end, then the latest start, then the highest uuid.
    package var mostRecent: Double

    package init(count: UInt64, minimum: Double, maximum: Double, average: Double, mostRecent: Double) {
        self.count = count
        self.minimum = minimum
        self.maximum = maximum
        self.average = average
        self.mostRecent = mostRecent
    }
}

extension StatisticsKernel {
    /// The bucket of the samples that start in it; `nil` when none does.
    package mutating func discreteBucket(
        of samples: Span<KernelSample>, in bucket: Range<Int64>, mean: DiscreteMean
    ) -> DiscreteBucket? {
        var fixed = FixedSum()
        sum.removeAll()
        var sampleCount: UInt64 = 0
        var count: UInt64 = 0
        var minimum = Int64.max
        var maximum = Int64.min
        var latest = KernelSample(start: .min, end: .min, value: 0)
        for index in samples.indices {
            let sample = samples[index]
            guard sample.start >= bucket.lowerBound, sample.start < bucket.upperBound else { continue }
            let (newCount, overflow) = count.addingReportingOverflow(max(sample.measurementCount, 1))
            count = overflow ? .max : newCount
            let key = orderKey(sample.value)
            minimum = min(minimum, key)
            maximum = max(maximum, key)
            if sampleCount == 0 || isMoreRecent(sample, than: latest) {
                latest = sample
            }
            sampleCount += 1
            if !fixed.addFitting(sample.value) {
                sum.add(sample.value)
            }
        }
        guard sampleCount > 0 else { return nil }
        var average: Double
        switch mean {
        case .arithmetic:
            sum.add(fixed)
            average = sum.mean(of: sampleCount) ?? 0
        case .equivalentContinuousLevel:
            average = equivalentContinuousLevel(of: samples, in: bucket)
        }
        return DiscreteBucket(
            count: count, minimum: value(ofOrderKey: minimum), maximum: value(ofOrderKey: maximum),
            average: average, mostRecent: latest.value)
    }

    /// The bucket of each source alone, in the order of priority; sources without a sample in it are left
    /// out.
    package mutating func discreteBucketsBySource(
        of samples: Span<KernelSample>, in bucket: Range<Int64>, mean: DiscreteMean
    ) -> [SourceResult<DiscreteBucket>] {
        let bounds = gatherBySource(samples)
        var results: [SourceResult<DiscreteBucket>] = []
        let own = gathered
        for position in bounds.indices.dropLast() {
            let part = own.span.extracting(bounds[position]..<bounds[position + 1])
            if let result = discreteBucket(of: part, in: bucket, mean: mean) {
                results.append(SourceResult(rank: part[0].rank, bucket: result))
            }
        }
        return results
    }

    /// `10·log10(Σ tᵢ·10^(Lᵢ/10) / Σ tᵢ)`, with all levels taken relative to the loudest one of any weight.
    ///
    /// That changes nothing in the formula, but nothing can overflow, and samples of one level give that
    /// level to the last bit. Both sums are exact.
    private mutating func equivalentContinuousLevel(of samples: Span<KernelSample>, in bucket: Range<Int64>)
        -> Double
    {
        var loudest = -Double.infinity
        var hasDurations = false
        for index in samples.indices where bucket.contains(samples[index].start) {
            let sample = samples[index]
            let hasDuration = sample.end > sample.start
            if hasDuration == hasDurations {
                loudest = max(loudest, sample.value)
            } else if hasDuration {
                hasDurations = true
                loudest = sample.value
            }
        }
        guard loudest.isFinite else { return loudest }
        sum.removeAll()
        var weights = ExactSum()
        for index in samples.indices where bucket.contains(samples[index].start) {
            let sample = samples[index]
            let duration = sample.end > sample.start ? UInt64(bitPattern: sample.end &- sample.start) : 0
            let weight = hasDurations ? Double(duration) : 1
            if weight > 0 {
                sum.add(weight * pow(10, (sample.value - loudest) / 10))
                weights.add(weight)
            }
        }
        return loudest + 10 * log10(sum.value / weights.value)
    }

    @inline(__always)
    private func isMoreRecent(_ left: KernelSample, than right: KernelSample) -> Bool {
        let leftEnd = max(left.start, left.end)
        let rightEnd = max(right.start, right.end)
        if leftEnd != rightEnd { return leftEnd > rightEnd }
        if left.start != right.start { return left.start > right.start }
        if left.uuidHigh != right.uuidHigh { return left.uuidHigh > right.uuidHigh }
        return left.uuidLow > right.uuidLow
    }
}

/// A number that orders as the value does, with `-0` before `+0`: comparing doubles would leave it to the
/// order of the samples which zero stays.
@inline(__always)
private func orderKey(_ value: Double) -> Int64 {
    let bits = Int64(bitPattern: value.bitPattern)
    return bits ^ (bits &>> 63 & Int64.max)
}

@inline(__always)
private func value(ofOrderKey key: Int64) -> Double {
    Double(bitPattern: UInt64(bitPattern: key ^ (key &>> 63 & Int64.max)))
}
