import Bytes
import Glibc
import Reactor

/// One connection that speaks HTTP/1.1.
///
/// Requests that arrive together are handled concurrently; their answers leave in order, all of a turn by one `send`.
@Reactor
public final class HTTPConnection: Connection, RequestConnection {
    public var userInfo: AnyObject?

    private enum State {
        case open
        /// No further request is taken; the connection ends when the outstanding answers have left.
        case finishing
        /// All is said; the peer's bytes are thrown away until it closes. To close at once would make the kernel
        /// reset the connection while unread bytes are there, and the peer could lose the answer (RFC 9112, 9.6).
        case lingering
        case closed
    }

    private let server: Server
    private let socket: StreamSocket
    private let place: ConnectionTable.Place
    private let parser: RequestParser
    private var answers = AnswerQueue()
    private var output = OutputBuffer()
    /// What was read beyond the bound on outstanding answers.
    private var held: [UInt8] = []

    private var state = State.open
    private var peerHasEnded = false
    private var owesContinue = false
    private var isFlushScheduled = false
    /// Whether the kernel has no room for more; it says when it has.
    private var isBlocked = false
    private var interest = Interest.read
    /// In sweeps: when the current request began or the last one was answered, and when the peer last took bytes.
    private var lastStep: UInt32
    private var lastProgress: UInt32

    init(_ socket: StreamSocket, at place: ConnectionTable.Place, of server: Server) {
        self.server = server
        self.socket = socket
        self.place = place
        parser = RequestParser(headLimit: server.limits.headBytes)
        lastStep = server.sweep
        lastProgress = server.sweep
        Reactor.watch(socket.descriptor, for: .read, handler: self)
    }

    public var isClosed: Bool { state == .closed }

    /// Whether to read on would build up a queue.
    private var isFull: Bool {
        answers.outstanding >= server.limits.outstandingAnswers || output.count >= server.limits.unreadAnswerBytes
    }

    /// Whether enough of the queue is gone for what was held back to be worth another look.
    private var hasRoom: Bool {
        2 * answers.outstanding <= server.limits.outstandingAnswers
            && 2 * output.count <= server.limits.unreadAnswerBytes
    }

    // MARK: Reading

    public func ready(_ readiness: Readiness) {
        if readiness.contains(.write) { flush() }
        if state == .closed { return }
        if interest.contains(.read) {
            if !readiness.isDisjoint(with: [.read, .hangup, .failure]) { receive() }
        } else if !readiness.isDisjoint(with: [.hangup, .failure]) {
            close()  // Both directions are gone: no answer can arrive any more.
        }
    }

    private func receive() {
        switch socket.read(into: server.readBuffer) {
        case .nothing: return
        case .end: peerEnded()
        case .bytes(let count):
            if state == .open { take(UnsafeMutableRawBufferPointer(rebasing: server.readBuffer[..<count])) }
        }
    }

    /// The peer sends no more, but may well wait for the answers.
    private func peerEnded() {
        peerHasEnded = true
        if state == .lingering { return close() }
        finish()
    }

    private func take(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        if !parser.isInRequest { lastStep = server.sweep }
        while state == .open, !input.isEmpty {
            if isFull {
                held = Array(input)
                break
            }
            switch parser.next(&input) {
            case .needsMore: break
            case .head: headArrived()
            case .request where parser.asksForUpgrade && server.isWebSocketRequest(request):
                upgrade(rest: input)
            case .request: requestArrived()
            case .failure(let reason): refuse(reason)
            }
        }
        updateInterest()
    }

    private var request: Request { Request(connection: self, parser: parser) }

    private func headArrived() {
        let expectation = parser.isVersion10 ? nil : parser.value(of: .expect)
        if let expectation, !expectation.equalsIgnoringCase("100-continue") { return refuse(.expectationUnknown) }
        let limit = server.http.maximumBodyBytes(for: request)
        if let announced = parser.announcedBodyBytes, announced > UInt64(limit) { return refuse(.bodyTooLarge) }
        parser.bodyLimit = limit
        owesContinue = expectation != nil
        sendContinue()
    }

    /// Asks for the body (RFC 9110, 10.1.1), once the answers to earlier requests have left.
    private func sendContinue() {
        guard owesContinue, answers.outstanding == 0 else { return }
        owesContinue = false
        output.append { $0.append("HTTP/1.1 100 Continue\r\n\r\n") }
        scheduleFlush()
    }

    private func requestArrived() {
        lastStep = server.sweep
        owesContinue = false
        let closes = !parser.keepsAlive || server.isDraining
        let ticket = answers.open(
            AnswerTraits(
                withoutBody: parser.isHead, closes: closes, saysKeepAlive: parser.isVersion10 && !closes))
        if closes { state = .finishing }
        server.statistics.requests += 1
        server.http.handle(request, Responder(connection: self, ticket: ticket))
    }

