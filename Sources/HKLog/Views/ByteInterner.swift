private import CHKLogShims
internal import HKLogFormat

/// Numbers byte strings: the same bytes get the same number, 0, 1, 2 …, in the order of arrival.
///
/// Streams, labels of shapes, types and sources go through it once for each frame, so that rows hold numbers.
/// Texts are told apart by their bytes, since `String` would take Unicode twins for the same.
struct ByteInterner: ~Copyable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private var hashes: [UInt64] = []
    /// Number + 1, or 0 for an empty slot.
    private var slots = [UInt32](repeating: 0, count: 64)

    var count: Int { ends.count }

    /// The bytes with a number.
    func bytes(_ id: Int) -> ArraySlice<UInt8> {
        bytes[(id == 0 ? 0 : ends[id - 1])..<ends[id]]
    }

    /// The number of some bytes; `nil` when they have none yet.
    func find(_ wanted: Span<UInt8>) -> Int? {
        var hasher = ContentHasher(domain: 0)
        hasher.add(wanted)
        return find(wanted, hash: hasher.finish().low)
    }

    private func find(_ wanted: Span<UInt8>, hash: UInt64) -> Int? {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let id = Int(slots[slot]) - 1
            if hashes[id] == hash && isEqual(id, wanted) { return id }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// The number of some bytes, a new one when they are new.
    mutating func intern(_ wanted: Span<UInt8>) -> Int {
        var hasher = ContentHasher(domain: 0)
        hasher.add(wanted)
        let hash = hasher.finish().low
        if let id = find(wanted, hash: hash) { return id }
        let id = ends.count
        for index in wanted.indices { bytes.append(wanted[index]) }
        ends.append(bytes.count)
        hashes.append(hash)
        if ends.count * 2 > slots.count {
            slots = [UInt32](repeating: 0, count: slots.count * 2)
            for known in hashes.indices { place(known) }
        } else {
            place(id)
        }
        return id
    }

    mutating func intern(_ text: String) -> Int {
        let copy = Array(text.utf8)
        return intern(copy.span)
    }

    func find(_ text: String) -> Int? {
        let copy = Array(text.utf8)
        return find(copy.span)
    }

    private mutating func place(_ id: Int) {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hashes[id]) & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = UInt32(id + 1)
    }

    /// Whether the bytes with a number are these.
    func isEqual(_ id: Int, _ wanted: Span<UInt8>) -> Bool {
        let start = id == 0 ? 0 : ends[id - 1]
        guard ends[id] - start == wanted.count else { return false }
        return unsafe bytes.withUnsafeBytes { own in
            unsafe wanted.withUnsafeBytes { other in
                // Sound: both have `wanted.count` bytes from there on.
                guard let left = own.baseAddress, let right = other.baseAddress else { return true }
                return unsafe hklog_bytes_equal(left + start, right, wanted.count) != 0
            }
        }
    }
}
