import Bytes
import Glibc
import Reactor

/// An HTTP/1.1 connection.
///
/// Pipelined requests are handled concurrently. Their responses are sent in order, all of a turn with one `send`.
@Reactor
public final class HTTPConnection: Connection, RequestConnection {
    public var userInfo: AnyObject?

    private enum State {
        case open
        /// No further request is read. The connection ends after the outstanding responses are sent.
        case finishing
        /// Everything is sent. The peer's bytes are discarded until it closes. Closing at once, with unread bytes,
        /// would make the kernel reset the connection, and the peer could lose the response (RFC 9112, 9.6).
        case lingering
        case closed
    }

    private let server: Server
    private let socket: StreamSocket
    private let peer: IPAddress?
    private let index: ConnectionTable.Index
    private let parser: RequestParser
    /// The bytes so far of the PROXY header; nil when none is expected.
    private var proxyBytes: [UInt8]?
    /// The account of the request whose body is arriving, and the bytes charged to it.
    private var account: (any RequestAccount)?
    private var accountedBytes = 0
    private var responses = ResponseQueue()
    private var output = OutputBuffer()
    /// Input read beyond the limit on outstanding responses.
    private var held: [UInt8] = []

    /// This connection's share of `Server.bufferedBytes`.
    private var countedBytes = 0

    private var state = State.open
    private var hasReceivedRequest = false
    private var peerHasEnded = false
    private var owesContinue = false
    private var isFlushScheduled = false
    /// Whether the socket's send buffer is full. The reactor reports when it is writable again.
    private var isBlocked = false
    private var interest = Interest.read
    /// The sweep in which the current request began or the last one was responded to, and the one since which the peer
    /// is behind.
    private var lastStep: UInt32
    private var blockedSince: UInt32 = 0
    /// Bytes that the peer read since then.
    private var takenBytes = 0

    init(
        _ socket: StreamSocket, from peer: IPAddress?, behindProxy: Bool, at index: ConnectionTable.Index,
        of server: Server
    ) {
        self.server = server
        self.socket = socket
        self.peer = peer
        self.index = index
        proxyBytes = behindProxy ? [] : nil
        parser = RequestParser(headLimit: server.limits.headBytes)
        lastStep = server.sweep
        Reactor.watch(socket.descriptor, for: .read, handler: self)
    }

    public var isClosed: Bool { state == .closed }

    public var isThrottled: Bool { server.connections.isThrottled(index, at: server.sweep) }

    public func authenticationFailed() {
        server.statistics.failedAuthentications += 1
        server.connections.failed(index, at: server.sweep)
    }

    /// Whether reading on would exceed the limits on queued responses.
    private var isFull: Bool {
        responses.outstanding >= server.limits.outstandingResponses || unreadBytes >= server.limits.unreadResponseBytes
    }

    private var unreadBytes: Int { output.count + responses.earlyBytes }

    /// Whether the queue is down to half of its limits, so that held input is parsed again.
    private var hasRoom: Bool {
        2 * responses.outstanding <= server.limits.outstandingResponses
            && 2 * unreadBytes <= server.limits.unreadResponseBytes
    }

    // MARK: Reading

    public func ready(_ readiness: Readiness) {
        if readiness.contains(.write) { flush() }
        if state == .closed { return }
        if interest.contains(.read) {
            if !readiness.isDisjoint(with: [.read, .hangup, .failure]) { receive() }
        } else if !readiness.isDisjoint(with: [.hangup, .failure]) {
            close()  // Both directions are closed: no response can be delivered.
        }
    }

    private func receive() {
        switch socket.read(into: server.readBuffer) {
        case .nothing: return
        case .end: peerEnded()
        case .bytes(let count):
            let bytes = UnsafeMutableRawBufferPointer(rebasing: server.readBuffer[..<count])
            if proxyBytes != nil { return takeProxyHeader(bytes) }
            if state == .open { take(bytes) }
        }
    }

    /// Reads the PROXY header, which comes first on a connection from a proxy. Without one, the connection is the
    /// proxy's own or not from a proxy: a health check, or a scrape of the metrics.
    private func takeProxyHeader(_ bytes: UnsafeMutableRawBufferPointer) {
        guard state == .open, var read = proxyBytes else { return }
        read.append(contentsOf: bytes)
        switch read.withUnsafeBytes(ProxyHeader.init) {
        case .incomplete:
            proxyBytes = read
            return
        case .malformed: return close()
        case .absent: proxyBytes = nil
        case .complete(let source, let size):
            proxyBytes = nil
            read.removeFirst(size)
            if let source { return begin(for: source, fromProxyHeader: true, &read) }
        }
        begin(for: peer, fromProxyHeader: false, &read)
    }

    private func begin(for client: IPAddress?, fromProxyHeader: Bool, _ read: inout [UInt8]) {
        guard server.admits(index, from: client, fromProxyHeader: fromProxyHeader) else { return reject() }
        read.withUnsafeMutableBytes { take($0) }
    }

