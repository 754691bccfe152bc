import Edge
import Models
import Reactor

/// An open session: a WebSocket whose user is known.
@Reactor
final class Session {
    /// More waiting for the client than this: it gets no further pages until it has read. An eighth of what closes it.
    private static let congestion = 512 * 1024
    /// How often to look whether a congested client has read.
    private static let patience = Duration.milliseconds(20)

    let socket: WebSocket
    let id: UUIDBytes
    let user: UserID
    /// Claim `dev`; nil: this session supersedes none, and none supersedes it.
    let device: String?
    var expiresAt: Timestamp
    var hasWarnedOfExpiry = false
    /// Where the session takes part, to leave on its end. Few enough to be searched.
    var rooms: ContiguousArray<Room> = []
    /// Private changes up to here are in the bootstrap already.
    var bootstrapUseq: Int64 = .max
    private(set) var hasEnded = false
    private var paused: [@Reactor () -> Void] = []

    init(_ socket: WebSocket, user: UserID, device: String?, expiresAt: Timestamp) {
        self.socket = socket
        self.user = user
        self.device = device
        self.expiresAt = expiresAt
        id = .random()
    }

    func send(_ frame: WebSocketFrame) { socket.send(frame) }

    /// Says why and closes. What was sent before still arrives.
    func end(_ goodbye: Goodbye, reason: String, retryAfter: Int? = nil) {
        socket.end(goodbye, reason: reason, retryAfter: retryAfter)
    }

    func markEnded() {
        hasEnded = true
        paused = []
    }

    func isIn(_ room: Room) -> Bool { rooms.contains { $0 === room } }

    func forget(_ room: Room) {
        guard let index = rooms.firstIndex(where: { $0 === room }) else { return }
        rooms.swapAt(index, rooms.count - 1)
        rooms.removeLast()
    }

    /// Runs `body` when the client has read enough for more, never after the session's end. That may be at once.
    func whenReady(_ body: @escaping @Reactor () -> Void) {
        guard paused.isEmpty, socket.queuedBytes < Self.congestion else { return pause(body) }
        if !hasEnded { body() }
    }

    private func pause(_ body: @escaping @Reactor () -> Void) {
        guard !hasEnded else { return }
        paused.append(body)
        if paused.count == 1 { lookAgain() }
    }

    private func lookAgain() {
        Reactor.after(Self.patience) { [weak self] in
            guard let self, !paused.isEmpty else { return }
            guard socket.queuedBytes < Self.congestion else { return lookAgain() }
            let bodies = paused
            paused = []
            for body in bodies { whenReady(body) }
        }
    }
}

extension WebSocket {
    func end(_ goodbye: Goodbye, reason: String, retryAfter: Int? = nil) {
        send(ServerFrame.bye(goodbye, reason: reason, retryAfter: retryAfter))
        close(goodbye.closeCode)
    }
}

extension UUIDBytes {
    /// Version 4 (RFC 9562, 5.4).
    static func random() -> UUIDBytes {
        let high = UInt64.random(in: .min ... .max) & ~0xF000 | 0x4000
        let low = UInt64.random(in: .min ... .max) >> 2 | 0b10 << 62
        return UUIDBytes(high: high, low: low)
    }
}
