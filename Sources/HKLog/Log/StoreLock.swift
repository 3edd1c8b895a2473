/// The one writer's hold on a store: kernel locks on the store's directory and on its `lock` file.
///
/// The directory is locked too, so that neither deleting the lock file nor coming by another path lets a second
/// writer in. The kernel drops both when the process ends, however it ends; what the lock file says is only for
/// people (the process's id) and for the next writer (see `UnsynchronizedNote`).
package final class StoreLock {
    private var directory: (any OpenFile)?
    private var file: (any OpenFile)?
    /// What the last writer left behind about bytes whose sync had failed.
    let note: UnsynchronizedNote?

    /// Takes the lock or throws `locked` at once.
    package init(_ files: LogFiles) throws(HKLogError) {
        let path = "\(files.store)/\(LogFiles.lockName)"
        let directory = try Self.opened(files, files.store, .directory)
        guard try Self.tryLock(directory, path: files.store) else { throw .locked(files, lockPath: path) }
        let file = try Self.opened(files, path, .writingOrCreating)
        guard try Self.tryLock(file, path: path) else { throw .locked(files, lockPath: path) }
        do throws(SystemError) {
            note = UnsynchronizedNote(try file.bytes(at: 0, count: 4096))
        } catch {
            throw .system(error, "read", path: path)
        }
        self.directory = directory
        self.file = file
        if note == nil { write("\(Platform.processID)\n") }
    }

    /// Leaves word for the next writer.
    func leave(_ note: UnsynchronizedNote) { write("\(Platform.processID)\n\(note.line)\n") }

    /// What was noted has been dealt with.
    func clearNote() { write("\(Platform.processID)\n") }

    /// Lets go.
    package func release() {
        if file != nil { write("") }
        file = nil
        directory = nil
    }

    /// The content informs; that it could not be written is no reason to stop.
    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        do throws(SystemError) {
            try file?.truncateFully(to: 0)
            try file?.writeFully(bytes.span, at: 0)
        } catch {}
    }

    private static func opened(_ files: LogFiles, _ path: String, _ mode: FileOpening) throws(HKLogError)
        -> any OpenFile
    {
        do throws(SystemError) {
            return try files.layer.openFully(path, mode)
        } catch {
            throw .system(error, "open", path: path)
        }
    }

    private static func tryLock(_ file: any OpenFile, path: String) throws(HKLogError) -> Bool {
        do throws(SystemError) {
            return try file.tryLock()
        } catch {
            throw .system(error, "lock", path: path)
        }
    }
}

/// Where the bytes begin whose sync failed: the page cache shows them as if all were well, and a later sync that
/// succeeds proves nothing, so the next writer writes them once more.
struct UnsynchronizedNote: Equatable {
    var segment: UInt64
    var byteOffset: Int

    var line: String { "unsynced \(segment) \(byteOffset)" }

    init(segment: UInt64, byteOffset: Int) {
        self.segment = segment
        self.byteOffset = byteOffset
    }

    init?(_ bytes: [UInt8]) {
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 3, words[0] == "unsynced", let segment = UInt64(words[1]),
                let byteOffset = Int(words[2]), byteOffset >= 0
            else { continue }
            self.init(segment: segment, byteOffset: byteOffset)
            return
        }
        return nil
    }
}

extension HKLogError {
    /// Another process holds the store; named where the lock file or the kernel's list tells.
    fileprivate static func locked(_ files: LogFiles, lockPath: String) -> HKLogError {
        let holder = holder(of: files, lockPath: lockPath).map { "process \($0)" } ?? "another process"
        return HKLogError(.locked, "\(files.store): \(holder) holds the store; try again when it has ended")
    }

    private static func holder(of files: LogFiles, lockPath: String) -> Int32? {
        if let bytes = try? files.layer.contents(of: lockPath, limit: 4096),
            let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first,
            let process = Int32(line), process > 0
        {
            return process
        }
        // The lock file is gone: Linux lists who holds what.
        guard let status = try? files.layer.status(of: files.store),
            let file = try? files.layer.openFully("/proc/locks", .reading),
            let bytes = try? file.bytes(at: 0, count: 1 << 20)
        else { return nil }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            // 1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF
            guard words.count >= 6, words[1] == "FLOCK", words[5].hasSuffix(":\(status.inode)") else {
                continue
            }
            return Int32(words[4])
        }
        return nil
    }
}
