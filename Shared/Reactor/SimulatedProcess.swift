import Synchronization

/// One process of a simulation: what it has put off (timers, steps of `async` functions, ends of turns) is kept apart
/// from the reactor's own, and the time is what the simulation says.
///
/// The processes of a simulation take turns on the reactor's thread. A turn ends when nothing is left to be done at its
/// time, so a run follows from the order of its turns alone. Who lets go of a process has crashed it: nothing it put off
/// happens any more.
@Reactor
public final class SimulatedProcess {
    private var work = EventLoop.Work()
    private var random: any RandomNumberGenerator

    public init(random: any RandomNumberGenerator) { self.random = random }

    /// When it has something to do by itself.
    public var nextTime: MonotonicTime? { work.timers.nextTime }

    /// Runs `body` and all that is due at `time`, as one turn of the process.
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
        precondition(SimulatedClock.now == nil, "processes take turns, they do not call each other")
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

/// The time in the turn of a simulated process; nil outside, which is real life.
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

/// Random numbers for what runs on the reactor: for pauses and names, not for secrets. In a simulation they follow from its seed.
public struct ProcessRandom: RandomNumberGenerator {
    /// Only touched on the reactor's thread.
    nonisolated(unsafe) static var simulated: (any RandomNumberGenerator)?

    public init() {}

    public mutating func next() -> UInt64 {
        if Self.simulated != nil { return Self.simulated!.next() }
        var random = SystemRandomNumberGenerator()
        return random.next()
    }
}
