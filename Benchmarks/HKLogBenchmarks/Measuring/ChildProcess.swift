import HKLog

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Runs a program to its end and gives back what it printed.
///
/// Every measurement is a process of its own: none inherits the memory, the caches or the heap of another. Of the
/// environment it gets what a program needs to start, and no more.
enum ChildProcess {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// What it printed, and what the whole process cost.
    struct Outcome {
        var output: String
        var figures: Figures
    }

    /// Runs a program; `preloading` names a library that is loaded ahead of it.
    static func run(_ arguments: [String], preloading: String? = nil) throws -> Outcome {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw Failure(description: "no pipe: error \(errno)") }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        unsafe posix_spawn_file_actions_addclose(&actions, ends[0])
        unsafe posix_spawn_file_actions_addclose(&actions, ends[1])
        var environment = ["PATH", "HOME", "LD_LIBRARY_PATH"].compactMap { name in
            Platform.environment(name).map { "\(name)=\($0)" }
        }
        environment.append("TZ=UTC")
        if let preloading { environment.append("LD_PRELOAD=\(preloading)") }
        var words = unsafe copies(of: arguments)
        var variables = unsafe copies(of: environment)
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var process: pid_t = 0
        let clock = ContinuousClock()
        let began = clock.now
        let status = unsafe posix_spawnp(&process, arguments[0], &actions, nil, &words, &variables)
        close(ends[1])
        defer { close(ends[0]) }
        guard status == 0 else {
            throw Failure(description: "\(arguments[0]) cannot be started: error \(status)")
        }
        let output = readAll(ends[0])
        var result: Int32 = 0
        var usage = rusage()
        while unsafe wait4(process, &result, 0, &usage) < 0 && errno == EINTR {}
        let seconds = (clock.now - began).inSeconds
        guard result == 0 else {
            let command = arguments.joined(separator: " ")
            throw Failure(
                description: "'\(command)' ended with status \(result >> 8), signal \(result & 0x7F)")
        }
        var figures = Figures()
        figures.append("seconds", seconds)
        figures.append("processorSeconds", inSeconds(usage.ru_utime) + inSeconds(usage.ru_stime))
        figures.append("memoryKilobytes", Int(usage.ru_maxrss))
        return Outcome(output: output, figures: figures)
    }

    private static func inSeconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) * 1e-6
    }

    /// Texts as C has them, with a null pointer at the end.
    private static func copies(of texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }

    private static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            if count > 0 {
                bytes += buffer[..<count]
            } else if count == 0 || errno != EINTR {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}
