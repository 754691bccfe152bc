import Synchronization

/// Tells one observer that what it shows may have changed. It holds no values: whoever is slow finds the latest, and
/// nothing piles up.
final class Signal: Sendable {
    private struct State {
        var topics: Set<Topic> = []
        var isFinished = false
        var waiters: [CheckedContinuation<Void, Never>] = []

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            defer { waiters = [] }
            return waiters
        }
    }

    private let state = Mutex(State())
    private let concerns: @Sendable (Topic) -> Bool

    init(_ concerns: @escaping @Sendable (Topic) -> Bool) { self.concerns = concerns }

    func raise(_ topics: Set<Topic>) {
        let relevant = topics.filter(concerns)
        guard !relevant.isEmpty else { return }
        let waiters = state.withLock { state in
            state.topics.formUnion(relevant)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until it was raised, and returns what for. Nil when there is nothing to wait for any more: it was finished,
    /// or the task was cancelled.
    func wait() async -> Set<Topic>? {
        while !Task.isCancelled, !isFinished {
            let topics = drain()
            if !topics.isEmpty { return topics }
            await withTaskCancellationHandler {
                await withCheckedContinuation { add($0) }
            } onCancel: {
                for waiter in state.withLock({ $0.takeWaiters() }) { waiter.resume() }
            }
        }
        return nil
    }

    /// What it was raised for since the last time; empty if it was not.
    func drain() -> Set<Topic> {
        state.withLock { state in
            defer { state.topics = [] }
            return state.topics
        }
    }

    private var isFinished: Bool { state.withLock { $0.isFinished } }

    private func add(_ waiter: CheckedContinuation<Void, Never>) {
        let mustWait = state.withLock { state in
            // A task that is cancelled later finds the waiter here.
            guard state.topics.isEmpty, !state.isFinished, !Task.isCancelled else { return false }
            state.waiters.append(waiter)
            return true
        }
        if !mustWait { waiter.resume() }
    }
}
