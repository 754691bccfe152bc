import Edge
import Models
import Reactor
import ServiceKit

/// An open session: a WebSocket whose user is known.
@Reactor
final class Session {
    /// What a fast client has taken before the next frame is made.
    private static let congestion = 64 * 1024

    let socket: any SessionSocket
    let id: UUIDBytes
    let user: UserID
    /// Claim `dev`; nil: this session supersedes none, and none supersedes it.
    let device: String?
    private let openedAt = MonotonicTime.now
    /// Of the token that the client gave last, which is good until then.
    var identity: Identity
    var expiresAt: Timestamp { identity.expiresAt }
    var hasWarnedOfExpiry = false
    /// Where the session takes part, to leave on its end.
    var rooms = IdentityTable<Room>()
    /// In how many rooms it will be, as far as is known before it is.
    var expectedRooms = 0
    var places: Int { max(rooms.count, expectedRooms) }
    /// What the user may see of conversations of which they do not see everything.
    var windows = SessionWindows()
    /// The user's setting: they are shown to others, and others to them. Not before the bootstrap is there.
    var showsPresence = false
    /// See `Presence`.
    var presenceMark = 0
    /// Private changes up to here are in the bootstrap already.
    var bootstrapUseq: Int64 = .max
    /// Whether it is in its streams. Clients need not wait for `welcome` before they speak.
    var isPlaced = false
    /// What the client said about receipts and there was no room for yet.
    var unsaidReceipts = FIFO<ReceiptSender.Receipt>()
    /// Why nothing is read from the client at the moment.
    private var pauses: PauseReasons = []
    /// Receipts that were held back because the client reads too slowly: what it has of each conversation.
    private var heldStatuses = IdentityTable<HeldStatus>()
    private(set) var hasEnded = false
    /// Made when the session has something to catch up with; most never have.
    private lazy var pace = Pace(socket)
    private lazy var statusPace = Pace(socket, limit: Pace.statusLimit)

    struct HeldStatus {
        let room: Room
        var version: Int64
    }

    struct PauseReasons: OptionSet {
        let rawValue: UInt8
        /// The user has said more than their share (`UserAccount`).
        static let rate = PauseReasons(rawValue: 1)
        /// Receipts of theirs wait for room.
        static let receipts = PauseReasons(rawValue: 2)
    }

    init(_ socket: any SessionSocket, _ identity: Identity) {
        self.socket = socket
        self.identity = identity
        user = identity.user
        device = identity.device
        id = .random()
    }

    /// In milliseconds.
    var age: Int64 { (MonotonicTime.now - openedAt).nanoseconds / 1_000_000 }

    func send(_ frame: WebSocketFrame) { socket.send(frame) }

    /// Whether what may be left out is left out: more waits for the client than it takes at once.
    var isCongested: Bool { socket.queuedBytes > Self.congestion }

    /// Whether the client takes frames as they come. Otherwise messages alone wait for it, and of the receipts of a
    /// conversation only that it has them up to `version`: it gets the rest as one when it has taken the messages.
    func takesStatus(of room: Room, behind version: Int64) -> Bool {
        guard socket.isCongested else { return true }
        heldStatuses.set(room, HeldStatus(room: room, version: min(heldStatuses[room]?.version ?? version, version)))
        return false
    }

    /// The client has taken all that waited.
    func releaseStatuses(_ turns: Turns) {
        guard !heldStatuses.isEmpty else { return }
        let held = heldStatuses
        heldStatuses.removeAll()
        turns.forEach(held.values) { [weak self] held in
            guard let self, !hasEnded, isIn(held.room) else { return }
            held.room.catchUpStatus(self, after: held.version)
        }
    }

    /// Whether nothing more need be done for the session: its client is gone, or is being sent away.
    var isLeaving: Bool { hasEnded || !socket.isOpen }

    // MARK: Reading

    func pause(_ reason: PauseReasons) {
        if pauses.isEmpty { socket.pauseReading() }
        pauses.insert(reason)
    }

    func resume(_ reason: PauseReasons) {
        guard pauses.remove(reason) != nil, pauses.isEmpty else { return }
        socket.resumeReading()
    }

    // MARK: Ending

    /// Says why and closes. What was sent before still arrives.
    func end(_ code: ByeCode, reason: String, retryAfter: Int? = nil) {
        socket.end(code, reason: reason, retryAfter: retryAfter)
    }

    func markEnded() {
        hasEnded = true
        pace.stop()
        statusPace.stop()
    }

    /// Runs a fetch for this session as fast as its client reads.
    func fetch(_ fetch: @escaping FetchQueue.Fetch) { if !hasEnded { pace.run(fetch) } }

    /// The same for what moved in the receipts of a conversation, which is small.
    func fetchStatus(_ fetch: @escaping FetchQueue.Fetch) { if !hasEnded { statusPace.run(fetch) } }

    func isIn(_ room: Room) -> Bool { rooms.contains(room) }
}

extension SessionSocket {
    func end(_ code: ByeCode, reason: String, retryAfter: Int? = nil) {
        send(ServerFrame.bye(code, reason: reason, retryAfter: retryAfter))
        close(code.webSocketCloseCode)
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
