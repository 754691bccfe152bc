import Reactor

/// Several connections to one or more instances of `ingest`. A request uses the least busy one.
@Reactor
public final class HTTPClient {
    private let connections: [HTTPConnection]
    private var nextConnection = 0
    private var watchesTimeouts = false

    /// Longer than any deadline of the server, which responds with 503 when one passes.
    private static let timeout = Duration.seconds(30)

    public init(_ endpoints: [Endpoint], connectionsPerEndpoint: Int = 1) {
        connections = (0..<connectionsPerEndpoint).flatMap { _ in endpoints.map(HTTPConnection.init) }
    }

    /// Sends a request. `completion` is called with the outcome, never synchronously.
    public func send(_ request: HTTPRequest, _ completion: @escaping @Reactor (HTTPOutcome) -> Void) {
        leastBusy.send(request, completion)
        if !watchesTimeouts { watchTimeouts() }
    }

    /// Sends a request and returns a copy of the outcome.
    public func send(_ request: HTTPRequest) async -> Reply {
        await withUnsafeContinuation { continuation in
            send(request) { outcome in
                switch outcome {
                case .lost: continuation.resume(returning: .lost)
                case .refused: continuation.resume(returning: .refused)
                case .response(let response): continuation.resume(returning: Reply(response))
                }
            }
        }
    }

    /// The least busy connection. The search starts after the one used last, so that idle ones take turns.
    private var leastBusy: HTTPConnection {
        var best = nextConnection
        for step in 0..<connections.count {
            let candidate = (nextConnection + step) % connections.count
            if isBetter(connections[candidate], than: connections[best]) { best = candidate }
        }
        nextConnection = (best + 1) % connections.count
        return connections[best]
    }

    private func isBetter(_ candidate: HTTPConnection, than best: HTTPConnection) -> Bool {
        candidate.isResting == best.isResting ? candidate.inFlight < best.inFlight : best.isResting
    }

    /// Once a second for as long as there are requests: a client without any sleeps.
    private func watchTimeouts() {
        watchesTimeouts = true
        Reactor.after(.seconds(1)) { [weak self] in
            guard let self else { return }
            for connection in connections { connection.checkTimeout(Self.timeout) }
            watchesTimeouts = false
            if connections.contains(where: { $0.inFlight > 0 }) { watchTimeouts() }
        }
    }
}

/// A response that outlives its connection's buffers. The status is 0 when there was no response.
public struct Reply: Sendable {
    public let status: Int
    /// The delay that the server requested before a repetition.
    public let retryAfter: Duration?
    public let body: [UInt8]

    /// Whether there can be no connection, however often it is tried.
    public let isRefused: Bool

    public static let lost = Reply(status: 0, retryAfter: nil, body: [])
    public static let refused = Reply(status: 0, retryAfter: nil, body: [], isRefused: true)

    private init(status: Int, retryAfter: Duration?, body: [UInt8], isRefused: Bool = false) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
        self.isRefused = isRefused
    }

    public init(_ response: HTTPResponse) {
        self.init(status: response.status, retryAfter: response.retryAfter, body: Array(response.body))
    }

    public var isSuccess: Bool { (200..<300).contains(status) }

    /// Whether the same request may succeed later: connection lost, rate limited, overloaded or unavailable.
    public var isTemporary: Bool { !isRefused && Self.isTemporary(status) }

    public static func isTemporary(_ status: Int) -> Bool { [0, 429, 502, 503, 504].contains(status) }
}
