import Reactor

/// Decides when the next batch of signals may begin. While messages are being written, they have priority. Receipts
/// then rest after each batch for three times as long as it took, so they use at most a quarter of a core of
/// PostgreSQL, and have one batch in flight. A busy machine, on which a batch takes longer, is left alone for longer.
///
/// Signals also gather for `gathering` behind each batch, unless a whole batch of them is ready before: most of a small
/// batch is spent on preparing its statements and on the commit, so a larger one makes each signal cheaper. A signal
/// that comes later does not wait. No signal is delayed by more than half a second for all this.
///
/// Pure: time is a parameter.
struct BatchPace {
    static let restFactor = 3
    static let gathering = Duration.milliseconds(50)
    static let longestWait = Duration.milliseconds(500)
    /// Two while no messages are written: PostgreSQL has its next batch while this process encodes the responses of the
    /// last.
    static let batchesInFlight = 2

    private var restEnd: MonotonicTime?
    private var gatheringEnd: MonotonicTime?

    mutating func ended(begun: MonotonicTime, at now: MonotonicTime) {
        restEnd = now + (now - begun) * Self.restFactor
        gatheringEnd = now + Self.gathering
    }

    /// Returns when a batch may begin if its oldest signal has been ready since `since`, with `inFlight` others in
    /// flight. Nil: not before one of those has ended. A time in the past means now.
    ///
    /// - Parameter isFull: whether the batch takes no more, so that nothing is gained by gathering.
    func begin(since: MonotonicTime, isFull: Bool, inFlight: Int, amongMessages: Bool) -> MonotonicTime? {
        guard amongMessages else { return inFlight < Self.batchesInFlight ? since : nil }
        guard inFlight == 0 else { return nil }
        guard let restEnd, let gatheringEnd else { return since }
        let end = isFull ? restEnd : max(restEnd, gatheringEnd)
        return max(since, min(end, since + Self.longestWait))
    }
}
