import Bytes
import Reactor

/// The connection of a request and its response: an `HTTPConnection`, or a simulated one.
@Reactor
public protocol RequestConnection: AnyObject, Sendable {
    /// The handler's state for the connection, such as the token it verified last.
    var userInfo: AnyObject? { get set }
    /// Whether nothing can be sent to the peer any more.
    var isClosed: Bool { get }
    /// Whether too many requests without a valid token came from this connection's address.
    var isThrottled: Bool { get }
    /// Counts a request without a valid token.
    func authenticationFailed()
    /// Responds to the request with this ticket. A second response, or one after the connection's end, is dropped.
    func respond(
        _ ticket: UInt32, _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader],
        _ body: UnsafeRawBufferPointer)
}

extension RequestConnection {
    public var isThrottled: Bool { false }
    public func authenticationFailed() {}
}

/// A request as a handler sees it. Its memory is the connection's buffers: valid until the handler returns.
@Reactor
public struct Request {
    /// The connection it arrived on, which outlives it.
    public let connection: any RequestConnection
    /// The account that `HTTPHandler.admit` returned for it.
    public let account: (any RequestAccount)?
    private let parser: RequestParser

    init(connection: any RequestConnection, parser: RequestParser, account: (any RequestAccount)? = nil) {
        self.connection = connection
        self.parser = parser
        self.account = account
    }

    public var method: Method { parser.method }
    public var target: RequestTarget { parser.target }
    /// Whether the response has no body.
    public var isHead: Bool { parser.isHead }

    /// The length of the body as the head announces it; nil when it is chunked.
    public var announcedBodyBytes: UInt64? { parser.announcedBodyBytes }

    /// The body, without chunked coding.
    public var body: UnsafeRawBufferPointer { parser.body }

    /// The value of a header field without white space around it, or nil.
    public subscript(header: HeaderName) -> UnsafeRawBufferPointer? { parser.value(of: header) }
}

/// Sends the response to one request, now or later. A second response, or one after the connection's end, is dropped.
public struct Responder: Sendable {
    private let connection: any RequestConnection
    private let ticket: UInt32

    init(connection: any RequestConnection, ticket: UInt32) {
        self.connection = connection
        self.ticket = ticket
    }

    /// Whether the response can still be delivered.
    @Reactor public var isWanted: Bool { !connection.isClosed }

    @Reactor public func respond(
        _ status: Int, _ contentType: ContentType = .json, headers: [ResponseHeader] = [],
        body: UnsafeRawBufferPointer
    ) {
        connection.respond(ticket, status, contentType, headers, body)
    }

    @Reactor public func respond(
        _ status: Int, _ contentType: ContentType = .json, headers: [ResponseHeader] = [],
        body: borrowing ByteBuffer
    ) {
        respond(status, contentType, headers: headers, body: body.bytes)
    }

    /// Sends a response without a body, such as 204.
    @Reactor public func respond(_ status: Int, headers: [ResponseHeader] = []) {
        respond(status, .json, headers: headers, body: UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
