private import CHKLogShims
internal import HKLogFormat

/// The parts of a layer file.
///
/// Numbers are part of the checkpoint's format.
enum LayerSection: UInt32, CaseIterable {
    case uuids = 1
    case starts, durations, values, shapes, extras, batches, flags
    /// Hash slots by uuid.
    case slots
    /// Sorted keys of day buckets, their records, where their rows end, and the rows.
    case bucketKeys, buckets, bucketRowEnds, bucketRows
    /// Rows of category buckets.
    case categoryRows
    /// Rows of older layers whose flags are others now, sorted, and the flags.
    case overrideRows, overrideFlags
    case extraTable, extraBytes
    /// One record a batch, and hash slots by digest and by number.
    case batchTable, knownSlots, numberSlots
    /// Members of sync identifier groups, sorted by group.
    case syncMembers
    /// Everything small: symbols, streams, counters, the digest.
    case state
}

/// The fixed first page of a layer file.
struct LayerHeader: Equatable {
    static let byteCount = 4096
    static let magic: UInt32 = 0x7756_4B48
    /// Goes up with every change of what a checkpoint means: an older one is rebuilt, never read wrongly.
    static let version: UInt32 = 2
    static let blockByteCount = 16384
    private static let nameByteCount = 64
    private static let sectionOffset = 512

    struct Section: Equatable {
        var elementByteCount: UInt32 = 0
        var byteOffset: UInt64 = 0
        var count: UInt64 = 0
    }

    var storeID: (low: UInt64, high: UInt64) = (0, 0)
    /// A hash of everything the views depend on beside the log.
    var definition = RawDigest(low: 0, high: 0)
    var fromAnchor: UInt64 = 0
    var toAnchor: UInt64 = 0
    /// The nonce of the last batch covered.
    var nonce: UInt64 = 0
    /// Where in the log the next frame begins: a hint that is checked before use.
    var segmentAnchor: UInt64 = 0
    var segmentByteOffset: UInt64 = 0
    var lastFrameByteOffset: UInt64 = 0
    var rowBase: UInt64 = 0
    var batchBase: UInt64 = 0
    var extraBase: UInt64 = 0
    var seed: (first: UInt64, second: UInt64) = (0, 0)
    var fileByteCount: UInt64 = 0
    var blockTableOffset: UInt64 = 0
    var blockCount: UInt64 = 0
    var topTableChecksum: UInt32 = 0
    /// The layer below: its file's name and its header's checksum; empty for the lowest.
    var parentName: String = ""
    var parentChecksum: UInt32 = 0
    var sections: [LayerSection: Section] = [:]
    /// The header's own checksum, as stored.
    var checksum: UInt32 = 0

    static func == (left: LayerHeader, right: LayerHeader) -> Bool { left.encoded() == right.encoded() }

