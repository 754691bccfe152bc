import Edge
import Reactor

extension Service {
    /// Counts what an HTTP and WebSocket server of this process does.
    public func addMetrics(of server: Server) {
        let counters: KeyValuePairs<String, (String, KeyPath<ServerStatistics, Int> & Sendable)> = [
            "connections_accepted": ("Connections accepted", \.accepted),
            "connections_refused": ("Connections beyond the bound", \.refusedConnections),
            "connections_refused_of_address": ("Connections beyond the bound of their address", \.refusedByAddress),
            "authentications_failed": ("Requests without a valid token", \.failedAuthentications),
            "requests": ("Requests handed to their handler", \.requests),
            "requests_refused": ("Requests malformed, over a limit or too slow", \.refusedRequests),
            "slow_readers": ("HTTP connections closed because the peer did not read", \.slowReaders),
            "websockets_opened": ("WebSockets opened", \.webSockets),
            "slow_websockets": ("WebSockets closed because their queue was over its bound", \.slowWebSockets),
        ]
        for (name, (help, path)) in counters {
            metrics.counter("parley_http_\(name)_total", help) { Double(server.statistics[keyPath: path]) }
        }
        metrics.gauge(
            "parley_http_kept_bytes", "Bytes kept for HTTP connections: what they do not take, or not yet end"
        ) {
            Double(server.bufferedBytes)
        }
        metrics.gauge("parley_http_connections", "Open connections, WebSockets included") {
            Double(server.openConnections)
        }
    }
}
