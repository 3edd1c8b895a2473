private import CZip
internal import HKLog

/// A zip that is read entry by entry; the only place that knows libzip.
///
/// Nothing is unpacked to disk.
@safe
final class ZipArchive {
    let path: String
    private let handle: OpaquePointer

    /// One file in the archive.
    struct Entry {
        var index: UInt64
        /// The name as it stands in the archive, mended where it is no UTF-8.
        var name: [UInt8]
        /// The size unpacked; 0 when the archive does not say.
        var byteCount: Int
        var isEncrypted: Bool
    }

    init(path: String) throws(HKLogError) {
        self.path = path
        var code: Int32 = 0
        guard let handle = unsafe zip_open(path, ZIP_RDONLY, &code) else {
            var error = unsafe zip_error_t()
            unsafe zip_error_init_with_code(&error, code)
            defer { unsafe zip_error_fini(&error) }
            let reason = unsafe String(cString: zip_error_strerror(&error))
            throw HKLogError(
                .invalidData,
                "\(path): the zip cannot be read (\(reason)); it may be cut or damaged: export or copy it again"
            )
        }
        unsafe self.handle = handle
    }

    deinit {
        unsafe zip_discard(handle)
    }

    /// All files, in the order of the archive.
    func entries() -> [Entry] {
        let count = unsafe zip_get_num_entries(handle, 0)
        guard count > 0 else { return [] }
        var entries: [Entry] = []
        for index in 0..<UInt64(count) {
            var status = unsafe zip_stat_t()
            unsafe zip_stat_init(&status)
            guard unsafe zip_stat_index(handle, index, 0, &status) == 0, let name = unsafe status.name else {
                continue
            }
            let text = unsafe String(cString: name)
            if text.utf8.last == UInt8(ascii: "/") { continue }
            let hasSize = unsafe status.valid & UInt64(ZIP_STAT_SIZE) != 0
            unsafe entries.append(
                Entry(
                    index: index, name: Array(text.utf8),
                    byteCount: hasSize ? Int(clamping: status.size) : 0,
                    isEncrypted: status.valid & UInt64(ZIP_STAT_ENCRYPTION_METHOD) != 0
                        && status.encryption_method != UInt16(ZIP_EM_NONE)))
        }
        return entries
    }

    /// Opens an entry for reading.
    func open(_ entry: Entry) throws(HKLogError) -> ZipEntrySource {
        guard let file = unsafe zip_fopen_index(handle, entry.index, 0) else {
            let reason = unsafe String(cString: zip_strerror(handle))
            throw HKLogError(
                .invalidData, "\(path): \(printable(entry.name)) in the zip cannot be read (\(reason))")
        }
        return unsafe ZipEntrySource(archive: self, file: file)
    }
}

/// The unpacked bytes of an entry; libzip checks the checksum at the end.
@safe
final class ZipEntrySource: ByteSource {
    private let archive: ZipArchive
    private let file: OpaquePointer
    private(set) var fault: String?

    fileprivate init(archive: ZipArchive, file: OpaquePointer) {
        self.archive = archive
        unsafe self.file = file
    }

    deinit {
        unsafe _ = zip_fclose(file)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HKLogError) -> Int {
        if fault != nil { return 0 }
        let count = unsafe zip_fread(file, buffer.baseAddress, UInt64(buffer.count))
        if count < 0 {
            fault = unsafe String(cString: zip_file_strerror(file))
            return 0
        }
        return Int(count)
    }
}

/// A name from outside, without what a terminal would obey.
func printable(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    return String(
        text.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: Character(scalar)
            }
        })
}
