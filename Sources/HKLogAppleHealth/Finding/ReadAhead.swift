internal import HKLog

/// Reads a source on a thread of its own, a few chunks ahead, so that unpacking and reading share two cores.
final class ReadAhead: ByteSource {
    private let shared: Shared
    private let thread: WorkerThread
    /// The chunk that is being handed out.
    private var current: [UInt8] = []
    private var position = 0

    /// What the two threads share.
    ///
    /// Sound to send: what changes is touched inside of `monitor.change` alone, but `source`, which only the reading
    /// thread uses.
    private final class Shared: @unchecked Sendable {
        static let chunkByteCount = 1 << 20
        static let chunkLimit = 3

        let monitor = Monitor()
        let source: any ByteSource
        var full: [[UInt8]] = []
        var empty: [[UInt8]] = []
        var isFinished = false
        var isCancelled = false
        var error: HKLogError?
        var fault: String?

        init(source: any ByteSource) {
            self.source = source
        }

        /// The reading thread: fills chunks until the source ends.
        func run() {
            while true {
                let chunk: [UInt8]? = monitor.change {
                    while full.count >= Shared.chunkLimit && !isCancelled { monitor.wait() }
                    if isCancelled { return nil }
                    return empty.popLast() ?? []
                }
                guard var chunk else { return }
                var failure: HKLogError?
                let isAtEnd = fill(&chunk, &failure)
                let filled = chunk
                monitor.change {
                    if !filled.isEmpty { full.append(filled) }
                    error = failure
                    fault = source.fault
                    isFinished = isAtEnd
                }
                if isAtEnd { return }
            }
        }

        /// Fills a chunk; `true` when the source has ended or failed.
        private func fill(_ chunk: inout [UInt8], _ failure: inout HKLogError?) -> Bool {
            if chunk.count < Shared.chunkByteCount {
                chunk = [UInt8](repeating: 0, count: Shared.chunkByteCount)
            }
            var count = 0
            var isAtEnd = false
            while count < chunk.count && !isAtEnd {
                do throws(HKLogError) {
                    let read = try readBytes(from: source, into: &chunk, at: count)
                    count += read
                    isAtEnd = read == 0
                } catch {
                    failure = error
                    isAtEnd = true
                }
            }
            if count < chunk.count { chunk.removeLast(chunk.count - count) }
            return isAtEnd
        }
    }

    /// Starts reading.
    init(_ source: any ByteSource) throws(HKLogError) {
        let shared = Shared(source: source)
        self.shared = shared
        thread = try WorkerThread { shared.run() }
    }

    deinit {
        shared.monitor.change { shared.isCancelled = true }
        thread.join()
    }

    var fault: String? { shared.monitor.change { shared.fault } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HKLogError) -> Int {
        if position == current.count {
            let used = current
            current = []
            let next: [UInt8]? = shared.monitor.change {
                if !used.isEmpty { shared.empty.append(used) }
                while shared.full.isEmpty && !shared.isFinished { shared.monitor.wait() }
                return shared.full.isEmpty ? nil : shared.full.removeFirst()
            }
            guard let next else {
                if let error = shared.monitor.change({ shared.error }) { throw error }
                return 0
            }
            current = next
            position = 0
        }
        let count = min(buffer.count, current.count - position)
        unsafe current.withUnsafeBytes { bytes in
            // Sound: `count` is no more than what either side has left.
            unsafe buffer.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count]))
        }
        position += count
        return count
    }
}
