import Bytes
import Reactor

/// An HTTP/1.1 connection without its socket: the peer's bytes and responses in, requests and bytes to the peer out.
///
/// Pipelined requests are handled concurrently; their responses are sent in order. Times are counted in sweeps of the
/// server. `HTTPConnection` carries it out.
struct HTTPConnectionState: ~Copyable {
    enum Phase {
        case open
        /// No further request is read. The connection ends after the outstanding responses are sent.
        case finishing
        /// Everything is sent. The peer's bytes are discarded until it closes. Closing at once, with unread bytes,
        /// would make the kernel reset the connection, and the peer could lose the response (RFC 9112, 9.6).
        case lingering
        case closed
    }

    /// What the input holds next.
    enum Event: Equatable {
        /// Nothing more: the input is taken, or it is not wanted.
        case end
        /// The head of a request whose body follows: to be admitted or refused.
        case head
        /// A complete request, which was admitted if it has a body: to be opened or refused.
        case request
        /// A complete request without a body that asks for another protocol.
        case upgrade
        /// A piece of a streamed body, in `parser.body`.
        case piece
        /// The last piece of a streamed body, possibly empty.
        case lastPiece
        /// Bytes that cannot be served: to be refused.
        case failure(RequestFailure)
    }

    /// The request that is arriving, or the one of the last event.
    let parser: RequestParser
    private let limits: ServerLimits
    private let timeouts: SweepTimeouts

    // What is not private here is for `HTTPConnectionState+Streams`.
    var phase = Phase.open
    private(set) var peerHasEnded = false
    var hasReceivedRequest = false
    private var wasInRequest = false
    /// The bytes so far of the PROXY header; nil when none is expected.
    private var proxyBytes: [UInt8]?

    var responses = ResponseQueue()
    var output = OutputBuffer()
    /// How far the streamed request is that is served.
    var stream = StreamProgress.none
    /// What is left to be written of its response; nil before its head.
    var framing: ResponseFraming?
    /// The part of a file that is sent behind `output`.
    var file: FilePart?
    /// Input read beyond the limit on outstanding responses, or that a streamed request is not ready for.
    var held: [UInt8] = []
    private(set) var expectsContinue = false
    private var owesContinue = false

    /// Whether the socket's send buffer is full.
    private var isBlocked = false
    /// The sweep in which the current request began or the last one was responded to, and the one since which the peer
    /// is behind.
    var lastStep: UInt32
    private var blockedSince: UInt32 = 0
    /// Bytes that the peer read since then.
    private var takenBytes = 0

    init(_ limits: ServerLimits, _ timeouts: SweepTimeouts, behindProxy: Bool, at sweep: UInt32) {
        self.limits = limits
        self.timeouts = timeouts
        proxyBytes = behindProxy ? [] : nil
        parser = RequestParser(headLimit: limits.headBytes)
        lastStep = sweep
    }

    // MARK: Bounds

    /// Whether reading on would exceed the limits on queued responses, or a streamed request is not ready for it.
    private var isFull: Bool {
        stream.holdsInput || responses.outstanding >= limits.outstandingResponses
            || unreadBytes >= limits.unreadResponseBytes
    }

    private var unreadBytes: Int { output.count + responses.earlyBytes }

    /// Whether held input is to be parsed again: the queue is down to half of its limits.
    var wantsHeld: Bool {
        phase == .open && !held.isEmpty && !isFull && 2 * unreadBytes <= limits.unreadResponseBytes
            && (stream == .reading || 2 * responses.outstanding <= limits.outstandingResponses)
    }

    /// Bytes kept for the peer and from it, without the body that is arriving.
    var bufferedBytes: Int { unreadBytes + held.count }

    /// Whether the peer is behind with a streamed response: a quarter of its limit, so that more can be made meanwhile.
    var isCongested: Bool { file != nil || output.count > limits.unreadResponseBytes / 4 }

    var hasOutstandingResponses: Bool { responses.outstanding > 0 }

    /// What to wait for at the socket.
    var interest: Interest {
        var interest: Interest = isBlocked ? .write : []
        if !peerHasEnded, phase == .lingering || (phase == .open && held.isEmpty && !isFull) { interest.insert(.read) }
        return interest
    }

    // MARK: PROXY header

    enum ProxyEvent: Equatable {
        case needsMore
        case malformed
        /// The address of the client if the header has one, and the bytes behind the header.
        case begins(IPAddress?, rest: [UInt8])
    }

    var expectsProxyHeader: Bool { proxyBytes != nil }

    /// Reads the PROXY header, which comes first on a connection from a proxy. Without one, the connection is the
    /// proxy's own or not from a proxy: a health check, or a scrape of the metrics.
    mutating func takeProxyHeader(_ bytes: UnsafeRawBufferPointer) -> ProxyEvent {
        guard phase == .open, var read = proxyBytes else { return .needsMore }
        read.append(contentsOf: bytes)
        switch read.withUnsafeBytes(ProxyHeader.init) {
        case .incomplete:
            proxyBytes = read
            return .needsMore
        case .malformed: return .malformed
        case .absent:
            proxyBytes = nil
            return .begins(nil, rest: read)
        case .complete(let source, let size):
            proxyBytes = nil
            return .begins(source, rest: Array(read[size...]))
        }
    }

