import Foundation
import Models
import ParleyTransport
import Reactor
import ReactorTransport
import Synchronization

/// HTTP on the reactor's thread.
final class ReactorHTTP: HTTPTransport {
    private let endpoints: [Endpoint]
    /// Made by the first request, on the reactor.
    @Reactor private var client: HTTPClient?

    /// Responses come in the order of the requests of a connection, so a slow one holds up the others on its own.
    private static let connections = 4

    init(_ endpoints: [Endpoint]) { self.endpoints = endpoints }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let request = try request.httpRequest(base: endpoints[0].path)
        let pending = PendingResponse()
        await start(request, pending)
        return try await pending.value
    }

    @Reactor private func start(_ request: HTTPRequest, _ pending: PendingResponse) {
        let client = client ?? HTTPClient(endpoints, connectionsPerEndpoint: Self.connections)
        self.client = client
        client.send(request) { outcome in
            switch outcome {
            case .lost: pending.resolve(.failure(TransportFailure("the connection was lost")))
            case .refused: pending.resolve(.failure(TransportFailure("there can be no TLS with the server")))
            case .response(let response): pending.resolve(.success(TransportResponse(response)))
            }
        }
    }
}

/// The response to one request, for a task that may be cancelled before.
private final class PendingResponse: Sendable {
    private struct State {
        var result: Result<TransportResponse, any Error>?
        var waiter: CheckedContinuation<TransportResponse, any Error>?
    }

    private let state = Mutex(State())

    var value: TransportResponse {
        get async throws {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { waiter in
                    let result = state.withLock { state in
                        if state.result == nil { state.waiter = waiter }
                        return state.result
                    }
                    if let result { waiter.resume(with: result) }
                }
            } onCancel: {
                resolve(.failure(CancellationError()))
            }
        }
    }

    /// The first result counts.
    func resolve(_ result: Result<TransportResponse, any Error>) {
        let waiter = state.withLock { state in
            if state.result == nil { state.result = result }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result)
    }
}

extension TransportResponse {
    fileprivate init(_ response: HTTPResponse) {
        self.init(
            status: response.status, retryAfter: response.retryAfter.map { Int($0.components.seconds) },
            headers: response.fields, body: Data(response.body))
    }
}

extension TransportRequest {
    fileprivate func httpRequest(base: String) throws -> HTTPRequest {
        let bearer = "Bearer "
        guard let method = Self.methods[method] else { throw TransportFailure("no method \(method)") }
        guard let authorization = headers["Authorization"], authorization.hasPrefix(bearer) else {
            throw TransportFailure("no token")
        }
        var request = HTTPRequest(
            method: method, path: base + path, token: String(authorization.dropFirst(bearer.count)),
            body: body.map { [UInt8]($0) } ?? [],
            idempotencyKey: headers["Idempotency-Key"].flatMap { UUIDBytes($0) })
        request.contentType = headers["Content-Type"] ?? request.contentType
        request.fields = headers.filter { !Self.ownFields.contains($0.key) }
        guard request.fields.allSatisfy({ $0.key.isHeadText && $0.value.isHeadText }) else {
            throw TransportFailure("a header has a line end")
        }
        return request
    }

    private static let ownFields: Set = ["Authorization", "Idempotency-Key", "Content-Type"]

    private static let methods: [String: StaticString] = [
        "GET": "GET", "HEAD": "HEAD", "POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE",
    ]
}

extension String {
    /// Printable ASCII.
    fileprivate var isHeadText: Bool { utf8.allSatisfy { (0x20..<0x7F).contains($0) } }
}
