import Models
import Reactor
import Wire

/// Users whose last session here has ended a moment ago. They are shown as online a little longer: most come back at
/// once, here or elsewhere, and nobody should see them flicker.
struct Departures {
    /// Users at once. More are shown as gone at once.
    static let capacity = 16_384

    private struct Departure {
        var conversations: [ConversationID]
        var lastSeen: Timestamp
        var ends: MonotonicTime
    }

    private var departures: [UserID: Departure] = [:]
    private var byConversation: [ConversationID: [UserID]] = [:]
    /// Those whose time is over, until their conversations were told.
    private var ended: [ConversationID: [PresenceList.Departure]] = [:]

    var isEmpty: Bool { departures.isEmpty }

    func users(in conversation: ConversationID) -> [UserID] { byConversation[conversation] ?? [] }

    /// The last session of a user ended.
    mutating func add(_ user: UserID, _ conversations: [ConversationID], lastSeen: Timestamp, until ends: MonotonicTime)
    {
        guard departures.count < Self.capacity else {
            for conversation in conversations { end(user, conversation, lastSeen) }
            return
        }
        departures[user] = Departure(conversations: conversations, lastSeen: lastSeen, ends: ends)
        for conversation in conversations { byConversation[conversation, default: []].append(user) }
    }

    /// The user is back. Returns where they were shown as departing.
    mutating func remove(_ user: UserID) -> [ConversationID] {
        guard let departure = departures.removeValue(forKey: user) else { return [] }
        for conversation in departure.conversations { leave(conversation, user) }
        return departure.conversations
    }

    /// Ends those whose time is over. Returns where somebody is to be shown as gone.
    mutating func takeEnded(at now: MonotonicTime) -> [ConversationID] {
        var conversations: [ConversationID] = []
        for (user, departure) in departures where departure.ends <= now {
            departures[user] = nil
            for conversation in departure.conversations {
                leave(conversation, user)
                end(user, conversation, departure.lastSeen)
            }
            conversations += departure.conversations
        }
        return conversations
    }

    /// Who is to be shown as gone from a conversation, once.
    mutating func takeEnded(in conversation: ConversationID) -> [PresenceList.Departure] {
        ended.removeValue(forKey: conversation) ?? []
    }

    private mutating func end(_ user: UserID, _ conversation: ConversationID, _ lastSeen: Timestamp) {
        ended[conversation, default: []].append(PresenceList.Departure(user, lastSeen: lastSeen))
    }

    private mutating func leave(_ conversation: ConversationID, _ user: UserID) {
        byConversation[conversation]?.removeAll { $0 == user }
        if byConversation[conversation]?.isEmpty == true { byConversation[conversation] = nil }
    }
}
