extension ByteReader {
    /// Reads a column of `count` values into the front of `values`, which grows where it is too short.
    ///
    /// The caller has bounded `count` by the bytes of the frame.
    mutating func readColumn(_ count: Int, into values: inout [Int64]) throws(CodecError) {
        if values.count < count { values.append(contentsOf: repeatElement(0, count: count - values.count)) }
        if count == 0 { return }
        let control = try readByte()
        let options = control & ColumnFormat.hasOptions != 0 ? try readByte() : 0
        guard options & ~ColumnFormat.knownOptions == 0 else { throw .malformed }
        let base = try readSigned()
        let isZigZag = options & ColumnFormat.optionZigZag != 0
        guard !isZigZag || base == 0 else { throw .malformed }
        let multiplier = options & ColumnFormat.optionStride != 0 ? try readVarint() : 1
        let width = control & ColumnFormat.widthMask
        let isPlanes = width == ColumnFormat.planes
        guard isPlanes || Int(width) <= ColumnFormat.widthLimit else { throw .malformed }
        let hasHighs = control & ColumnFormat.hasHighs != 0
        let hasExceptions = options & ColumnFormat.optionExceptions != 0
        guard !(isPlanes && hasHighs), hasHighs || !hasExceptions else { throw .malformed }
        if control & ~ColumnFormat.hasOptions == 0 && options == 0 {
            unsafe values.withUnsafeMutableBufferPointer { values in
                for index in 0..<count { unsafe values[index] = base }
            }
            return
        }
        var reader = self
        defer { self = reader }
        try unsafe values.withUnsafeMutableBufferPointer { (buffer) throws(CodecError) in
            guard let start = buffer.baseAddress else { return }
            let values = unsafe start
            let bitmap: UnsafeRawPointer?
            var storedCount = count
            if options & ColumnFormat.optionSparse != 0 {
                unsafe bitmap = try unsafe reader.take((count + 7) / 8)
                storedCount = try unsafe ByteReader.countBits(bitmap, count)
            } else {
                unsafe bitmap = nil
            }
            if isPlanes {
                unsafe ByteReader.unpackPlanes(try reader.take(8 * storedCount), storedCount, values)
            } else {
                let bytes = try unsafe reader.take((storedCount * Int(width) + 7) / 8)
                unsafe ByteReader.unpack(bytes, storedCount, width: UInt64(width), values)
            }
            if hasHighs {
                let byteCount = try reader.readCount(upTo: reader.remaining)
                let bytes = try unsafe reader.take(byteCount)
                try unsafe ByteReader.addHighs(bytes, byteCount, storedCount, width: UInt64(width), values)
            }
            if hasExceptions {
                try unsafe reader.readExceptions(storedCount, width: UInt64(width), values)
            }
            unsafe ByteReader.shift(values, storedCount, base, Int64(bitPattern: multiplier), isZigZag)
            if let bitmap = unsafe bitmap { unsafe ByteReader.spread(values, storedCount, bitmap, count) }
        }
    }

    private static func countBits(_ bitmap: UnsafeRawPointer?, _ count: Int) throws(CodecError) -> Int {
        guard let bitmap = unsafe bitmap else { return count }
        var total = 0
        let byteCount = (count + 7) / 8
        for index in 0..<byteCount {
            total &+= unsafe bitmap.load(fromByteOffset: index, as: UInt8.self).nonzeroBitCount
        }
        // Bits after the last value must be zero, or the count of stored values would be wrong.
        let spare = byteCount * 8 - count
        let last = unsafe bitmap.load(fromByteOffset: byteCount - 1, as: UInt8.self)
        guard spare == 0 || last &>> UInt8(8 - spare) == 0 else { throw .malformed }
        return total
    }

    private static func unpackPlanes(
        _ bytes: UnsafeRawPointer, _ count: Int, _ values: UnsafeMutablePointer<Int64>
    ) {
        for index in 0..<count {
            unsafe values[index] = Int64(bytes.load(fromByteOffset: index, as: UInt8.self))
        }
        for plane in 1..<8 {
            let shift = Int64(8 &* plane)
            let start = unsafe bytes + plane &* count
            for index in 0..<count {
                unsafe values[index] |= Int64(start.load(fromByteOffset: index, as: UInt8.self)) &<< shift
            }
        }
    }

