import Bytes
import Reactor

/// The receiver of an `HTTPStream`.
@Reactor
public protocol HTTPStreamOwner: AnyObject {
    /// Called when the head of the response is there, which may be before the body of the request is complete.
    func began(status: Int, retryAfter: Duration?)
    /// Called with each piece of the response's body. The bytes are valid until this returns.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// Called when everything that was sent has left: time to send more.
    func drained()
    /// Called once, as the last call.
    func ended(_ end: HTTPStream.End)
}

/// One request on a connection of its own. Its body, lines of JSON, is sent in pieces while its response is read in
/// pieces, so neither has to be known as a whole.
///
/// It keeps what was sent and has not left, and nothing else: who sends asks `unsentBytes`.
@Reactor
public final class HTTPStream: ClientSocketOwner {
    public enum End: Sendable {
        /// The response is complete.
        case complete
        /// The connection ended before. What of the request was carried out is not known.
        case lost
        /// There can be no connection. The request was not carried out.
        case refused(TLSRefusal)
    }

    private weak var owner: (any HTTPStreamOwner)?
    private var socket: ClientSocket?
    private var parser: ResponseParser?
    public private(set) var isBodyComplete = false
    private var isEnded = false

    /// Starts to connect. Nil when that fails at once.
    ///
    /// - Parameter hasBody: whether lines are sent; otherwise the request is complete.
    public init?(
        _ endpoint: Endpoint, _ request: HTTPRequest, hasBody: Bool = true, owner: any HTTPStreamOwner
    ) {
        self.owner = owner
        isBodyComplete = !hasBody
        guard let socket = ClientSocket(endpoint, owner: self) else { return nil }
        self.socket = socket
        parser = ResponseParser(
            begin: { [unowned self] response in Reactor.assumeIsolated { began(response) } },
            piece: { [unowned self] bytes in Reactor.assumeIsolated { pieceArrived(bytes) } },
            { [unowned self] _ in Reactor.assumeIsolated { end(.complete) } })
        socket.send { buffer in
            hasBody
                ? request.writeStreamedHead(host: endpoint.authority, to: &buffer)
                : request.write(host: endpoint.authority, to: &buffer)
        }
    }

    /// The bytes that were sent and have not left yet.
    public var unsentBytes: Int { socket?.unsentBytes ?? 0 }

    /// Sends more of the body.
    public func send(_ bytes: UnsafeRawBufferPointer) {
        // An empty chunk would be the last.
        guard !bytes.isEmpty, !isBodyComplete else { return }
        socket?.send { buffer in
            buffer.append(utf8: String(bytes.count, radix: 16))
            buffer.append("\r\n")
            buffer.append(bytes)
            buffer.append("\r\n")
        }
    }

    /// The body is complete. The response may go on.
    public func endBody() {
        guard !isBodyComplete else { return }
        isBodyComplete = true
        socket?.send { $0.append("0\r\n\r\n") }
    }

    /// Closes the connection without notifying the owner.
    public func close() {
        isEnded = true
        socket?.close()
    }

    // MARK: The response

    public func received(_ bytes: UnsafeRawBufferPointer) {
        guard let parser, parser.parse(bytes) != nil else { return end(.lost) }
    }

    private func began(_ response: HTTPResponse) {
        if !isEnded { owner?.began(status: response.status, retryAfter: response.retryAfter) }
    }

    private func pieceArrived(_ bytes: UnsafeRawBufferPointer) {
        if !isEnded { owner?.received(bytes) }
    }

    public func drained() { if !isEnded, !isBodyComplete { owner?.drained() } }

    public func closed() { end(socket?.refusal.map(End.refused) ?? .lost) }

    private func end(_ end: End) {
        guard !isEnded else { return }
        close()
        owner?.ended(end)
    }
}
