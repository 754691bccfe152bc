import Foundation
import ParleyTransport

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
        let (body, response) = try await session.data(for: try urlRequest(request))
        guard let response = response as? HTTPURLResponse else { throw TransportFailure("no HTTP response") }
        return TransportResponse(
            status: response.statusCode,
            retryAfter: response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) },
            headers: Dictionary(
                response.allHeaderFields.map { ("\($0)".lowercased(), "\($1)") },
                uniquingKeysWith: { first, _ in first }),
            body: body)
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