    // MARK: Reading

    /// Consumes bytes of `input` up to the next event. Repeat it until `end`.
    mutating func next(_ input: inout UnsafeMutableRawBufferPointer, at sweep: UInt32) -> Event {
        while phase == .open, !input.isEmpty {
            if isFull {
                held = Array(input)
                break
            }
            switch parse(&input) {
            case .needsMore: if stream == .reading, !parser.body.isEmpty { return pieceArrived(at: sweep) }
            case .head: return headArrived()
            case .request:
                lastStep = sweep
                hasReceivedRequest = true
                if stream == .reading { return lastPieceArrived() }
                // A request whose body was discarded was responded to when its head arrived.
                if !parser.discardsBody { return parser.asksForUpgrade ? .upgrade : .request }
            case .failure(let reason): return .failure(reason)
            }
        }
        // Empty lines do not begin a request.
        if !wasInRequest, parser.isInRequest { lastStep = sweep }
        wasInRequest = parser.isInRequest
        return .end
    }

    /// Parses up to the next event, of a streamed body no more than a piece.
    private func parse(_ input: inout UnsafeMutableRawBufferPointer) -> RequestParser.Event {
        let size = limits.streamPieceBytes
        guard stream == .reading, input.count > size else { return parser.next(&input) }
        var piece = UnsafeMutableRawBufferPointer(rebasing: input[..<size])
        let event = parser.next(&piece)
        input = UnsafeMutableRawBufferPointer(rebasing: input[(size - piece.count)...])
        return event
    }

    /// Removes and returns the held input, to be parsed again.
    mutating func takeHeld() -> [UInt8] {
        defer { held = [] }
        return held
    }

    private mutating func headArrived() -> Event {
        let expectation = parser.isVersion10 ? nil : parser.value(of: .expect)
        if let expectation, !expectation.equalsIgnoringCase("100-continue") { return .failure(.expectationUnknown) }
        expectsContinue = expectation != nil
        return .head
    }

    /// Takes the body of the request whose head has arrived. Returns false if it is announced to be longer.
    mutating func admitBody(upTo limit: Int) -> Bool {
        if let announced = parser.announcedBodyBytes, announced > UInt64(limit) { return false }
        parser.bodyLimit = limit
        owesContinue = expectsContinue
        return true
    }

    /// Whether the body of a refused request may be discarded: that is cheaper than a new connection if it is short, and
    /// the client sends it anyway.
    var mayDiscardBody: Bool {
        guard !expectsContinue, let announced = parser.announcedBodyBytes else { return false }
        return announced <= UInt64(limits.discardedBodyBytes)
    }

    /// The bytes so far of an incomplete body.
    var arrivingBodyBytes: Int { phase == .open && parser.isInRequest ? parser.body.count : 0 }

    /// The peer sends no more, but may still read the responses.
    mutating func endOfInput() { peerHasEnded = true }

    // MARK: Responding

    /// Expects a response to the complete request. `isLast`: no further request is read.
    mutating func open(isLast: Bool) -> UInt32 {
        owesContinue = false
        let closes = isLast || !parser.keepsAlive
        if closes { phase = .finishing }
        return responses.open(
            ResponseTraits(
                withoutBody: parser.isHead, closes: closes, saysKeepAlive: parser.isVersion10 && !closes))
    }

    /// Expects a response to a request that is not handled, whose body is discarded. The connection goes on with the
    /// next request if that costs little.
    mutating func openRefusal(goesOn: Bool) -> UInt32 {
        parser.forgetBody()
        parser.discardsBody = true
        return open(isLast: !goesOn)
    }

    /// Expects the response to bytes that cannot be served. It comes after those to earlier requests, and ends the
    /// connection.
    mutating func openFailure() -> UInt32 {
        parser.forgetBody()
        owesContinue = false
        phase = .finishing
        return responses.open(ResponseTraits(withoutBody: false, closes: true))
    }

    /// Queues a response. A second one to a request, or one after the end, is dropped. Returns whether it can be sent.
    mutating func respond(
        _ ticket: UInt32, _ status: Int, _ contentType: ContentType, _ headers: [ResponseHeader],
        _ body: UnsafeRawBufferPointer, _ writer: ResponseWriter, at sweep: UInt32
    ) -> Bool {
        guard phase != .closed, let traits = responses.traits(of: ticket) else { return false }
        guard responses.isNext(ticket) else {
            var early = ByteBuffer(capacity: 256 + body.count)
            writer.write(status, contentType, headers, body, traits, to: &early)
            responses.hold(early.array, for: ticket)
            return false
        }
        output.append { writer.write(status, contentType, headers, body, traits, to: &$0) }
        responses.removeNext()
        while let early = responses.popEarly() { output.append { $0.append(early) } }
        // Not while a request arrives: its timeout counts from its first byte.
        if !parser.isInRequest { lastStep = sweep }
        return true
    }

