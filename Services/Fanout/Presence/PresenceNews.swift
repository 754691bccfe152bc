import Models
import Reactor

/// What has become of whom, to be told soon: everything about one user at once, so that who shares several conversations
/// with them, or comes back at once, makes one frame or none.
struct PresenceNews {
    struct Change {
        /// By conversation, whether the user is there now.
        fileprivate var places: [ConversationID: Bool] = [:]
        /// When the last session ended, if that is why.
        fileprivate(set) var lastSeen: Timestamp?

        var appearedIn: [ConversationID] { places.filter(\.value).map(\.key) }
        var goneFrom: [ConversationID] { places.filter { !$0.value }.map(\.key) }
    }

    /// In which conversations of this process a user is shown.
    private var places: [UserID: Set<ConversationID>] = [:]
    private var changes: [UserID: Change] = [:]
    /// The users of `changes`, in the order of their first change.
    private var order = FIFO<UserID>()

    var isEmpty: Bool { changes.isEmpty }
    /// Users shown somewhere.
    var onlineCount: Int { places.count }

    func isOnline(_ user: UserID) -> Bool { places[user] != nil }

    /// Where a user is shown.
    func conversations(of user: UserID) -> Set<ConversationID> { places[user] ?? [] }

    mutating func appeared(_ user: UserID, in conversation: ConversationID) {
        places[user, default: []].insert(conversation)
        change(user) { $0.places[conversation] = true }
    }

    mutating func gone(_ user: UserID, from conversation: ConversationID, lastSeen: Timestamp?) {
        forget(user, in: conversation)
        change(user) { change in
            change.places[conversation] = false
            change.lastSeen = lastSeen
        }
    }

    /// A conversation in which the user was shown has nobody here any more.
    mutating func forget(_ user: UserID, in conversation: ConversationID) {
        places[user]?.remove(conversation)
        if places[user]?.isEmpty == true { places[user] = nil }
    }

    /// Takes the oldest news out.
    mutating func popFirst() -> (user: UserID, change: Change)? {
        while let user = order.popFirst() {
            if let change = changes.removeValue(forKey: user) { return (user, change) }
        }
        return nil
    }

    private mutating func change(_ user: UserID, _ body: (inout Change) -> Void) {
        if changes[user] == nil { order.append(user) }
        body(&changes[user, default: Change()])
    }
}
