import Glibc

/// A time of the monotonic clock in nanoseconds, for intervals and deadlines only.
public struct MonotonicTime: Hashable, Comparable, Sendable {
    public let nanoseconds: UInt64

    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    public static var now: MonotonicTime {
        if let time = ProcessClock.time { return time }
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    public static func + (time: Self, duration: Duration) -> Self {
        MonotonicTime(nanoseconds: time.nanoseconds &+ UInt64(max(0, duration.nanoseconds)))
    }

    /// Returns the time from `earlier` to `later`; zero when `later` is the earlier one.
    public static func - (later: Self, earlier: Self) -> Duration {
        later <= earlier ? .zero : .nanoseconds(Int64(clamping: later.nanoseconds - earlier.nanoseconds))
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to 64 bits (292 years).
    public var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

    public var milliseconds: Double { Double(nanoseconds) / 1_000_000 }
}