    func encoded() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: LayerHeader.byteCount)
        func put<T: FixedWidthInteger>(_ value: T, at offset: Int) {
            for index in 0..<MemoryLayout<T>.size {
                bytes[offset + index] = UInt8(truncatingIfNeeded: value >> T(truncatingIfNeeded: index * 8))
            }
        }
        put(LayerHeader.magic, at: 0)
        put(LayerHeader.version, at: 4)
        put(topTableChecksum, at: 12)
        for (index, word) in [
            storeID.low, storeID.high, definition.low, definition.high, fromAnchor, toAnchor, nonce,
            segmentAnchor, segmentByteOffset, rowBase, batchBase, extraBase, seed.first, seed.second,
            fileByteCount, blockTableOffset, blockCount, lastFrameByteOffset,
        ].enumerated() { put(word, at: 16 + index * 8) }
        put(parentChecksum, at: 256)
        for (index, byte) in parentName.utf8.prefix(LayerHeader.nameByteCount).enumerated() {
            bytes[260 + index] = byte
        }
        for (kind, section) in sections {
            let offset = LayerHeader.sectionOffset + Int(kind.rawValue) * 24
            put(section.byteOffset, at: offset)
            put(section.count, at: offset + 8)
            put(section.elementByteCount, at: offset + 16)
        }
        let sum = unsafe bytes.withUnsafeBytes {
            unsafe hklog_crc32c(0, $0.baseAddress.map { unsafe $0 + 12 }, $0.count - 12)
        }
        put(sum, at: 8)
        return bytes
    }

    /// Reads a header; `nil` when it is not one of this version or its checksum is wrong.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= LayerHeader.byteCount, let base = bytes.baseAddress else { return nil }
        func get<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) -> T {
            unsafe T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
        }
        guard get(UInt32.self, at: 0) == LayerHeader.magic, get(UInt32.self, at: 4) == LayerHeader.version
        else { return nil }
        checksum = get(UInt32.self, at: 8)
        guard unsafe hklog_crc32c(0, base + 12, LayerHeader.byteCount - 12) == checksum else { return nil }
        topTableChecksum = get(UInt32.self, at: 12)
        func word(_ index: Int) -> UInt64 { get(UInt64.self, at: 16 + index * 8) }
        storeID = (word(0), word(1))
        definition = RawDigest(low: word(2), high: word(3))
        (fromAnchor, toAnchor, nonce) = (word(4), word(5), word(6))
        (segmentAnchor, segmentByteOffset) = (word(7), word(8))
        (rowBase, batchBase, extraBase) = (word(9), word(10), word(11))
        seed = (word(12), word(13))
        (fileByteCount, blockTableOffset, blockCount) = (word(14), word(15), word(16))
        lastFrameByteOffset = word(17)
        parentChecksum = get(UInt32.self, at: 256)
        let name = unsafe bytes[260..<260 + LayerHeader.nameByteCount].prefix { $0 != 0 }
        parentName = unsafe String(decoding: name, as: UTF8.self)
        for kind in LayerSection.allCases {
            let offset = LayerHeader.sectionOffset + Int(kind.rawValue) * 24
            let section = Section(
                elementByteCount: get(UInt32.self, at: offset + 16), byteOffset: get(UInt64.self, at: offset),
                count: get(UInt64.self, at: offset + 8))
            if section.elementByteCount > 0 { sections[kind] = section }
        }
    }

    init() {}
}

/// A layer file, mapped: each block's checksum is checked when the block is first used.
///
/// A block that fails, or an index that leads out of its section, sets `isDamaged` and reads as zeros. Whoever
/// asked looks at `isDamaged` before the answer is believed, throws the layers away and replays the log.
@safe
final class LayerFile {
    let name: String
    let header: LayerHeader
    private(set) var isDamaged = false
    private let bytes: UnsafeRawBufferPointer
    private let mapping: MappedBytes
    /// A bit a block: checked and found good.
    ///
    /// The blocks of the checksum table follow those of the data.
    private let checked: UnsafeMutablePointer<UInt8>
    private let checkedCount: Int
    private let blockCount: Int
    private let tableOffset: Int
    private let topTableOffset: Int
    private let zeros: UnsafeMutableRawPointer

    /// A column of a layer.
    struct Section {
        let byteOffset: Int
        let count: Int
    }

    let uuids, starts, durations, values, shapes, extras, batches, flags, slots: Section
    let bucketKeys, buckets, bucketRowEnds, bucketRows, categoryRows: Section
    let overrideRows, overrideFlags, extraTable, extraBytes: Section
    let batchTable, knownSlots, numberSlots, syncMembers, state: Section

