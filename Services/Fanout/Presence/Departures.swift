import Models
import Reactor
import Wire

/// Users whose last session here has ended a moment ago. They are shown as online a little longer: most come back at
/// once, here or elsewhere, and nobody should see them flicker.
///
/// Who leaves may leave very many conversations, one after the other (`Turns`); who comes back departs from none of them
/// from that moment on.
struct Departures {
    /// Users at once, and conversations of theirs. More are shown as gone at once.
    static let capacity = 16_384
    static let placeCapacity = 262_144

    /// Names one departure of a user.
    struct Ticket: Hashable {
        fileprivate let number: UInt64
    }

    struct Departure {
        let user: UserID
        let lastSeen: Timestamp
        let ends: MonotonicTime
        let ticket: Ticket
        fileprivate(set) var conversations: [ConversationID] = []
    }

    private struct Place: Equatable {
        let user: UserID
        let ticket: Ticket
    }

    private var departures: [UserID: Departure] = [:]
    private var byConversation: [ConversationID: [Place]] = [:]
    private var placeCount = 0
    private var lastNumber: UInt64 = 0
    /// Those whose time is over, until their conversations were told.
    private var ended: [ConversationID: [PresenceList.Departure]] = [:]

    var isEmpty: Bool { departures.isEmpty }

    func users(in conversation: ConversationID) -> [UserID] {
        (byConversation[conversation] ?? []).filter { departures[$0.user]?.ticket == $0.ticket }.map(\.user)
    }

    /// The last session of a user has ended. Nil: they are shown as gone at once.
    mutating func begin(_ user: UserID, lastSeen: Timestamp, until ends: MonotonicTime) -> Ticket? {
        guard departures.count < Self.capacity, departures[user] == nil else { return nil }
        lastNumber += 1
        let ticket = Ticket(number: lastNumber)
        departures[user] = Departure(user: user, lastSeen: lastSeen, ends: ends, ticket: ticket)
        return ticket
    }

    /// The user leaves this conversation, too. Returns false when the departure is over, or there is no room for more.
    mutating func add(_ conversation: ConversationID, to ticket: Ticket, of user: UserID) -> Bool {
        guard departures[user]?.ticket == ticket, placeCount < Self.placeCapacity else { return false }
        departures[user]?.conversations.append(conversation)
        byConversation[conversation, default: []].append(Place(user: user, ticket: ticket))
        placeCount += 1
        return true
    }

    /// The user is back. For each conversation of what is returned, `leave` is to be called.
    mutating func remove(_ user: UserID) -> Departure? { departures.removeValue(forKey: user) }

    /// Ends those whose time is over. For each conversation of what is returned, `leave` and `end` are to be called.
    mutating func takeEnded(at now: MonotonicTime) -> [Departure] {
        let over = departures.values.filter { $0.ends <= now }.sorted { $0.ticket.number < $1.ticket.number }
        for departure in over { departures[departure.user] = nil }
        return over
    }

    mutating func leave(_ conversation: ConversationID, _ departure: Departure) {
        let place = Place(user: departure.user, ticket: departure.ticket)
        guard let index = byConversation[conversation]?.firstIndex(of: place) else { return }
        placeCount -= 1
        byConversation[conversation]?.remove(at: index)
        if byConversation[conversation]?.isEmpty == true { byConversation[conversation] = nil }
    }

    /// The user is to be shown as gone.
    mutating func end(_ user: UserID, _ conversation: ConversationID, lastSeen: Timestamp) {
        ended[conversation, default: []].append(PresenceList.Departure(user, lastSeen: lastSeen))
    }

    /// Who is to be shown as gone from a conversation, once.
    mutating func takeEnded(in conversation: ConversationID) -> [PresenceList.Departure] {
        ended.removeValue(forKey: conversation) ?? []
    }
}
