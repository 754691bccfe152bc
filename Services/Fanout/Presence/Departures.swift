import Models
import Reactor
import Wire

/// Users whose last session here ended a moment ago. They are shown as online a little longer: most reconnect at once,
/// here or elsewhere, and should not flicker.
///
/// Leaving very many conversations takes several steps (`Turns`). A user who returns departs from none of them from
/// that moment on.
struct Departures {
    /// The most departing users, and the most entries of theirs in conversations. Further ones are shown as gone at
    /// once.
    static let capacity = 16_384
    static let entryCapacity = 262_144

    /// Identifies one departure of a user.
    struct Ticket: Hashable {
        fileprivate let number: UInt64
    }

    struct Departure {
        let user: UserID
        let lastSeen: Timestamp
        let ends: MonotonicTime
        /// Whom the user has blocked; nil: too many for a list.
        let blocked: [UInt64]?
        let ticket: Ticket
        fileprivate(set) var conversations: [ConversationID] = []
    }

    private struct Entry: Equatable {
        let user: UserID
        let ticket: Ticket
    }

    private var departures: [UserID: Departure] = [:]
    private var byConversation: [ConversationID: [Entry]] = [:]
    private var entryCount = 0
    private var lastNumber: UInt64 = 0
    /// Ended departures, until they are announced in their conversations.
    private var ended: [ConversationID: [PresenceList.Departure]] = [:]

    var isEmpty: Bool { departures.isEmpty }

    func users(in conversation: ConversationID) -> [(user: UserID, blocked: [UInt64]?)] {
        (byConversation[conversation] ?? []).filter { departures[$0.user]?.ticket == $0.ticket }
            .map { ($0.user, departures[$0.user]!.blocked) }
    }

    /// Begins the departure of a user whose last session has ended. Nil: they are shown as gone at once.
    mutating func begin(
        _ user: UserID, blocked: [UInt64]? = [], lastSeen: Timestamp, until ends: MonotonicTime
    ) -> Ticket? {
        guard departures.count < Self.capacity, departures[user] == nil else { return nil }
        lastNumber += 1
        let ticket = Ticket(number: lastNumber)
        departures[user] = Departure(user: user, lastSeen: lastSeen, ends: ends, blocked: blocked, ticket: ticket)
        return ticket
    }

    /// Adds a conversation to a departure. Returns false when the departure is over, or there is no room for more.
    mutating func add(_ conversation: ConversationID, to ticket: Ticket, of user: UserID) -> Bool {
        guard departures[user]?.ticket == ticket, entryCount < Self.entryCapacity else { return false }
        departures[user]?.conversations.append(conversation)
        byConversation[conversation, default: []].append(Entry(user: user, ticket: ticket))
        entryCount += 1
        return true
    }

    /// Cancels the departure of a user who is back. Call `leave` for each conversation of the result.
    mutating func remove(_ user: UserID) -> Departure? { departures.removeValue(forKey: user) }

    /// Ends the departures whose time is over. Call `leave` and `end` for each conversation of the results.
    mutating func takeEnded(at now: MonotonicTime) -> [Departure] {
        let over = departures.values.filter { $0.ends <= now }.sorted { $0.ticket.number < $1.ticket.number }
        for departure in over { departures[departure.user] = nil }
        return over
    }

    mutating func leave(_ conversation: ConversationID, _ departure: Departure) {
        let entry = Entry(user: departure.user, ticket: departure.ticket)
        guard let index = byConversation[conversation]?.firstIndex(of: entry) else { return }
        entryCount -= 1
        byConversation[conversation]?.remove(at: index)
        if byConversation[conversation]?.isEmpty == true { byConversation[conversation] = nil }
    }

    /// Records that the user is to be shown as gone.
    mutating func end(_ user: UserID, _ conversation: ConversationID, lastSeen: Timestamp) {
        ended[conversation, default: []].append(PresenceList.Departure(user, lastSeen: lastSeen))
    }

    /// Removes and returns the users to be shown as gone from a conversation.
    mutating func takeEnded(in conversation: ConversationID) -> [PresenceList.Departure] {
        ended.removeValue(forKey: conversation) ?? []
    }
}
