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
    private let peer: IPAddress?
    private let place: ConnectionTable.Place
    private let parser: RequestParser
    /// What a proxy has sent of its header; nil when none is awaited any more.
    private var proxyBytes: [UInt8]?
    /// Of the request whose body is arriving, and how much of it counts there.
    private var account: (any RequestAccount)?
    private var accountedBytes = 0
    private var answers = AnswerQueue()
    private var output = OutputBuffer()
    /// What was read beyond the bound on outstanding answers.
    private var held: [UInt8] = []

    /// What this connection has added to `Server.keptBytes`.
    private var countedBytes = 0

    private var state = State.open
    private var hasAsked = false
    private var peerHasEnded = false
    private var owesContinue = false
    private var isFlushScheduled = false
    /// Whether the kernel has no room for more; it says when it has.
    private var isBlocked = false
    private var interest = Interest.read
    /// In sweeps: when the current request began or the last one was answered, and since when the peer is behind.
    private var lastStep: UInt32
    private var blockedSince: UInt32 = 0
    /// Bytes that it took since then.
    private var takenBytes = 0

    init(
        _ socket: StreamSocket, from peer: IPAddress?, behindProxy: Bool, at place: ConnectionTable.Place,
        of server: Server
    ) {
        self.server = server
        self.socket = socket
        self.peer = peer
        self.place = place
        proxyBytes = behindProxy ? [] : nil
        parser = RequestParser(headLimit: server.limits.headBytes)
        lastStep = server.sweep
        Reactor.watch(socket.descriptor, for: .read, handler: self)
    }

    public var isClosed: Bool { state == .closed }

    public var isDistrusted: Bool { server.connections.isDistrusted(place, at: server.sweep) }

    public func authenticationFailed() {
        server.statistics.failedAuthentications += 1
        server.connections.failed(place, at: server.sweep)
    }

    /// Whether to read on would build up a queue.
    private var isFull: Bool {
        answers.outstanding >= server.limits.outstandingAnswers || unreadBytes >= server.limits.unreadAnswerBytes
    }

    private var unreadBytes: Int { output.count + answers.earlyBytes }

    /// Whether enough of the queue is gone for what was held back to be worth another look.
    private var hasRoom: Bool {
        2 * answers.outstanding <= server.limits.outstandingAnswers
            && 2 * unreadBytes <= server.limits.unreadAnswerBytes
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
            let bytes = UnsafeMutableRawBufferPointer(rebasing: server.readBuffer[..<count])
            if proxyBytes != nil { return takeProxyHeader(bytes) }
            if state == .open { take(bytes) }
        }
    }

    /// What comes first on a connection of a proxy. Without the header it is one of the proxy's own, or no proxy at all:
    /// a health check, or whoever collects the metrics.
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
            if let source { return begin(for: source, toldByProxy: true, &read) }
        }
        begin(for: peer, toldByProxy: false, &read)
    }

    private func begin(for client: IPAddress?, toldByProxy: Bool, _ read: inout [UInt8]) {
        guard server.admits(place, from: client, toldByProxy: toldByProxy) else { return turnAway() }
        read.withUnsafeMutableBytes { take($0) }
    }

    /// The client has its full number of connections.
    private func turnAway() {
        server.countRefusal(Server.fullForAddress)
        state = .finishing
        output.append { $0.append(Server.fullForAddress) }
        scheduleFlush()
    }

    /// The peer sends no more, but may well wait for the answers.
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
        // Empty lines are no request: whoever sends them asks for nothing.
        if !wasInRequest, parser.isInRequest { lastStep = server.sweep }
        if state == .open { holdBody() }
        countKeptBytes()
        updateInterest()
    }

    private var request: Request { Request(connection: self, parser: parser, account: account) }

    /// Of a request with a body, which is kept only if the request will be served.
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

    /// Whether to read the body and throw it away is cheaper than a new connection.
    private var isBodyShort: Bool {
        parser.announcedBodyBytes.map { $0 <= UInt64(server.limits.discardedBodyBytes) } ?? false
    }

    /// Has the account pay for what is there of a body whose rest is still to come.
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

    /// Asks for the body (RFC 9110, 10.1.1), once the answers to earlier requests have left.
    private func sendContinue() {
        guard owesContinue, answers.outstanding == 0 else { return }
        owesContinue = false
        output.append { $0.append("HTTP/1.1 100 Continue\r\n\r\n") }
        scheduleFlush()
    }

    /// The end of a body that nobody wanted: its request was answered when its head had arrived.
    private func discarded() {
        lastStep = server.sweep
        hasAsked = true
    }

    private func requestArrived() {
        lastStep = server.sweep
        hasAsked = true
        owesContinue = false
        if !parser.hasBody {
            // With a body it was asked when its head had arrived.
            switch server.http.admit(request) {
            case .bodyTooLarge: return refuse(.bodyTooLarge)
            case .refused(let refusal): return refuse(refusal, mayGoOn: true)
            case .admitted(_, let account): self.account = account
            }
        }
        let request = request
        releaseBody()
        let closes = !parser.keepsAlive || server.isDraining
        let ticket = answers.open(
            AnswerTraits(
                withoutBody: parser.isHead, closes: closes, saysKeepAlive: parser.isVersion10 && !closes))
        if closes { state = .finishing }
        server.statistics.requests += 1
        server.http.handle(request, Responder(connection: self, ticket: ticket))
        parser.forgetBody()
    }

    /// Answers as the handler says, before the body is there. The connection goes on with the next request if that costs
    /// little.
    private func refuse(_ refusal: Refusal, mayGoOn: Bool) {
        let goesOn = mayGoOn && parser.keepsAlive && !server.isDraining
        releaseBody()
        parser.forgetBody()
        owesContinue = false
        parser.discardsBody = true
        if !goesOn { state = .finishing }
        let traits = AnswerTraits(
            withoutBody: parser.isHead, closes: !goesOn, saysKeepAlive: parser.isVersion10 && goesOn)
        let ticket = answers.open(traits)
        refusal.body.withUnsafeBytes { answer(ticket, refusal.status, refusal.contentType, refusal.headers, $0) }
    }

    /// Answers a request that cannot be served, behind those that can, and ends the connection.
    private func refuse(_ reason: RequestFailure) {
        server.statistics.refusedRequests += 1
        releaseBody()
        parser.forgetBody()
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
            // Not while a request arrives: its time counts from its own beginning.
            if !parser.isInRequest { lastStep = server.sweep }
            scheduleFlush()
        } else {
            var early = ByteBuffer(capacity: 256 + body.count)
            server.responseWriter.write(status, contentType, headers, body, traits, to: &early)
            answers.hold(early.array, for: ticket)
            countKeptBytes()
        }
    }

    private func countKeptBytes() {
        guard state != .closed else { return }  // Then all was given back.
        let bytes = unreadBytes + held.count + accountedBytes
        server.keptBytes += bytes - countedBytes
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
        if state == .finishing, answers.outstanding == 0, output.count == 0 { finished() }
        if state == .open, !held.isEmpty, hasRoom { takeHeld() }
        guard state != .closed else { return }
        countKeptBytes()
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
        releaseBody()
        server.keptBytes -= countedBytes
        countedBytes = 0
        Reactor.forget(socket.descriptor)
        Glibc.close(socket.descriptor)
        server.connections.remove(place)
        server.connectionEnded()
    }

    func checkTimeouts() {
        let waited = server.sweep &- lastStep
        let timeouts = server.timeouts
        if isBlocked, isReadingTooSlowly { return tooSlow() }
        switch state {
        case .lingering where waited > timeouts.close: close()
        case .open where !held.isEmpty || isFull: break
        case .open where !hasAsked && !parser.isInRequest && waited > timeouts.firstRequest: finish()
        case .open where parser.isInRequest && !parser.isHeadComplete:
            if waited > timeouts.head { refuse(.headTimeout) }
        case .open where parser.isInRequest:
            let patience = timeouts.patience(timeouts.bodyGrace, for: parser.body.count)
            guard waited > min(timeouts.request, patience) else { return }
            // One that is thrown away has its answer.
            parser.discardsBody ? finish() : refuse(.bodyTimeout)
        case .open where answers.outstanding == 0 && waited > timeouts.idle: finish()
        default: break
        }
    }

    /// While too much is kept for all, nobody may be far behind.
    private var isReadingTooSlowly: Bool {
        if server.keptBytes > server.limits.keptBytes, output.count > server.limits.unreadAnswerBytes / 4 {
            return true
        }
        let patience = server.timeouts.patience(server.timeouts.write, for: takenBytes)
        return server.sweep &- blockedSince > patience
    }

    private func tooSlow() {
        server.statistics.slowReaders += 1
        close()
    }

    // MARK: Becoming a WebSocket

    private func upgrade(rest: UnsafeMutableRawBufferPointer) {
        hasAsked = true
        guard !isDistrusted else { return refuse(.distrusted) }
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
        server.keptBytes -= countedBytes
        Reactor.forget(socket.descriptor)
        let webSocket = WebSocket(socket, at: place, of: server, handler: handler, opening: opening)
        server.connections.replace(place, with: webSocket)
        server.statistics.webSockets += 1
        handler.opened(webSocket)
        webSocket.take(rest)
    }
}
