import Reactor

/// Decides when the next batch of signals may begin. While messages are being written, they have priority. Receipts
/// then rest after each batch for three times as long as it took, so they use at most a quarter of a core of
/// PostgreSQL, and have one batch in flight. The rest makes the next batch larger and each of its signals cheaper: most
/// of a small batch is spent on preparing its statements and on the commit, so the rest is not shorter than
/// `leastRest`. So does a busy machine, on which a batch takes longer. No signal is delayed by more than half a second
/// for it.
///
/// Pure: time is a parameter.
struct BatchPace {
    static let restFactor = 3
    static let leastRest = Duration.milliseconds(20)
    static let longestWait = Duration.milliseconds(500)
    /// Two while no messages are written: PostgreSQL has its next batch while this process encodes the responses of the
    /// last.
    static let batchesInFlight = 2

    private var restEnd: MonotonicTime?

    mutating func ended(begun: MonotonicTime, at now: MonotonicTime) {
        restEnd = now + max(Self.leastRest, (now - begun) * Self.restFactor)
    }

    /// Returns when a batch may begin if its oldest signal has been ready since `since`, with `inFlight` others in
    /// flight. Nil: not before one of those has ended. A time in the past means now.
    func begin(since: MonotonicTime, inFlight: Int, amongMessages: Bool) -> MonotonicTime? {
        guard amongMessages else { return inFlight < Self.batchesInFlight ? since : nil }
        guard inFlight == 0 else { return nil }
        guard let restEnd else { return since }
        return max(since, min(restEnd, since + Self.longestWait))
    }
}
