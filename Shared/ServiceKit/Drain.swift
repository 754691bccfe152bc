import Glibc
import Reactor

/// The orderly shutdown of a process, from SIGTERM to its exit.
///
/// The steps run one after the other, in the order they were added: stop accepting, respond to requests in flight,
/// close sessions, release slots. A step that takes too long must not keep the process alive: the process ends at the
/// limit, or at a second signal. Nothing acknowledged depends on a drain.
@Reactor
public final class Drain {
    public typealias Step = @Reactor () async -> Void

    private let limit: Duration
    private let log: Log
    private let end: @Reactor () -> Void
    private var steps: [(name: StaticString, step: Step)] = []
    public private(set) var hasBegun = false
    private var hasEnded = false

    /// - Parameter end: ends the process; tests replace it.
    public init(limit: Duration, log: Log, end: @escaping @Reactor () -> Void = { Reactor.stop() }) {
        self.limit = limit
        self.log = log
        self.end = end
    }

    public func add(_ name: StaticString, _ step: @escaping Step) { steps.append((name, step)) }

    /// Begins the drain at SIGTERM (from a supervisor) and SIGINT (from a terminal).
    public func beginOnSignals() {
        for signal in [SIGTERM, SIGINT] {
            Reactor.onSignal(signal) { [self] in
                if hasBegun { finish("ended by a second signal") } else { begin() }
            }
        }
    }

    public func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        log.info("draining", [LogField("steps", steps.count)])
        Reactor.after(limit) { [self] in finish("drain took too long") }
        Reactor.spawn { [self] in await runSteps() }
    }

    private func runSteps() async {
        for (name, step) in steps {
            log.debug("drain step", [LogField("step", name.description)])
            await step()
            if hasEnded { return }
        }
        finish(nil)
    }

    private func finish(_ complaint: StaticString?) {
        guard !hasEnded else { return }
        hasEnded = true
        if let complaint { log.warning(complaint) } else { log.info("drained") }
        end()
    }
}
