package import HKLog
internal import Synchronization

/// The operating system's files, with a count of what is asked of them.
package final class CountingFileLayer: FileLayer {
    /// How often each kind of call was made.
    package struct Counts: Sendable, Equatable {
        package var opens = 0
        /// Files that are open now; `reset` leaves it alone.
        package var openFiles = 0
        package var reads = 0
        package var writes = 0
        package var bytesWritten = 0
        /// `fdatasync`.
        package var dataSyncs = 0
        /// `fsync`, of files and directories.
        package var syncs = 0
        package var truncations = 0
        package var allocations = 0

        package init() {}
    }

    private let base = SystemFiles()
    private let state = Mutex(Counts())

    package init() {}

    /// Everything since the beginning or the last `reset`.
    package var counts: Counts { state.withLock { $0 } }

    package func reset() {
        state.withLock { counts in
            let openFiles = counts.openFiles
            counts = Counts()
            counts.openFiles = openFiles
        }
    }

    fileprivate func count(_ change: (inout Counts) -> Void) { state.withLock { change(&$0) } }

    package func open(_ path: String, _ mode: FileOpening) throws(SystemError) -> any OpenFile {
        count { $0.opens += 1 }
        return CountingFile(base: try base.open(path, mode), layer: self)
    }

    package func rename(_ path: String, to newPath: String) throws(SystemError) {
        try base.rename(path, to: newPath)
    }

    package func unlink(_ path: String) throws(SystemError) { try base.unlink(path) }

    package func makeDirectory(_ path: String) throws(SystemError) { try base.makeDirectory(path) }

    package func removeDirectory(_ path: String) throws(SystemError) { try base.removeDirectory(path) }

    package func names(in path: String) throws(SystemError) -> [String] { try base.names(in: path) }

    package func status(of path: String) throws(SystemError) -> FileStatus { try base.status(of: path) }

    package func availableByteCount(at path: String) throws(SystemError) -> Int {
        try base.availableByteCount(at: path)
    }

    package func randomWord() throws(SystemError) -> UInt64 { try base.randomWord() }
}

private final class CountingFile: OpenFile {
    private let base: any OpenFile
    private let layer: CountingFileLayer

    init(base: any OpenFile, layer: CountingFileLayer) {
        self.base = base
        self.layer = layer
        layer.count { $0.openFiles += 1 }
    }

    deinit { layer.count { $0.openFiles -= 1 } }

    func read(into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>, at byteOffset: Int)
        throws(SystemError) -> Int
    {
        layer.count { $0.reads += 1 }
        return try base.read(into: &buffer, range, at: byteOffset)
    }

    func write(_ bytes: Span<UInt8>, at byteOffset: Int) throws(SystemError) -> Int {
        let written = try base.write(bytes, at: byteOffset)
        layer.count {
            $0.writes += 1
            $0.bytesWritten += written
        }
        return written
    }

    func synchronizeData() throws(SystemError) {
        layer.count { $0.dataSyncs += 1 }
        try base.synchronizeData()
    }

    func synchronize() throws(SystemError) {
        layer.count { $0.syncs += 1 }
        try base.synchronize()
    }

    func truncate(to byteCount: Int) throws(SystemError) {
        layer.count { $0.truncations += 1 }
        try base.truncate(to: byteCount)
    }

    func allocate(from byteOffset: Int, byteCount: Int) throws(SystemError) {
        layer.count { $0.allocations += 1 }
        try base.allocate(from: byteOffset, byteCount: byteCount)
    }

    func status() throws(SystemError) -> FileStatus { try base.status() }

    func tryLock() throws(SystemError) -> Bool { try base.tryLock() }

    func map(_ mapping: FileMapping) throws(SystemError) -> MappedBytes { try base.map(mapping) }
}
