import Edge
import Models
import Reactor

/// Presence frames for congested sessions: the latest frame of each user, sent when there is room.
@Reactor
struct PresenceOutbox {
    /// The most users waiting for one session. Frames of further users are dropped.
    private static let capacity = 4_096

    private let counters: Counters
    private var waiting = IdentityTable<Waiting>()

    private struct Waiting {
        let session: Session
        var frames: [UserID: WebSocketFrame] = [:]
    }

    init(counters: Counters) { self.counters = counters }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ session: Session, _ user: UserID, _ frame: WebSocketFrame) {
        guard session.isCongested || waiting.contains(session) else { return send(frame, to: session) }
        // Removed and put back, so that its frames are changed in place.
        var entry = waiting.remove(session) ?? Waiting(session: session)
        let replaces = entry.frames[user] != nil
        let isFull = entry.frames.count >= Self.capacity
        if replaces || isFull { counters.presenceDropped += 1 }
        if replaces || !isFull { entry.frames[user] = frame }
        waiting.append(session, entry)
    }

    /// The sessions with waiting frames.
    var sessions: [Session] { waiting.values.map(\.session) }

    /// - Returns: the number of frames sent.
    mutating func sendWaiting(to session: Session) -> Int {
        guard !session.isCongested, let entry = waiting.remove(session) else { return 0 }
        for frame in entry.frames.values { send(frame, to: session) }
        return entry.frames.count
    }

    mutating func forget(_ session: Session) {
        counters.presenceDropped += waiting.remove(session)?.frames.count ?? 0
    }

    private func send(_ frame: WebSocketFrame, to session: Session) {
        counters.presenceFrames += 1
        session.send(frame)
    }
}
