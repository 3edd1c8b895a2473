#if canImport(Darwin)
    private import Darwin
#elseif canImport(Musl)
    private import Musl
#else
    private import Glibc
#endif

/// What else is asked of the operating system: clocks, signals, the environment, the standard streams.
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

    /// This process's id.
    package static var processID: Int32 { getpid() }

    /// Makes a too large file and a closed pipe errors of the call that meets them, instead of the process's end.
    package static func ignoreFileSizeAndPipeSignals() {
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
    }

    /// An environment variable; `nil` when it is not set.
    package static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
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

/// Where a program's results and its messages go.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case errors = 2
}

// The method above bears the name of the call it makes; this lets it reach the call.
private func writeBytes(_ descriptor: Int32, _ base: UnsafePointer<UInt8>?, _ count: Int) -> Int {
    unsafe write(descriptor, base, count)
}