    /// Takes a mapped file; `nil` when it is not a layer of this version or its frame is damaged.
    init?(name: String, mapping: MappedBytes) {
        let bytes = unsafe mapping.buffer
        guard let header = unsafe LayerHeader(bytes) else { return nil }
        let size = LayerHeader.blockByteCount
        guard header.fileByteCount == UInt64(bytes.count), header.blockTableOffset <= UInt64(bytes.count),
            header.blockTableOffset >= UInt64(LayerHeader.byteCount),
            header.blockCount == (header.blockTableOffset - UInt64(LayerHeader.byteCount) + UInt64(size) - 1)
                / UInt64(size)
        else { return nil }
        let tableBytes = Int(header.blockCount) * 4
        let tableBlocks = (tableBytes + size - 1) / size
        let topOffset = Int(header.blockTableOffset) + tableBytes
        guard topOffset + tableBlocks * 4 == bytes.count, let base = bytes.baseAddress,
            unsafe hklog_crc32c(0, base + topOffset, tableBlocks * 4) == header.topTableChecksum
        else { return nil }
        var fits = true
        func section(_ kind: LayerSection, _ elementByteCount: Int) -> Section {
            guard let stored = header.sections[kind] else {
                return Section(byteOffset: LayerHeader.byteCount, count: 0)
            }
            let end = stored.count.multipliedReportingOverflow(by: UInt64(elementByteCount))
            if stored.elementByteCount != UInt32(elementByteCount) || end.overflow
                || stored.byteOffset < UInt64(LayerHeader.byteCount)
                || stored.byteOffset > header.blockTableOffset
                || end.partialValue > header.blockTableOffset - stored.byteOffset
            {
                fits = false
                return Section(byteOffset: LayerHeader.byteCount, count: 0)
            }
            return Section(byteOffset: Int(stored.byteOffset), count: Int(stored.count))
        }
        uuids = section(.uuids, 16)
        starts = section(.starts, 8)
        durations = section(.durations, 8)
        values = section(.values, 8)
        shapes = section(.shapes, 4)
        extras = section(.extras, 4)
        batches = section(.batches, 4)
        flags = section(.flags, 1)
        slots = section(.slots, 8)
        bucketKeys = section(.bucketKeys, 8)
        buckets = section(.buckets, MemoryLayout<BucketRecord>.stride)
        bucketRowEnds = section(.bucketRowEnds, 8)
        bucketRows = section(.bucketRows, 4)
        categoryRows = section(.categoryRows, MemoryLayout<CategoryRecord>.stride)
        overrideRows = section(.overrideRows, 4)
        overrideFlags = section(.overrideFlags, 1)
        extraTable = section(.extraTable, MemoryLayout<ExtraRecord>.stride)
        extraBytes = section(.extraBytes, 1)
        batchTable = section(.batchTable, MemoryLayout<BatchRecord>.stride)
        knownSlots = section(.knownSlots, 8)
        numberSlots = section(.numberSlots, 8)
        syncMembers = section(.syncMembers, MemoryLayout<SyncMember>.stride)
        state = section(.state, 1)
        let rows = uuids.count
        for section in [starts, durations, values, shapes, extras, batches, flags] where section.count != rows
        {
            fits = false
        }
        for section in [slots, knownSlots, numberSlots] where section.count & (section.count - 1) != 0 {
            fits = false
        }
        if buckets.count != bucketKeys.count || bucketRowEnds.count != bucketKeys.count
            || overrideFlags.count != overrideRows.count
            || header.rowBase + UInt64(rows) > UInt64(UInt32.max) / 2
        {
            fits = false
        }
        guard fits else { return nil }
        self.name = name
        self.header = header
        self.mapping = mapping
        unsafe self.bytes = bytes
        blockCount = Int(header.blockCount)
        tableOffset = Int(header.blockTableOffset)
        topTableOffset = topOffset
        checkedCount = (Int(header.blockCount) + tableBlocks + 7) / 8
        unsafe checked = UnsafeMutablePointer<UInt8>.allocate(capacity: checkedCount + 1)
        unsafe checked.initialize(repeating: 0, count: checkedCount + 1)
        unsafe zeros = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 16)
        unsafe zeros.initializeMemory(as: UInt8.self, repeating: 0, count: 256)
    }

    deinit {
        unsafe checked.deallocate()
        unsafe zeros.deallocate()
    }

    var rowCount: Int { uuids.count }
    var rowBase: UInt32 { UInt32(header.rowBase) }

    func fail() { isDamaged = true }

    /// One element of a section.
    ///
    /// Zeros, and `isDamaged`, when it is out of range or its block is bad.
    @inline(__always)
    func load<T: BitwiseCopyable>(_ section: Section, _ index: Int, as type: T.Type = T.self) -> T {
        guard index >= 0, index < section.count else {
            isDamaged = true
            return unsafe zeros.loadUnaligned(as: T.self)
        }
        let offset = section.byteOffset + index * MemoryLayout<T>.stride
        guard check(offset), check(offset + MemoryLayout<T>.size - 1) else {
            return unsafe zeros.loadUnaligned(as: T.self)
        }
        // Sound: the section lies within the file (init) and the index within the section.
        return unsafe bytes.loadUnaligned(fromByteOffset: offset, as: T.self)
    }

    /// Asks for the slot of a uuid that will be looked up soon.
    @inline(__always)
    func prefetch(_ uuid: RawUUID) {
        guard slots.count > 0, let base = unsafe bytes.baseAddress else { return }
        let place = Int(truncatingIfNeeded: RowTable.hash(uuid, header.seed)) & (slots.count - 1)
        // Sound: an address within the section; a prefetch reads nothing and never faults.
        unsafe hklog_prefetch(base + slots.byteOffset + place * 8)
    }

    /// Some elements of a section as bytes, checked; empty when out of range or damaged.
    func slice<T: BitwiseCopyable>(_ section: Section, elements range: Range<Int>, of type: T.Type)
        -> UnsafeRawBufferPointer
    {
        guard range.lowerBound >= 0, range.upperBound <= section.count else {
            isDamaged = true
            return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        }
        let stride = MemoryLayout<T>.stride
        // Sound: the section lies within the file (init), so its bytes are a section of bytes.
        return unsafe slice(
            Section(byteOffset: section.byteOffset, count: section.count * stride),
            range.lowerBound * stride..<range.upperBound * stride)
    }

    /// Some bytes of a section of bytes, checked; empty when out of range or damaged.
    func slice(_ section: Section, _ range: Range<Int>) -> UnsafeRawBufferPointer {
        guard range.lowerBound >= 0, range.upperBound <= section.count else {
            isDamaged = true
            return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        }
        let start = section.byteOffset + range.lowerBound
        let end = section.byteOffset + range.upperBound
        var offset = start
        while offset < end {
            guard check(offset) else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
            let block = (offset - LayerHeader.byteCount) / LayerHeader.blockByteCount
            offset = LayerHeader.byteCount + (block + 1) * LayerHeader.blockByteCount
        }
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    /// Checks every block.
    ///
    /// The number of those that are bad.
    func checkAll() -> [Range<Int>] {
        var bad: [Range<Int>] = []
        for block in 0..<blockCount {
            let start = LayerHeader.byteCount + block * LayerHeader.blockByteCount
            if !check(start) { bad.append(start..<min(start + LayerHeader.blockByteCount, tableOffset)) }
        }
        return bad
    }

    /// Whether the block that holds a byte is good.
    @inline(__always)
    private func check(_ offset: Int) -> Bool {
        let block = (offset - LayerHeader.byteCount) / LayerHeader.blockByteCount
        if unsafe checked[block >> 3] & (1 << UInt8(block & 7)) != 0 { return true }
        return checkBlock(block)
    }

    @inline(never)
    private func checkBlock(_ block: Int) -> Bool {
        let size = LayerHeader.blockByteCount
        // The checksum's own block in the table, against the table of tables, comes first.
        let tableBlock = block * 4 / size
        let tableBit = blockCount + tableBlock
        guard let base = unsafe bytes.baseAddress else { return false }
        if unsafe checked[tableBit >> 3] & (1 << UInt8(tableBit & 7)) == 0 {
            let start = tableOffset + tableBlock * size
            let count = min(size, topTableOffset - start)
            let stored = unsafe UInt32(
                littleEndian: bytes.loadUnaligned(
                    fromByteOffset: topTableOffset + tableBlock * 4, as: UInt32.self))
            guard unsafe hklog_crc32c(0, base + start, count) == stored else {
                isDamaged = true
                return false
            }
            unsafe checked[tableBit >> 3] |= 1 << UInt8(tableBit & 7)
        }
        let start = LayerHeader.byteCount + block * size
        let count = min(size, tableOffset - start)
        let stored = unsafe UInt32(
            littleEndian: bytes.loadUnaligned(fromByteOffset: tableOffset + block * 4, as: UInt32.self))
        guard unsafe hklog_crc32c(0, base + start, count) == stored else {
            isDamaged = true
            return false
        }
        unsafe checked[block >> 3] |= 1 << UInt8(block & 7)
        return true
    }
}
