import Bus
import Edge
import Models
import Reactor
import Wire

/// Passes on who is typing, to the other members on this and all other processes. Nothing is stored or repeated.
@Reactor
final class TypingRelay {
    private static let clockInterval = Duration.milliseconds(500)

    private let bus: Bus
    private let rooms: Rooms
    private var table = TypingTable()
    private var isClockRunning = false

    init(bus: Bus, rooms: Rooms) {
        self.bus = bus
        self.rooms = rooms
    }

    func receive(_ conversation: ConversationID, _ isActive: Bool, from session: Session) {
        guard let room = rooms[conversation], session.isIn(room), room.hasMember(session) else { return }
        let key = TypingTable.Key(conversation: conversation, user: session.user)
        let isNews = isActive ? table.started(key, at: .now) : table.stopped(key)
        if isNews { tell(key, isActive) }
        startClock()
    }

    /// From another process.
    func receive(_ conversation: ConversationID, _ user: UserID, _ isActive: Bool) {
        rooms[conversation]?.tell(ServerFrame.typing(conversation, user, isActive: isActive), exceptTo: user)
    }

    /// Called while the session still knows its rooms.
    func ended(_ session: Session) {
        guard !table.isEmpty else { return }
        for room in session.rooms { stop(TypingTable.Key(conversation: room.conversation, user: session.user)) }
    }

    private func stop(_ key: TypingTable.Key) { if table.stopped(key) { tell(key, false) } }

    private func tell(_ key: TypingTable.Key, _ isActive: Bool) {
        receive(key.conversation, key.user, isActive)
        bus.append(to: .ephemeral(key.conversation.slot.group)) { buffer in
            EphemeralEntry.typing(key.conversation, key.user, isActive: isActive).write(to: &buffer)
        }
    }

    private func startClock() {
        guard !isClockRunning, !table.isEmpty else { return }
        isClockRunning = true
        Reactor.after(Self.clockInterval) { [weak self] in self?.expire() }
    }

    private func expire() {
        isClockRunning = false
        for key in table.takeExpired(at: .now) { tell(key, false) }
        startClock()
    }
}

extension Room {
    /// Something ephemeral, for every member who is here but one. Whom much is waiting for does without.
    fileprivate func tell(_ frame: WebSocketFrame, exceptTo user: UserID) {
        feed.forEachSubscriber { session in
            if session.user != user, hasMember(session), !session.isCongested { session.send(frame) }
        }
    }
}
