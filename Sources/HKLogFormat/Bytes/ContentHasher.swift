/// SipHash-1-3 with a 128-bit result over 64-bit words (Aumasson and Bernstein, "SipHash: a fast short-input
/// PRF", 2012): the hash behind content digests and view digests.
///
/// The key is fixed, because equal content must give equal digests in every store. Inlinable, because it runs a
/// few times for each sample.
@usableFromInline
package struct ContentHasher: Sendable, BitwiseCopyable {
    @usableFromInline var v0: UInt64
    @usableFromInline var v1: UInt64
    @usableFromInline var v2: UInt64
    @usableFromInline var v3: UInt64
    @usableFromInline var wordCount: UInt64

    /// Starts a hash.
    ///
    /// Different domains (kinds of items) never share results.
    @inlinable @inline(__always)
    package init(domain: UInt64) {
        v0 = 0x736f_6d65_7073_6575
        v1 = 0x646f_7261_6e64_6f6d ^ 0xee
        v2 = 0x6c79_6765_6e65_7261
        v3 = 0x7465_6462_7974_6573
        wordCount = 0
        add(domain)
    }

    /// Takes in one word.
    @inlinable @inline(__always)
    package mutating func add(_ word: UInt64) {
        v3 ^= word
        round()
        v0 ^= word
        wordCount &+= 1
    }

    /// Takes in the length and the bytes, the last word padded with zeros.
    @inlinable
    package mutating func add(_ bytes: Span<UInt8>) {
        add(UInt64(bytes.count))
        unsafe bytes.withUnsafeBytes { buffer in
            var offset = 0
            while buffer.count - offset >= 8 {
                // Sound: eight bytes are left from the offset on.
                let word = unsafe buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                add(UInt64(littleEndian: word))
                offset += 8
            }
            guard offset < buffer.count else { return }
            var word: UInt64 = 0
            var shift: UInt64 = 0
            while offset < buffer.count {
                unsafe word |= UInt64(buffer[offset]) << shift
                shift += 8
                offset += 1
            }
            add(word)
        }
    }

    /// The 128-bit result.
    ///
    /// The hasher can go on afterwards as if this had not been asked.
    @inlinable @inline(__always)
    package func finish() -> RawDigest {
        var copy = self
        copy.add(wordCount)
        copy.v2 ^= 0xee
        copy.round()
        copy.round()
        copy.round()
        let low = copy.v0 ^ copy.v1 ^ copy.v2 ^ copy.v3
        copy.v1 ^= 0xdd
        copy.round()
        copy.round()
        copy.round()
        return RawDigest(low: low, high: copy.v0 ^ copy.v1 ^ copy.v2 ^ copy.v3)
    }

    @inlinable @inline(__always)
    mutating func round() {
        v0 = v0 &+ v1
        v1 = (v1 << 13) | (v1 >> 51)
        v1 ^= v0
        v0 = (v0 << 32) | (v0 >> 32)
        v2 = v2 &+ v3
        v3 = (v3 << 16) | (v3 >> 48)
        v3 ^= v2
        v0 = v0 &+ v3
        v3 = (v3 << 21) | (v3 >> 43)
        v3 ^= v0
        v2 = v2 &+ v1
        v1 = (v1 << 17) | (v1 >> 47)
        v1 ^= v2
        v2 = (v2 << 32) | (v2 >> 32)
    }
}
