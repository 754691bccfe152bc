import Reactor

/// Requests that were refused temporarily or lost, until they are due to be sent again.
struct RepeatQueue {
    private var waiting: [(time: MonotonicTime, request: Outstanding)] = []

    var count: Int { waiting.count }
    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ request: Outstanding, at time: MonotonicTime) { waiting.append((time, request)) }

    /// Removes and returns what is due.
    mutating func takeDue(at now: MonotonicTime) -> [Outstanding] {
        let due = waiting.filter { $0.time <= now }
        if !due.isEmpty { waiting.removeAll { $0.time <= now } }
        return due.map(\.request)
    }
}
