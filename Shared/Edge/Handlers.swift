import Reactor

/// Answers the HTTP requests of a server.
@Reactor
public protocol HTTPHandler: AnyObject {
    /// The most bytes the body of `request` may have. Asked when its head has arrived; more is answered 413.
    func maximumBodyBytes(for request: Request) -> Int

    /// Must lead to one answer by `responder`, at once or later.
    func handle(_ request: Request, _ responder: Responder)
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
