import Bytes
import Glibc
import Reactor

/// An HTTP/1.1 connection: a socket, and what `HTTPConnectionState` makes of its bytes. All responses of a turn are sent
/// with one `send`.
@Reactor
public final class HTTPConnection: Connection, RequestConnection {
    public var userInfo: AnyObject?

    // What is not private here is for `HTTPConnection+Streams`.
    let server: Server
    private let socket: StreamSocket
    private let peer: IPAddress?
    private let index: ConnectionTable.Index
    var state: HTTPConnectionState
    /// The streamed request that is served or waits for its turn.
    var stream: (any StreamHandler, RequestStream)?
    /// Whether `stream` is to be told when the client has read on.
    var owesDrained = false
    /// The account of the request whose body is arriving, and the bytes charged to it.
    private var account: (any RequestAccount)?
    private var accountedBytes = 0
    /// This connection's share of `Server.bufferedBytes`.
    private var countedBytes = 0
    private var isFlushScheduled = false
    /// What the reactor watches the socket for.
    private var interest = Interest.read

    init(
        _ socket: StreamSocket, from peer: IPAddress?, behindProxy: Bool, at index: ConnectionTable.Index,
        of server: Server
    ) {
        self.server = server
        self.socket = socket
        self.peer = peer
        self.index = index
        state = HTTPConnectionState(server.limits, server.timeouts, behindProxy: behindProxy, at: server.sweep)
        Reactor.watch(socket.descriptor, for: .read, handler: self)
    }

    public var isClosed: Bool { state.phase == .closed }

    public var isThrottled: Bool { server.connections.isThrottled(index, at: server.sweep) }

    public func authenticationFailed() {
        server.statistics.failedAuthentications += 1
        server.connections.failed(index, at: server.sweep)
    }

    // MARK: Reading

    public func ready(_ readiness: Readiness) {
        if readiness.contains(.write) { flush() }
        if isClosed { return }
        if interest.contains(.read) {
            if !readiness.isDisjoint(with: [.read, .hangup, .failure]) { receive() }
        } else if !readiness.isDisjoint(with: [.hangup, .failure]) {
            close()  // Both directions are closed: no response can be delivered.
        }
    }

    private func receive() {
        let limit = stream == nil ? server.readBuffer.count : server.limits.streamPieceBytes
        switch socket.read(into: UnsafeMutableRawBufferPointer(rebasing: server.readBuffer[..<limit])) {
        case .nothing: return
        case .end: peerEnded()
        case .bytes(let count):
            let bytes = UnsafeMutableRawBufferPointer(rebasing: server.readBuffer[..<count])
            if state.expectsProxyHeader { return takeProxyHeader(bytes) }
            if state.phase == .open { take(bytes) }
        }
    }

    private func takeProxyHeader(_ bytes: UnsafeMutableRawBufferPointer) {
        switch state.takeProxyHeader(UnsafeRawBufferPointer(bytes)) {
        case .needsMore: return
        case .malformed: close()
        case .begins(let source, var rest):
            guard server.admits(index, from: source ?? peer, fromProxyHeader: source != nil) else { return reject() }
            rest.withUnsafeMutableBytes { take($0) }
        }
    }

    /// Responds 429: the client's address is at its connection limit.
    private func reject() {
        server.countRefusal(Server.addressLimitResponse)
        state.reject(with: Server.addressLimitResponse)
        scheduleFlush()
    }

    private func peerEnded() {
        state.endOfInput()
        if state.phase == .lingering { return close() }
        // The rest of its body will never come.
        if state.stream == .reading { abandonStream() }
        finish()
    }

    private func take(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        events: while true {
            switch state.next(&input, at: server.sweep) {
            case .end: break events
            case .head: headArrived()
            case .upgrade where server.isWebSocketRequest(request): upgrade(rest: input)
            case .request, .upgrade: requestArrived()
            case .piece: pieceArrived(isLast: false)
            case .lastPiece: pieceArrived(isLast: true)
            case .failure(let reason): refuse(reason)
            }
        }
        holdBody()
        countBufferedBytes()
        updateInterest()
    }

    private var request: Request { Request(connection: self, parser: state.parser, account: account) }

    /// Decides on a request with a body, which is kept only if the request is admitted.
    private func headArrived() {
        switch server.http.admit(request) {
        case .bodyTooLarge: refuse(.bodyTooLarge)
        case .refused(let refusal): refuse(refusal, mayGoOn: state.mayDiscardBody)
        case .streamed(let handler): serve(with: handler)
        case .admitted(let limit, let account):
            guard state.admitBody(upTo: limit) else { return refuse(.bodyTooLarge) }
            self.account = account
            if state.sendContinue() { scheduleFlush() }
        }
    }

    /// Charges the account for the bytes so far of an incomplete body.
    private func holdBody() {
        let added = state.arrivingBodyBytes - accountedBytes
        guard added > 0, let account else { return }
        if let refusal = account.hold(bodyBytes: added, of: accountedBytes) { return refuse(refusal, mayGoOn: false) }
        accountedBytes += added
    }

    private func releaseBody() {
        if accountedBytes > 0 { account?.release(bodyBytes: accountedBytes) }
        accountedBytes = 0
        account = nil
    }

