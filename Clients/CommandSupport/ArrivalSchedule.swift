import Reactor

/// The due times of the messages of an open loop: `start + n / rate`, regardless of the outcome of earlier ones.
///
/// Latency counted from these times includes the wait while the system or this client was behind. A stall is charged to
/// every message that was due during it, not to one (the coordinated omission of a closed loop).
package struct ArrivalSchedule: Sendable {
    private let start: MonotonicTime
    private let nanosecondsEach: Double

    package init(start: MonotonicTime, perSecond rate: Double) {
        self.start = start
        nanosecondsEach = 1e9 / rate
    }

    package func time(of number: Int) -> MonotonicTime { start + .nanoseconds(Int64(Double(number) * nanosecondsEach)) }
}
