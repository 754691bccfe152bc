import Synchronization

/// What a process has besides its descriptors: work that waits for its time, a clock, and random numbers.
///
/// A service has one, and never touches it. A simulation runs several processes on one reactor: it gives each a state
/// of its own, with a clock that it sets, and exchanges them between turns.
public struct ProcessState {
    private var work = EventLoop.Work()
    /// The time in the process. Nil: that of the machine's monotonic clock.
    public var time: MonotonicTime?
    /// The source of `ProcessRandom`. Nil: the system's.
    public var random: (any RandomNumberGenerator)?

    public init() {}

    /// The time of the process's next timer.
    public var nextTime: MonotonicTime? { work.timers.nextTime }

    @Reactor fileprivate mutating func exchange() {
        swap(&work, &Reactor.loop.work)
        (time, ProcessClock.time) = (ProcessClock.time, time)
        swap(&random, &ProcessRandom.source)
    }
}

extension Reactor {
    /// Exchanges the state of the process that runs on this reactor for another one.
    @Reactor public static func exchange(_ state: inout ProcessState) { state.exchange() }

    /// Does all work that is due at the process's time, and all that follows from it at the same time. Descriptors are
    /// not looked at.
    @Reactor public static func finishTurn() {
        let now = MonotonicTime.now
        repeat {
            loop.runTimers()
            loop.runJobs(rounds: .max)
            loop.runDeferred()
        } while !loop.work.jobs.isEmpty || !loop.work.deferred.isEmpty || loop.work.timers.isDue(at: now)
    }
}

extension TimerHeap {
    fileprivate func isDue(at time: MonotonicTime) -> Bool { nextTime.map { $0 <= time } ?? false }
}

/// The time that stands for the machine's monotonic clock; nil in a service. Any thread may ask for the time.
enum ProcessClock {
    private static let nanoseconds = Atomic<UInt64>(0)

    static var time: MonotonicTime? {
        get {
            let value = nanoseconds.load(ordering: .relaxed)
            return value == 0 ? nil : MonotonicTime(nanoseconds: value)
        }
        set { nanoseconds.store(newValue?.nanoseconds ?? 0, ordering: .relaxed) }
    }
}

/// Random numbers for code on the reactor: for delays and names, not for secrets. They come from the process's state.
public struct ProcessRandom: RandomNumberGenerator {
    /// Used only on the reactor's thread.
    nonisolated(unsafe) fileprivate(set) static var source: (any RandomNumberGenerator)?

    public init() {}

    public mutating func next() -> UInt64 {
        if Self.source != nil { return Self.source!.next() }
        var random = SystemRandomNumberGenerator()
        return random.next()
    }
}
