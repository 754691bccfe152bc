import Reactor

/// Several connections to one or more instances of `ingest`. A request uses the least busy one.
@Reactor
public final class HTTPClient {
    private let connections: [HTTPConnection]
    private var nextConnection = 0

    /// Longer than any deadline of the server, which responds with 503 when one passes.
    private static let timeout = Duration.seconds(30)

    public init(_ endpoints: [Endpoint], connectionsPerEndpoint: Int = 1) {
        connections = (0..<connectionsPerEndpoint).flatMap { _ in endpoints.map(HTTPConnection.init) }
        watchTimeouts()
    }

    /// Sends a request. `completion` is called with the outcome, never synchronously.
    public func send(_ request: HTTPRequest, _ completion: @escaping @Reactor (HTTPOutcome) -> Void) {
        leastBusy.send(request, completion)
    }

    /// Sends a request and returns a copy of the outcome.
    public func send(_ request: HTTPRequest) async -> Reply {
        await withUnsafeContinuation { continuation in
            send(request) { outcome in
                switch outcome {
                case .lost: continuation.resume(returning: .lost)
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

    private func watchTimeouts() {
        Reactor.every(.seconds(1)) { [weak self] in
            self?.connections.forEach { $0.checkTimeout(Self.timeout) }
        }
    }
}

/// A response that outlives its connection's buffers. The status is 0 when there was no response.
public struct Reply: Sendable {
    public let status: Int
    /// The delay that the server requested before a repetition.
    public let retryAfter: Duration?
    public let body: [UInt8]

    public static let lost = Reply(status: 0, retryAfter: nil, body: [])

    private init(status: Int, retryAfter: Duration?, body: [UInt8]) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }

    public init(_ response: HTTPResponse) {
        self.init(status: response.status, retryAfter: response.retryAfter, body: Array(response.body))
    }

    public var isSuccess: Bool { (200..<300).contains(status) }

    /// Whether the same request may succeed later: connection lost, rate limited, overloaded or unavailable.
    public var isTemporary: Bool { Self.isTemporary(status) }

    public static func isTemporary(_ status: Int) -> Bool { [0, 429, 502, 503, 504].contains(status) }
}
