import Edge
import Models

/// Presence frames for congested sessions: the latest frame of each user, sent when there is room.
struct PresenceOutbox<Session: AnyObject> {
    /// The most users waiting for one session. Frames of further users are dropped.
    private static var capacity: Int { 4_096 }

    private struct Waiting {
        let session: Session
        var frames: [UserID: WebSocketFrame] = [:]
    }

    private var waiting = IdentityTable<Waiting>()

    enum Disposition {
        /// It is to be sent at once.
        case send
        case waits
        /// A frame was dropped: an earlier one about the user, or this one.
        case drops
    }

    var isEmpty: Bool { waiting.isEmpty }

    /// The sessions with waiting frames.
    var sessions: [Session] { waiting.values.map(\.session) }

    /// Frames that wait are not overtaken.
    mutating func add(
        _ frame: WebSocketFrame, about user: UserID, for session: Session, isCongested: Bool
    ) -> Disposition {
        guard isCongested || waiting.contains(session) else { return .send }
        // Removed and put back, so that its frames are changed in place.
        var entry = waiting.remove(session) ?? Waiting(session: session)
        defer { waiting.append(session, entry) }
        let replaces = entry.frames[user] != nil
        guard replaces || entry.frames.count < Self.capacity else { return .drops }
        entry.frames[user] = frame
        return replaces ? .drops : .waits
    }

    /// Removes and returns the frames of a session.
    mutating func take(for session: Session) -> [WebSocketFrame] {
        waiting.remove(session).map { Array($0.frames.values) } ?? []
    }
}
