import HKLog

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Directories that the benchmark makes.
enum Directory {
    /// Removes a path with all that is in it; that there is nothing is no error.
    static func remove(_ path: String) throws {
        let layer = SystemFiles()
        guard try layer.exists(path) else { return }
        guard try layer.status(of: path).isDirectory else { return try layer.unlink(path) }
        for name in try layer.names(in: path) { try remove("\(path)/\(name)") }
        try layer.removeDirectory(path)
    }

    static func make(_ path: String) throws {
        let layer = SystemFiles()
        if try layer.exists(path) { return }
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex { try make(String(path[..<slash])) }
        try layer.makeDirectory(path)
    }

    static func byteCount(_ path: String) throws -> Int {
        let layer = SystemFiles()
        let status = try layer.status(of: path)
        guard status.isDirectory else { return status.byteCount }
        return try layer.names(in: path).reduce(0) { try $0 + byteCount("\(path)/\($1)") }
    }

    /// Writes all files to the disk and drops them from the page cache.
    static func evict(_ path: String) throws {
        let layer = SystemFiles()
        if try layer.status(of: path).isDirectory {
            for name in try layer.names(in: path) { try evict("\(path)/\(name)") }
            return
        }
        let descriptor = openForReading(path)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        #if os(Linux)
            posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        #endif
        close(descriptor)
    }

    private static func openForReading(_ path: String) -> Int32 { unsafe open(path, O_RDONLY) }
}
