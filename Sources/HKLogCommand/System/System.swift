#if canImport(Darwin)
    private import Darwin
#else
    private import Glibc
#endif
internal import HKLog
internal import Synchronization

/// The command's own calls to the operating system: streams, the terminal, signals and the environment.
///
/// The store has its file layer; what is here is what only a program in a terminal needs. No other file of the
/// command imports libc.
enum System {
    static let standardInput: Int32 = 0
    static let standardOutput: Int32 = 1
    static let standardError: Int32 = 2

    // MARK: Reading and writing

    /// Opens a file for reading.
    static func openForReading(_ path: String) throws(HKLogError) -> Int32 {
        while true {
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            if descriptor >= 0 {
                guard !isDirectory(descriptor) else {
                    _ = closeDescriptor(descriptor)
                    throw HKLogError(.notFound, "\(SafeText.line(path)): this is a folder, not a file")
                }
                return descriptor
            }
            let code = errno
            if code == EINTR {
                if interruption != nil { throw .interrupted }
                continue
            }
            let missing = code == ENOENT || code == ENOTDIR || code == EACCES || code == ELOOP
            throw HKLogError(
                missing ? .notFound : .inputOutput, "\(SafeText.line(path)): cannot open: \(reason(code))")
        }
    }

    /// Makes or empties a file that only its owner may read.
    static func openForWriting(_ path: String) throws(HKLogError) -> Int32 {
        while true {
            let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            if descriptor >= 0 { return descriptor }
            let code = errno
            if code != EINTR {
                throw HKLogError(
                    .inputOutput, "\(SafeText.line(path)): cannot make this file: \(reason(code))")
            }
        }
    }

    /// Says why a file cannot be read, before anything is done with the store.
    static func requireReadable(_ path: String) throws(HKLogError) {
        guard unsafe access(path, R_OK) != 0 else { return }
        throw HKLogError(.notFound, "\(SafeText.line(path)): cannot open: \(reason(errno))")
    }

    /// Reads up to the buffer's size; 0 at the end.
    static func read(
        _ descriptor: Int32, into buffer: inout MutableSpan<UInt8>, name: String
    ) throws(HKLogError) -> Int {
        while true {
            let count = unsafe buffer.withUnsafeMutableBufferPointer { bytes in
                unsafe readBytes(descriptor, UnsafeMutableRawBufferPointer(bytes))
            }
            if count >= 0 { return count }
            let code = errno
            if code == EINTR {
                if interruption != nil { throw .interrupted }
                continue
            }
            throw HKLogError(.inputOutput, "\(SafeText.line(name)): cannot read: \(reason(code))")
        }
    }

