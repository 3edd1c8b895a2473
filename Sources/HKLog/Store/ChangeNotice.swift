internal import HKLogFormat
internal import Synchronization

/// What has come into a store since the notice before: types, days and the highest anchor.
public struct ChangeNotice: Sendable, Equatable {
    /// Full identifiers of the types that were added, in no order.
    ///
    /// Empty where only deletions came.
    public internal(set) var types: Set<String> = []
    /// The days (in the store's zone) that added samples touch.
    public internal(set) var days: Set<CivilDate> = []
    /// How many deletions came; their days are known to the views alone.
    public internal(set) var deletions = 0
    /// The log's anchor after the last batch.
    public internal(set) var anchor: UInt64 = 0

    mutating func merge(_ content: FrameContent, anchor: UInt64, calendar: LocalCalendar) {
        self.anchor = anchor
        deletions += content.deletions.count
        for shape in content.rows.shapes {
            if let type = SampleShape(label: shape.label)?.type { types.insert(type) }
        }
        var cursor = DayCursor(calendar: calendar)
        var last = Int32.min
        for index in 0..<content.rows.count {
            let start = content.rows.starts[index]
            let day = cursor.dayNumber(containing: start)
            if day != last {
                days.insert(CivilDate(dayNumber: day))
                last = day
            }
            // Long intervals are named by their first and last day.
            let duration = content.rows.durations[index]
            if duration > 0 {
                let end = cursor.dayNumber(containing: start &+ duration &- 1)
                if end != day { days.insert(CivilDate(dayNumber: end)) }
                last = .min
            }
        }
    }

    mutating func merge(_ later: ChangeNotice) {
        types.formUnion(later.types)
        days.formUnion(later.days)
        deletions += later.deletions
        anchor = max(anchor, later.anchor)
    }
}

/// Notices of a store's appends, merged while nobody takes them: a slow consumer never holds the writer up, and
/// misses nothing.
public struct ChangeNotices: AsyncSequence, Sendable {
    /// What the sequence gives.
    public typealias Element = ChangeNotice
    /// It never fails.
    public typealias Failure = Never

    let notifier: ChangeNotifier

    /// Begins with what comes from now on.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: notifier.subscribe()) }

    /// Takes notices one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: ChangeNotifier.Subscription

        /// The next notice, merged of all that came since the one before; `nil` once the store is closed.
        public mutating func next() async -> ChangeNotice? { await subscription.next() }
    }
}

extension Store {
    /// Notices of what this store's owner appends, for screens and syncs that follow along.
    public var changeNotices: ChangeNotices { ChangeNotices(notifier: notifier) }
}

/// Hands notices to any number of takers.
final class ChangeNotifier: Sendable {
    private struct State {
        var subscriptions: [WeakSubscription] = []
        var isFinished = false
    }

    private struct WeakSubscription {
        weak var subscription: Subscription?
    }

    private let state = Mutex(State())

    /// One taker: what waits for it, or how to wake it.
    final class Subscription: Sendable {
        private struct Pending {
            var notice: ChangeNotice?
            var continuation: CheckedContinuation<ChangeNotice?, Never>?
            var isFinished = false
        }

        private let pending = Mutex(Pending())

        func offer(_ notice: ChangeNotice) {
            let waiting = pending.withLock { pending -> CheckedContinuation<ChangeNotice?, Never>? in
                if let continuation = pending.continuation {
                    pending.continuation = nil
                    return continuation
                }
                if pending.notice == nil { pending.notice = notice } else { pending.notice?.merge(notice) }
                return nil
            }
            waiting?.resume(returning: notice)
        }

        func finish() {
            let waiting = pending.withLock { pending -> CheckedContinuation<ChangeNotice?, Never>? in
                pending.isFinished = true
                defer { pending.continuation = nil }
                return pending.continuation
            }
            waiting?.resume(returning: nil)
        }

        func next() async -> ChangeNotice? {
            await withTaskCancellationHandler {
                await withCheckedContinuation { (continuation: CheckedContinuation<ChangeNotice?, Never>) in
                    let ready = pending.withLock { pending -> (Bool, ChangeNotice?) in
                        if let notice = pending.notice {
                            pending.notice = nil
                            return (true, notice)
                        }
                        if pending.isFinished { return (true, nil) }
                        pending.continuation = continuation
                        return (false, nil)
                    }
                    if ready.0 { continuation.resume(returning: ready.1) }
                }
            } onCancel: {
                finish()
            }
        }
    }

    func subscribe() -> Subscription {
        let subscription = Subscription()
        let isFinished = state.withLock { state -> Bool in
            state.subscriptions.removeAll { $0.subscription == nil }
            state.subscriptions.append(WeakSubscription(subscription: subscription))
            return state.isFinished
        }
        if isFinished { subscription.finish() }
        return subscription
    }

    /// Whether there is a taker.
    var isWatched: Bool { state.withLock { $0.subscriptions.contains { $0.subscription != nil } } }

    func send(_ notice: ChangeNotice) {
        for subscription in state.withLock({ $0.subscriptions }) { subscription.subscription?.offer(notice) }
    }

    func finish() {
        let subscriptions = state.withLock { state -> [WeakSubscription] in
            state.isFinished = true
            return state.subscriptions
        }
        for subscription in subscriptions { subscription.subscription?.finish() }
    }
}
