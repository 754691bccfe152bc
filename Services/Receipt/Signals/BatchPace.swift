import Reactor

/// When the next batch of signals may begin. While messages are being written they go first: receipts rest behind each
/// batch three times as long as it took, a quarter of a core of PostgreSQL at most, and have one batch on its way. The rest
/// makes the next batch larger, and each of its signals cheaper; so does a busy machine, on which a batch takes longer.
/// Nobody is put off for more than half a second for it.
///
/// Pure: time is a parameter.
struct BatchPace {
    static let restFactor = 3
    static let longestWait = Duration.milliseconds(500)
    /// Without messages, two: PostgreSQL has its next batch while this process encodes the answers of the last one.
    static let batchesInFlight = 2

    private var restEnd: MonotonicTime?

    mutating func ended(begun: MonotonicTime, at now: MonotonicTime) {
        restEnd = now + (now - begun) * Self.restFactor
    }

    /// When a batch may begin whose oldest signal is ready since `since`, while `inFlight` others are on their way; nil: not
    /// before one of those has ended. What is past is now.
    func begin(since: MonotonicTime, inFlight: Int, amongMessages: Bool) -> MonotonicTime? {
        guard amongMessages else { return inFlight < Self.batchesInFlight ? since : nil }
        guard inFlight == 0 else { return nil }
        guard let restEnd else { return since }
        return max(since, min(restEnd, since + Self.longestWait))
    }
}
