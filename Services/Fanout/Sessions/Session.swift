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
    /// Where the session takes part, to leave on its end. Few enough to be searched.
    var rooms: ContiguousArray<Room> = []
    /// What the user may see of conversations of which they do not see everything.
    var windows = SessionWindows()
    /// The user's setting: they are shown to others, and others to them. Not before the bootstrap is there.
    var showsPresence = false
    /// See `Presence`.
    var presenceMark = 0
    /// Private changes up to here are in the bootstrap already.
    var bootstrapUseq: Int64 = .max
    /// What the client said about receipts before the session was in its streams; nil since. Clients need not wait for
    /// `welcome`.
    var earlyReceipts: [ReceiptSender.EarlyReceipt]? = []
    /// Receipts that were held back because the client reads too slowly: what it has of each conversation.
    private var heldStatuses: [ConversationID: Int64] = [:]
    private(set) var hasEnded = false
    /// Made when the session has something to catch up with; most never have.
    private lazy var pace = Pace(socket)

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
    func takesStatus(of conversation: ConversationID, behind version: Int64) -> Bool {
        guard socket.isCongested else { return true }
        heldStatuses[conversation] = min(heldStatuses[conversation] ?? version, version)
        return false
    }

    /// The client has taken all that waited.
    func releaseStatuses() {
        guard !heldStatuses.isEmpty else { return }
        let held = heldStatuses
        heldStatuses = [:]
        for room in rooms {
            if let version = held[room.conversation] { room.catchUpStatus(self, after: version) }
        }
    }

    /// Says why and closes. What was sent before still arrives.
    func end(_ goodbye: Goodbye, reason: String, retryAfter: Int? = nil) {
        socket.end(goodbye, reason: reason, retryAfter: retryAfter)
    }

    func markEnded() {
        hasEnded = true
        pace.stop()
    }

    /// Runs a fetch for this session as fast as its client reads.
    func fetch(_ fetch: @escaping FetchQueue.Fetch) { if !hasEnded { pace.run(fetch) } }

    func isIn(_ room: Room) -> Bool { rooms.contains { $0 === room } }

    func forget(_ room: Room) {
        guard let index = rooms.firstIndex(where: { $0 === room }) else { return }
        rooms.swapAt(index, rooms.count - 1)
        rooms.removeLast()
    }
}

extension SessionSocket {
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
