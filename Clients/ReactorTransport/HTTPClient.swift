import Reactor

/// Several connections to one or more instances of `ingest`. A request takes the one that has the least to do.
@Reactor
public final class HTTPClient {
    private let connections: [HTTPConnection]
    private var nextConnection = 0

    /// Longer than any deadline of the server's own, which answers 503 when its deadline passes.
    private static let timeout = Duration.seconds(30)

    public init(_ endpoints: [Endpoint], connectionsPerEndpoint: Int = 1) {
        connections = (0..<connectionsPerEndpoint).flatMap { _ in endpoints.map(HTTPConnection.init) }
        watchTimeouts()
    }

    /// `completion` is called with the outcome, never at once.
    public func send(_ request: HTTPRequest, _ completion: @escaping @Reactor (HTTPOutcome) -> Void) {
        leastBusy.send(request, completion)
    }

    /// The outcome as a value of its own.
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

    /// Starts looking behind the connection taken last, so that idle ones take turns.
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

/// A response that outlives its connection's buffers; status 0 when there was none.
public struct Reply: Sendable {
    public let status: Int
    /// What the server asked for before the request is repeated.
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
