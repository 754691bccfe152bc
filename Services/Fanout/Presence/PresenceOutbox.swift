import Edge
import Models
import Reactor

/// Frames about presence for sessions for which much else is waiting: the latest of each user, sent when there is room.
@Reactor
struct PresenceOutbox {
    /// Users of one session. Of more it is told nothing.
    private static let capacity = 4_096

    private let counters: Counters
    private var waiting = IdentityTable<Waiting>()

    private struct Waiting {
        let session: Session
        var frames: [UserID: WebSocketFrame] = [:]
    }

    init(counters: Counters) { self.counters = counters }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func tell(_ session: Session, _ user: UserID, _ frame: WebSocketFrame) {
        guard session.isCongested || waiting.contains(session) else { return send(frame, to: session) }
        // Taken out and put back, so that its frames are changed in their place.
        var entry = waiting.remove(session) ?? Waiting(session: session)
        let takesOldPlace = entry.frames[user] != nil
        let isFull = entry.frames.count >= Self.capacity
        if takesOldPlace || isFull { counters.presenceDropped += 1 }
        if takesOldPlace || !isFull { entry.frames[user] = frame }
        waiting.append(session, entry)
    }

    /// Those for whom something waits.
    var sessions: [Session] { waiting.values.map(\.session) }

    /// - Returns: how many frames went.
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
