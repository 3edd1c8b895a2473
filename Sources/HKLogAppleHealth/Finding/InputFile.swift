internal import HKLog

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A file that is read from its beginning; the only place of the importer that asks the system for files.
final class InputFile: ByteSource {
    let path: String
    private let descriptor: Int32
    /// Its size when it was opened.
    let byteCount: Int

    /// What stands at a path.
    enum Kind {
        case file, folder, other, missing
    }

    /// Opens a file for reading.
    init(path: String) throws(HKLogError) {
        self.path = path
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw InputFile.failure("cannot be opened", path: path) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            let error = InputFile.failure("cannot be examined", path: path)
            close(descriptor)
            throw error
        }
        byteCount = Int(status.st_size)
    }

    deinit {
        close(descriptor)
    }

    var fault: String? { nil }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HKLogError) -> Int {
        while true {
            let count = unsafe readBytes(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno != EINTR { throw InputFile.failure("cannot be read", path: path) }
        }
    }

    /// What stands at a path, links followed.
    static func kind(of path: String) -> Kind {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return .missing }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .folder
        default: return .other
        }
    }

    /// Whether a path is a symbolic link.
    static func isLink(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Whether a link leads to something inside of a folder.
    static func isInside(_ folder: String, link: String) -> Bool {
        guard let outer = realPath(folder), let inner = realPath(link) else { return false }
        return inner.starts(with: outer.last == UInt8(ascii: "/") ? outer : outer + [UInt8(ascii: "/")])
    }

    private static func realPath(_ path: String) -> [UInt8]? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe Array(String(cString: resolved).utf8)
    }

    /// The names in a folder, in the order of their bytes.
    static func names(inFolder path: String) throws(HKLogError) -> [String] {
        guard let folder = unsafe opendir(path) else { throw failure("cannot be listed", path: path) }
        defer { unsafe _ = closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                // Sound: the system ends the name with a zero.
                unsafe String(cString: UnsafeRawPointer(tuple).assumingMemoryBound(to: CChar.self))
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private static func failure(_ what: String, path: String) -> HKLogError {
        let number = errno
        let reason = unsafe String(cString: strerror(number))
        let isBeyondReach = number == ENOENT || number == ENOTDIR || number == EACCES || number == EPERM
        return HKLogError(isBeyondReach ? .notFound : .inputOutput, "\(path): \(what): \(reason)")
    }
}

/// `read` under a name that a method of the same name does not hide.
private func readBytes(_ descriptor: Int32, _ start: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    unsafe read(descriptor, start, count)
}
