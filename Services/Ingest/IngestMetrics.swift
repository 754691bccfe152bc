import Edge
import Reactor
import ServiceKit

/// The metrics of ingest.
@Reactor
final class IngestMetrics {
    /// Indexed by status.
    private let responses: [Counter]
    private let otherResponses: Counter
    private let duration: Histogram
    private let importedLines: Counter
    private let refusedLines: Counter
    private let repeatedRequests: Counter
    private let exportedRecords: Counter
    private let exportedBytes: Counter
    private let failedExports: Counter
    /// Exports whose responses are not complete.
    private(set) var exports = 0
    /// Imports whose bodies are arriving or whose responses are not complete.
    private var imports = 0

    private static let statuses = [200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 409, 413, 422, 429, 503]

    init(_ metrics: Metrics) {
        func counter(_ status: String) -> Counter {
            metrics.counter("parley_ingest_requests_total", "Requests by status", labels: ["status": status])
        }
        let known = Dictionary(uniqueKeysWithValues: Self.statuses.map { ($0, counter("\($0)")) })
        let other = counter("other")
        responses = (0..<600).map { known[$0] ?? other }
        otherResponses = other
        duration = metrics.histogram("parley_ingest_request_duration_seconds", "Time from a request to its response")
        func lines(_ result: String) -> Counter {
            metrics.counter(
                "parley_ingest_import_lines_total", "Lines of imports by result", labels: ["result": result])
        }
        (importedLines, refusedLines) = (lines("stored"), lines("refused"))
        repeatedRequests = metrics.counter(
            "parley_ingest_import_repetitions_total", "Requests to a store that an import repeated")
        exportedRecords = metrics.counter("parley_ingest_exported_records_total", "Records of exported conversations")
        exportedBytes = metrics.counter("parley_ingest_exported_bytes_total", "Bytes of exports")
        failedExports = metrics.counter(
            "parley_ingest_failed_exports_total", "Exports that ended in their middle: no one state, or no store")
        metrics.gauge("parley_ingest_imports", "Imports in progress") { [unowned self] in Double(imports) }
        metrics.gauge("parley_ingest_exports", "Exports in progress") { [unowned self] in Double(exports) }
    }

    func exportBegan() { exports += 1 }

    func exportEnded() { exports -= 1 }

    func exportFailed() { failedExports.increment() }

    func exported(bytes: Int) { exportedBytes.increment(by: bytes) }

    func exported(records: Int) { exportedRecords.increment(by: records) }

    func importBegan() { imports += 1 }

    func importEnded() { imports -= 1 }

    func importRepeats() { repeatedRequests.increment() }

    func imported(stored: Int, refused: Int) {
        importedLines.increment(by: stored)
        refusedLines.increment(by: refused)
    }

    func responded(_ status: Int, after duration: Duration) {
        // A status comes from the bus, and an invalid one must not end this process.
        (responses.indices.contains(status) ? responses[status] : otherResponses).increment()
        self.duration.observe(duration)
    }
}
