import Bytes
import Reactor

/// What a request came on and its answer leaves by: an `HTTPConnection`, or what plays one in a simulation.
@Reactor
public protocol RequestConnection: AnyObject, Sendable {
    /// What the handler keeps with the connection, such as the token it verified last.
    var userInfo: AnyObject? { get set }
    /// Whether nothing can reach the peer any more.
    var isClosed: Bool { get }
    /// Whether too many requests without a valid token came from where this connection comes from.
    var isDistrusted: Bool { get }
    /// Notes that a request brought no valid token.
    func authenticationFailed()
    /// Answers the request that got this ticket. What comes after the end, or a second time, is dropped.
    func answer(
        _ ticket: UInt32, _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader],
        _ body: UnsafeRawBufferPointer)
}

extension RequestConnection {
    public var isDistrusted: Bool { false }
    public func authenticationFailed() {}
}

/// A request as a handler sees it. Everything lies in the connection's buffers: valid until the handler returns.
@Reactor
public struct Request {
    /// The connection it came on, which outlives it.
    public let connection: any RequestConnection
    /// What `HTTPHandler.admit` gave for it.
    public let account: (any RequestAccount)?
    private let parser: RequestParser

    init(connection: any RequestConnection, parser: RequestParser, account: (any RequestAccount)? = nil) {
        self.connection = connection
        self.parser = parser
        self.account = account
    }

    public var method: Method { parser.method }
    public var target: RequestTarget { parser.target }

    /// How long the body is, as the head says; nil when it comes in chunks.
    public var announcedBodyBytes: UInt64? { parser.announcedBodyBytes }

    /// The body, decoded from chunks if it came in chunks.
    public var body: UnsafeRawBufferPointer { parser.body }

    /// The value of a header field without white space around it, or nil.
    public subscript(header: HeaderName) -> UnsafeRawBufferPointer? { parser.value(of: header) }
}

/// Answers one request, now or later, once. What comes after the connection's end, or a second time, is dropped.
public struct Responder: Sendable {
    private let connection: any RequestConnection
    private let ticket: UInt32

    init(connection: any RequestConnection, ticket: UInt32) {
        self.connection = connection
        self.ticket = ticket
    }

    /// Whether the answer can still reach anybody.
    @Reactor public var isWanted: Bool { !connection.isClosed }

    @Reactor public func answer(
        _ status: Int, _ contentType: ContentType = .json, headers: [ResponseHeader] = [],
        body: UnsafeRawBufferPointer
    ) {
        connection.answer(ticket, status, contentType, headers, body)
    }

    @Reactor public func answer(
        _ status: Int, _ contentType: ContentType = .json, headers: [ResponseHeader] = [],
        body: borrowing ByteBuffer
    ) {
        answer(status, contentType, headers: headers, body: body.bytes)
    }

    /// An answer without a body, such as 204.
    @Reactor public func answer(_ status: Int, headers: [ResponseHeader] = []) {
        answer(status, .json, headers: headers, body: UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
