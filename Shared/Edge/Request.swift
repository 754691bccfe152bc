import Bytes
import Reactor

/// A request as a handler sees it. Everything lies in the connection's buffers: valid until the handler returns.
@Reactor
package struct Request {
    /// The connection it came on, which outlives it.
    package let connection: HTTPConnection
    private let parser: RequestParser

    init(connection: HTTPConnection, parser: RequestParser) {
        self.connection = connection
        self.parser = parser
    }

    package var method: Method { parser.method }
    package var target: RequestTarget { parser.target }

    /// The body, decoded from chunks if it came in chunks.
    package var body: UnsafeRawBufferPointer { parser.body }

    /// The value of a header field without white space around it, or nil.
    package subscript(header: HeaderName) -> UnsafeRawBufferPointer? { parser.value(of: header) }
}

/// Answers one request, now or later, once. What comes after the connection's end, or a second time, is dropped.
package struct Responder: Sendable {
    private let connection: HTTPConnection
    private let ticket: UInt32

    init(connection: HTTPConnection, ticket: UInt32) {
        self.connection = connection
        self.ticket = ticket
    }

    /// Whether the answer can still reach anybody.
    @Reactor package var isWanted: Bool { !connection.isClosed }

    @Reactor package func answer(
        _ status: Int, _ contentType: ContentType = .json, headers: [ResponseHeader] = [],
        body: UnsafeRawBufferPointer
    ) {
        connection.answer(ticket, status, contentType, headers, body)
    }

    @Reactor package func answer(
        _ status: Int, _ contentType: ContentType = .json, headers: [ResponseHeader] = [],
        body: borrowing ByteBuffer
    ) {
        answer(status, contentType, headers: headers, body: body.bytes)
    }

    /// An answer without a body, such as 204.
    @Reactor package func answer(_ status: Int, headers: [ResponseHeader] = []) {
        answer(status, .json, headers: headers, body: UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
