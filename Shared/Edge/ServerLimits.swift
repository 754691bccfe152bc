/// The limits of a server: every queue and every wait of a connection has one.
public struct ServerLimits: Sendable {
    /// Open connections. A further one gets 503 `overloaded` and is closed.
    public var connections = 20_000

    /// Open connections per client address (IPv6: per /64). A further one gets 429 and is closed. Private addresses
    /// count only if a PROXY header names them: otherwise they are most likely proxies.
    public var connectionsPerAddress = 1000

    /// Requests without a valid token per client address within `failureWindow`. Beyond it, only connections that have
    /// shown a valid token are served. Verifying this many signatures takes a few per cent of a service's time, and a
    /// household of phones with expired tokens stays below it.
    public var failuresPerAddress = 2000
    public var failureWindow = Duration.seconds(10)

    /// The networks whose PROXY headers are accepted.
    public var trustedProxies: [IPNetwork] = []

    /// Bytes of a request's target and header fields together. More gets 431.
    public var headBytes = 16 * 1024

    /// Outstanding responses per connection. At the limit, nothing more is read from it.
    public var outstandingResponses = 64

    /// Response bytes that the peer has not read. Above this nothing is read from the connection …
    public var unreadResponseBytes = 256 * 1024

    /// … and above this it is closed. Only responses that were outstanding already can reach it.
    public var maximumUnreadResponseBytes = 64 * 1024 * 1024

    /// Bytes buffered for all HTTP connections: unsent responses, unparsed input, incomplete bodies. Above it,
    /// connections whose peers do not read are closed.
    public var bufferedBytes = 256 * 1024 * 1024

    /// Bytes of a refused request's body that are discarded to keep the connection. With a longer body the connection
    /// is closed.
    public var discardedBodyBytes = 128 * 1024

    /// Bytes queued for one WebSocket. Above it the peer is too slow, and the WebSocket is closed.
    public var webSocketQueueBytes = 4 * 1024 * 1024

    /// Bytes of one WebSocket message, all fragments together, until the handler sets another limit.
    public var webSocketMessageBytes = 64 * 1024

    /// From the first byte of a request to the end of its header fields.
    public var headTimeout = Duration.seconds(10)

    /// From the first byte of a request to the end of its body.
    public var requestTimeout = Duration.seconds(60)

    /// From one piece of a streamed body to the next. Such a body may take as long as it likes altogether.
    public var streamTimeout = Duration.seconds(60)

    /// Bytes read at a time of a streamed body: what a handler does with them keeps others waiting.
    public var streamPieceBytes = 64 * 1024

    /// From the acceptance of a connection to the first byte of its first request.
    public var firstRequestTimeout = Duration.seconds(20)

    /// The slowest accepted rate, in bytes per second, for a body to arrive or a lagging peer to read: the average
    /// since …
    public var slowestRate = 16 * 1024

    /// … this long after the beginning of a request.
    public var bodyGrace = Duration.seconds(10)

    /// How long a connection may stay open without a request.
    public var idleTimeout = Duration.seconds(75)

    /// How long a peer may lag before its reading rate counts.
    public var writeTimeout = Duration.seconds(30)

    /// How long the peer may take to close after the server: RFC 9112, 9.6 and RFC 6455, 7.1.1.
    public var closeTimeout = Duration.seconds(2)

    /// The interval between pings on a WebSocket.
    public var pingInterval = Duration.seconds(25)

    /// How long the peer of a WebSocket may stay silent.
    public var silenceTimeout = Duration.seconds(60)

    /// The interval at which a quarter of the connections are checked for timeouts: a timer per request would cost more
    /// than the request.
    public var sweepInterval = Duration.milliseconds(250)

    public init() {}

    /// The number of sweeps in `timeout`, at least one.
    func sweeps(in timeout: Duration) -> UInt32 {
        UInt32(clamping: max(1, timeout.nanoseconds / max(1, sweepInterval.nanoseconds)))
    }
}
