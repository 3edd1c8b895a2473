internal import HKLogFormat

extension Views {
    /// The digest of everything the views say: equal content, equal digest, whatever way it came.
    ///
    /// Shown samples, dead cells and buckets are summed up as they change; streams and settings, which are few,
    /// are added here. Places in the log, numbers of batches, the store's id and the form of the bytes are not in.
    var digest: RawDigest {
        var sum = digestSum
        for (index, stream) in streams.enumerated() where stream.hasBatches {
            var hasher = ContentHasher(domain: DigestDomain.stream)
            let name = Array(symbols.streams.bytes(index))
            hasher.add(name.span)
            hasher.add(stream.anchor == nil ? 0 : 1)
            let anchor = stream.anchor ?? []
            hasher.add(anchor.span)
            hasher.add(stream.epoch)
            hasher.add(stream.completeEpoch)
            sum &+= hasher.finish().sum
        }
        var hasher = ContentHasher(domain: DigestDomain.settings)
        let text = settings.encoded()
        hasher.add(text.span)
        sum &+= hasher.finish().sum
        return RawDigest(low: UInt64(truncatingIfNeeded: sum), high: UInt64(truncatingIfNeeded: sum >> 64))
    }

    /// The digest as 32 hexadecimal digits.
    var digestText: String { ContentDigest(raw: digest).description }
}
