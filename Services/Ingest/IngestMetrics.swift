import Edge
import Reactor
import ServiceKit

/// What ingest counts.
@Reactor
final class IngestMetrics {
    /// By status, from 0.
    private let answers: [Counter]
    private let otherAnswers: Counter
    private let duration: Histogram

    private static let statuses = [200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 413, 422, 429, 503]

    init(_ metrics: Metrics) {
        func counter(_ status: String) -> Counter {
            metrics.counter("parley_ingest_requests_total", "Requests by status", labels: ["status": status])
        }
        let known = Dictionary(uniqueKeysWithValues: Self.statuses.map { ($0, counter("\($0)")) })
        let other = counter("other")
        answers = (0..<600).map { known[$0] ?? other }
        otherAnswers = other
        duration = metrics.histogram("parley_ingest_request_seconds", "Time from a request to its answer")
    }

    func answered(_ status: Int, after duration: Duration) {
        // A status comes from the bus: nobody there may end this process.
        (answers.indices.contains(status) ? answers[status] : otherAnswers).increment()
        self.duration.observe(duration)
    }
}
