private import CZip
package import HKLog

/// Packs a generated export as the Health app does.
package enum ExportArchive {
    /// The document's name in the archive.
    static let documentName = "apple_health_export/export.xml"

    /// Makes or replaces a zip that holds a document.
    ///
    /// The document is deflated from its file, so memory does not grow with it.
    ///
    /// - Parameters:
    ///   - document: The path of the XML file.
    ///   - path: The zip.
    ///   - goesOn: Called with the share that is done, 0 to 1; `false` ends the packing.
    /// - Returns: Whether the zip was made; `false` when `goesOn` ended it.
    /// - Throws: `inputOutput` when the zip cannot be written.
    package static func pack(
        _ document: String, into path: String, goesOn: @escaping (Double) -> Bool
    ) throws(HKLogError) -> Bool {
        var code: Int32 = 0
        guard let archive = unsafe zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code) else {
            var error = unsafe zip_error_t()
            unsafe zip_error_init_with_code(&error, code)
            defer { unsafe zip_error_fini(&error) }
            throw failure(path, unsafe String(cString: zip_error_strerror(&error)))
        }
        var isOpen = true
        defer { if isOpen { unsafe zip_discard(archive) } }
        guard let source = unsafe zip_source_file(archive, document, 0, -1) else {
            throw failure(path, unsafe String(cString: zip_strerror(archive)))
        }
        let index = unsafe zip_file_add(archive, documentName, source, zip_flags_t(ZIP_FL_ENC_UTF_8))
        guard index >= 0 else {
            unsafe zip_source_free(source)
            throw failure(path, unsafe String(cString: zip_strerror(archive)))
        }
        // The clock stays out of it: the same options give the same archive.
        let firstOfJanuary2026: UInt16 = (2026 - 1980) << 9 | 1 << 5 | 1
        let entry = UInt64(index)
        guard unsafe zip_set_file_compression(archive, entry, ZIP_CM_DEFLATE, 6) == 0,
            unsafe zip_file_set_dostime(archive, entry, 0, firstOfJanuary2026, 0) == 0
        else { throw failure(path, unsafe String(cString: zip_strerror(archive))) }

        let watcher = Watcher(goesOn)
        let state = unsafe Unmanaged.passUnretained(watcher).toOpaque()
        unsafe zip_register_progress_callback_with_state(
            archive, 0.005,
            { _, share, state in
                guard let state = unsafe state else { return }
                unsafe Unmanaged<Watcher>.fromOpaque(state).takeUnretainedValue().note(share)
            }, nil, state)
        unsafe zip_register_cancel_callback_with_state(
            archive,
            { _, state in
                guard let state = unsafe state else { return 0 }
                return unsafe Unmanaged<Watcher>.fromOpaque(state).takeUnretainedValue().hasEnded ? 1 : 0
            }, nil, state)
        let isWritten = withExtendedLifetime(watcher) { unsafe zip_close(archive) == 0 }
        if isWritten {
            isOpen = false
            return true
        }
        if watcher.hasEnded { return false }
        throw failure(path, unsafe String(cString: zip_strerror(archive)))
    }

    /// What libzip's callbacks are told.
    private final class Watcher {
        private let goesOn: (Double) -> Bool
        private(set) var hasEnded = false

        init(_ goesOn: @escaping (Double) -> Bool) {
            self.goesOn = goesOn
        }

        func note(_ share: Double) {
            if !goesOn(share) { hasEnded = true }
        }
    }

    private static func failure(_ path: String, _ reason: String) -> HKLogError {
        HKLogError(.inputOutput, "\(path): cannot write the zip: \(reason)")
    }
}
