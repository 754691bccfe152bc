import Reactor
import ServiceKit

/// The readiness and the metrics of a store: of its one service, or of a service for each shard.
@Reactor
enum StoreMetrics {
    static func addHealth(of services: [StoreService], to health: Health) {
        func require(_ name: StaticString, _ isUp: @escaping @Reactor (StoreService) -> Bool) {
            health.require(name) {
                services.allSatisfy { !$0.isOpen || isUp($0) } ? nil : "not connected to the database"
            }
        }
        require("writing connection") { $0.writer.connection.isUp }
        require("background connection") { $0.backgroundWriter.connection.isUp }
        // Of a shard on Citus.
        require("borrowing connections") {
            $0.writers.allSatisfy { !$0.borrows || $0.connection.isResting || $0.connection.isUp }
        }
        require("query connection") { $0.queries.connection.isUp }
        require("search connection") { $0.queries.searching.connection.isUp }
        require("indexing connection") { $0.indexer.connection.isUp }
        health.require("slots") { services.contains { $0.slots.count > 0 } ? nil : "owns no slot yet" }
    }

    static func add(of services: [StoreService], to metrics: Metrics) {
        func total(_ value: @escaping @Reactor (StoreService) -> Int) -> @Reactor () -> Double {
            { Double(services.reduce(0) { $0 + value($1) }) }
        }
        func greatest(_ value: @escaping @Reactor (StoreService) -> Double) -> @Reactor () -> Double {
            { services.map(value).max { $0.magnitude < $1.magnitude } ?? 0 }
        }
        addWriting(to: metrics, total, services)
        addIndex(to: metrics, total, greatest)
        metrics.counter("parley_store_queries_total", "Queries answered", value: total { $0.queries.answered })
        metrics.gauge("parley_store_queries_in_flight", "Queries in flight", value: total { $0.queries.inFlight })
        metrics.gauge(
            "parley_store_query_turns_waiting", "Queries that wait for their turn at a connection",
            value: total { $0.queries.connection.waitingCount })
        metrics.counter(
            "parley_store_entries_refused_total", "Entries of no known layout",
            value: total { $0.slots.refusedRequests })
        metrics.gauge("parley_store_slots", "Slots owned", value: total { $0.slots.count })
        metrics.counter(
            "parley_store_sessions_ended_total", "Sessions of silent stores that this one ended",
            value: total { $0.slots.endedSessions })
        metrics.gauge("parley_store_erasures", "Erasures of users under way", value: total { $0.erasures.underWay })
        metrics.counter(
            "parley_store_media_released_total", "Messages whose lost attachments media was told of",
            value: total { $0.releases.acknowledged })
        metrics.counter(
            "parley_store_messages_expired_total", "Messages deleted because their time was over",
            value: total { $0.lifetimes.expired })
        metrics.counter(
            "parley_store_messages_removed_total", "Messages removed because they are kept no longer",
            value: total { $0.retention.removed })
        metrics.counter(
            "parley_store_scheduled_sent_total", "Scheduled messages that were sent at their time",
            value: total { $0.scheduled.sent })
        metrics.counter(
            "parley_store_scheduled_failed_total", "Scheduled messages that might not be sent at their time",
            value: total { $0.scheduled.failed })
        metrics.gauge(
            "parley_store_scheduled_lag_seconds", "How long the scheduled message that waits longest is due",
            value: greatest { Double($0.scheduled.lag) / 1000 })
        metrics.gauge(
            "parley_store_profiles_waiting", "Users whose changed profiles open clients are yet to be told of",
            value: total { $0.profiles.waitingCount })
        metrics.counter(
            "parley_store_profiles_untold_total", "Changes of profiles that open clients were not told of",
            value: total { $0.profiles.dropped })
        metrics.counter(
            "parley_store_private_changes_trimmed_total", "Old changes removed from private streams",
            value: total { $0.trimmer.trimmed })
        metrics.gauge(
            "parley_store_clock_difference_seconds", "How far the database's clock is ahead of this machine's",
            value: greatest { Double($0.clock.difference ?? 0) / 1000 })
    }

    private typealias Total = (@escaping @Reactor (StoreService) -> Int) -> @Reactor () -> Double
    private typealias Greatest = (@escaping @Reactor (StoreService) -> Double) -> @Reactor () -> Double

    private static func addWriting(to metrics: Metrics, _ total: Total, _ services: [StoreService]) {
        metrics.counter("parley_store_batches_total", "Batches that ended", value: total { $0.writer.metrics.batches })
        metrics.counter("parley_store_rows_total", "Messages in those batches", value: total { $0.writer.metrics.rows })
        metrics.counter("parley_store_commit_seconds_total", "Time from sending a batch to its end, summed") {
            services.reduce(.zero) { $0 + $1.writer.metrics.commitTime }.milliseconds / 1000
        }
        metrics.counter(
            "parley_store_races_lost_total", "Batches repeated after 40001 or 40P01",
            value: total { $0.writers.reduce(0) { $0 + $1.metrics.racesLost } })
        metrics.counter(
            "parley_store_batches_halved_total", "Batches halved to find a refused row",
            value: total { $0.writer.metrics.batchesHalved })
        metrics.counter(
            "parley_store_read_positions_total", "Read positions in batches",
            value: total { $0.backgroundWriter.metrics.rows })
        metrics.gauge(
            "parley_store_rows_waiting", "Rows waiting for a batch", value: total { $0.writer.waiting.rows })
        metrics.gauge(
            "parley_store_bytes_waiting", "Bytes of frames kept for commands that wait for a batch",
            value: total { service in
                service.writers.reduce(0) { $0 + $1.waiting.bytes }
            })
    }

    private static func addIndex(to metrics: Metrics, _ total: Total, _ greatest: Greatest) {
        metrics.counter(
            "parley_store_texts_indexed_total", "Message texts put into the index of the search",
            value: total { $0.indexer.indexed })
        metrics.gauge(
            "parley_store_index_waiting", "Conversations that moved and are not indexed yet",
            value: total { $0.indexer.waitingCount })
        metrics.gauge(
            "parley_store_index_lag_seconds", "How long the one that waits longest for the index has",
            value: greatest { $0.indexer.lag.milliseconds / 1000 })
        metrics.counter(
            "parley_store_backlog_searched_total", "Conversations looked at for the index at takeovers",
            value: total { $0.indexer.looked })
    }
}
