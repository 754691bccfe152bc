import Edge
import Reactor

extension Service {
    /// Registers the metrics of an HTTP and WebSocket server.
    public func addMetrics(of server: Server) {
        let counters: KeyValuePairs<String, (String, KeyPath<ServerStatistics, Int> & Sendable)> = [
            "connections_accepted": ("Connections accepted", \.accepted),
            "connections_refused": ("Connections refused at the connection limit", \.refusedConnections),
            "connections_refused_by_address": ("Connections refused at the limit of their address", \.refusedByAddress),
            "authentication_failures": ("Requests without a valid token", \.failedAuthentications),
            "requests": ("Requests handled", \.requests),
            "requests_refused": (
                "Requests refused by the server: malformed, over a limit or too slow", \.refusedRequests
            ),
            "slow_readers": ("HTTP connections closed because the peer did not read", \.slowReaders),
            "websockets_opened": ("WebSockets opened", \.webSockets),
            "slow_websockets": ("WebSockets closed because their queue exceeded its limit", \.slowWebSockets),
        ]
        for (name, (help, path)) in counters {
            metrics.counter("parley_http_\(name)_total", help) { Double(server.statistics[keyPath: path]) }
        }
        metrics.gauge(
            "parley_http_buffered_bytes",
            "Bytes buffered for HTTP connections: unsent responses and incomplete requests"
        ) {
            Double(server.bufferedBytes)
        }
        metrics.gauge("parley_http_connections", "Open connections, WebSockets included") {
            Double(server.openConnections)
        }
    }
}
