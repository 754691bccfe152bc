import Reactor

/// How long commands take at present, from which follows how long to wait before one is repeated: what waits its turn at a
/// busy store is not lost.
///
/// The estimate of RFC 6298. A response to a repeated command counts from its first publication, since which repetition it
/// belongs to is unknown. So a lost frame makes the next waits longer, and an outage no longer than `limit`.
struct RoundTrip {
    /// A time that is longer counts as this.
    static let limit: Duration = .seconds(1)

    private var smoothed: Int64 = 0  // nanoseconds, like all of these
    private var deviation: Int64 = 0

    mutating func add(from sent: MonotonicTime, to received: MonotonicTime) {
        let elapsed = Int64(clamping: received.nanoseconds &- min(sent.nanoseconds, received.nanoseconds))
        let error = min(elapsed, Self.limitNanoseconds) - smoothed
        smoothed += error / 8
        deviation += (abs(error) - deviation) / 4
    }

    /// What nearly no command takes longer than.
    var bound: Duration { .nanoseconds(min(smoothed + 4 * deviation, Self.limitNanoseconds)) }

    private static let limitNanoseconds = limit.nanoseconds
}
