/// The bounds of a server: every queue and every wait of a connection has one.
public struct ServerLimits: Sendable {
    /// Open connections. One more is answered 503 `overloaded` and closed.
    public var connections = 20_000

    /// Open connections of one client address (IPv6: of one /64); one more is answered 429 and closed. Addresses of
    /// private networks count only when a proxy tells them: without that they are most likely proxies themselves.
    public var connectionsPerAddress = 1000

    /// Requests without a valid token from one such address within `failureWindow`. Beyond, only what was verified
    /// before on its connection is served. So many that the signatures to look at cost a service a few hundredths of its
    /// time at most, and that a house of phones whose tokens have expired does not lock itself out.
    public var failuresPerAddress = 2000
    public var failureWindow = Duration.seconds(10)

    /// Who may tell by a header of the PROXY protocol whom it connects for.
    public var trustedProxies: [IPNetwork] = []

    /// Bytes of a request's target and header fields together; more is 431.
    public var headBytes = 16 * 1024

    /// Requests of one connection whose answers are outstanding. While there are as many, nothing more is read from it.
    public var outstandingAnswers = 64

    /// Answer bytes that the peer has not taken. Nothing is read from a connection above this …
    public var unreadAnswerBytes = 256 * 1024

    /// … and it is closed above this, which only the answers already outstanding can bring about.
    public var unreadAnswerBytesAtMost = 64 * 1024 * 1024

    /// Bytes kept for all HTTP connections: answers that wait, input that waits, bodies in arrival. Above it whoever does
    /// not take what was sent is closed.
    public var keptBytes = 256 * 1024 * 1024

    /// Bytes of a body that is thrown away to keep the connection of a request that is refused; with more to come the
    /// connection ends.
    public var discardedBodyBytes = 128 * 1024

    /// Bytes queued for one WebSocket; above it the peer is too slow and is closed.
    public var webSocketQueueBytes = 4 * 1024 * 1024

    /// Bytes of one WebSocket message, all fragments together, until the handler sets another bound.
    public var webSocketMessageBytes = 64 * 1024

    /// From the first byte of a request to the end of its header fields.
    public var headTimeout = Duration.seconds(10)

    /// From the first byte of a request to the end of its body.
    public var requestTimeout = Duration.seconds(60)

    /// From the acceptance of a connection to the first byte of its first request.
    public var firstRequestTimeout = Duration.seconds(20)

    /// Bytes a second that a body arrives with, or a peer that is behind takes, at least: on the average since …
    public var slowestRate = 16 * 1024

    /// … so long after the beginning of a request.
    public var bodyGrace = Duration.seconds(10)

    /// Without a request on a connection that stays open.
    public var idleTimeout = Duration.seconds(75)

    /// Behind with what it was sent, before the rate at which a peer takes it counts.
    public var writeTimeout = Duration.seconds(30)

    /// For the peer to close after the server has: RFC 9112, 9.6 and RFC 6455, 7.1.1.
    public var closeTimeout = Duration.seconds(2)

    /// Between the pings of a WebSocket.
    public var pingInterval = Duration.seconds(25)

    /// Without anything from the peer of a WebSocket.
    public var silenceTimeout = Duration.seconds(60)

    /// Timeouts are noticed by looking at a part of the connections at this interval, four looks for all: a timer per
    /// request would cost more than the request.
    public var sweepInterval = Duration.milliseconds(250)

    public init() {}

    /// How many sweeps make up `timeout`, at least one.
    func sweeps(in timeout: Duration) -> UInt32 {
        UInt32(clamping: max(1, timeout.nanoseconds / max(1, sweepInterval.nanoseconds)))
    }
}
