internal import HKLog

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Reads a source on a thread of its own, a few chunks ahead, so that unpacking and reading share two cores.
final class ReadAhead: ByteSource {
    private let shared: Shared
    private var thread: pthread_t
    /// The chunk that is being handed out.
    private var current: Shared.Chunk?
    private var position = 0

    /// What the two threads share, under one lock.
    ///
    /// Sound to send: everything that changes is touched under the lock alone, but `source`, which only the
    /// reading thread uses, and a chunk's bytes, which one thread at a time owns.
    @safe
    fileprivate final class Shared: @unchecked Sendable {
        static let chunkByteCount = 1 << 20
        static let chunkLimit = 4

        @safe
        struct Chunk {
            var bytes: UnsafeMutableRawBufferPointer
            var count: Int
        }

        let source: any ByteSource
        var full: [Chunk] = []
        var empty: [Chunk] = []
        var isFinished = false
        var isCancelled = false
        var error: HKLogError?
        var fault: String?
        private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

        init(source: any ByteSource) {
            self.source = source
            unsafe pthread_mutex_init(lock, nil)
            unsafe pthread_cond_init(changed, nil)
            for _ in 0..<Shared.chunkLimit {
                unsafe empty.append(
                    Chunk(
                        bytes: .allocate(byteCount: Shared.chunkByteCount, alignment: 64), count: 0))
            }
        }

        deinit {
            for chunk in full + empty { unsafe chunk.bytes.deallocate() }
            unsafe pthread_mutex_destroy(lock)
            unsafe pthread_cond_destroy(changed)
            unsafe lock.deallocate()
            unsafe changed.deallocate()
        }

        func withLock<Result>(_ body: () -> Result) -> Result {
            unsafe pthread_mutex_lock(lock)
            defer { unsafe pthread_mutex_unlock(lock) }
            return body()
        }

        /// Inside of `withLock` only.
        func wait() {
            unsafe pthread_cond_wait(changed, lock)
        }

        func signal() {
            unsafe pthread_cond_broadcast(changed)
        }

        /// The reading thread: fills chunks until the source ends.
        func run() {
            while true {
                let chunk: Chunk? = withLock {
                    while empty.isEmpty && !isCancelled { wait() }
                    return isCancelled ? nil : empty.removeLast()
                }
                guard var chunk = chunk else { break }
                chunk.count = 0
                var isAtEnd = false
                var failure: HKLogError?
                do throws(HKLogError) {
                    while unsafe chunk.count < chunk.bytes.count {
                        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: chunk.bytes[chunk.count...])
                        let count = try unsafe source.read(into: rest)
                        if count == 0 {
                            isAtEnd = true
                            break
                        }
                        chunk.count += count
                    }
                } catch {
                    failure = error
                }
                let filled = chunk
                withLock {
                    full.append(filled)
                    error = failure
                    fault = source.fault
                    if isAtEnd || failure != nil { isFinished = true }
                    signal()
                }
                if isAtEnd || failure != nil { return }
            }
            withLock {
                isFinished = true
                signal()
            }
        }
    }

    /// Starts reading.
    init(_ source: any ByteSource) throws(HKLogError) {
        shared = Shared(source: source)
        let context = unsafe Unmanaged.passRetained(shared).toOpaque()
        #if canImport(Darwin)
            var started: pthread_t?
        #else
            var started = pthread_t()
        #endif
        let status = unsafe pthread_create(
            &started, nil,
            { context in
                #if canImport(Darwin)
                    let given: UnsafeMutableRawPointer? = context
                #else
                    let given = unsafe context
                #endif
                if let given = unsafe given {
                    unsafe Unmanaged<Shared>.fromOpaque(given).takeRetainedValue().run()
                }
                return nil
            }, context)
        #if canImport(Darwin)
            guard status == 0, let started else {
                unsafe Unmanaged<Shared>.fromOpaque(context).release()
                throw HKLogError(.inputOutput, "no thread for unpacking could be started")
            }
            thread = started
        #else
            guard status == 0 else {
                unsafe Unmanaged<Shared>.fromOpaque(context).release()
                throw HKLogError(.inputOutput, "no thread for unpacking could be started")
            }
            thread = started
        #endif
    }

    deinit {
        shared.withLock {
            shared.isCancelled = true
            shared.signal()
        }
        _ = pthread_join(thread, nil)
        if let current = current { unsafe current.bytes.deallocate() }
    }

    var fault: String? { shared.withLock { shared.fault } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HKLogError) -> Int {
        while true {
            if let chunk = current {
                if position < chunk.count {
                    let count = min(buffer.count, chunk.count - position)
                    unsafe buffer.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: chunk.bytes[position..<position + count]))
                    position += count
                    return count
                }
                current = nil
                shared.withLock {
                    shared.empty.append(chunk)
                    shared.signal()
                }
            }
            var failure: HKLogError?
            let next: Shared.Chunk? = shared.withLock {
                while shared.full.isEmpty && !shared.isFinished { shared.wait() }
                if shared.full.isEmpty {
                    failure = shared.error
                    return nil
                }
                return shared.full.removeFirst()
            }
            if let failure { throw failure }
            guard let next = next else { return 0 }
            current = next
            position = 0
        }
    }
}
