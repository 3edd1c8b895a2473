#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The last few beginnings of records: from `<Record` up to the attributes that differ from record to record.
///
/// Type, source, version, device and unit make most of a record's bytes, and hundreds of records in a row share them.
/// Equal bytes are cut in the same way, so where a head is found again its attributes are known by one comparison,
/// and by its number whoever reads on knows what was made of them.
@safe
struct RecordHeads: ~Copyable {
    /// How many heads are kept: some sources of one type take turns.
    static let slotCount = 8
    private static let byteCountLimit = 1024
    /// How many bytes of the attribute behind a head are compared as well: one head may be the beginning of another.
    private static let nextByteCount = 8
    /// The attributes that a head may have: the first ones of `RecordFields.Field`.
    static let fieldCount = 5

    private struct Head {
        /// Which head it is, counted from 1; 0 for none.
        var number: UInt32 = 0
        var byteCount: Int = 0
        /// Where each value begins, from the beginning of the tag, and how long it is; -1 for an absent one.
        var starts = [5 of Int32](repeating: 0)
        var counts = [5 of Int32](repeating: -1)
    }

    private let heads: UnsafeMutablePointer<Head>
    private let bytes: UnsafeMutablePointer<UInt8>
    /// The slot that was found last.
    private var recent = 0
    private var lastNumber: UInt32 = 0

    init() {
        unsafe heads = .allocate(capacity: RecordHeads.slotCount)
        unsafe heads.initialize(repeating: Head(), count: RecordHeads.slotCount)
        unsafe bytes = .allocate(capacity: RecordHeads.slotCount * RecordHeads.byteCountLimit)
        unsafe bytes.initialize(repeating: 0, count: RecordHeads.slotCount * RecordHeads.byteCountLimit)
    }

    deinit {
        unsafe heads.deallocate()
        unsafe bytes.deallocate()
    }

    /// Sets the fields of the head that a tag begins with and says how many bytes it has; 0 where it is not known.
    ///
    /// `count` bytes from `tag` on must be readable.
    @inline(__always)
    mutating func find(_ tag: UnsafePointer<UInt8>, _ count: Int, into fields: inout RecordFields) -> Int {
        if unsafe isHead(recent, of: tag, count) { return unsafe set(recent, tag, into: &fields) }
        for slot in 0..<RecordHeads.slotCount where unsafe isHead(slot, of: tag, count) {
            recent = slot
            return unsafe set(slot, tag, into: &fields)
        }
        return 0
    }

    @inline(__always)
    private func isHead(_ slot: Int, of tag: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        let byteCount = unsafe heads[slot].byteCount
        guard byteCount > 0, byteCount + RecordHeads.nextByteCount <= count else { return false }
        let head = unsafe UnsafeRawPointer(bytes + slot * RecordHeads.byteCountLimit)
        // Sound: both are so long. Heads differ at their ends more often than not.
        let last = unsafe head.loadUnaligned(fromByteOffset: byteCount - 8, as: UInt64.self)
        let other = unsafe UnsafeRawPointer(tag).loadUnaligned(
            fromByteOffset: byteCount - 8, as: UInt64.self)
        return unsafe last == other && memcmp(head, tag, byteCount + RecordHeads.nextByteCount) == 0
    }

    @inline(__always)
    private func set(_ slot: Int, _ tag: UnsafePointer<UInt8>, into fields: inout RecordFields) -> Int {
        // Sound: the slot is one of those that were allocated, and each slice lies within the head, which is as long as
        // the bytes that were compared.
        let head = unsafe heads + slot
        fields.head = unsafe head.pointee.number
        for field in 0..<RecordHeads.fieldCount {
            let count = unsafe head.pointee.counts[field]
            if count >= 0 {
                let start = unsafe Int(head.pointee.starts[field])
                unsafe fields.set(field, ByteSlice(start: tag + start, count: Int(count)))
            }
        }
        return unsafe head.pointee.byteCount
    }

    /// Keeps the head of a tag: `byteCount` bytes, cut into these fields, with one more attribute behind them.
    @inline(never)
    mutating func keep(_ tag: UnsafePointer<UInt8>, _ byteCount: Int, _ fields: inout RecordFields) {
        guard byteCount >= 8, byteCount + RecordHeads.nextByteCount <= RecordHeads.byteCountLimit,
            lastNumber < .max
        else { return }
        lastNumber += 1
        let slot = Int(lastNumber) % RecordHeads.slotCount
        var head = Head()
        head.number = lastNumber
        head.byteCount = byteCount
        for field in 0..<RecordHeads.fieldCount {
            let slice = fields.slice(field)
            guard slice.isPresent else { continue }
            head.starts[field] = unsafe Int32(slice.distance(from: tag))
            head.counts[field] = Int32(slice.count)
        }
        unsafe heads[slot] = head
        unsafe memcpy(
            bytes + slot * RecordHeads.byteCountLimit, tag, byteCount + RecordHeads.nextByteCount)
        recent = slot
        fields.head = lastNumber
    }
}
