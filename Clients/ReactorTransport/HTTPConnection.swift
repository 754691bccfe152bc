import Reactor

/// The outcome of a request.
public enum HTTPOutcome {
    case response(HTTPResponse)
    /// The connection ended before the response. The request may or may not have been carried out.
    case lost
    /// There can be no connection. The request was not carried out.
    case refused(TLSRefusal)
}

/// A connection that carries many requests at once (pipelining, RFC 9112, 9.3.2) and is reopened when lost.
@Reactor
final class HTTPConnection: ClientSocketOwner {
    typealias Completion = @Reactor (HTTPOutcome) -> Void

    private struct Waiting {
        let sentAt: MonotonicTime
        let isBodiless: Bool
        let completion: Completion
    }

    private let endpoint: Endpoint
    private var socket: ClientSocket?
    private var parser: ResponseParser?
    /// The requests in order. Those before `firstWaiting` have their responses.
    private var waiting: [Waiting] = []
    private var firstWaiting = 0

    /// Whether the connection was lost a moment ago. Being idle, it would seem the best choice for the next request.
    private(set) var isResting = false

    private static let rest = Duration.milliseconds(500)

    init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    var inFlight: Int { waiting.count - firstWaiting }

    /// Sends a request. `completion` is called with its outcome, in the order of the requests, never synchronously.
    func send(_ request: HTTPRequest, _ completion: @escaping Completion) {
        guard let socket = openSocket() else {
            takeRest()
            Reactor.after(.zero) { completion(.lost) }
            return
        }
        waiting.append(Waiting(sentAt: .now, isBodiless: request.isBodiless, completion: completion))
        socket.send { request.write(host: endpoint.authority, to: &$0) }
    }

    /// Closes the connection when its oldest request has been waiting for longer than `limit`.
    func checkTimeout(_ limit: Duration) {
        guard inFlight > 0, MonotonicTime.now - waiting[firstWaiting].sentAt > limit else { return }
        socket?.close()
        closed()
    }

    private func openSocket() -> ClientSocket? {
        if let socket { return socket }
        socket = ClientSocket(endpoint, owner: self)
        parser = ResponseParser(
            isBodiless: { [unowned self] in Reactor.assumeIsolated { inFlight > 0 && waiting[firstWaiting].isBodiless }
            }
        ) { [unowned self] response in Reactor.assumeIsolated { answered(response) } }
        return socket
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard let parser, parser.parse(bytes) != nil, parser.keepsAlive else {
            socket?.close()
            return closed()
        }
    }

    private func answered(_ response: HTTPResponse) {
        guard inFlight > 0 else { return }  // A response without a request, such as 408 before the server closes.
        let completion = waiting[firstWaiting].completion
        firstWaiting += 1
        if firstWaiting == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            firstWaiting = 0
        }
        completion(.response(response))
    }

    private func takeRest() {
        isResting = true
        Reactor.after(Self.rest) { [self] in isResting = false }
    }

    func closed() {
        takeRest()
        let lost = waiting[firstWaiting...]
        let outcome = socket?.refusal.map(HTTPOutcome.refused) ?? .lost
        waiting = []
        firstWaiting = 0
        socket = nil
        // Kept alive until this returns, as the parser may be the caller.
        let parser = parser
        self.parser = nil
        for request in lost { request.completion(outcome) }
        _ = parser
    }
}
