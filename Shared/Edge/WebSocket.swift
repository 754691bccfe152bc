import Bytes
import Glibc
import Reactor

/// An open WebSocket. It has no buffers but those in use, because most WebSockets are idle.
@Reactor
public final class WebSocket: Connection {
    /// The handler's state for the WebSocket, such as its session.
    public var userInfo: AnyObject?

    private enum State: UInt8 {
        case open
        /// The server has sent a close frame and waits for the peer's.
        case closing
        /// A close frame was sent and nothing is expected: further input is discarded.
        case finished
        case closed
    }

    private let server: Server
    private let handler: any WebSocketHandler
    private let socket: StreamSocket
    private let index: ConnectionTable.Index
    private var decoder: WebSocketDecoder
    private var queue = FrameQueue()
    private var state = State.open
    private var hasPeerClosed = false
    /// Input that waits for `resumeReading`; nil while reading goes on.
    private var unread: [UInt8]?
    /// Whether reading is paused until `resumeReading`.
    public private(set) var isPaused = false
    private var isResumeScheduled = false
    private var isTaking = false
    private var isFlushScheduled = false
    private var isTooSlow = false
    private var interest = Interest.read
    /// The sweeps in which the peer last sent something, was last pinged, and in which closing began.
    private var lastHeard: UInt32
    private var lastPing: UInt32
    private var closingSince: UInt32 = 0

    init(
        _ socket: StreamSocket, at index: ConnectionTable.Index, of server: Server, handler: any WebSocketHandler,
        opening: WebSocketFrame
    ) {
        self.socket = socket
        self.index = index
        self.server = server
        self.handler = handler
        decoder = WebSocketDecoder(maximumMessageBytes: server.limits.webSocketMessageBytes)
        lastHeard = server.sweep
        lastPing = server.sweep
        Reactor.watch(socket.descriptor, for: .read, handler: self)
        enqueue(opening)
    }

    /// Whether frames can be sent. Afterwards `send` does nothing.
    public var isOpen: Bool { state == .open }

    /// Queued bytes that were not written to the socket yet.
    public var queuedBytes: Int { queue.bytes }

    /// Whether frames wait because the socket's send buffer is full: the peer reads more slowly than frames are sent.
    public var isCongested: Bool { interest.contains(.write) }

    /// The maximum length of a message from the peer in bytes, all its fragments together.
    public var maximumMessageBytes: Int {
        get { decoder.maximumMessageBytes }
        set { decoder.maximumMessageBytes = newValue }
    }

    /// Bytes of an incomplete message.
    public var heldInputBytes: Int { decoder.heldBytes }

    /// The minimum length of the incomplete message, from its frame header.
    public var announcedInputBytes: Int { decoder.announcedBytes }

    /// Queues `frame`. All frames of a turn are written with one system call. If the queue exceeds its limit, the
    /// WebSocket is closed.
    public func send(_ frame: WebSocketFrame) {
        guard state == .open else { return }
        enqueue(frame)
        guard queue.bytes > server.limits.webSocketQueueBytes else { return }
        // Many frames in one turn are not the peer's fault: it had no chance to read any of them.
        if !interest.contains(.write) { _ = write() }
        if queue.bytes > server.limits.webSocketQueueBytes { closeSlowReader() }
    }

    /// Starts the closing handshake. Frames sent before are still delivered.
    /// - Parameter reason: for developers, at most 123 bytes.
    public func close(_ code: WebSocketCloseCode, reason: StaticString = "") {
        guard state == .open else { return }
        enqueue(.close(code, reason: reason))
        state = .closing
        closingSince = server.sweep
        // In the middle of a message the peer's close frame cannot be found, and no input is kept for a rejected peer.
        if decoder.heldBytes > 0 || unread != nil { endListening() }
    }

    private func endListening() {
        state = .finished
        scheduleFlush()
        // A message that is being handled may be in the decoder's memory.
        if !isTaking { decoder.release() }
        unread = nil
        watch(for: interest.union(.read))
    }

    /// Counts a peer without a valid token: an address with many of these cannot open WebSockets for a while.
    public func authenticationFailed() {
        server.statistics.failedAuthentications += 1
        server.connections.failed(index, at: server.sweep)
    }

    // MARK: Reading

    /// Stops reading and handing on messages until `resumeReading`. The silence timeout is suspended meanwhile.
    public func pauseReading() {
        guard state == .open else { return }
        isPaused = true
        guard unread == nil else { return }
        unread = []
        watch(for: interest.subtracting(.read))
    }

    public func resumeReading() {
        isPaused = false
        guard state == .open, unread != nil, !isResumeScheduled else { return }
        isResumeScheduled = true
        // Not at once: the caller is not prepared to receive a message.
        Reactor.atEndOfTurn { [self] in takeUnread() }
    }

    private func takeUnread() {
        isResumeScheduled = false
        // It may have been paused again meanwhile.
        guard state == .open, !isPaused, var bytes = unread else { return }
        unread = nil
        bytes.withUnsafeMutableBytes { take($0) }
        if state == .open, unread == nil { watch(for: interest.union(.read)) }
    }

    public func ready(_ readiness: Readiness) {
        if readiness.contains(.write) { flush() }
        guard state != .closed, !readiness.isDisjoint(with: [.read, .hangup, .failure]) else { return }
        // Reading was not requested, so the connection is broken.
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

    /// Called when the input was handled, or `rest` has to wait.
    private func ended(of rest: UnsafeMutableRawBufferPointer, otherFrames: Int) {
        if state == .open { handler.decoded(otherFrames: otherFrames, from: self) }
        switch state {
        case .open: if unread != nil { unread = Array(rest) }
        case .closing: if decoder.heldBytes > Self.closeFrameBytes { endListening() }
        case .finished, .closed: decoder.release()
        }
    }

    /// More bytes than a close frame has. A peer that is being closed may send no longer frame.
    private static let closeFrameBytes = 256

    /// Small, so that little input is left when reading is paused.
    private static let bytesPerRead = 64 * 1024

    private func handle(_ event: WebSocketEvent) {
        switch event {
        case .text(let text): if state == .open { handler.received(text, from: self) }
        case .ping(let payload): if state == .open { send(.pong(payload)) }
        case .pong: break
        case .close(let code): peerCloses(code)
        }
    }

    /// Echoes the close code (RFC 6455, 5.5.1) unless this is the response to our close frame, and ends.
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
        // While the socket is not writable, `ready` continues instead.
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

    private func closeSlowReader() {
        // What the handler says in parting is queued behind the frame that was begun, which may be longer than the limit.
        guard !isTooSlow else { return }
        isTooSlow = true
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

    /// Does nothing: the handler closes the WebSocket after it has informed the client.
    func drain() {}

    func close() {
        guard state != .closed else { return }
        state = .closed
        Reactor.forget(socket.descriptor)
        Glibc.close(socket.descriptor)
        queue = FrameQueue()
        server.connections.remove(index)
        handler.closed(self)
        userInfo = nil
        server.connectionEnded()
    }
}
