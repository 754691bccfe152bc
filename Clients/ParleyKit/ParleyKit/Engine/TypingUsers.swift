import Models
import ParleyStorage
import ParleySync

/// Who is typing where, and what was said of the user's own typing. Without a clock.
struct TypingUsers {
    private var ends: [ConversationID: [UserID: Duration]] = [:]
    /// When it was last said that the user types.
    private var sent: [ConversationID: Duration] = [:]

    /// The server says it again every 3 s as long as somebody types.
    private static let expiry = Duration.seconds(6)
    /// The server passes it on no more often.
    private static let interval = Duration.seconds(3)

    var nextEnd: Duration? { ends.values.compactMap { $0.values.min() }.min() }

    func users(in id: ConversationID) -> Set<UserID> { Set(ends[id, default: [:]].keys) }

    /// Returns whether that changes who is typing.
    mutating func set(_ isActive: Bool, _ user: UserID, in id: ConversationID, at now: Duration) -> Bool {
        let was = ends[id]?[user] != nil
        ends[id, default: [:]][user] = isActive ? now + Self.expiry : nil
        if ends[id]?.isEmpty ?? false { ends[id] = nil }
        return was != isActive
    }

    /// Takes away those of whom nothing was heard, and returns where that was.
    mutating func expire(at now: Duration) -> [ConversationID] {
        var changed: [ConversationID] = []
        for (id, users) in ends {
            let typing = users.filter { $0.value > now }
            guard typing.count < users.count else { continue }
            ends[id] = typing.isEmpty ? nil : typing
            changed.append(id)
        }
        return changed
    }

    /// Whether to tell the server of the user's own typing.
    mutating func tells(_ isActive: Bool, in id: ConversationID, at now: Duration) -> Bool {
        guard isActive else { return sent.removeValue(forKey: id) != nil }
        if let last = sent[id], now - last < Self.interval { return false }
        sent[id] = now
        return true
    }

    mutating func forgetSent() { sent = [:] }
}

extension Engine {
    func take(_ frame: FrameFromServer.Typing) {
        if typing.set(frame.active, frame.userId, in: frame.conversationId, at: clock.now) {
            hub.setTyping(typing.users(in: frame.conversationId), in: frame.conversationId)
        }
    }

    func endTyping(at now: Duration) {
        for id in typing.expire(at: now) { hub.setTyping(typing.users(in: id), in: id) }
    }

    /// The user types, or has stopped. To be called for every key: the server is told as often as it wants to know.
    func setTyping(_ isActive: Bool, in id: ConversationID) {
        guard session != nil, hub.read({ $0.connection }) == .online,
            typing.tells(isActive, in: id, at: clock.now)
        else { return }
        session?.send(.typing(conversationId: id, active: isActive))
    }
}