    private func requestArrived() {
        if !state.parser.hasBody {
            // A request with a body was admitted when its head arrived.
            switch server.http.admit(request) {
            case .bodyTooLarge: return refuse(.bodyTooLarge)
            case .refused(let refusal): return refuse(refusal, mayGoOn: true)
            case .streamed(let handler): return serve(with: handler)
            case .admitted(_, let account): self.account = account
            }
        }
        let request = request
        releaseBody()
        let ticket = state.open(isLast: server.isDraining)
        server.statistics.requests += 1
        server.http.handle(request, Responder(connection: self, ticket: ticket))
        state.parser.forgetBody()
    }

    /// Sends the handler's refusal before the body arrived.
    private func refuse(_ refusal: Refusal, mayGoOn: Bool) {
        releaseBody()
        let ticket = state.openRefusal(goesOn: mayGoOn && !server.isDraining)
        refusal.body.withUnsafeBytes { respond(ticket, refusal.status, refusal.contentType, refusal.headers, $0) }
    }

    /// Responds to a request that cannot be served.
    private func refuse(_ reason: RequestFailure) {
        server.statistics.refusedRequests += 1
        releaseBody()
        // Where its response has begun, it stays incomplete, which tells the client enough.
        if stream != nil, abandonStream() { return }
        var body = ByteBuffer()
        reason.writeProblem(to: &body)
        respond(state.openFailure(), reason.status, .problem, reason.headers, body.bytes)
    }

    // MARK: Responding

    public func respond(
        _ ticket: UInt32, _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader],
        _ body: UnsafeRawBufferPointer
    ) {
        let isNext = state.respond(
            ticket, status, contentType, headers, body, server.responseWriter, at: server.sweep)
        if isNext { scheduleFlush() } else { countBufferedBytes() }
    }

    private func countBufferedBytes() {
        guard !isClosed else { return }  // `close` subtracted all of it.
        let bytes = state.bufferedBytes + accountedBytes
        server.bufferedBytes += bytes - countedBytes
        countedBytes = bytes
    }

    func scheduleFlush() {
        if isFlushScheduled { return }
        isFlushScheduled = true
        server.flushQueue.addUrgent(self)
    }

    func flush() {
        isFlushScheduled = false
        guard !isClosed else { return }
        state.sendContinue()
        openStreamInTurn()
        send()
        if state.isFinished { finished() }
        if state.wantsHeld {
            var held = state.takeHeld()
            held.withUnsafeMutableBytes { take($0) }
        }
        guard !isClosed else { return }
        tellDrained()
        countBufferedBytes()
        updateInterest()
    }

    private func send() {
        let wasBlocked = state.unblock()
        while state.wantsToSend {
            sent(socket.write(state.unsent), wasBlocked) { state.sent($0) }
        }
        while let part = state.filePart {
            sent(socket.write(part), wasBlocked) { state.sentFile(Int64($0)) }
        }
    }

    private func sent(_ result: StreamSocket.WriteResult, _ wasBlocked: Bool, _ count: (Int) -> Void) {
        switch result {
        case .bytes(let size): count(size)
        case .full: if state.block(wasBlocked: wasBlocked, at: server.sweep) { close() }
        case .failed: close()
        }
    }

    private func updateInterest() {
        guard !isClosed, state.interest != interest else { return }
        interest = state.interest
        Reactor.change(socket.descriptor, to: interest)
    }

    // MARK: Ending

    private func finish() {
        state.finish()
        if state.isFinished { finished() } else { updateInterest() }
    }

    private func finished() {
        if state.peerHasEnded { return close() }
        state.linger(at: server.sweep)
        socket.endWriting()
        updateInterest()
    }

    func drain() { if state.isBetweenRequests { finish() } }

    func close() {
        guard !isClosed else { return }
        state.close()
        userInfo = nil
        releaseBody()
        forgetStream()
        server.bufferedBytes -= countedBytes
        countedBytes = 0
        Reactor.forget(socket.descriptor)
        Glibc.close(socket.descriptor)
        server.connections.remove(index)
        server.connectionEnded()
    }

    func checkTimeouts() {
        let isServerFull = server.bufferedBytes > server.limits.bufferedBytes
        switch state.overdue(at: server.sweep, isServerFull: isServerFull) {
        case .nothing: break
        case .close: close()
        case .slowReader:
            server.statistics.slowReaders += 1
            close()
        case .finish: finish()
        case .refuse(let reason): refuse(reason)
        }
    }

    // MARK: Becoming a WebSocket

    private func upgrade(rest: UnsafeMutableRawBufferPointer) {
        guard !isThrottled else { return refuse(.throttled) }
        guard !state.hasOutstandingResponses else { return refuse(.upgradeBehindRequests) }
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
        let opening = state.upgrade { handshake.writeResponse(to: &$0) }
        server.bufferedBytes -= countedBytes
        Reactor.forget(socket.descriptor)
        let webSocket = WebSocket(socket, at: index, of: server, handler: handler, opening: opening)
        server.connections.replace(index, with: webSocket)
        server.statistics.webSockets += 1
        handler.opened(webSocket)
        webSocket.take(rest)
    }
}
