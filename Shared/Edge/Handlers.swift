import Bytes
import Reactor

/// Responds to the HTTP requests of a server.
@Reactor
public protocol HTTPHandler: AnyObject {
    /// Decides by a request's head whether to serve it. Called once per request, before any of its body is kept.
    func admit(_ request: Request) -> RequestAdmission

    /// Handles a complete request. Must lead to one response through `responder`, now or later.
    func handle(_ request: Request, _ responder: Responder)
}

/// The decision on a request whose head has arrived.
public enum RequestAdmission {
    /// Serve it, with a body of up to `bodyBytes`; a longer one gets 413. The account is kept with the request.
    case admitted(bodyBytes: Int, (any RequestAccount)? = nil)
    /// Serve it, and pass its body on as it arrives, of whatever length.
    case streamed(any StreamHandler)
    /// Respond 413: the announced body is longer than the call accepts.
    case bodyTooLarge
    /// Send this response at once. A body is not kept.
    case refused(Refusal)
}

/// Serves one request whose body comes, and whose response goes, in pieces.
@Reactor
public protocol StreamHandler: AnyObject {
    /// Called first: the responses to earlier requests of the connection are sent.
    func opened(_ stream: RequestStream)

    /// Called with the next bytes of the body, valid until this returns. They are at most
    /// `ServerLimits.streamPieceBytes`, and have no relation to what the client sent at a time.
    func received(_ bytes: UnsafeRawBufferPointer)

    /// Called when the body is complete.
    func bodyEnded()

    /// Called when the client has read on after the stream was congested.
    func drained()

    /// Called once when the response is complete, or cannot be any more. No call follows.
    func closed()
}

/// The account that a request is charged to while its body arrives.
@Reactor
public protocol RequestAccount: AnyObject {
    /// Charges for `bodyBytes` more of an incomplete body, of which `held` bytes are charged already. Returns a
    /// refusal, and charges nothing, when there is no room for them.
    func hold(bodyBytes: Int, of held: Int) -> Refusal?

    /// Releases bytes charged by `hold`: the body is complete or abandoned.
    func release(bodyBytes: Int)
}

/// A response sent before a request is handled.
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

/// Handles the WebSockets of a server. One handler serves all of them; `WebSocket.userInfo` holds the state of each.
@Reactor
public protocol WebSocketHandler: AnyObject {
    /// Whether a WebSocket may be opened now. If not, the client gets 503 with `Retry-After`.
    func admits(_ request: Request) -> Bool

    /// Called after the handshake: frames may be sent from now on.
    func opened(_ socket: WebSocket)

    /// Called with a complete text message of valid UTF-8. The bytes are valid until this returns.
    func received(_ text: UnsafeRawBufferPointer, from socket: WebSocket)

    /// Called after input was decoded and its complete messages were received.
    /// - Parameter otherFrames: frames in it that were not complete text messages: control frames and fragments.
    func decoded(otherFrames: Int, from socket: WebSocket)

    /// Called when the queue of `socket` exceeded its limit. Its frames were dropped. Frames sent now are the last
    /// before the socket is closed.
    func isTooSlow(_ socket: WebSocket)

    /// Called when the queue of `socket` is empty again after it was congested.
    func drained(_ socket: WebSocket)

    /// Called once when the connection has ended, whichever side ended it. No call follows.
    func closed(_ socket: WebSocket)
}

extension WebSocketHandler {
    public func drained(_: WebSocket) {}
    public func decoded(otherFrames _: Int, from _: WebSocket) {}
}