    /// Writes all bytes.
    ///
    /// A closed pipe is `HKLogError.closedPipe`.
    static func write(_ descriptor: Int32, _ bytes: [UInt8], name: String) throws(HKLogError) {
        var position = 0
        while position < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[position...])
                return unsafe writeBytes(descriptor, rest)
            }
            if count >= 0 {
                position += count
                continue
            }
            let code = errno
            switch code {
            case EINTR:
                if interruption != nil { throw .interrupted }
            case EAGAIN:
                // A terminal that someone else has made non-blocking.
                _ = waitUntilReady([(descriptor, Int16(POLLOUT))], milliseconds: 1000)
            case EPIPE: throw .closedPipe
            default: throw HKLogError(.inputOutput, "\(name): cannot write: \(reason(code))")
            }
        }
    }

    /// Removes a file; that it is not there is no failure.
    static func remove(_ path: String) {
        _ = unsafe unlink(path)
    }

    /// Closes a descriptor whose content is safe or of no interest.
    static func close(_ descriptor: Int32) {
        _ = closeDescriptor(descriptor)
    }

    /// Closes a file that was written, and says when that fails.
    static func closeWriting(_ descriptor: Int32, name: String) throws(HKLogError) {
        guard closeDescriptor(descriptor) != 0 else { return }
        let code = errno
        if code != EINTR {
            throw HKLogError(.inputOutput, "\(SafeText.line(name)): cannot write: \(reason(code))")
        }
    }

    /// Whether two paths lead to one file.
    static func isSameFile(_ left: String, _ right: String) -> Bool {
        var leftStatus = stat()
        var rightStatus = stat()
        guard unsafe stat(left, &leftStatus) == 0, unsafe stat(right, &rightStatus) == 0 else { return false }
        return leftStatus.st_dev == rightStatus.st_dev && leftStatus.st_ino == rightStatus.st_ino
    }

    /// The size of a regular file, `nil` for pipes and the like.
    static func fileSize(_ descriptor: Int32) -> UInt64? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return UInt64(max(0, status.st_size))
    }

    private static func isDirectory(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    // MARK: Waiting

    /// Whether reading would not wait.
    static func hasInput(_ descriptor: Int32) -> Bool {
        !waitUntilReady([(descriptor, Int16(POLLIN))], milliseconds: 0).isEmpty
    }

    /// Waits for input; throws `HKLogError.interrupted` as soon as a signal asks to end.
    static func waitForInput(_ descriptor: Int32) throws(HKLogError) {
        while true {
            if interruption != nil { throw .interrupted }
            var events = [(descriptor, Int16(POLLIN))]
            if let wake = wakeDescriptor { events.append((wake, Int16(POLLIN))) }
            let ready = waitUntilReady(events, milliseconds: -1)
            if interruption != nil { throw .interrupted }
            if ready.contains(0) { return }
        }
    }

    /// Sleeps, but not longer than until a signal asks to end or the reader of standard output goes away.
    static func pause(milliseconds: Int32) throws(HKLogError) {
        if interruption != nil { throw .interrupted }
        // With no events asked for, a pipe reports only that its other end is closed.
        var events = [(standardOutput, Int16(0))]
        if let wake = wakeDescriptor { events.append((wake, Int16(POLLIN))) }
        let ready = waitUntilReady(events, milliseconds: milliseconds)
        if interruption != nil { throw .interrupted }
        if ready.contains(0) { throw .closedPipe }
    }

    /// The indices of the descriptors that have something to say.
    private static func waitUntilReady(_ events: [(Int32, Int16)], milliseconds: Int32) -> [Int] {
        var entries = events.map { pollfd(fd: $0.0, events: $0.1, revents: 0) }
        let count = unsafe poll(&entries, nfds_t(entries.count), milliseconds)
        guard count > 0 else { return [] }
        return entries.indices.filter { entries[$0].revents != 0 }
    }

    // MARK: Signals

    /// The signal that asked to end; 0 for none.
    private static let receivedSignal = Atomic<Int32>(0)
    /// Written to by the handler, so that a wait ends even when the signal comes just before it.
    private static let wakeWriter = Atomic<Int32>(-1)
    private static let wakeReader = Atomic<Int32>(-1)

    private static var wakeDescriptor: Int32? {
        let descriptor = wakeReader.load(ordering: .relaxed)
        return descriptor < 0 ? nil : descriptor
    }

    /// The signal that asked to end, if one did.
    static var interruption: Int32? {
        let signal = receivedSignal.load(ordering: .relaxed)
        return signal == 0 ? nil : signal
    }

    /// A closed pipe and a file-size limit are errors to handle, not reasons to die.
    ///
    /// And what asks a program to end must reach it: a program inherits the signals that the thread which started
    /// it had blocked, and threads of dispatch queues block all of these.
    static func prepareSignals() {
        var ending = sigset_t()
        unsafe sigemptyset(&ending)
        for number in [SIGINT, SIGTERM, SIGHUP] { _ = unsafe sigaddset(&ending, number) }
        _ = unsafe sigprocmask(SIG_UNBLOCK, &ending, nil)
        _ = signal(SIGPIPE, SIG_IGN)
        _ = signal(SIGXFSZ, SIG_IGN)
    }

    /// Lets INT, TERM and HUP end a wait instead of the process; the second one ends the process.
    static func catchInterruptions() {
        var ends: [Int32] = [-1, -1]
        if unsafe pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
            wakeReader.store(ends[0], ordering: .relaxed)
            wakeWriter.store(ends[1], ordering: .relaxed)
        }
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // Who starts a program with nohup wants it to outlive the terminal. That a script's background jobs have
            // INT ignored does not say so: it is a plain way to ask this very process to end.
            if number == SIGHUP && isIgnored(number) { continue }
            var action = sigaction()
            let handler: @convention(c) (Int32) -> Void = { number in
                let saved = errno
                System.receivedSignal.store(number, ordering: .relaxed)
                let descriptor = System.wakeWriter.load(ordering: .relaxed)
                if descriptor >= 0 {
                    var byte: UInt8 = 0
                    unsafe withUnsafeBytes(of: &byte) { _ = unsafe writeBytes(descriptor, $0) }
                }
                errno = saved
            }
            #if canImport(Darwin)
                unsafe action.__sigaction_u.__sa_handler = handler
            #else
                unsafe action.__sigaction_handler.sa_handler = handler
            #endif
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            let handler = unsafe action.__sigaction_u.__sa_handler
        #else
            let handler = unsafe action.__sigaction_handler.sa_handler
        #endif
        return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    // MARK: Terminal, clock, environment

    /// Whether a descriptor is a terminal.
    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The width of the terminal in columns; `nil` where there is none.
    static func terminalWidth(_ descriptor: Int32) -> Int? {
        guard isTerminal(descriptor) else { return nil }
        var size = winsize()
        if unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        return environment("COLUMNS").flatMap { Int($0) }.map { max(20, $0) } ?? 80
    }

    /// A variable of the environment; `nil` when it is not set or empty.
    static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// Seconds of a clock that only goes forward.
    static var monotonicSeconds: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Now, by the system's clock.
    static var now: Timestamp {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000)
    }

    /// The process's number.
    static var processIdentifier: Int32 { getpid() }

    /// Ends the process.
    static func leave(_ status: Int32) -> Never { exit(status) }

    private static func reason(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

// The functions above bear the names of the calls they make; these let them reach the calls.
private func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func readBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    unsafe read(descriptor, buffer.baseAddress, buffer.count)
}

private func writeBytes(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
    unsafe write(descriptor, buffer.baseAddress, buffer.count)
}
