import HKLog
import HKLogFormat
import HKLogTestSupport

/// Writes the workload as fixed records, for the programs that are compared: see `Benchmarks/limit/flat.h`.
enum FlatFile {
    static func write(sampleCount: Int, seed: UInt64, batchSize: Int, to path: String) throws {
        var workload = Workload(sampleCount: sampleCount, seed: seed)
        let layer = SystemFiles()
        try layer.unlinkIfThere(path)
        let file = try layer.openFully(path, .creating)
        var offset = 64
        var (adds, deletes) = (0, 0)
        while true {
            let records = workload.nextRecords(size: batchSize)
            if records.isEmpty { break }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(records.count * 48)
            for record in records {
                bytes.appendLittleEndian(record.uuid.first)
                bytes.appendLittleEndian(record.uuid.second)
                bytes.appendLittleEndian(UInt64(bitPattern: record.start))
                bytes.appendLittleEndian(UInt64(bitPattern: record.end))
                bytes.appendLittleEndian(record.value.bitPattern)
                bytes.appendLittleEndian(
                    UInt64(record.type) | UInt64(record.source) << 16 | (record.isDeletion ? 1 << 32 : 0))
                if record.isDeletion { deletes += 1 } else { adds += 1 }
            }
            try file.writeFully(bytes.span, at: offset)
            offset += bytes.count
        }
        var header = Array("HKLFLAT1".utf8)
        for word in [
            adds + deletes, adds, deletes, Int(truncatingIfNeeded: seed), batchSize, WorkloadType.all.count,
            Workload.sources.count,
        ] {
            header.appendLittleEndian(UInt64(bitPattern: Int64(word)))
        }
        try file.writeFully(header.span, at: 0)
    }
}

extension [UInt8] {
    fileprivate mutating func appendLittleEndian(_ word: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            append(UInt8(truncatingIfNeeded: word >> shift))
        }
    }
}
