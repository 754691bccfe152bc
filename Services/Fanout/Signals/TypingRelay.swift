import Bus
import Edge
import Models
import Reactor
import Wire

/// Passes on who is typing, to the other members on this and all other processes. Nothing is stored or repeated.
///
/// Every typing ends by itself, on the process that it reaches as well: the one it came from may be gone.
@Reactor
final class TypingRelay {
    private static let clockInterval = Duration.milliseconds(500)

    private let bus: Bus
    private let rooms: Rooms
    private let counters: Counters
    private var table: TypingTable
    /// What other processes have said.
    private var heard: TypingTable
    private var isClockRunning = false

    init(bus: Bus, rooms: Rooms, counters: Counters, lifetime: Duration) {
        self.bus = bus
        self.rooms = rooms
        self.counters = counters
        table = TypingTable(lifetime: lifetime)
        // What comes from elsewhere keeps the interval there; on its way it may have been late and the next one not.
        heard = TypingTable(lifetime: lifetime, interval: TypingTable.interval / 2)
    }

    /// - Returns: how many sessions here it concerned.
    @discardableResult
    func receive(_ conversation: ConversationID, _ isActive: Bool, from session: Session) -> Int {
        guard let room = rooms[conversation], session.isIn(room), room.hasMember(session) else { return 0 }
        let key = TypingTable.Key(conversation: conversation, user: session.user)
        let isNews = isActive ? table.started(key, at: .now) : table.stopped(key)
        if isNews { tell(key, isActive) }
        startClock()
        return isNews ? room.feed.count : 0
    }

    /// From another process, which may tell more than it should.
    func receive(_ conversation: ConversationID, _ user: UserID, _ isActive: Bool) {
        guard rooms[conversation] != nil else { return }
        let key = TypingTable.Key(conversation: conversation, user: user)
        let isNews = isActive ? heard.started(key, at: .now) : heard.stopped(key)
        if isNews { tellHere(key, isActive) }
        startClock()
    }

    private func tellHere(_ key: TypingTable.Key, _ isActive: Bool) {
        guard let room = rooms[key.conversation] else { return }
        tell(room, ServerFrame.typing(key.conversation, key.user, isActive: isActive), exceptTo: key.user)
    }

    /// Every member who is here but one. Whom much is waiting for does without.
    private func tell(_ room: Room, _ frame: WebSocketFrame, exceptTo user: UserID) {
        room.feed.forEachSubscriber { session in
            guard session.user != user, room.hasMember(session) else { return }
            guard !session.isCongested else { return counters.typingDropped += 1 }
            counters.typingFrames += 1
            session.send(frame)
        }
    }

    /// The session has ended, and leaves the room.
    func ended(_ session: Session, in room: Room) {
        guard !table.isEmpty else { return }
        let key = TypingTable.Key(conversation: room.conversation, user: session.user)
        if table.stopped(key) { tell(key, false) }
    }

    private func tell(_ key: TypingTable.Key, _ isActive: Bool) {
        tellHere(key, isActive)
        bus.append(to: .ephemeral(key.conversation.slot.group)) { buffer in
            EphemeralEntry.typing(key.conversation, key.user, isActive: isActive).write(to: &buffer)
        }
    }

    private func startClock() {
        guard !isClockRunning, !table.isEmpty || !heard.isEmpty else { return }
        isClockRunning = true
        Reactor.after(Self.clockInterval) { [weak self] in self?.expire() }
    }

    private func expire() {
        isClockRunning = false
        for key in table.takeExpired(at: .now) {
            counters.typingExpired += 1
            tell(key, false)
        }
        for key in heard.takeExpired(at: .now) {
            counters.typingExpired += 1
            tellHere(key, false)
        }
        startClock()
    }
}
