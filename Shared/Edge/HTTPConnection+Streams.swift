import Bytes
import Reactor

/// Passes the body of a streamed request to its handler, and what the handler does to the connection.
extension HTTPConnection {
    func serve(with handler: any StreamHandler) {
        stream = (handler, RequestStream(self))
        state.awaitStream()
        openStreamInTurn()
    }

    func openStreamInTurn() {
        guard state.isTurnOfStream, let (handler, stream) = stream else { return }
        server.statistics.requests += 1
        state.openStream(at: server.sweep)
        scheduleFlush()  // Of 100 Continue.
        handler.opened(stream)
        if state.stream == .responding { handler.bodyEnded() }
    }

    func pieceArrived(isLast: Bool) {
        let handler = stream?.0
        if !state.parser.body.isEmpty { handler?.received(state.parser.body) }
        state.parser.forgetBody()
        // The handler may have ended the response.
        if isLast, state.stream == .responding { handler?.bodyEnded() }
    }

    /// Tells the handler that the client has read on.
    func tellDrained() {
        guard owesDrained, !state.isCongested else { return }
        owesDrained = false
        stream?.0.drained()
    }

    /// Ends the connection with what is written of the response. Returns whether it had begun.
    @discardableResult
    func abandonStream() -> Bool {
        let hadBegun = state.abandonStream()
        forgetStream()
        scheduleFlush()
        return hadBegun
    }

    func respondToStream(
        _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader], _ body: UnsafeRawBufferPointer
    ) {
        state.respondToStream(
            status, contentType, headers, body, server.responseWriter, isLast: server.isDraining, at: server.sweep)
        forgetStream()
        scheduleFlush()
    }

    func endStream() {
        state.endResponse(isLast: server.isDraining, at: server.sweep)
        forgetStream()
        scheduleFlush()
    }

    /// Tells the handler that it is over.
    func forgetStream() {
        guard let (handler, stream) = stream else { return }
        self.stream = nil
        owesDrained = false
        stream.detach()
        handler.closed()
    }
}

/// The connection of a streamed request, for its handler. After its end nothing has an effect.
@Reactor
public final class RequestStream {
    private var connection: HTTPConnection?

    init(_ connection: HTTPConnection) { self.connection = connection }

    func detach() { connection = nil }

    /// Whether the client is behind with reading by so much that nothing more should be written. `drained` follows.
    public var isCongested: Bool { connection?.state.isCongested ?? false }

    /// Stops reading the body until `resume`. What was read already is kept by the connection.
    public func pause() { connection?.state.pauseStream() }

    public func resume() {
        guard let connection else { return }
        connection.state.resumeStream(at: connection.server.sweep)
        // Not at once: the caller is not prepared to receive bytes.
        connection.scheduleFlush()
    }

    /// Sends the whole response, once. If the body is not complete, the connection ends after it.
    public func respond(
        _ status: Int, _ contentType: ContentType = .json, headers: [ResponseHeader] = [],
        body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        connection?.respondToStream(status, contentType, headers, body)
    }

    /// Begins the response, once.
    /// - Parameter length: of the body in bytes, all of which must follow; nil when it is not known.
    public func begin(
        _ status: Int, _ contentType: ContentType, headers: [ResponseHeader] = [], length: Int64? = nil
    ) {
        guard let connection else { return }
        connection.state.beginResponse(
            status, contentType, headers, length: length, connection.server.responseWriter)
        connection.scheduleFlush()
    }

    /// Sends more of the response that was begun.
    public func write(_ bytes: UnsafeRawBufferPointer) {
        guard let connection else { return }
        connection.state.append(toResponse: bytes)
        connection.owesDrained = connection.owesDrained || connection.state.isCongested
        connection.scheduleFlush()
    }

    /// Sends a part of a file next, which must stay open until `drained` or `closed`. The stream is congested meanwhile.
    public func write(fileAt offset: Int64, count: Int64, of descriptor: CInt) {
        guard let connection else { return }
        connection.state.append(toResponse: FilePart(descriptor: descriptor, offset: offset, count: count))
        connection.owesDrained = true
        connection.scheduleFlush()
    }

    /// Completes the response. If the body is not complete, the connection ends after it.
    public func end() { connection?.endStream() }

    /// Ends the connection after what was written. The client sees that the response is not complete.
    public func abandon() { connection?.abandonStream() }
}
