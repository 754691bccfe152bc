import Foundation
import ParleyTransport
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// HTTP by `URLSession`.
public struct URLSessionHTTP: HTTPTransport {
    private let server: URL
    private let session: URLSession

    /// Longer than any deadline of the server, which responds with 503 when one passes.
    private static let timeoutSeconds: TimeInterval = 30

    /// - Parameter server: such as `https://chat.example`. Paths are appended to it.
    public init(server: URL, session: URLSession? = nil) {
        self.server = server
        self.session = session ?? URLSession(configuration: Self.configuration)
    }

    /// Nothing of a user's messages is kept on the disk beside the copy.
    private static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeoutSeconds
        configuration.urlCache = nil
        return configuration
    }

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let (body, response) = try await data(for: try urlRequest(request))
        guard let response = response as? HTTPURLResponse else { throw TransportFailure("no HTTP response") }
        return TransportResponse(
            status: response.statusCode,
            retryAfter: response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) },
            headers: Dictionary(
                response.allHeaderFields.map { ("\($0)".lowercased(), "\($1)") },
                uniquingKeysWith: { first, _ in first }),
            body: body)
    }

    /// What `URLSession.data(for:)` does, except that a cancellation waits for nothing. On Linux (Swift 6.3) that one waits for the
    /// session's queue with the task's lock, for which a response on this queue may be waiting.
    private func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        let exchange = Exchange()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchange.begin(
                    session.dataTask(with: request) { data, response, error in
                        if let data, let response {
                            continuation.resume(returning: (data, response))
                        } else {
                            continuation.resume(throwing: error ?? URLError(.unknown))
                        }
                    })
            }
        } onCancel: {
            exchange.cancel()
        }
    }

    private func urlRequest(_ request: TransportRequest) throws -> URLRequest {
        // Paths come percent-encoded: `appendingPathComponent` would encode them again.
        let base =
            server.absoluteString.hasSuffix("/") ? String(server.absoluteString.dropLast()) : server.absoluteString
        guard let url = URL(string: base + request.path) else { throw TransportFailure("no URL: \(request.path)") }
        var result = URLRequest(url: url)
        result.httpMethod = request.method
        result.httpBody = request.body
        for (name, value) in request.headers { result.setValue(value, forHTTPHeaderField: name) }
        return result
    }
}

/// A request on its way, which may be cancelled before it begins.
private final class Exchange: Sendable {
    private let state = Mutex<(task: URLSessionTask?, isCancelled: Bool)>((nil, false))

    func begin(_ task: URLSessionTask) {
        task.resume()
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { Self.cancel(task) }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        if let task { Self.cancel(task) }
    }

    private static func cancel(_ task: URLSessionTask) {
        DispatchQueue.global().async { task.cancel() }
    }
}
