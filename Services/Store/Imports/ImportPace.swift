import Reactor

/// Decides when the next batch of imports may begin. While others write or read, theirs come first: one batch is in
/// flight then, and after it imports rest for three times as long as it took, so they use at most a quarter of a core of
/// PostgreSQL. With nobody else there, they use all that there is.
///
/// Pure: time is a parameter.
struct ImportPace {
    static let restFactor = 3
    static let longestRest = Duration.milliseconds(500)
    /// How long after a command of others they count as being there.
    static let quiet = Duration.milliseconds(500)

    private var lastOther: MonotonicTime?
    private var restEnd: MonotonicTime?

    /// Others have sent a command.
    mutating func noteOthers(at now: MonotonicTime) { lastOther = now }

    func areOthersThere(at now: MonotonicTime) -> Bool { lastOther.map { now - $0 < Self.quiet } ?? false }

    /// A batch that was begun then has ended.
    mutating func ended(begun: MonotonicTime, at now: MonotonicTime) {
        let rest = min((now - begun) * Self.restFactor, Self.longestRest)
        restEnd = areOthersThere(at: now) ? now + rest : nil
    }

    /// Returns when a batch may begin beside `inFlight` others of imports; nil: not before one of those has ended. A time
    /// in the past means now.
    func begin(inFlight: Int, at now: MonotonicTime) -> MonotonicTime? {
        if let restEnd { return inFlight == 0 ? restEnd : nil }
        return inFlight < (areOthersThere(at: now) ? 1 : Writer.batchesInFlight) ? now : nil
    }
}
