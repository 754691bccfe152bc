import Bytes
import Glibc
import Reactor

/// One open WebSocket. Small, because most of them are idle: no buffers but those in use.
@Reactor
public final class WebSocket: Connection {
    /// What the handler keeps with the WebSocket, such as its session.
    public var userInfo: AnyObject?

    private enum State: UInt8 {
        case open
        /// The server has sent a close frame and waits for the peer's.
        case closing
        /// A close frame has been sent and nothing is expected: what still comes is thrown away.
        case finished
        case closed
    }

    private let server: Server
    private let handler: any WebSocketHandler
    private let socket: StreamSocket
    private let place: ConnectionTable.Place
    private var decoder: WebSocketDecoder
    private var queue = FrameQueue()
    private var state = State.open
    private var hasPeerClosed = false
    /// What was read and waits for `resumeReading`; nil: reading goes on.
    private var unread: [UInt8]?
    /// Whether the peer has to wait, until `resumeReading`.
    public private(set) var isPaused = false
    private var isResumePlanned = false
    private var isTaking = false
    private var isFlushScheduled = false
    private var interest = Interest.read
    /// In sweeps: when the peer was last heard, last pinged, and when the closing began.
    private var lastHeard: UInt32
    private var lastPing: UInt32
    private var closingSince: UInt32 = 0

    init(
        _ socket: StreamSocket, at place: ConnectionTable.Place, of server: Server, handler: any WebSocketHandler,
        opening: WebSocketFrame
    ) {
        self.socket = socket
        self.place = place
        self.server = server
        self.handler = handler
        decoder = WebSocketDecoder(maximumMessageBytes: server.limits.webSocketMessageBytes)
        lastHeard = server.sweep
        lastPing = server.sweep
        Reactor.watch(socket.descriptor, for: .read, handler: self)
        enqueue(opening)
    }

    /// Whether frames still reach the peer. Afterwards `send` does nothing.
    public var isOpen: Bool { state == .open }

    /// Bytes that were sent and that the kernel has not taken.
    public var queuedBytes: Int { queue.bytes }

    /// Whether frames wait that the kernel did not take, because the peer reads more slowly than is sent.
    public var isCongested: Bool { interest.contains(.write) }

    /// The most bytes a message of the peer may have, all its fragments together.
    public var maximumMessageBytes: Int {
        get { decoder.maximumMessageBytes }
        set { decoder.maximumMessageBytes = newValue }
    }

    /// Bytes of a message that has not arrived as a whole.
    public var heldInputBytes: Int { decoder.heldBytes }

    /// Bytes that this message will have at least, as its peer says.
    public var announcedInputBytes: Int { decoder.announcedBytes }

    /// Queues `frame`; all of a turn leave by one system call. A peer that leaves more than the bound of the queue
    /// untaken is closed.
    public func send(_ frame: WebSocketFrame) {
        guard state == .open else { return }
        enqueue(frame)
        guard queue.bytes > server.limits.webSocketQueueBytes else { return }
        // Much at once is not the peer's fault: it had no chance to take any of this turn's frames.
        if !interest.contains(.write) { _ = write() }
        if queue.bytes > server.limits.webSocketQueueBytes { tooSlow() }
    }

    /// Starts the closing handshake. What was sent before still arrives.
    /// - Parameter reason: for developers, at most 123 bytes.
    public func close(_ code: WebSocketCloseCode, reason: StaticString = "") {
        guard state == .open else { return }
        enqueue(.close(code, reason: reason))
        state = .closing
        closingSince = server.sweep
        // In the middle of a message the peer's answer cannot be made out, and nothing is kept for who was sent away.
        if decoder.heldBytes > 0 || unread != nil { endListening() }
    }

    private func endListening() {
        state = .finished
        scheduleFlush()
        // What is being handled may lie in the decoder's memory.
        if !isTaking { decoder.release() }
        unread = nil
        watch(for: interest.union(.read))
    }

    /// Notes that the peer brought no valid token: an address that does so again and again opens no more WebSockets for
    /// a while.
    public func authenticationFailed() {
        server.statistics.failedAuthentications += 1
        server.connections.failed(place, at: server.sweep)
    }

    // MARK: Reading

    /// Nothing more is read, and what was read is not handed on, until `resumeReading`: the peer has to wait. It is not
    /// taken for silent meanwhile.
    public func pauseReading() {
        guard state == .open else { return }
        isPaused = true
        guard unread == nil else { return }
        unread = []
        watch(for: interest.subtracting(.read))
    }

    public func resumeReading() {
        isPaused = false
        guard state == .open, unread != nil, !isResumePlanned else { return }
        isResumePlanned = true
        // Not at once: whoever resumes is not prepared to be handed a message.
        Reactor.atEndOfTurn { [self] in takeUnread() }
    }

    private func takeUnread() {
        isResumePlanned = false
        // It may have been paused anew meanwhile.
        guard state == .open, !isPaused, var bytes = unread else { return }
        unread = nil
        bytes.withUnsafeMutableBytes { take($0) }
        if state == .open, unread == nil { watch(for: interest.union(.read)) }
    }

