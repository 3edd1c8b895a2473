/// Makes zips for tests, also ones that are cut, damaged or oddly built.
struct ZipWriter {
    enum Form {
        case stored
        /// Deflate with blocks that are not compressed: all of the format, none of the work.
        case deflated
    }

    private var bytes: [UInt8] = []
    private var directory: [UInt8] = []
    private var count: UInt64 = 0
    /// Where the data of the last file begins.
    private(set) var lastDataOffset = 0

    mutating func add(
        _ name: String, _ contents: [UInt8], form: Form = .deflated, hasDescriptor: Bool = false,
        isZip64: Bool = false,
        isEncrypted: Bool = false, checksum: UInt32? = nil, packed: [UInt8]? = nil
    ) {
        let crc = checksum ?? ZipWriter.crc32(contents)
        let data = packed ?? (form == .stored ? contents : ZipWriter.deflate(contents))
        let nameBytes = Array(name.utf8)
        var flags: UInt64 = 0x800
        if hasDescriptor { flags |= 8 }
        if isEncrypted { flags |= 1 }
        let offset = UInt64(bytes.count)
        let method: UInt64 = form == .stored ? 0 : 8
        func put(_ value: UInt64, _ byteCount: Int, _ output: inout [UInt8]) {
            for index in 0..<byteCount {
                output.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
            }
        }
        func sizes(_ output: inout [UInt8], isKnown: Bool) {
            put(isKnown ? UInt64(crc) : 0, 4, &output)
            put(isZip64 ? 0xFFFF_FFFF : isKnown ? UInt64(data.count) : 0, 4, &output)
            put(isZip64 ? 0xFFFF_FFFF : isKnown ? UInt64(contents.count) : 0, 4, &output)
        }
        var extra: [UInt8] = []
        if isZip64 {
            put(1, 2, &extra)
            put(16, 2, &extra)
            put(UInt64(contents.count), 8, &extra)
            put(UInt64(data.count), 8, &extra)
        }
        put(0x0403_4B50, 4, &bytes)
        put(isZip64 ? 45 : 20, 2, &bytes)
        put(flags, 2, &bytes)
        put(method, 2, &bytes)
        put(0x21, 4, &bytes)
        sizes(&bytes, isKnown: !hasDescriptor)
        put(UInt64(nameBytes.count), 2, &bytes)
        put(UInt64(extra.count), 2, &bytes)
        bytes += nameBytes + extra
        lastDataOffset = bytes.count
        bytes += data
        if hasDescriptor {
            put(0x0807_4B50, 4, &bytes)
            put(UInt64(crc), 4, &bytes)
            put(UInt64(data.count), isZip64 ? 8 : 4, &bytes)
            put(UInt64(contents.count), isZip64 ? 8 : 4, &bytes)
        }
        put(0x0201_4B50, 4, &directory)
        put(isZip64 ? 45 : 20, 2, &directory)
        put(isZip64 ? 45 : 20, 2, &directory)
        put(flags, 2, &directory)
        put(method, 2, &directory)
        put(0x21, 4, &directory)
        sizes(&directory, isKnown: true)
        put(UInt64(nameBytes.count), 2, &directory)
        put(UInt64(extra.count), 2, &directory)
        put(0, 2, &directory)
        put(0, 2, &directory)
        put(0, 2, &directory)
        put(0, 4, &directory)
        put(offset, 4, &directory)
        directory += nameBytes + extra
        count += 1
    }

    /// Adds a file in which one byte stands very often after a beginning: a few bytes that unpack to many.
    mutating func addRun(_ name: String, _ head: [UInt8], of byte: UInt8, count: Int, _ tail: [UInt8] = []) {
        let runs = count / 258
        var contents = head
        contents.reserveCapacity(head.count + 1 + runs * 258 + tail.count)
        contents += [UInt8](repeating: byte, count: 1 + runs * 258) + tail
        add(name, contents, packed: ZipWriter.packed(head, byte, runs: runs, tail))
    }

    /// Deflate with the fixed codes: literals, then copies of the 258 bytes before.
    private static func packed(_ head: [UInt8], _ byte: UInt8, runs: Int, _ tail: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var bits: UInt64 = 0
        var bitCount: UInt64 = 0
        func put(_ value: UInt64, _ count: UInt64) {
            bits |= value << bitCount
            bitCount += count
            while bitCount >= 8 {
                output.append(UInt8(truncatingIfNeeded: bits))
                bits >>= 8
                bitCount -= 8
            }
        }
        /// A code, which goes in from its highest bit.
        func code(_ value: UInt64, _ count: UInt64) {
            for bit in (0..<count).reversed() { put(value >> bit & 1, 1) }
        }
        func literal(_ byte: UInt8) {
            if byte < 144 { code(0x30 + UInt64(byte), 8) } else { code(0x190 + UInt64(byte) - 144, 9) }
        }
        put(0b011, 3)
        for byte in head + [byte] { literal(byte) }
        for _ in 0..<runs {
            code(0b1100_0101, 8)
            code(0, 5)
        }
        for byte in tail { literal(byte) }
        code(0, 7)
        put(0, 7)
        return output
    }

    /// The whole archive.
    func finish() -> [UInt8] {
        var all = bytes + directory
        func put(_ value: UInt64, _ byteCount: Int) {
            for index in 0..<byteCount { all.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
        }
        put(0x0605_4B50, 4)
        put(0, 4)
        put(count, 2)
        put(count, 2)
        put(UInt64(directory.count), 4)
        put(UInt64(bytes.count), 4)
        put(0, 2)
        return all
    }

    private static func deflate(_ contents: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var index = 0
        repeat {
            let count = min(65_535, contents.count - index)
            output.append(index + count == contents.count ? 1 : 0)
            for value in [UInt16(count), ~UInt16(count)] {
                output.append(UInt8(value & 0xFF))
                output.append(UInt8(value >> 8))
            }
            output += contents[index..<index + count]
            index += count
        } while index < contents.count
        return output
    }

    private static let crcTable: [UInt32] = (0..<256).map { (byte: UInt32) -> UInt32 in
        var crc = byte
        for _ in 0..<8 { crc = crc & 1 != 0 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        return crc
    }

    private static func crc32(_ contents: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        let table = crcTable
        for byte in contents { crc = crc >> 8 ^ table[Int((crc ^ UInt32(byte)) & 0xFF)] }
        return ~crc
    }
}
