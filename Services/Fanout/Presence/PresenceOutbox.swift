import Edge
import Models
import Reactor

/// Frames about presence for sessions for which much else is waiting: the latest of each user, sent when there is room.
@Reactor
struct PresenceOutbox {
    /// Users of one session. Of more it is told nothing.
    private static let capacity = 4_096

    private var waiting: [ObjectIdentifier: (session: Session, frames: [UserID: WebSocketFrame])] = [:]

    nonisolated init() {}

    var isEmpty: Bool { waiting.isEmpty }

    mutating func tell(_ session: Session, _ user: UserID, _ frame: WebSocketFrame) {
        let id = ObjectIdentifier(session)
        guard session.isCongested || waiting[id] != nil else { return session.send(frame) }
        let count = waiting[id]?.frames.count ?? 0
        guard count < Self.capacity || waiting[id]?.frames[user] != nil else { return }
        waiting[id, default: (session, [:])].frames[user] = frame
    }

    mutating func sendWaiting() {
        for (id, (session, frames)) in waiting where !session.isCongested {
            waiting[id] = nil
            for frame in frames.values { session.send(frame) }
        }
    }

    mutating func forget(_ session: Session) { waiting[ObjectIdentifier(session)] = nil }
}