    public func ready(_ readiness: Readiness) {
        if readiness.contains(.write) { flush() }
        guard state != .closed, !readiness.isDisjoint(with: [.read, .hangup, .failure]) else { return }
        // Not asked for, so the connection is broken.
        if unread != nil { return readiness.isDisjoint(with: [.hangup, .failure]) ? () : close() }
        switch socket.read(into: UnsafeMutableRawBufferPointer(rebasing: server.readBuffer[..<Self.bytesPerRead])) {
        case .nothing: return
        case .end: close()
        case .bytes(let count): take(UnsafeMutableRawBufferPointer(rebasing: server.readBuffer[..<count]))
        }
    }

    func take(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        var texts = 0
        let framesBefore = decoder.frames
        lastHeard = server.sweep
        isTaking = true
        do throws(WebSocketViolation) {
            while state == .open || state == .closing, unread == nil, let event = try decoder.next(&input) {
                if case .text = event { texts += 1 }
                handle(event)
            }
        } catch {
            finish(error.code, error.reason)
        }
        isTaking = false
        ended(of: input, otherFrames: decoder.frames - framesBefore - texts)
    }

    /// All that was read has been handled, or the rest has to wait.
    private func ended(of rest: UnsafeMutableRawBufferPointer, otherFrames: Int) {
        if state == .open { handler.decoded(otherFrames: otherFrames, from: self) }
        switch state {
        case .open: if unread != nil { unread = Array(rest) }
        case .closing: if decoder.heldBytes > Self.closeFrameBytes { endListening() }
        case .finished, .closed: decoder.release()
        }
    }

    /// A close frame has fewer. A peer that was sent away is not heard out with more.
    private static let closeFrameBytes = 256

    /// Not more, so that a peer that is told to wait leaves little behind.
    private static let bytesPerRead = 64 * 1024

    private func handle(_ event: WebSocketEvent) {
        switch event {
        case .text(let text): if state == .open { handler.received(text, from: self) }
        case .ping(let payload): if state == .open { send(.pong(payload)) }
        case .pong: break
        case .close(let code): peerCloses(code)
        }
    }

    /// Answers with the same code (RFC 6455, 5.5.1) unless this was the answer, and ends.
    private func peerCloses(_ code: WebSocketCloseCode?) {
        hasPeerClosed = true
        finish(code ?? .normal, "")
    }

    private func finish(_ code: WebSocketCloseCode, _ reason: StaticString) {
        close(code, reason: reason)
        state = .finished
        closingSince = server.sweep
        scheduleFlush()
    }

    // MARK: Writing

    private func enqueue(_ frame: WebSocketFrame) {
        queue.append(frame)
        // Waiting for the peer to take bytes: it is `ready` that goes on.
        if !interest.contains(.write) { scheduleFlush() }
    }

    private func scheduleFlush() {
        if isFlushScheduled { return }
        isFlushScheduled = true
        server.flushQueue.add(self)
    }

    func flush() {
        isFlushScheduled = false
        guard state != .closed else { return }
        switch write() {
        case .blocked: watch(for: interest.union(.write))
        case .failed: close()
        case .done:
            let wasCongested = isCongested
            watch(for: interest.subtracting(.write))
            if wasCongested, state == .open { handler.drained(self) }
            if state == .finished { hasPeerClosed ? close() : socket.endWriting() }
        }
    }

    private enum WriteResult { case done, blocked, failed }

    private func write() -> WriteResult {
        while !queue.isEmpty {
            switch queue.withVectors(socket.write) {
            case .bytes(let count): queue.removeFirst(count)
            case .full: return .blocked
            case .failed: return .failed
            }
        }
        return .done
    }

    private func watch(for interest: Interest) {
        guard interest != self.interest else { return }
        self.interest = interest
        Reactor.change(socket.descriptor, to: interest)
    }

    private func tooSlow() {
        server.statistics.slowWebSockets += 1
        queue.removeUnstarted()
        handler.isTooSlow(self)
        finish(.policyViolation, "the client reads too slowly")
    }

    // MARK: Ending

    func checkTimeouts() {
        let timeouts = server.timeouts
        switch state {
        case .closed: break
        case .closing, .finished:
            if server.sweep &- closingSince > timeouts.close { close() }
        case .open:
            queue.releaseRoom()
            if unread != nil { lastHeard = server.sweep }
            if server.sweep &- lastHeard > timeouts.silence { return close() }
            guard server.sweep &- lastPing >= timeouts.ping else { return }
            lastPing = server.sweep
            send(.ping)
        }
    }

    /// A WebSocket ends when its handler says so, which may first tell the client.
    func drain() {}

    func close() {
        guard state != .closed else { return }
        state = .closed
        Reactor.forget(socket.descriptor)
        Glibc.close(socket.descriptor)
        queue = FrameQueue()
        server.connections.remove(place)
        handler.closed(self)
        userInfo = nil
        server.connectionEnded()
    }
}
