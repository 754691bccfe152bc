import Edge
import Models
import Reactor

/// Frames about presence for sessions for which much else is waiting: the latest of each user, sent when there is room.
@Reactor
struct PresenceOutbox {
    /// Users of one session. Of more it is told nothing.
    private static let capacity = 4_096

    private let counters: Counters
    private var waiting: [ObjectIdentifier: (session: Session, frames: [UserID: WebSocketFrame])] = [:]

    init(counters: Counters) { self.counters = counters }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func tell(_ session: Session, _ user: UserID, _ frame: WebSocketFrame) {
        let id = ObjectIdentifier(session)
        guard session.isCongested || waiting[id] != nil else { return send(frame, to: session) }
        let takesOldPlace = waiting[id]?.frames[user] != nil
        let isFull = waiting[id].map { $0.frames.count >= Self.capacity } ?? false
        if takesOldPlace || isFull { counters.presenceDropped += 1 }
        if takesOldPlace || !isFull { waiting[id, default: (session, [:])].frames[user] = frame }
    }

    mutating func sendWaiting() {
        for (id, (session, frames)) in waiting where !session.isCongested {
            waiting[id] = nil
            for frame in frames.values { send(frame, to: session) }
        }
    }

    mutating func forget(_ session: Session) {
        let forgotten = waiting.removeValue(forKey: ObjectIdentifier(session))
        counters.presenceDropped += forgotten?.frames.count ?? 0
    }

    private func send(_ frame: WebSocketFrame, to session: Session) {
        counters.presenceFrames += 1
        session.send(frame)
    }
}
