/// The bounds of a server: every queue and every wait of a connection has one.
package struct ServerLimits: Sendable {
    /// Open connections. One more is answered 503 `overloaded` and closed.
    package var connections = 20_000

    /// Bytes of a request's target and header fields together; more is 431.
    package var headBytes = 16 * 1024

    /// Requests of one connection whose answers are outstanding. While there are as many, nothing more is read from it.
    package var outstandingAnswers = 64

    /// Answer bytes that the peer has not taken. Nothing is read from a connection above this …
    package var unreadAnswerBytes = 256 * 1024

    /// … and it is closed above this, which only the answers already outstanding can bring about.
    package var unreadAnswerBytesAtMost = 64 * 1024 * 1024

    /// Bytes queued for one WebSocket; above it the peer is too slow and is closed.
    package var webSocketQueueBytes = 4 * 1024 * 1024

    /// Bytes of one WebSocket message, all fragments together, until the handler sets another bound.
    package var webSocketMessageBytes = 64 * 1024

    /// From the first byte of a request to the end of its header fields.
    package var headTimeout = Duration.seconds(10)

    /// From the first byte of a request to the end of its body.
    package var requestTimeout = Duration.seconds(60)

    /// Without a request on a connection that stays open.
    package var idleTimeout = Duration.seconds(75)

    /// Without the peer taking any of the bytes it was sent.
    package var writeTimeout = Duration.seconds(30)

    /// For the peer to close after the server has: RFC 9112, 9.6 and RFC 6455, 7.1.1.
    package var closeTimeout = Duration.seconds(2)

    /// Between the pings of a WebSocket.
    package var pingInterval = Duration.seconds(25)

    /// Without anything from the peer of a WebSocket.
    package var silenceTimeout = Duration.seconds(60)

    /// Timeouts are noticed by looking at a part of the connections at this interval, four looks for all: a timer per
    /// request would cost more than the request.
    package var sweepInterval = Duration.milliseconds(250)

    package init() {}

    /// How many sweeps make up `timeout`, at least one.
    func sweeps(in timeout: Duration) -> UInt32 {
        UInt32(clamping: max(1, timeout.nanoseconds / max(1, sweepInterval.nanoseconds)))
    }
}
