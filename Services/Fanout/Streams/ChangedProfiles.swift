import Edge
import Models
import Reactor
import Wire

/// Tells sessions of changed profiles: whoever has a small conversation open with the user, once. In a large one somebody
/// always changes something, as with presence. Nothing is repeated, and a congested session is not told: clients read
/// again, by versions, what they show.
@Reactor
final class ChangedProfiles {
    /// What a session was told last. The conversations of one change come one after the other, so it is told once of nearly
    /// every change.
    struct Told: Hashable {
        let user: UserID
        let version: Int64
    }

    private let rooms: Rooms
    private let counters: Counters
    private let turns: Turns

    init(rooms: Rooms, counters: Counters, turns: Turns) {
        self.rooms = rooms
        self.counters = counters
        self.turns = turns
    }

    func receive(_ news: ProfileNews) {
        let told = Told(user: news.user, version: news.version)
        let frame = ServerFrame.profile(news.user, version: news.version)
        turns.forEach(news.conversations) { [weak self] in self?.tell(told, frame, in: $0) }
    }

    private func tell(_ told: Told, _ frame: WebSocketFrame, in conversation: ConversationID) {
        guard let room = rooms[conversation], room.showsPresence else { return }
        turns.spend(room.feed.count / 8)
        room.feed.forEachSubscriber { session in
            guard session.user != told.user, session.toldProfile != told, room.hasMember(session) else { return }
            guard !session.isCongested else { return counters.profilesDropped += 1 }
            session.toldProfile = told
            counters.profileFrames += 1
            session.send(frame)
        }
    }
}