    /// Sends a whole response to nobody's request, and ends the connection.
    mutating func reject(with response: StaticString) {
        phase = .finishing
        output.append { $0.append(response) }
    }

    /// Queues 100 Continue (RFC 9110, 10.1.1) if the client waits for it and the responses to earlier requests are
    /// complete. Returns whether there is something to send.
    @discardableResult
    mutating func sendContinue() -> Bool {
        guard owesContinue, responses.outstanding == 0 else { return false }
        owesContinue = false
        writeContinue()
        return true
    }

    mutating func writeContinue() { output.append { $0.append("HTTP/1.1 100 Continue\r\n\r\n") } }

    /// The response to an upgrade. The connection is another one from now on.
    mutating func upgrade(_ writeResponse: (inout ByteBuffer) -> Void) -> WebSocketFrame {
        output.append(writeResponse)
        phase = .closed
        return WebSocketFrame(raw: output.bytes)
    }

    // MARK: Writing

    /// Whether `unsent` is to be written to the socket.
    var wantsToSend: Bool { phase != .closed && !isBlocked && output.count > 0 }

    /// Valid until the next change.
    var unsent: UnsafeRawBufferPointer { output.bytes }

    /// The part of a file that is to be sent now; nil while other bytes go first.
    var filePart: FilePart? { phase != .closed && !isBlocked && output.count == 0 ? file : nil }

    mutating func sentFile(_ count: Int64) {
        takenBytes += Int(count)
        file!.offset += count
        file!.count -= count
        if file!.count == 0 { file = nil }
    }

    /// The socket is, or may be, writable again.
    mutating func unblock() -> Bool {
        defer { isBlocked = false }
        return isBlocked
    }

    mutating func sent(_ count: Int) {
        output.removeFirst(count)
        takenBytes += count
    }

    /// The socket takes no more. Returns whether the peer is so far behind that the connection is to be closed.
    mutating func block(wasBlocked: Bool, at sweep: UInt32) -> Bool {
        isBlocked = true
        if !wasBlocked { (blockedSince, takenBytes) = (sweep, 0) }
        return output.count > limits.maximumUnreadResponseBytes
    }

    // MARK: Ending

    /// Whether no request is arriving or waiting.
    var isBetweenRequests: Bool { phase == .open && !parser.isInRequest && held.isEmpty && stream == .none }

    /// Reads no further request and ends the connection after the outstanding responses are sent.
    mutating func finish() {
        guard phase == .open else { return }
        phase = .finishing
        held = []
        responses.closeAfterLast()
    }

    /// Whether everything is sent of a connection that ends.
    var isFinished: Bool { phase == .finishing && responses.outstanding == 0 && output.count == 0 }

    /// Waits for the peer to close.
    mutating func linger(at sweep: UInt32) {
        phase = .lingering
        lastStep = sweep
    }

    mutating func close() {
        phase = .closed
        held = []
    }

    // MARK: Timeouts

    enum Overdue: Equatable {
        case nothing
        case close
        /// To be closed, because the peer does not read.
        case slowReader
        /// Ends after the outstanding responses.
        case finish
        case refuse(RequestFailure)
    }

    /// - Parameter isServerFull: the server's total of buffered bytes is over its limit. A connection may then lag by a
    ///   quarter of its own limit only.
    mutating func overdue(at sweep: UInt32, isServerFull: Bool) -> Overdue {
        let waited = sweep &- lastStep
        if isBlocked, isReadingTooSlowly(at: sweep, isServerFull) { return .slowReader }
        switch phase {
        case .lingering: return waited > timeouts.close ? .close : .nothing
        case .finishing, .closed: return .nothing
        case .open: break
        }
        if !held.isEmpty || isFull {
            // The time of the next piece begins when there is room for it.
            if stream != .none { lastStep = sweep }
            return .nothing
        }
        if stream == .reading { return waited > timeouts.stream ? .refuse(.bodyTimeout) : .nothing }
        if parser.isInRequest { return overdueRequest(waited) }
        if !hasReceivedRequest, waited > timeouts.firstRequest { return .finish }
        return responses.outstanding == 0 && waited > timeouts.idle ? .finish : .nothing
    }

    private func overdueRequest(_ waited: UInt32) -> Overdue {
        guard parser.isHeadComplete else { return waited > timeouts.head ? .refuse(.headTimeout) : .nothing }
        let patience = timeouts.patience(timeouts.bodyGrace, for: parser.body.count)
        guard waited > min(timeouts.request, patience) else { return .nothing }
        // A discarded body's request has its response.
        return parser.discardsBody ? .finish : .refuse(.bodyTimeout)
    }

    private func isReadingTooSlowly(at sweep: UInt32, _ isServerFull: Bool) -> Bool {
        if isServerFull, output.count > limits.unreadResponseBytes / 4 { return true }
        return sweep &- blockedSince > timeouts.patience(timeouts.write, for: takenBytes)
    }
}
