import Reactor
import ServiceKit

/// The readiness and the metrics of a receipt service: of its one service, or of a service for each shard.
@Reactor
enum ReceiptMetrics {
    static func addHealth(of services: [ReceiptService], to health: Health) {
        func require(_ name: StaticString, _ isUp: @escaping @Reactor (ReceiptService) -> Bool) {
            health.require(name) {
                services.allSatisfy { !$0.isOpen || isUp($0) } ? nil : "not connected to the database"
            }
        }
        require("writing connection") { $0.isWritingUp }
        require("query connection") { $0.queries.connection.isUp }
        health.require("slots") { services.contains { $0.slots.count > 0 } ? nil : "owns no slot yet" }
    }

    static func add(of services: [ReceiptService], to metrics: Metrics) {
        func total(_ value: @escaping @Reactor (ReceiptService) -> Int) -> @Reactor () -> Double {
            { Double(services.reduce(0) { $0 + value($1) }) }
        }
        metrics.counter("parley_receipt_signals_total", "Signals taken", value: total { $0.writer.metrics.signals })
        metrics.counter("parley_receipt_batches_total", "Batches sent", value: total { $0.writer.metrics.batches })
        metrics.counter(
            "parley_receipt_advances_total", "Signals that moved a horizon", value: total { $0.writer.metrics.advances }
        )
        metrics.counter(
            "parley_receipt_imported_total", "Receipts of imports that moved a horizon", value: total { $0.imported })
        metrics.counter(
            "parley_receipt_status_frames_total", "Status frames published", value: total { $0.statusFrames })
        metrics.counter(
            "parley_receipt_reads_announced_total", "Read positions announced to their users' devices",
            value: total { $0.teller.announced })
        metrics.counter(
            "parley_receipt_reads_searched_total", "Read positions found unannounced by a search",
            value: total { $0.search.found })
        metrics.counter(
            "parley_receipt_completions_total", "Dates kept of messages that everybody has, or has read",
            value: total { $0.completions.rangesKept })
        metrics.counter(
            "parley_receipt_runs_removed_total", "Receipts removed with messages that are kept no longer",
            value: total { $0.retention.removed })
        metrics.counter(
            "parley_receipt_horizons_searched_total", "Horizons looked at in searches",
            value: total { $0.search.looked })
        metrics.counter(
            "parley_receipt_notes_total", "Conversations noted as not announced completely",
            value: total { $0.notes.written })
        metrics.gauge(
            "parley_receipt_reads_unannounced", "Read positions that wait to be announced, or were a moment ago",
            value: total { $0.teller.count })
        metrics.counter("parley_receipt_queries_total", "Queries answered", value: total { $0.queries.responder.given })
        metrics.counter(
            "parley_receipt_entries_refused_total", "Entries of no known layout",
            value: total { $0.slots.refusedRequests })
        metrics.gauge("parley_receipt_slots", "Slots owned", value: total { $0.slots.count })
        metrics.counter(
            "parley_receipt_sessions_ended_total", "Sessions of silent receipt services that this one ended",
            value: total { $0.slots.endedSessions })
        metrics.gauge(
            "parley_receipt_signals_waiting", "Signals ready for a batch", value: total { $0.writer.waitingCount })
    }
}
