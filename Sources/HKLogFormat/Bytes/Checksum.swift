private import CHKLogShims

/// CRC32C over bytes.
package enum Checksum {
    /// Continues `checksum` over `bytes`; start with 0.
    package static func crc32c(_ bytes: UnsafeRawBufferPointer, continuing checksum: UInt32 = 0) -> UInt32 {
        guard let base = bytes.baseAddress else { return checksum }
        return unsafe hklog_crc32c(checksum, base, bytes.count)
    }

    /// The same by table alone: the slow twin that tests compare with.
    package static func crc32cByTable(
        _ bytes: UnsafeRawBufferPointer, continuing checksum: UInt32 = 0
    ) -> UInt32 {
        guard let base = bytes.baseAddress else { return checksum }
        return unsafe hklog_crc32c_table(checksum, base, bytes.count)
    }
}
