/// Texts that are like an earlier one are stored as what they share with it at both ends and what is between.
///
/// Sound: every load lies within the shorter of the two texts.
enum SharedText {
    /// How many bytes `a` and `b` have in common at the front.
    static func prefix(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int {
        let limit = min(a.count, b.count)
        var index = 0
        let (rawA, rawB) = (UnsafeRawBufferPointer(a), UnsafeRawBufferPointer(b))
        while index &+ 8 <= limit {
            let wordA = unsafe rawA.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let wordB = unsafe rawB.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let difference = wordA ^ wordB
            if difference != 0 { return index &+ difference.littleEndian.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while unsafe index < limit && a[index] == b[index] { index &+= 1 }
        return index
    }

    /// How many bytes `a` and `b` have in common at the back, at most `limit`.
    static func suffix(
        _ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>, limit: Int
    ) -> Int {
        let limit = min(limit, a.count, b.count)
        var length = 0
        let (rawA, rawB) = (UnsafeRawBufferPointer(a), UnsafeRawBufferPointer(b))
        while length &+ 8 <= limit {
            let wordA = unsafe rawA.loadUnaligned(fromByteOffset: a.count &- length &- 8, as: UInt64.self)
            let wordB = unsafe rawB.loadUnaligned(fromByteOffset: b.count &- length &- 8, as: UInt64.self)
            let difference = wordA ^ wordB
            if difference != 0 { return length &+ difference.littleEndian.leadingZeroBitCount / 8 }
            length &+= 8
        }
        while unsafe length < limit && a[a.count &- 1 &- length] == b[b.count &- 1 &- length] { length &+= 1 }
        return length
    }

    /// Puts a text together again, in `text`, which is empty.
    ///
    /// The lengths come from the file and are checked here.
    static func join(
        prefixOf first: [UInt8], _ prefixCount: Int64, _ middle: UnsafeRawBufferPointer,
        suffixOf last: [UInt8], _ suffixCount: Int64, _ budget: inout TextBudget, into text: inout [UInt8]
    ) throws(CodecError) {
        guard prefixCount >= 0, prefixCount <= first.count, suffixCount >= 0, suffixCount <= last.count else {
            throw .malformed
        }
        let byteCount = Int(prefixCount) + middle.count + Int(suffixCount)
        try budget.take(byteCount)
        text.reserveCapacity(byteCount)
        unsafe first.withUnsafeBufferPointer { first in
            // Sound: both counts have been compared with the texts.
            unsafe text.append(contentsOf: UnsafeBufferPointer(rebasing: first[0..<Int(prefixCount)]))
        }
        unsafe text.append(contentsOf: middle)
        unsafe last.withUnsafeBufferPointer { last in
            unsafe text.append(
                contentsOf: UnsafeBufferPointer(rebasing: last[(last.count - Int(suffixCount))...]))
        }
    }
}

/// How many bytes of text a frame may still make while it is decoded.
struct TextBudget {
    private var rest: Int

    init(_ byteCount: Int) { rest = byteCount }

    mutating func take(_ byteCount: Int) throws(CodecError) {
        guard byteCount >= 0, byteCount <= rest else { throw .malformed }
        rest -= byteCount
    }
}
