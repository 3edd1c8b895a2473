#if canImport(Darwin)
    private import Darwin
#elseif canImport(Musl)
    private import Musl
#else
    private import Glibc
#endif

/// The operating system's own files.
package struct SystemFiles: FileLayer {
    package init() {}

    package func open(_ path: String, _ mode: FileOpening) throws(SystemError) -> any OpenFile {
        let flags: Int32 =
            switch mode {
            case .reading: O_RDONLY
            case .writing: O_RDWR | O_NOFOLLOW
            case .writingOrCreating: O_RDWR | O_CREAT | O_NOFOLLOW
            case .creating: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
            case .directory: O_RDONLY | O_DIRECTORY
            }
        let descriptor = openFile(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(.open, errno) }
        return SystemFile(descriptor: descriptor)
    }

    package func rename(_ path: String, to newPath: String) throws(SystemError) {
        guard renameFile(path, newPath) == 0 else { throw SystemError(.rename, errno) }
    }

    package func unlink(_ path: String) throws(SystemError) {
        guard unlinkFile(path) == 0 else { throw SystemError(.unlink, errno) }
    }

    package func makeDirectory(_ path: String) throws(SystemError) {
        guard unsafe mkdir(path, 0o700) == 0 else { throw SystemError(.mkdir, errno) }
    }

    package func removeDirectory(_ path: String) throws(SystemError) {
        guard unsafe rmdir(path) == 0 else { throw SystemError(.rmdir, errno) }
    }

    package func names(in path: String) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(path) else { throw SystemError(.readdir, errno) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
                unsafe String(cString: UnsafeRawPointer(field).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw SystemError(.readdir, errno) }
        return names
    }

    package func status(of path: String) throws(SystemError) -> FileStatus {
        var information = stat()
        guard unsafe stat(path, &information) == 0 else { throw SystemError(.stat, errno) }
        return FileStatus(information)
    }

    package func availableByteCount(at path: String) throws(SystemError) -> Int {
        var information = statvfs()
        guard unsafe statvfs(path, &information) == 0 else { throw SystemError(.statvfs, errno) }
        let product = UInt64(information.f_bavail).multipliedReportingOverflow(
            by: UInt64(information.f_frsize))
        return product.overflow ? .max : Int(clamping: product.partialValue)
    }

    package func randomWord() throws(SystemError) -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

/// A descriptor of the operating system.
package final class SystemFile: OpenFile {
    private let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { _ = closeDescriptor(descriptor) }

    package func read(into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>, at byteOffset: Int)
        throws(SystemError) -> Int
    {
        let descriptor = descriptor
        precondition(
            range.lowerBound >= 0 && range.upperBound <= buffer.count, "the range lies in the buffer")
        let count = unsafe buffer.withUnsafeMutableBufferPointer { bytes -> Int in
            guard let base = bytes.baseAddress else { return 0 }
            return unsafe pread(
                descriptor, base + range.lowerBound, min(range.count, transferLimit), off_t(byteOffset))
        }
        guard count >= 0 else { throw SystemError(.pread, errno) }
        return count
    }

    package func write(_ bytes: Span<UInt8>, at byteOffset: Int) throws(SystemError) -> Int {
        let count = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe pwrite(descriptor, bytes.baseAddress, min(bytes.count, transferLimit), off_t(byteOffset))
        }
        guard count >= 0 else { throw SystemError(.pwrite, errno) }
        return count
    }

    package func synchronizeData() throws(SystemError) {
        #if canImport(Darwin)
            try fullSynchronize(.fdatasync)
        #else
            guard fdatasync(descriptor) == 0 else { throw SystemError(.fdatasync, errno) }
        #endif
    }

    package func synchronize() throws(SystemError) {
        #if canImport(Darwin)
            try fullSynchronize(.fsync)
        #else
            guard fsync(descriptor) == 0 else { throw SystemError(.fsync, errno) }
        #endif
    }

    #if canImport(Darwin)
        /// On Apple platforms `fsync` stops at the drive's cache; file systems that know no `F_FULLFSYNC` say so.
        private func fullSynchronize(_ call: StaticCallName) throws(SystemError) {
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
            guard errno == ENOTSUP || errno == EINVAL || errno == ENOTTY else {
                throw SystemError(call, errno)
            }
            guard fsync(descriptor) == 0 else { throw SystemError(call, errno) }
        }
    #endif

    package func truncate(to byteCount: Int) throws(SystemError) {
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else { throw SystemError(.ftruncate, errno) }
    }

    package func allocate(from byteOffset: Int, byteCount: Int) throws(SystemError) {
        #if os(Linux)
            let number = posix_fallocate(descriptor, off_t(byteOffset), off_t(byteCount))
            guard number == 0 else { throw SystemError(.fallocate, number) }
        #else
            throw SystemError(.fallocate, ENOTSUP)
        #endif
    }

    package func status() throws(SystemError) -> FileStatus {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else { throw SystemError(.fstat, errno) }
        return FileStatus(information)
    }

    package func tryLock() throws(SystemError) -> Bool {
        while true {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            if errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw SystemError(.flock, errno) }
        }
    }

    package func map(_ mapping: FileMapping) throws(SystemError) -> MappedBytes {
        let count = try status().byteCount
        guard count > 0 else {
            return unsafe MappedBytes(
                base: UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 16), count: 0
            ) { base, _ in unsafe base.deallocate() }
        }
        let protection = mapping == .readOnly ? PROT_READ : PROT_READ | PROT_WRITE
        let base = unsafe mmap(nil, count, protection, MAP_PRIVATE, descriptor, 0)
        guard let base = unsafe base, unsafe base != mappingFailed else {
            throw SystemError(.mmap, errno)
        }
        return unsafe MappedBytes(base: base, count: count) { base, count in unsafe _ = munmap(base, count) }
    }
}

extension FileStatus {
    fileprivate init(_ information: stat) {
        #if canImport(Darwin)
            let modified = information.st_mtimespec
        #else
            let modified = information.st_mtim
        #endif
        self.init(
            byteCount: Int(information.st_size), isDirectory: information.st_mode & S_IFMT == S_IFDIR,
            device: UInt64(truncatingIfNeeded: information.st_dev), inode: UInt64(information.st_ino),
            modified: Int64(modified.tv_sec) &* 1_000_000_000 &+ Int64(modified.tv_nsec))
    }
}

/// The most that Linux moves in one call; Apple platforms refuse more than `Int32.max`.
private let transferLimit = 1 << 30

private var mappingFailed: UnsafeMutableRawPointer? { unsafe UnsafeMutableRawPointer(bitPattern: -1) }

// The methods above bear the names of the calls they make; these let them reach the calls.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    unsafe open(path, flags, mode)
}

private func renameFile(_ path: String, _ newPath: String) -> Int32 { unsafe rename(path, newPath) }

private func unlinkFile(_ path: String) -> Int32 { unsafe unlink(path) }

private func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }

/// The error numbers that the log tells apart.
package enum ErrorNumber {
    package static let interrupted = EINTR
    package static let noSpace = ENOSPC
    package static let fileTooBig = EFBIG
    package static let quota = EDQUOT
    package static let inputOutput = EIO
    package static let notFound = ENOENT
    package static let notDirectory = ENOTDIR
    package static let exists = EEXIST
    package static let notEmpty = ENOTEMPTY
    package static let readOnly = EROFS
    package static let notSupported = ENOTSUP
    package static let isDirectory = EISDIR

    /// What the system calls the error.
    package static func text(of number: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
