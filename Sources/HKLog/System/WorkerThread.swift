#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A lock that threads can wait at for a change of what it guards.
///
/// Sound to send: it holds nothing but the system's two objects, which are made for several threads.
@safe
package final class Monitor: @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        unsafe pthread_mutex_init(lock, nil)
        unsafe pthread_cond_init(changed, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe pthread_cond_destroy(changed)
        unsafe lock.deallocate()
        unsafe changed.deallocate()
    }

    /// Runs `body` alone, then wakes whoever waits.
    package func change<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_mutex_lock(lock)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(lock)
        }
        return body()
    }

    /// Waits for a change; inside of `change` only.
    package func wait() {
        unsafe pthread_cond_wait(changed, lock)
    }
}

/// A thread of the program's own, which has to be joined.
@safe
package struct WorkerThread: ~Copyable {
    private let thread: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Starts a thread.
    ///
    /// Throws `inputOutput` where the system gives no more threads.
    package init(_ run: @escaping @Sendable () -> Void) throws(HKLogError) {
        let context = unsafe Unmanaged.passRetained(Body(run)).toOpaque()
        #if canImport(Darwin)
            var started: pthread_t?
            let status = unsafe pthread_create(
                &started, nil,
                { context in
                    unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                    return nil
                }, context)
            let thread = started
        #else
            var started = pthread_t()
            let status = unsafe pthread_create(
                &started, nil,
                { context in
                    if let context = unsafe context {
                        unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                    }
                    return nil
                }, context)
            let thread: pthread_t? = started
        #endif
        guard status == 0, let thread else {
            unsafe Unmanaged<Body>.fromOpaque(context).release()
            throw HKLogError(.inputOutput, "no thread could be started; close other programs and try again")
        }
        self.thread = thread
    }

    /// Waits until the thread has ended; to be called once.
    package borrowing func join() {
        _ = pthread_join(thread, nil)
    }
}
