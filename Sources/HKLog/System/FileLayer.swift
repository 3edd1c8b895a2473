/// The one door between the log and the operating system's files.
///
/// Each method is one system call, with its short counts and its `EINTR`: the loops around them are written once,
/// in extensions, above the part that tests replace. `SystemFiles` is the real one; the simulated one keeps what
/// is durable apart from what is not and lets any call fail.
package protocol FileLayer: Sendable {
    /// Opens a file, never inherited by child processes.
    func open(_ path: String, _ mode: FileOpening) throws(SystemError) -> any OpenFile
    func rename(_ path: String, to newPath: String) throws(SystemError)
    func unlink(_ path: String) throws(SystemError)
    /// Makes a directory that only its owner may enter.
    func makeDirectory(_ path: String) throws(SystemError)
    func removeDirectory(_ path: String) throws(SystemError)
    /// The names in a directory, in no order, without `.` and `..`.
    func names(in path: String) throws(SystemError) -> [String]
    func status(of path: String) throws(SystemError) -> FileStatus
    /// How many bytes an ordinary user may still write at `path`.
    func availableByteCount(at path: String) throws(SystemError) -> Int
    /// Random bits from the operating system.
    func randomWord() throws(SystemError) -> UInt64
}

/// How a file is opened.
///
/// New files are 0600; the last part of the path is never followed when it is a link and
/// the file is to be written.
package enum FileOpening: Sendable {
    case reading
    case writing
    /// Read and write; made when it is not there.
    case writingOrCreating
    /// Read and write; must not be there yet.
    case creating
    /// A directory, to synchronise or lock it.
    case directory
}

/// What the file system says of a file.
package struct FileStatus: Equatable, Sendable {
    package var byteCount: Int
    package var isDirectory: Bool
    package var device: UInt64
    package var inode: UInt64
    /// Nanoseconds since 1970.
    package var modified: Int64

    package init(byteCount: Int, isDirectory: Bool, device: UInt64, inode: UInt64, modified: Int64) {
        self.byteCount = byteCount
        self.isDirectory = isDirectory
        self.device = device
        self.inode = inode
        self.modified = modified
    }

    /// Whether both stand for one file.
    package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}

/// An open file or directory.
///
/// Closed when the last reference goes.
package protocol OpenFile: AnyObject, Sendable {
    /// One `pread` into a range of the buffer: may read less than asked; 0 only at the end.
    func read(into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>, at byteOffset: Int)
        throws(SystemError) -> Int
    /// One `pwrite`: may write less than asked.
    func write(_ bytes: Span<UInt8>, at byteOffset: Int) throws(SystemError) -> Int
    /// One `fdatasync` (`F_FULLFSYNC` on Apple platforms).
    func synchronizeData() throws(SystemError)
    /// One `fsync` (`F_FULLFSYNC` on Apple platforms).
    func synchronize() throws(SystemError)
    func truncate(to byteCount: Int) throws(SystemError)
    /// Asks for blocks; the file grows and reads as zeros there.
    func allocate(from byteOffset: Int, byteCount: Int) throws(SystemError)
    func status() throws(SystemError) -> FileStatus
    /// Takes the exclusive lock on the file, if nobody holds it.
    func tryLock() throws(SystemError) -> Bool
    /// Maps the whole file; a private mapping may be written to without changing the file.
    func map(_ mapping: FileMapping) throws(SystemError) -> MappedBytes
}

/// How a file is mapped.
package enum FileMapping: Sendable {
    case readOnly
    case privateCopy
}

extension OpenFile {
    /// Reads until the buffer has `limit` bytes or the file ends; answers how many bytes were read.
    package func readFully(into buffer: inout MutableSpan<UInt8>, limit: Int, at byteOffset: Int)
        throws(SystemError) -> Int
    {
        var count = 0
        while count < limit {
            do throws(SystemError) {
                let read = try read(into: &buffer, count..<limit, at: byteOffset + count)
                if read == 0 { break }
                count += read
            } catch {
                if error.number != ErrorNumber.interrupted { throw error }
            }
        }
        return count
    }