    /// Responds 429: the client's address is at its connection limit.
    private func reject() {
        server.countRefusal(Server.addressLimitResponse)
        state = .finishing
        output.append { $0.append(Server.addressLimitResponse) }
        scheduleFlush()
    }

    /// The peer sends no more, but may still read the responses.
    private func peerEnded() {
        peerHasEnded = true
        if state == .lingering { return close() }
        finish()
    }

    private func take(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        let wasInRequest = parser.isInRequest
        while state == .open, !input.isEmpty {
            if isFull {
                held = Array(input)
                break
            }
            switch parser.next(&input) {
            case .needsMore: break
            case .head: headArrived()
            case .request where parser.discardsBody: discarded()
            case .request where parser.asksForUpgrade && server.isWebSocketRequest(request):
                upgrade(rest: input)
            case .request: requestArrived()
            case .failure(let reason): refuse(reason)
            }
        }
        // Empty lines do not begin a request.
        if !wasInRequest, parser.isInRequest { lastStep = server.sweep }
        if state == .open { holdBody() }
        countBufferedBytes()
        updateInterest()
    }

    private var request: Request { Request(connection: self, parser: parser, account: account) }

    /// Decides on a request with a body, which is kept only if the request is admitted.
    private func headArrived() {
        let expectation = parser.isVersion10 ? nil : parser.value(of: .expect)
        if let expectation, !expectation.equalsIgnoringCase("100-continue") { return refuse(.expectationUnknown) }
        switch server.http.admit(request) {
        case .bodyTooLarge: refuse(.bodyTooLarge)
        case .refused(let refusal): refuse(refusal, mayGoOn: expectation == nil && isBodyShort)
        case .admitted(let limit, let account):
            if let announced = parser.announcedBodyBytes, announced > UInt64(limit) { return refuse(.bodyTooLarge) }
            parser.bodyLimit = limit
            self.account = account
            owesContinue = expectation != nil
            sendContinue()
        }
    }

    /// Whether reading and discarding the body is cheaper than a new connection.
    private var isBodyShort: Bool {
        parser.announcedBodyBytes.map { $0 <= UInt64(server.limits.discardedBodyBytes) } ?? false
    }

    /// Charges the account for the bytes so far of an incomplete body.
    private func holdBody() {
        guard let account, parser.isInRequest else { return }
        let added = parser.body.count - accountedBytes
        guard added > 0 else { return }
        if let refusal = account.hold(bodyBytes: added, of: accountedBytes) { return refuse(refusal, mayGoOn: false) }
        accountedBytes += added
    }

    private func releaseBody() {
        if accountedBytes > 0 { account?.release(bodyBytes: accountedBytes) }
        accountedBytes = 0
        account = nil
    }

    /// Sends 100 Continue (RFC 9110, 10.1.1) after the responses to earlier requests.
    private func sendContinue() {
        guard owesContinue, responses.outstanding == 0 else { return }
        owesContinue = false
        output.append { $0.append("HTTP/1.1 100 Continue\r\n\r\n") }
        scheduleFlush()
    }

    /// A discarded body ended. Its request was responded to when its head arrived.
    private func discarded() {
        lastStep = server.sweep
        hasReceivedRequest = true
    }

    private func requestArrived() {
        lastStep = server.sweep
        hasReceivedRequest = true
        owesContinue = false
        if !parser.hasBody {
            // A request with a body was admitted when its head arrived.
            switch server.http.admit(request) {
            case .bodyTooLarge: return refuse(.bodyTooLarge)
            case .refused(let refusal): return refuse(refusal, mayGoOn: true)
            case .admitted(_, let account): self.account = account
            }
        }
        let request = request
        releaseBody()
        let closes = !parser.keepsAlive || server.isDraining
        let ticket = responses.open(
            ResponseTraits(
                withoutBody: parser.isHead, closes: closes, saysKeepAlive: parser.isVersion10 && !closes))
        if closes { state = .finishing }
        server.statistics.requests += 1
        server.http.handle(request, Responder(connection: self, ticket: ticket))
        parser.forgetBody()
    }

    /// Sends the handler's refusal before the body arrived. The connection goes on with the next request if that costs
    /// little.
    private func refuse(_ refusal: Refusal, mayGoOn: Bool) {
        let goesOn = mayGoOn && parser.keepsAlive && !server.isDraining
        releaseBody()
        parser.forgetBody()
        owesContinue = false
        parser.discardsBody = true
        if !goesOn { state = .finishing }
        let traits = ResponseTraits(
            withoutBody: parser.isHead, closes: !goesOn, saysKeepAlive: parser.isVersion10 && goesOn)
        let ticket = responses.open(traits)
        refusal.body.withUnsafeBytes { respond(ticket, refusal.status, refusal.contentType, refusal.headers, $0) }
    }

