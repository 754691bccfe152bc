import Reactor
import ServiceKit

/// The metrics of media that are counted where something happens.
@Reactor
final class MediaMetrics {
    private let metrics: Metrics
    private let receivedBytes: Counter
    private let sentBytes: Counter
    private let duration: Histogram
    private let statuses: [Int: Counter]
    private let otherStatuses: Counter
    private let results: [String: Counter]
    private let otherRefusals: Counter
    private let scans: [ScanVerdict: Counter]

    /// The reasons that a file may be refused for; any other counts as one.
    static let reasons = ["unreadable", "tooSlow", "tooLarge", "wrongType", "infected"]

    init(_ metrics: Metrics) {
        self.metrics = metrics
        receivedBytes = metrics.counter("parley_media_received_bytes_total", "Bytes of uploads")
        sentBytes = metrics.counter("parley_media_sent_bytes_total", "Bytes of files and thumbnails that were sent")
        duration = metrics.histogram("parley_media_inspection_seconds", "Time of looking into a file")
        func status(_ label: String) -> Counter {
            metrics.counter("parley_media_requests_total", "Requests by status", labels: ["status": label])
        }
        let known = [200, 201, 204, 206, 304, 400, 401, 403, 404, 409, 412, 413, 415, 416, 423, 429, 460, 503]
        statuses = Dictionary(uniqueKeysWithValues: known.map { ($0, status("\($0)")) })
        otherStatuses = status("other")
        func result(_ label: String) -> Counter {
            metrics.counter(
                "parley_media_inspected_total", "Files that were looked into, by result", labels: ["result": label])
        }
        results = Dictionary(uniqueKeysWithValues: (["ready"] + Self.reasons).map { ($0, result($0)) })
        otherRefusals = result("other")
        func scan(_ label: String) -> Counter {
            metrics.counter("parley_media_scans_total", "Files that clamd was asked about", labels: ["result": label])
        }
        scans = [
            .clean: scan("clean"), .infected: scan("infected"), .tooLarge: scan("tooLarge"), .failed: scan("failed"),
        ]
    }

    func received(_ count: Int) { receivedBytes.increment(by: count) }
    func sent(_ count: Int) { sentBytes.increment(by: count) }
    func responded(_ status: Int) { (statuses[status] ?? otherStatuses).increment() }

    /// - Parameter verdict: nil if there was none.
    func scanned(_ verdict: ScanVerdict?) { scans[verdict ?? .failed]?.increment() }

    /// - Parameter refusal: the reason; nil for a file that is ready.
    func inspected(_ refusal: String?, after duration: Duration) {
        (results[refusal ?? "ready"] ?? otherRefusals).increment()
        self.duration.observe(duration)
    }
}
