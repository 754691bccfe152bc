import Edge
import Models
import Reactor
import ServiceKit
import Wire

/// An open session: an authenticated WebSocket.
@Reactor
final class Session {
    /// The queued bytes above which a session is congested. A fast client drains that before the next frame.
    private static let congestion = 64 * 1024

    let socket: any SessionSocket
    let id: UUIDBytes
    let user: UserID
    /// The token's claim `dev`. Nil: the session neither supersedes others nor is superseded.
    let device: String?
    private let openedAt = MonotonicTime.now
    /// The identity of the latest token.
    var identity: Identity
    var expiresAt: Timestamp { identity.expiresAt }
    var hasWarnedOfExpiry = false
    /// The rooms that the session leaves when it ends.
    var rooms = IdentityTable<Room>()
    /// The number of rooms it is going to join, while it is being placed.
    var expectedRooms = 0
    var roomCount: Int { max(rooms.count, expectedRooms) }
    /// The visible windows of conversations that the user sees only in part.
    var windows = SessionWindows()
    /// The user's setting: whether they are shown to others and others to them. False until the bootstrap is there.
    var showsPresence = false
    /// Whom the user has blocked, and the hashes of these names for lists.
    private(set) var blocked: Set<UserID> = []
    private(set) var blockHashes: [UInt64] = []
    /// For `Presence`: lists with the present blocks are on their way, and some are out of date by now.
    var announcesBlocks = false
    var hasBlocksToAnnounce = false
    /// That of the user's own name.
    private(set) lazy var hash = BlockMarks.hash(user)
    /// See `Presence`.
    var presenceMark = 0
    /// See `ChangedProfiles`.
    var toldProfile: ChangedProfiles.Told?
    /// Private changes up to here are included in the bootstrap.
    var bootstrapUseq: Int64 = .max
    /// Whether the session has joined its streams. Clients may send frames before `welcome`.
    var isPlaced = false
    /// Receipts from the client that wait for room.
    var pendingReceipts = FIFO<ReceiptSender.Receipt>()
    /// The reasons why reading from the client is paused.
    private var pauses: PauseReasons = []
    /// Conversations whose receipts are held back because the client reads too slowly, and the version that it has of
    /// each.
    private var heldStatuses = IdentityTable<HeldStatus>()
    private(set) var hasEnded = false
    /// Created when the session has to catch up; most never do.
    private lazy var pace = Pace(socket)
    private lazy var statusPace = Pace(socket, limit: Pace.statusLimit)

    struct HeldStatus {
        let room: Room
        var version: Int64
    }

    struct PauseReasons: OptionSet {
        let rawValue: UInt8
        /// The user has exceeded their share (`UserAccount`).
        static let rate = PauseReasons(rawValue: 1)
        /// Receipts of the session wait for room.
        static let receipts = PauseReasons(rawValue: 2)
    }

    init(_ socket: any SessionSocket, _ identity: Identity) {
        self.socket = socket
        self.identity = identity
        user = identity.user
        device = identity.device
        id = .random()
    }

    /// The age of the session in milliseconds.
    var age: Int64 { (MonotonicTime.now - openedAt).nanoseconds / 1_000_000 }

    func send(_ frame: WebSocketFrame) { socket.send(frame) }

    /// Sets whom the user has blocked, at the start.
    func setBlocked(_ users: [UserID]) {
        blocked = Set(users)
        hashBlocked()
    }

    func block(_ user: UserID, _ isBlocked: Bool) {
        if isBlocked { blocked.insert(user) } else { blocked.remove(user) }
        hashBlocked()
    }

    /// Of more than a list may have, no list needs them.
    private func hashBlocked() {
        blockHashes = blocked.count > BlockMarks.limit ? [] : blocked.map(BlockMarks.hash).sorted()
    }

    /// Whether to drop optional frames, because the client does not keep up.
    var isCongested: Bool { socket.queuedBytes > Self.congestion }

    /// Returns whether the client keeps up with receipts. Otherwise this records that it has those of `room` up to
    /// `version`; it gets the rest as one frame when its queue is empty. Messages alone are queued for a congested
    /// client.
    func takesStatus(of room: Room, behind version: Int64) -> Bool {
        guard socket.isCongested else { return true }
        heldStatuses.set(room, HeldStatus(room: room, version: min(heldStatuses[room]?.version ?? version, version)))
        return false
    }

    /// Sends the receipts that were held back. The client's queue is empty.
    func releaseStatuses(_ turns: Turns) {
        guard !heldStatuses.isEmpty else { return }
        let held = heldStatuses
        heldStatuses.removeAll()
        turns.forEach(held.values) { [weak self] held in
            guard let self, !hasEnded, isIn(held.room) else { return }
            held.room.catchUpStatus(self, after: held.version)
        }
    }

    /// Whether the session is over: its client is gone or being closed.
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

    /// Sends `bye` with a reason and closes. Frames sent before still arrive.
    func end(_ code: ByeCode, reason: String, retryAfter: Int? = nil) {
        socket.end(code, reason: reason, retryAfter: retryAfter)
    }

    func markEnded() {
        hasEnded = true
        pace.stop()
        statusPace.stop()
    }

    /// Runs a fetch for this session at the pace of its client.
    func fetch(_ fetch: @escaping FetchQueue.Fetch) { if !hasEnded { pace.run(fetch) } }

    /// Runs a fetch of receipts, which are small, at the pace of its client.
    func fetchStatus(_ fetch: @escaping FetchQueue.Fetch) { if !hasEnded { statusPace.run(fetch) } }

    func isIn(_ room: Room) -> Bool { rooms.contains(room) }
}

extension SessionSocket {
    func end(_ code: ByeCode, reason: String, retryAfter: Int? = nil) {
        send(ServerFrame.bye(code, reason: reason, retryAfter: retryAfter))
        close(code.webSocketCloseCode)
    }

    func end(_ suspension: Problem.Suspended) {
        send(
            ServerFrame.bye(
                .suspended, reason: suspension.detail, retryAfter: suspension.retryAfter, until: suspension.until))
        close(ByeCode.suspended.webSocketCloseCode)
    }
}

extension UUIDBytes {
    /// Returns a UUID of version 4 (RFC 9562, 5.4).
    static func random() -> UUIDBytes {
        let high = UInt64.random(in: .min ... .max) & ~0xF000 | 0x4000
        let low = UInt64.random(in: .min ... .max) >> 2 | 0b10 << 62
        return UUIDBytes(high: high, low: low)
    }
}