    /// Responds to a request that cannot be served, after the responses to earlier ones, and ends the connection.
    private func refuse(_ reason: RequestFailure) {
        server.statistics.refusedRequests += 1
        releaseBody()
        parser.forgetBody()
        owesContinue = false
        state = .finishing
        var body = ByteBuffer()
        reason.writeProblem(to: &body)
        let ticket = responses.open(ResponseTraits(withoutBody: false, closes: true))
        respond(ticket, reason.status, .problem, reason.headers, body.bytes)
    }

    // MARK: Responding

    public func respond(
        _ ticket: UInt32, _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader],
        _ body: UnsafeRawBufferPointer
    ) {
        guard state != .closed, let traits = responses.traits(of: ticket) else { return }
        if responses.isNext(ticket) {
            output.append { server.responseWriter.write(status, contentType, headers, body, traits, to: &$0) }
            responses.removeNext()
            while let early = responses.popEarly() { output.append { $0.append(early) } }
            // Not while a request arrives: its timeout counts from its first byte.
            if !parser.isInRequest { lastStep = server.sweep }
            scheduleFlush()
        } else {
            var early = ByteBuffer(capacity: 256 + body.count)
            server.responseWriter.write(status, contentType, headers, body, traits, to: &early)
            responses.hold(early.array, for: ticket)
            countBufferedBytes()
        }
    }

    private func countBufferedBytes() {
        guard state != .closed else { return }  // `close` subtracted all of it.
        let bytes = unreadBytes + held.count + accountedBytes
        server.bufferedBytes += bytes - countedBytes
        countedBytes = bytes
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
        if state == .finishing, responses.outstanding == 0, output.count == 0 { finished() }
        if state == .open, !held.isEmpty, hasRoom { takeHeld() }
        guard state != .closed else { return }
        countBufferedBytes()
        updateInterest()
    }

    private func send() {
        let wasBlocked = isBlocked
        isBlocked = false
        while state != .closed, !isBlocked, output.count > 0 {
            switch socket.write(output.bytes) {
            case .bytes(let count):
                output.removeFirst(count)
                takenBytes += count
            case .full:
                isBlocked = true
                if !wasBlocked { (blockedSince, takenBytes) = (server.sweep, 0) }
                if output.count > server.limits.maximumUnreadResponseBytes { close() }
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

    /// Reads no further request and ends the connection after the outstanding responses are sent.
    private func finish() {
        guard state == .open else { return updateInterest() }
        state = .finishing
        held = []
        responses.closeAfterLast()
        if responses.outstanding == 0, output.count == 0 { finished() } else { updateInterest() }
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
        releaseBody()
        server.bufferedBytes -= countedBytes
        countedBytes = 0
        Reactor.forget(socket.descriptor)
        Glibc.close(socket.descriptor)
        server.connections.remove(index)
        server.connectionEnded()
    }

    func checkTimeouts() {
        let waited = server.sweep &- lastStep
        let timeouts = server.timeouts
        if isBlocked, isReadingTooSlowly { return closeSlowReader() }
        switch state {
        case .lingering where waited > timeouts.close: close()
        case .open where !held.isEmpty || isFull: break
        case .open where !hasReceivedRequest && !parser.isInRequest && waited > timeouts.firstRequest: finish()
        case .open where parser.isInRequest && !parser.isHeadComplete:
            if waited > timeouts.head { refuse(.headTimeout) }
        case .open where parser.isInRequest:
            let patience = timeouts.patience(timeouts.bodyGrace, for: parser.body.count)
            guard waited > min(timeouts.request, patience) else { return }
            // A discarded body's request has its response.
            parser.discardsBody ? finish() : refuse(.bodyTimeout)
        case .open where responses.outstanding == 0 && waited > timeouts.idle: finish()
        default: break
        }
    }

    /// While the server's total is over its limit, a connection may lag by a quarter of its own limit only.
    private var isReadingTooSlowly: Bool {
        if server.bufferedBytes > server.limits.bufferedBytes, output.count > server.limits.unreadResponseBytes / 4 {
            return true
        }
        let patience = server.timeouts.patience(server.timeouts.write, for: takenBytes)
        return server.sweep &- blockedSince > patience
    }

    private func closeSlowReader() {
        server.statistics.slowReaders += 1
        close()
    }

    // MARK: Becoming a WebSocket

    private func upgrade(rest: UnsafeMutableRawBufferPointer) {
        hasReceivedRequest = true
        guard !isThrottled else { return refuse(.throttled) }
        guard responses.outstanding == 0 else { return refuse(.upgradeBehindRequests) }
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
        output.append { handshake.writeResponse(to: &$0) }
        let opening = WebSocketFrame(raw: output.bytes)
        state = .closed
        server.bufferedBytes -= countedBytes
        Reactor.forget(socket.descriptor)
        let webSocket = WebSocket(socket, at: index, of: server, handler: handler, opening: opening)
        server.connections.replace(index, with: webSocket)
        server.statistics.webSockets += 1
        handler.opened(webSocket)
        webSocket.take(rest)
    }
}
