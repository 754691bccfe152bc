import Synchronization

/// One process of a simulation. Its deferred work (timers, steps of `async` functions, ends of turns) is kept apart
/// from the reactor's own, and its time is set by the simulation.
///
/// The processes of a simulation take turns on the reactor's thread. A turn ends when nothing is left to do at its
/// time, so the order of turns alone determines a run. Releasing a process crashes it: its deferred work never runs.
@Reactor
public final class SimulatedProcess {
    private var work = EventLoop.Work()
    private var random: any RandomNumberGenerator

    public init(random: any RandomNumberGenerator) { self.random = random }

    /// The time of its next timer.
    public var nextTime: MonotonicTime? { work.timers.nextTime }

    /// Runs `body` and all work due at `time`, as one turn of the process.
    public func turn(at time: MonotonicTime, _ body: @Reactor () -> Void = {}) {
        begin(time)
        body()
        let loop = Reactor.loop
        repeat {
            loop.runTimers()
            loop.runJobs(rounds: .max)
            loop.runDeferred()
        } while !loop.work.jobs.isEmpty || !loop.work.deferred.isEmpty || loop.work.timers.nextTime ?? .never <= time
        end()
    }

    private func begin(_ time: MonotonicTime) {
        precondition(SimulatedClock.now == nil, "a turn must not start inside another turn")
        swap(&work, &Reactor.loop.work)
        SimulatedClock.now = time
        ProcessRandom.simulated = random
    }

    private func end() {
        swap(&work, &Reactor.loop.work)
        SimulatedClock.now = nil
        random = ProcessRandom.simulated!
        ProcessRandom.simulated = nil
    }
}

extension MonotonicTime {
    fileprivate static let never = MonotonicTime(nanoseconds: .max)
}

/// The time in the turn of a simulated process; nil outside of a simulation.
enum SimulatedClock {
    private static let nanoseconds = Atomic<UInt64>(0)

    static var now: MonotonicTime? {
        get {
            let value = nanoseconds.load(ordering: .relaxed)
            return value == 0 ? nil : MonotonicTime(nanoseconds: value)
        }
        set { nanoseconds.store(newValue?.nanoseconds ?? 0, ordering: .relaxed) }
    }
}

/// Random numbers for code on the reactor: for delays and names, not for secrets. In a simulation they follow from its
/// seed.
public struct ProcessRandom: RandomNumberGenerator {
    /// Used only on the reactor's thread.
    nonisolated(unsafe) static var simulated: (any RandomNumberGenerator)?

    public init() {}

    public mutating func next() -> UInt64 {
        if Self.simulated != nil { return Self.simulated!.next() }
        var random = SystemRandomNumberGenerator()
        return random.next()
    }
}