    /// Answers a request that cannot be served, behind those that can, and ends the connection.
    private func refuse(_ reason: RequestFailure) {
        server.statistics.refusedRequests += 1
        owesContinue = false
        state = .finishing
        var body = ByteBuffer()
        reason.writeProblem(to: &body)
        let ticket = answers.open(AnswerTraits(withoutBody: false, closes: true))
        answer(ticket, reason.status, .problem, reason.headers, body.bytes)
    }

    // MARK: Answering

    public func answer(
        _ ticket: UInt32, _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader],
        _ body: UnsafeRawBufferPointer
    ) {
        guard state != .closed, let traits = answers.traits(of: ticket) else { return }
        if answers.isNext(ticket) {
            output.append { server.responseWriter.write(status, contentType, headers, body, traits, to: &$0) }
            answers.removeNext()
            while let early = answers.popEarly() { output.append { $0.append(early) } }
            lastStep = server.sweep
            scheduleFlush()
        } else {
            var early = ByteBuffer(capacity: 256 + body.count)
            server.responseWriter.write(status, contentType, headers, body, traits, to: &early)
            answers.hold(early.array, for: ticket)
        }
    }

    private func scheduleFlush() {
        if isFlushScheduled { return }
        isFlushScheduled = true
        server.flushQueue.addUrgent(self)
    }

    func flush() {
        isFlushScheduled = false
        guard state != .closed else { return }
        sendContinue()
        send()
        if state == .finishing, answers.outstanding == 0, output.count == 0 { finished() }
        if state == .open, !held.isEmpty, hasRoom { takeHeld() }
        updateInterest()
    }

    private func send() {
        if !isBlocked { lastProgress = server.sweep }
        isBlocked = false
        while state != .closed, !isBlocked, output.count > 0 {
            switch socket.write(output.bytes) {
            case .bytes(let count):
                output.removeFirst(count)
                lastProgress = server.sweep
            case .full:
                isBlocked = true
                if output.count > server.limits.unreadAnswerBytesAtMost { close() }
            case .failed:
                close()
            }
        }
    }

    private func takeHeld() {
        var bytes = held
        held = []
        bytes.withUnsafeMutableBytes { take($0) }
    }

    private func updateInterest() {
        guard state != .closed else { return }
        var wanted: Interest = isBlocked ? .write : []
        if !peerHasEnded, state == .lingering || (state == .open && held.isEmpty && !isFull) { wanted.insert(.read) }
        guard wanted != interest else { return }
        interest = wanted
        Reactor.change(socket.descriptor, to: wanted)
    }

    // MARK: Ending

    /// Takes no further request and ends the connection when the outstanding answers have left.
    private func finish() {
        guard state == .open else { return updateInterest() }
        state = .finishing
        held = []
        answers.closeAfterLast()
        if answers.outstanding == 0, output.count == 0 { finished() } else { updateInterest() }
    }

    private func finished() {
        if peerHasEnded { return close() }
        state = .lingering
        lastStep = server.sweep
        socket.endWriting()
        updateInterest()
    }

    func drain() {
        if state == .open, !parser.isInRequest, held.isEmpty { finish() }
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        userInfo = nil
        held = []
        Reactor.forget(socket.descriptor)
        Glibc.close(socket.descriptor)
        server.connections.remove(place)
        server.connectionEnded()
    }

    func checkTimeouts() {
        let waited = server.sweep &- lastStep
        let timeouts = server.timeouts
        if isBlocked, server.sweep &- lastProgress > timeouts.write { return tooSlow() }
        switch state {
        case .lingering where waited > timeouts.close: close()
        case .open where !held.isEmpty || isFull: break
        case .open where parser.isInRequest:
            if !parser.isHeadComplete, waited > timeouts.head { refuse(.headTimeout) }
            if parser.isHeadComplete, waited > timeouts.request { refuse(.bodyTimeout) }
        case .open where answers.outstanding == 0 && waited > timeouts.idle: finish()
        default: break
        }
    }

    private func tooSlow() {
        server.statistics.slowReaders += 1
        close()
    }

    // MARK: Becoming a WebSocket

    private func upgrade(rest: UnsafeMutableRawBufferPointer) {
        guard answers.outstanding == 0 else { return refuse(.upgradeBehindRequests) }
        guard !server.isDraining, let handler = server.webSockets, handler.admits(request) else {
            return refuse(.webSocketRefused)
        }
        do throws(RequestFailure) {
            let handshake = try WebSocketHandshake(request, subprotocol: server.webSocketSubprotocol)
            becomeWebSocket(handshake, handler, rest)
        } catch {
            refuse(error)
        }
    }

    private func becomeWebSocket(
        _ handshake: WebSocketHandshake, _ handler: any WebSocketHandler, _ rest: UnsafeMutableRawBufferPointer
    ) {
        output.append { handshake.writeAnswer(to: &$0) }
        let opening = WebSocketFrame(raw: output.bytes)
        state = .closed
        Reactor.forget(socket.descriptor)
        let webSocket = WebSocket(socket, at: place, of: server, handler: handler, opening: opening)
        server.connections.replace(place, with: webSocket)
        server.statistics.webSockets += 1
        handler.opened(webSocket)
        webSocket.take(rest)
    }
}
