#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The few calls to the system that time zones need.
enum ZoneSystem {
    /// The whole of a regular file; `nil` when it is none, cannot be read, or is larger than the limit.
    static func readWholeFile(_ path: String, byteCountLimit: Int) -> [UInt8]? {
        // Not blocking, so that a named pipe in the way cannot hang the program.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= byteCountLimit
        else { return nil }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe read(descriptor, buffer.baseAddress, buffer.count)
            }
            if count < 0 {
                if errno == EINTR { continue }
                return nil
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= byteCountLimit else { return nil }
        }
    }

    static func symbolicLinkTarget(_ path: String) -> String? {
        var target = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe target.withUnsafeMutableBytes { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else { return 0 }
                return unsafe readlink(path, start, characters.count)
            }
        }
        guard count > 0 else { return nil }
        return String(decoding: target[..<count], as: UTF8.self)
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
