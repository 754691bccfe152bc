import CLinux
import Glibc
import Reactor

/// Reports when the next message of a schedule is due.
///
/// It uses a timer descriptor, because the reactor's timers round up to milliseconds, which would count as latency.
@Reactor
package final class Pacer: DescriptorHandler {
    private let descriptor = timerfd_create(CLOCK_MONOTONIC, CInt(TFD_NONBLOCK | TFD_CLOEXEC))
    private let schedule: ArrivalSchedule
    private var released = 0
    private let due: @Reactor (MonotonicTime) -> Void
    private var isStopped = false

    /// - Parameter due: called for each message with the time at which it was due.
    package init(rate: Int, due: @escaping @Reactor (MonotonicTime) -> Void) {
        schedule = ArrivalSchedule(start: .now, perSecond: Double(rate))
        self.due = due
        Reactor.watch(descriptor, for: .read, handler: self)
        arm()
    }

    package func stop() {
        guard !isStopped else { return }
        isStopped = true
        Reactor.forget(descriptor)
        close(descriptor)
    }

    package func ready(_: Readiness) {
        var expirations: UInt64 = 0
        read(descriptor, &expirations, MemoryLayout<UInt64>.size)
        let now = MonotonicTime.now
        while !isStopped, schedule.time(of: released) <= now {
            released += 1
            due(schedule.time(of: released - 1))
        }
        if !isStopped { arm() }
    }

    private func arm() {
        let next = schedule.time(of: released).nanoseconds
        var timer = itimerspec()
        timer.it_value = timespec(tv_sec: Int(next / 1_000_000_000), tv_nsec: Int(next % 1_000_000_000))
        timerfd_settime(descriptor, CInt(TFD_TIMER_ABSTIME), &timer, nil)
    }
}
