private import CHKLogShims
internal import Synchronization

/// A stretch of memory, by number: nobody reads or writes through it.
struct MemoryExtent: Sendable {
    var address: UInt
    var byteCount: Int
}

/// A thread that asks the system for memory shortly before it is used.
///
/// The first touch of a page costs about as much as all that a replay writes into it: the kernel has to clear it. Where
/// the size of what comes is known, that can happen beside the work.
///
/// Ends with its last reference, whether it is done or not.
final class MemoryPopulation {
    private final class Work: Sendable {
        let steps: [MemoryExtent]
        let isCancelled = Atomic(false)

        init(_ steps: [MemoryExtent]) { self.steps = steps }

        func run() {
            for step in steps where !isCancelled.load(ordering: .relaxed) {
                hklog_memory_populate(step.address, step.byteCount)
            }
        }
    }

    private let work: Work
    private let thread: WorkerThread
    private static let stepByteCount = 2 << 20
    /// Less is not worth the start of a thread.
    static let fewestRows = 1 << 18

    /// Starts with the index of a table that has room for all that comes, then goes along its columns.
    init(of table: borrowing RowTable) throws(HKLogError) {
        let (columns, index) = table.extents
        var steps = MemoryPopulation.steps(index)
        let longest = columns.map(\.byteCount).max() ?? 0
        let parts = max(1, longest / MemoryPopulation.stepByteCount)
        for part in 0..<parts {
            for column in columns {
                let start = column.byteCount / parts * part
                let end = part + 1 == parts ? column.byteCount : column.byteCount / parts * (part + 1)
                steps.append(
                    MemoryExtent(address: column.address &+ UInt(start), byteCount: end - start))
            }
        }
        let work = Work(steps)
        self.work = work
        thread = try WorkerThread { work.run() }
    }

    private static func steps(_ extent: MemoryExtent) -> [MemoryExtent] {
        stride(from: 0, to: extent.byteCount, by: stepByteCount).map {
            MemoryExtent(
                address: extent.address &+ UInt($0), byteCount: min(stepByteCount, extent.byteCount - $0))
        }
    }

    deinit {
        work.isCancelled.store(true, ordering: .relaxed)
        thread.join()
    }
}
