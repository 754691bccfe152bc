import Reactor
import Wire

/// A timer wheel for pending requests. Setting a time is O(1) and nothing is removed early: the caller skips a request
/// that is complete when its time comes.
struct TimerWheel {
    /// The resolution. A timer fires at the end of its tick, never earlier.
    static let tick = Duration.milliseconds(10)
    private static let spokes = 256

    private struct Entry {
        var number: RequestNumber
        var tick: UInt64
    }

    private var wheel = [[Entry]](repeating: [], count: spokes)
    private var current: UInt64

    init(now: MonotonicTime) { current = Self.ticks(now) }

    mutating func insert(_ number: RequestNumber, at time: MonotonicTime) {
        let tick = max(Self.ticks(time), current) + 1
        wheel[Int(tick % UInt64(Self.spokes))].append(Entry(number: number, tick: tick))
    }

    /// Removes and returns the requests that are due.
    mutating func advance(to now: MonotonicTime) -> [RequestNumber] {
        let target = Self.ticks(now)
        var due: [RequestNumber] = []
        // After a long pause every spoke is visited, but none twice.
        let first = max(current + 1, target >= UInt64(Self.spokes) ? target - UInt64(Self.spokes) + 1 : 0)
        for tick in first...max(first, target) where tick <= target { takeDue(at: tick, until: target, into: &due) }
        current = max(current, target)
        return due
    }

    private mutating func takeDue(at tick: UInt64, until target: UInt64, into due: inout [RequestNumber]) {
        let spoke = Int(tick % UInt64(Self.spokes))
        wheel[spoke].removeAll { entry in
            guard entry.tick <= target else { return false }
            due.append(entry.number)
            return true
        }
    }

    private static func ticks(_ time: MonotonicTime) -> UInt64 { time.nanoseconds / UInt64(tick.nanoseconds) }
}
