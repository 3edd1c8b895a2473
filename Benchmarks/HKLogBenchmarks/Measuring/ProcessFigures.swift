import HKLog

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What the system knows of this process.
enum ProcessFigures {
    /// Processor time of all threads, in user and system mode.
    static func processorSeconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    /// Starts the high-water mark of memory anew; how much memory the process has now.
    static func beginPeak() -> Int {
        if let file = try? SystemFiles().openFully("/proc/self/clear_refs", .writing) {
            _ = try? file.write([UInt8(ascii: "5")].span, at: 0)
        }
        return statusKilobytes("VmRSS:")
    }

    static func peakKilobytes() -> Int { statusKilobytes("VmHWM:") }

    /// A line of `/proc/self/status`; 0 where there is none (elsewhere than on Linux).
    private static func statusKilobytes(_ name: String) -> Int {
        guard let file = try? SystemFiles().openFully("/proc/self/status", .reading),
            let bytes = try? file.bytes(at: 0, count: 8192)
        else { return 0 }
        let text = String(decoding: bytes, as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).compactMap { Int($0) }.first ?? 0
        }
        return 0
    }

    /// Calls of `malloc` and its kin since the process began; `nil` unless the counter (`Benchmarks/counting`)
    /// was loaded before the process.
    static func allocations() -> Int? {
        guard let symbol = unsafe dlsym(nil, "hklog_allocation_count") else { return nil }
        typealias Counter = @convention(c) () -> UInt64
        return Int(unsafe unsafeBitCast(symbol, to: Counter.self)())
    }
}
