import Models
import Reactor

/// Changes of presence that wait to be announced, gathered by user: sharing several conversations with a user, or a
/// user who returns at once, makes one frame or none.
struct PresenceUpdates {
    struct Change {
        /// Whether the user is shown now, by conversation.
        fileprivate var isShown: [ConversationID: Bool] = [:]
        /// When the user's last session ended, if that is the reason.
        fileprivate(set) var lastSeen: Timestamp?

        var appearedIn: [ConversationID] { isShown.filter(\.value).map(\.key) }
        var goneFrom: [ConversationID] { isShown.filter { !$0.value }.map(\.key) }
    }

    /// The conversations of this process in which a user is shown.
    private var conversations: [UserID: Set<ConversationID>] = [:]
    private var changes: [UserID: Change] = [:]
    /// The users of `changes`, in the order of their first change.
    private var order = FIFO<UserID>()

    var isEmpty: Bool { changes.isEmpty }
    /// The number of users shown anywhere.
    var onlineCount: Int { conversations.count }

    func isOnline(_ user: UserID) -> Bool { conversations[user] != nil }

    /// Returns the conversations in which a user is shown.
    func conversations(of user: UserID) -> Set<ConversationID> { conversations[user] ?? [] }

    mutating func appeared(_ user: UserID, in conversation: ConversationID) {
        conversations[user, default: []].insert(conversation)
        change(user) { $0.isShown[conversation] = true }
    }

    mutating func gone(_ user: UserID, from conversation: ConversationID, lastSeen: Timestamp?) {
        forget(user, in: conversation)
        change(user) { change in
            change.isShown[conversation] = false
            change.lastSeen = lastSeen
        }
    }

    /// Forgets a conversation that has no sessions here any more.
    mutating func forget(_ user: UserID, in conversation: ConversationID) {
        conversations[user]?.remove(conversation)
        if conversations[user]?.isEmpty == true { conversations[user] = nil }
    }

    /// Removes and returns the oldest update.
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
