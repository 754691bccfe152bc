import Bytes
import Reactor

/// Answers the HTTP requests of a server.
@Reactor
public protocol HTTPHandler: AnyObject {
    /// Decides by its head whether a request is served at all. Asked once for each, before a byte of its body is kept.
    func admit(_ request: Request) -> RequestAdmission

    /// The whole request is there. Must lead to one answer by `responder`, at once or later.
    func handle(_ request: Request, _ responder: Responder)
}

/// What becomes of a request whose head has arrived.
public enum RequestAdmission {
    /// It may bring a body of so many bytes; more is answered 413. The account is kept with the request.
    case admitted(bodyBytes: Int, (any RequestAccount)? = nil)
    /// More bytes of body are announced than the call takes: 413.
    case bodyTooLarge
    /// Answered so, at once. Whatever there is of a body is not kept.
    case refused(Refusal)
}

/// Who pays for a request while its body arrives.
@Reactor
public protocol RequestAccount: AnyObject {
    /// So many more bytes of a body wait for the rest of it, behind those `held` before. Gives a refusal when there is no
    /// room for them, and then they do not count.
    func hold(bodyBytes: Int, of held: Int) -> Refusal?

    /// So many bytes wait no longer: the body is complete, or given up.
    func release(bodyBytes: Int)
}

/// An answer that is given before a request is handled.
public struct Refusal: Sendable {
    public let status: Int
    let contentType: ContentType
    let headers: [ResponseHeader]
    let body: [UInt8]

    public init(_ status: Int, _ contentType: ContentType, headers: [ResponseHeader], body: borrowing ByteBuffer) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = body.array
    }
}

/// Takes part in the WebSockets of a server. One handler serves all; `WebSocket.userInfo` tells them apart.
@Reactor
public protocol WebSocketHandler: AnyObject {
    /// Whether a WebSocket may be opened now; otherwise the client gets 503 with `Retry-After`.
    func admits(_ request: Request) -> Bool

    /// The handshake is done; frames may be sent from now on.
    func opened(_ socket: WebSocket)

    /// A whole text message of valid UTF-8. The bytes are valid until this returns.
    func received(_ text: UnsafeRawBufferPointer, from socket: WebSocket)

    /// Some bytes of the peer have been decoded, and what was whole has been received.
    /// - Parameter otherFrames: frames among them that were no whole text message: control frames and fragments.
    func decoded(otherFrames: Int, from socket: WebSocket)

    /// The queue of `socket` is over its bound. What was queued has been dropped; what is sent now is the last the
    /// peer gets before it is closed.
    func isTooSlow(_ socket: WebSocket)

    /// The peer has taken everything that waited in the queue of `socket`, after it was congested.
    func drained(_ socket: WebSocket)

    /// The connection has ended, whoever ended it. Comes exactly once, and nothing comes after it.
    func closed(_ socket: WebSocket)
}

extension WebSocketHandler {
    public func drained(_: WebSocket) {}
    public func decoded(otherFrames _: Int, from _: WebSocket) {}
}
