/// A system call that failed: which one, and the number it left in `errno`.
package struct SystemError: Error, Equatable, Sendable {
    /// The name of the call, as in its manual page.
    package var call: StaticCallName
    /// What `errno` said.
    package var number: Int32

    package init(_ call: StaticCallName, _ number: Int32) {
        self.call = call
        self.number = number
    }
}

/// The calls that the file layer makes; raw values are the names that messages and tests use.
package enum StaticCallName: String, Sendable, CaseIterable {
    case open, pread, pwrite, fdatasync, fsync, ftruncate, fallocate, rename, unlink, mkdir, rmdir, readdir
    case flock, fstat, stat, mmap, statvfs, getrandom, read, write
}

extension SystemError {
    /// Whether there was no room: a full disk, a quota, a limit on the size of files.
    package var isOutOfSpace: Bool {
        number == ErrorNumber.noSpace || number == ErrorNumber.fileTooBig || number == ErrorNumber.quota
    }

    /// Whether the path names nothing.
    package var isMissing: Bool { number == ErrorNumber.notFound || number == ErrorNumber.notDirectory }
}

extension HKLogError {
    /// A failed system call on `path`; `doing` completes "cannot …".
    package static func system(_ error: SystemError, _ doing: String, path: String) -> HKLogError {
        let reason = ErrorNumber.text(of: error.number)
        if error.isMissing {
            return HKLogError(.notFound, "\(path): cannot \(doing): \(reason)")
        }
        if error.isOutOfSpace {
            return HKLogError(
                .inputOutput, "\(path): cannot \(doing): \(reason); make room and try again")
        }
        return HKLogError(.inputOutput, "\(path): cannot \(doing): \(reason)")
    }
}
