import CLinux
import Glibc
import Reactor

/// Tells when the next message is due at a fixed rate: `start + n / rate`, whatever became of the ones before it.
///
/// On a timer descriptor, because the reactor's timers are rounded up to milliseconds, which would count as latency.
@Reactor
final class Pacer: DescriptorHandler {
    private let descriptor = timerfd_create(CLOCK_MONOTONIC, CInt(TFD_NONBLOCK | TFD_CLOEXEC))
    private let start = MonotonicTime.now
    private let nanosecondsEach: Double
    private var released = 0
    private let due: @Reactor (MonotonicTime) -> Void

    /// - Parameter due: called with the time at which a message was due, for each of them.
    init(rate: Int, due: @escaping @Reactor (MonotonicTime) -> Void) {
        nanosecondsEach = 1e9 / Double(rate)
        self.due = due
        Reactor.watch(descriptor, for: .read, handler: self)
        arm()
    }

    func stop() {
        Reactor.forget(descriptor)
        close(descriptor)
    }

    func ready(_: Readiness) {
        var expirations: UInt64 = 0
        read(descriptor, &expirations, MemoryLayout<UInt64>.size)
        let now = MonotonicTime.now
        while time(of: released) <= now {
            released += 1
            due(time(of: released - 1))
        }
        arm()
    }

    private func time(of number: Int) -> MonotonicTime {
        start + .nanoseconds(Int64(Double(number) * nanosecondsEach))
    }

    private func arm() {
        let next = time(of: released).nanoseconds
        var timer = itimerspec()
        timer.it_value = timespec(tv_sec: Int(next / 1_000_000_000), tv_nsec: Int(next % 1_000_000_000))
        timerfd_settime(descriptor, CInt(TFD_TIMER_ABSTIME), &timer, nil)
    }
}