    /// Sound: `width` is at most 56 and the reader's padding follows, so each load is within the memory.
    private static func unpack(
        _ bytes: UnsafeRawPointer, _ count: Int, width: UInt64, _ values: UnsafeMutablePointer<Int64>
    ) {
        switch width {
        case 0:
            for index in 0..<count { unsafe values[index] = 0 }
        case 8:
            for index in 0..<count {
                unsafe values[index] = Int64(bytes.load(fromByteOffset: index, as: UInt8.self))
            }
        case 16:
            for index in 0..<count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: 2 &* index, as: UInt16.self)
                unsafe values[index] = Int64(UInt16(littleEndian: word))
            }
        default:
            let mask = (UInt64(1) &<< width) &- 1
            var bit: UInt64 = 0
            for index in 0..<count {
                let offset = Int(truncatingIfNeeded: bit &>> 3)
                let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                let value = (UInt64(littleEndian: word) &>> (bit & 7)) & mask
                unsafe values[index] = Int64(bitPattern: value)
                bit &+= width
            }
        }
    }

    /// Adds what stands in unary above the low bits: as many zero bits as the number says, then a one.
    private static func addHighs(
        _ bytes: UnsafeRawPointer, _ byteCount: Int, _ count: Int, width: UInt64,
        _ values: UnsafeMutablePointer<Int64>
    ) throws(CodecError) {
        var index = 0
        var offset = 0
        // Where the next number begins, counted from the first bit.
        var begin: UInt64 = 0
        while index < count {
            guard offset < byteCount else { throw .malformed }
            // Sound: the reader's padding follows.
            var ones = unsafe UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            // What stands behind is not ours.
            let rest = byteCount &- offset
            if rest < 8 { ones &= (UInt64(1) &<< UInt64(truncatingIfNeeded: 8 &* rest)) &- 1 }
            let position = UInt64(truncatingIfNeeded: 8 &* offset)
            // Taking the lowest one away does not wait for its place to be known.
            while ones != 0 && index < count {
                let place = position &+ UInt64(truncatingIfNeeded: ones.trailingZeroBitCount)
                unsafe values[index] |= Int64(bitPattern: (place &- begin) &<< width)
                begin = place &+ 1
                ones &= ones &- 1
                index &+= 1
            }
            offset &+= 8
        }
    }

    private mutating func readExceptions(
        _ count: Int, width: UInt64, _ values: UnsafeMutablePointer<Int64>
    ) throws(CodecError) {
        let exceptionCount = try readCount(upTo: min(count, remaining))
        var next = 0
        for _ in 0..<exceptionCount {
            guard next < count else { throw .malformed }
            let index = next + (try readCount(upTo: count - 1 - next))
            unsafe values[index] |= Int64(bitPattern: try readVarint() &<< width)
            next = index + 1
        }
    }

    private static func shift(
        _ values: UnsafeMutablePointer<Int64>, _ count: Int, _ base: Int64, _ multiplier: Int64,
        _ isZigZag: Bool
    ) {
        if isZigZag {
            for index in 0..<count {
                unsafe values[index] = ZigZag.decode(UInt64(bitPattern: values[index])) &* multiplier
            }
        } else if multiplier != 1 {
            for index in 0..<count { unsafe values[index] = values[index] &* multiplier &+ base }
        } else if base != 0 {
            for index in 0..<count { unsafe values[index] &+= base }
        }
    }

    /// Moves the stored values to where the bitmap has ones, from the back, and puts zeros between.
    private static func spread(
        _ values: UnsafeMutablePointer<Int64>, _ storedCount: Int, _ bitmap: UnsafeRawPointer, _ count: Int
    ) {
        var source = storedCount
        var target = count
        while target > 0 {
            target &-= 1
            let byte = unsafe bitmap.load(fromByteOffset: target &>> 3, as: UInt8.self)
            let bit = Int(truncatingIfNeeded: byte &>> UInt8(truncatingIfNeeded: target & 7)) & 1
            // Which it is cannot be foretold, so nothing branches. Sound: as many values are left as there are ones,
            // and where a zero is among the rest, `source` is one of the places that it leaves free.
            source &-= bit
            let value = unsafe values[source]
            unsafe values[target] = value & (0 &- Int64(truncatingIfNeeded: bit))
        }
    }
}
