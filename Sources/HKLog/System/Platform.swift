#if canImport(Darwin)
    private import Darwin
#elseif canImport(Musl)
    private import Musl
#else
    private import Glibc
#endif

/// What else is asked of the operating system: clocks, signals, the terminal, the standard streams.
package enum Platform {
    /// Microseconds since 1970 by the wall clock.
    package static var wallClockMicroseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    }

    /// Nanoseconds by a clock that never goes backwards.
    package static var monotonicNanoseconds: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000
            &+ UInt64(bitPattern: Int64(time.tv_nsec))
    }

    /// Waits; a signal ends the wait early.
    package static func sleep(milliseconds: Int) {
        var time = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
        unsafe nanosleep(&time, nil)
    }

    /// How a stretch of memory will be used.
    package enum MemoryUse: Sendable {
        case sequential
        case random
        /// Soon, and all of it.
        case needed
        /// Large tables: pages of 2 MiB where the system has them.
        case hugePages
    }

    /// Tells the system how memory will be used; only advice, so that failure is no error.
    package static func advise(_ base: UnsafeMutableRawPointer, byteCount: Int, _ use: MemoryUse) {
        let advice: Int32
        switch use {
        case .sequential: advice = Int32(MADV_SEQUENTIAL)
        case .random: advice = Int32(MADV_RANDOM)
        case .needed: advice = Int32(MADV_WILLNEED)
        case .hugePages:
            #if os(Linux)
                advice = Int32(MADV_HUGEPAGE)
            #else
                return
            #endif
        }
        // The call wants whole pages.
        let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
        let start = (UInt(bitPattern: base) + page - 1) / page * page
        let end = (UInt(bitPattern: base) + UInt(byteCount)) / page * page
        guard end > start, let first = unsafe UnsafeMutableRawPointer(bitPattern: start) else { return }
        unsafe madvise(first, Int(end - start), advice)
    }

    /// This process's id.
    package static var processID: Int32 { getpid() }

    /// Makes a too large file and a closed pipe errors of the call that meets them, instead of the process's end.
    package static func ignoreFileSizeAndPipeSignals() {
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Whether the descriptor is a terminal.
    package static func isTerminal(_ stream: StandardStream) -> Bool { isatty(stream.rawValue) == 1 }

    /// One `read` from a standard stream, carried on with after `EINTR`; 0 at the end.
    package static func read(_ stream: StandardStream, into buffer: inout MutableSpan<UInt8>)
        throws(SystemError) -> Int
    {
        while true {
            let count = unsafe buffer.withUnsafeMutableBufferPointer { bytes in
                unsafe readBytes(stream.rawValue, bytes.baseAddress, bytes.count)
            }
            if count >= 0 { return count }
            if errno != EINTR { throw SystemError(.read, errno) }
        }
    }

    /// Writes all bytes to a standard stream.
    package static func write(_ bytes: Span<UInt8>, to stream: StandardStream) throws(SystemError) {
        var count = 0
        while count < bytes.count {
            let written = unsafe bytes.extracting(droppingFirst: count).withUnsafeBufferPointer { bytes in
                unsafe writeBytes(stream.rawValue, bytes.baseAddress, bytes.count)
            }
            if written >= 0 {
                count += written
            } else if errno != EINTR {
                throw SystemError(.write, errno)
            }
        }
    }
}

/// The three streams that every process starts with.
package enum StandardStream: Int32, Sendable {
    case input = 0
    case output = 1
    case errors = 2
}

// The methods above bear the names of the calls they make; these let them reach the calls.
private func readBytes(_ descriptor: Int32, _ base: UnsafeMutablePointer<UInt8>?, _ count: Int) -> Int {
    unsafe read(descriptor, base, count)
}

private func writeBytes(_ descriptor: Int32, _ base: UnsafePointer<UInt8>?, _ count: Int) -> Int {
    unsafe write(descriptor, base, count)
}

extension Platform {
    /// An environment variable; `nil` when it is not set.
    package static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
