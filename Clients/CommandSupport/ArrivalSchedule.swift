import Reactor

/// When the messages of an open loop are due: `start + n / rate`, whatever became of the ones before.
///
/// Latency counted from these times includes what a message waited because the system, or this client, was behind: a
/// stall is charged to every message that was due during it, not to one (the coordinated omission of a closed loop).
package struct ArrivalSchedule: Sendable {
    private let start: MonotonicTime
    private let nanosecondsEach: Double

    package init(start: MonotonicTime, perSecond rate: Double) {
        self.start = start
        nanosecondsEach = 1e9 / rate
    }

    package func time(of number: Int) -> MonotonicTime { start + .nanoseconds(Int64(Double(number) * nanosecondsEach)) }
}
