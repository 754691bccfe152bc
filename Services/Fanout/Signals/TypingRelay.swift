import Bus
import Edge
import Models
import Reactor
import Wire

/// Relays typing to the other members on this and all other processes. Nothing is stored or repeated.
///
/// Typing expires by itself on every process, because the process that it came from may be gone.
@Reactor
final class TypingRelay {
    private static let clockInterval = Duration.milliseconds(500)

    private let bus: Bus
    private let rooms: Rooms
    private let counters: Counters
    private var table: TypingTable
    /// Typing received from other processes.
    private var remote: TypingTable
    private var isClockRunning = false

    init(bus: Bus, rooms: Rooms, counters: Counters, lifetime: Duration) {
        self.bus = bus
        self.rooms = rooms
        self.counters = counters
        table = TypingTable(lifetime: lifetime)
        // The sending process enforces the full interval. Half of it here tolerates delays on the way.
        remote = TypingTable(lifetime: lifetime, interval: TypingTable.interval / 2)
    }

    /// - Returns: the number of sessions here that it was sent to.
    @discardableResult
    func receive(_ conversation: ConversationID, _ isActive: Bool, from session: Session) -> Int {
        guard let room = rooms[conversation], session.isIn(room), room.hasMember(session) else { return 0 }
        let key = TypingTable.Key(conversation: conversation, user: session.user)
        let isChange = isActive ? table.started(key, at: .now) : table.stopped(key)
        if isChange { announce(key, isActive) }
        startClock()
        return isChange ? room.feed.count : 0
    }

    /// Handles typing from another process, which may send more than it should.
    func receive(_ conversation: ConversationID, _ user: UserID, _ isActive: Bool) {
        guard rooms[conversation] != nil else { return }
        let key = TypingTable.Key(conversation: conversation, user: user)
        let isChange = isActive ? remote.started(key, at: .now) : remote.stopped(key)
        if isChange { announceLocally(key, isActive) }
        startClock()
    }

    private func announceLocally(_ key: TypingTable.Key, _ isActive: Bool) {
        guard let room = rooms[key.conversation] else { return }
        announce(room, ServerFrame.typing(key.conversation, key.user, isActive: isActive), except: key.user)
    }

    /// Sends a frame to every member here except `user`. Congested sessions are skipped.
    private func announce(_ room: Room, _ frame: WebSocketFrame, except user: UserID) {
        room.feed.forEachSubscriber { session in
            guard session.user != user, room.hasMember(session) else { return }
            guard !session.isCongested else { return counters.typingDropped += 1 }
            counters.typingFrames += 1
            session.send(frame)
        }
    }

    /// Ends the typing of a session that leaves the room.
    func ended(_ session: Session, in room: Room) {
        guard !table.isEmpty else { return }
        let key = TypingTable.Key(conversation: room.conversation, user: session.user)
        if table.stopped(key) { announce(key, false) }
    }

    private func announce(_ key: TypingTable.Key, _ isActive: Bool) {
        announceLocally(key, isActive)
        bus.append(to: .ephemeral(key.conversation.slot.group)) { buffer in
            EphemeralEntry.typing(key.conversation, key.user, isActive: isActive).write(to: &buffer)
        }
    }

    private func startClock() {
        guard !isClockRunning, !table.isEmpty || !remote.isEmpty else { return }
        isClockRunning = true
        Reactor.after(Self.clockInterval) { [weak self] in self?.expire() }
    }

    private func expire() {
        isClockRunning = false
        for key in table.takeExpired(at: .now) {
            counters.typingExpired += 1
            announce(key, false)
        }
        for key in remote.takeExpired(at: .now) {
            counters.typingExpired += 1
            announceLocally(key, false)
        }
        startClock()
    }
}
