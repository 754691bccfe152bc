import Reactor

/// One process of a simulation. Its deferred work (timers, steps of `async` functions, ends of turns) is kept apart
/// from the reactor's own, and its time is set by the simulation.
///
/// The processes of a simulation take turns on the reactor's thread. A turn ends when nothing is left to do at its
/// time, so the order of turns alone determines a run. Releasing a process crashes it: its deferred work never runs.
@Reactor
package final class SimulatedProcess {
    private var state = ProcessState()

    package init(random: any RandomNumberGenerator) { state.random = random }

    /// The time of its next timer.
    package var nextTime: MonotonicTime? { state.nextTime }

    /// Runs `body` and all work due at `time`, as one turn of the process.
    package func turn(at time: MonotonicTime, _ body: @Reactor () -> Void = {}) {
        state.time = time
        Reactor.exchange(&state)
        precondition(state.time == nil, "a turn must not start inside another turn")
        body()
        Reactor.finishTurn()
        Reactor.exchange(&state)
    }
}
