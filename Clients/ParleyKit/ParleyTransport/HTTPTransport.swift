import Foundation

/// A request as a transport sends it.
public struct TransportRequest: Hashable, Sendable {
    public var method: String
    /// With its query, percent-encoded. It begins with a slash.
    public var path: String
    public var headers: [String: String]
    public var body: Data?

    public init(method: String, path: String, headers: [String: String] = [:], body: Data? = nil) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }
}

/// A response as a transport received it.
public struct TransportResponse: Hashable, Sendable {
    public var status: Int
    /// How long the server asked to wait, in seconds.
    public var retryAfter: Int?
    /// By their names in lower case; at least `location`, `upload-offset`, `upload-length` and
    /// `content-range`, which files need.
    public var headers: [String: String]
    public var body: Data

    public init(status: Int, retryAfter: Int? = nil, headers: [String: String] = [:], body: Data) {
        self.status = status
        self.retryAfter = retryAfter
        self.headers = headers
        self.body = body
    }
}

/// There is no response, or no connection. The request may or may not have been carried out.
public struct TransportFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Sends requests to the server and receives its responses.
public protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the response, for as long as the transport finds reasonable. Cancelling the task
    /// gives the request up.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}
