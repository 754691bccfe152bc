import Reactor
import ServiceKit

/// The metrics of a hook. They are there without one, too, and zero.
@Reactor
final class HookMetrics {
    private let allowed: Counter
    private let refused: Counter
    private let failed: Counter
    private let failures: [HookFailure: Counter]
    private let duration: Histogram
    private var waiting: @Reactor () -> Int = { 0 }
    private var isPaused: @Reactor () -> Bool = { false }

    init(_ metrics: Metrics, _ asked: Call.Asked) {
        let (prefix, hook) = asked == .messages ? ("hook", "message hook") : ("consent_hook", "consent hook")
        let (name, what) =
            asked == .messages
            ? ("messages", "Messages and edits") : ("members", "People to be brought into a conversation")
        func messages(_ result: String) -> Counter {
            metrics.counter(
                "parley_ingest_\(prefix)_\(name)_total",
                "\(what) that the application was to be asked about, by result",
                labels: ["result": result])
        }
        (allowed, refused, failed) = (messages("allowed"), messages("refused"), messages("failed"))
        failures = Dictionary(
            uniqueKeysWithValues: HookFailure.allCases.map { failure in
                let counter = metrics.counter(
                    "parley_ingest_\(prefix)_failures_total", "Commands without an answer of the \(hook), by reason",
                    labels: ["reason": failure.rawValue])
                return (failure, counter)
            })
        duration = metrics.histogram(
            "parley_ingest_\(prefix)_duration_seconds", "Time from a question of the \(hook) to its answer or failure")
        metrics.gauge("parley_ingest_\(prefix)_waiting", "\(what) that wait until the application is asked about them")
        {
            [unowned self] in Double(waiting())
        }
        metrics.gauge("parley_ingest_\(prefix)_paused", "1 while the \(hook) is not asked because it failed") {
            [unowned self] in isPaused() ? 1 : 0
        }
    }

    func show(waiting: @escaping @Reactor () -> Int, isPaused: @escaping @Reactor () -> Bool) {
        (self.waiting, self.isPaused) = (waiting, isPaused)
    }

    func asked(_ duration: Duration) { self.duration.observe(duration) }

    func answered(allowed: Int, refused: Int) {
        self.allowed.increment(by: allowed)
        self.refused.increment(by: refused)
    }

    func failed(_ failure: HookFailure, messages: Int) {
        failed.increment(by: messages)
        failures[failure]?.increment()
    }
}