    /// The bytes of a range of the file, cut at its end.
    package func bytes(at byteOffset: Int, count: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        let read = try readFully(into: &span, limit: count, at: byteOffset)
        if read < count { bytes.removeLast(count - read) }
        return bytes
    }

    /// Writes all bytes, however often the system takes only a part.
    package func writeFully(_ bytes: Span<UInt8>, at byteOffset: Int) throws(SystemError) {
        var count = 0
        while count < bytes.count {
            do throws(SystemError) {
                let written = try write(bytes.extracting(droppingFirst: count), at: byteOffset + count)
                guard written > 0 else { throw SystemError(.pwrite, ErrorNumber.inputOutput) }
                count += written
            } catch {
                if error.number != ErrorNumber.interrupted { throw error }
            }
        }
    }

    /// `fdatasync`, carried on with after `EINTR` alone: after any other failure the kernel may have dropped the
    /// pages, and a second call that succeeds would prove nothing.
    package func synchronizeDataFully() throws(SystemError) {
        while true {
            do throws(SystemError) {
                return try synchronizeData()
            } catch {
                if error.number != ErrorNumber.interrupted { throw error }
            }
        }
    }

    /// `fsync`, under the same rule.
    package func synchronizeFully() throws(SystemError) {
        while true {
            do throws(SystemError) {
                return try synchronize()
            } catch {
                if error.number != ErrorNumber.interrupted { throw error }
            }
        }
    }

    /// `ftruncate`, carried on with after `EINTR`.
    package func truncateFully(to byteCount: Int) throws(SystemError) {
        while true {
            do throws(SystemError) {
                return try truncate(to: byteCount)
            } catch {
                if error.number != ErrorNumber.interrupted { throw error }
            }
        }
    }
}

extension FileLayer {
    /// Opens a file, carried on with after `EINTR`.
    package func openFully(_ path: String, _ mode: FileOpening) throws(SystemError) -> any OpenFile {
        while true {
            do throws(SystemError) {
                return try open(path, mode)
            } catch {
                if error.number != ErrorNumber.interrupted { throw error }
            }
        }
    }

    /// Makes the names in a directory durable.
    package func synchronizeDirectory(_ path: String) throws(SystemError) {
        try openFully(path, .directory).synchronizeFully()
    }

    /// Whether the path names something.
    package func exists(_ path: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            _ = try status(of: path)
            return true
        } catch {
            if error.isMissing { return false }
            throw error
        }
    }

    /// Removes a file; that it was not there is no error.
    package func unlinkIfThere(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try unlink(path)
        } catch {
            if !error.isMissing { throw error }
        }
    }

    /// The whole content of a small file; a file above the limit is refused with "file too large".
    package func contents(of path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let file = try openFully(path, .reading)
        let count = try file.status().byteCount
        guard count <= limit else { throw SystemError(.pread, ErrorNumber.fileTooBig) }
        return try file.bytes(at: 0, count: count)
    }

    /// Puts a file in place whole or not at all: temporary name, sync, rename, sync of the directory.
    ///
    /// The one way in which anything in a store is replaced by rename.
    package func writeAtomically(_ bytes: Span<UInt8>, to name: String, in directory: String)
        throws(SystemError)
    {
        let temporary = "\(directory)/\(name).tmp"
        do throws(SystemError) {
            try unlinkIfThere(temporary)
            let file = try openFully(temporary, .creating)
            try file.writeFully(bytes, at: 0)
            try file.synchronizeFully()
            try rename(temporary, to: "\(directory)/\(name)")
        } catch {
            // What is left of the temporary file is of no use; that it stays is no harm.
            try? unlinkIfThere(temporary)
            throw error
        }
        try synchronizeDirectory(directory)
    }
}
