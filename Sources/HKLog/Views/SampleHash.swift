internal import HKLogFormat

/// The hash of one item of the sample table, as the digest sums it up: a shown sample, or a dead uuid.
///
/// It runs for each row of a replay, so what rows share (label or stream) is hashed once, with SipHash, into the four
/// keys, and a row itself costs six multiplications: two lanes of folded 128-bit products with the factors mixed in
/// again, as in wyhash (Wang Yi, 2019), so that a factor of zero loses nothing. Each lane takes in every field under
/// keys of its own. All of it is frozen with the version of checkpoints, not with the log.
struct SampleHash: BitwiseCopyable {
    private var first: UInt64
    private var second: UInt64
    private var third: UInt64
    private var fourth: UInt64

    /// Keys of a kind of items and the text that they share.
    init(domain: UInt64, _ shared: Span<UInt8>) {
        var hasher = ContentHasher(domain: domain)
        hasher.add(shared)
        let one = hasher.finish()
        hasher.add(1)
        let two = hasher.finish()
        (first, second, third, fourth) = (one.low, one.high, two.low, two.high)
    }

    /// The hash of a row; `extra` is the digest of what it has beyond the columns.
    @inline(__always)
    func of(_ uuid: RawUUID, start: Int64, duration: Int64, value: UInt64, extra: RawDigest?) -> UInt128 {
        let start = UInt64(bitPattern: start)
        let duration = UInt64(bitPattern: duration)
        var low = SampleHash.fold(uuid.first ^ first, uuid.second ^ second)
        var high = SampleHash.fold(uuid.second ^ third, uuid.first ^ fourth)
        low = SampleHash.fold(low ^ start, value ^ third)
        high = SampleHash.fold(high ^ value, start ^ first)
        low = SampleHash.fold(low ^ duration, fourth)
        high = SampleHash.fold(high, duration ^ second)
        if let extra {
            low = SampleHash.fold(low ^ extra.low, extra.high ^ first)
            high = SampleHash.fold(high ^ extra.high, extra.low ^ third)
        }
        return UInt128(high) << 64 | UInt128(low)
    }

    @inline(__always)
    private static func fold(_ one: UInt64, _ two: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: two)
        return product.low ^ product.high ^ one ^ (two << 32 | two >> 32)
    }
}
