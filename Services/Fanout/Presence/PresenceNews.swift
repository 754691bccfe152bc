import Models

/// What has become of whom, to be told soon: everything about one user at once, so that who shares several conversations
/// with them, or comes back at once, makes one frame or none.
struct PresenceNews {
    struct Change {
        fileprivate(set) var appearedIn: [ConversationID] = []
        fileprivate(set) var goneFrom: [ConversationID] = []
        /// When the last session ended, if that is why.
        fileprivate(set) var lastSeen: Timestamp?
    }

    /// In how many conversations of this process a user is shown.
    private var places: [UserID: Int] = [:]
    private var changes: [UserID: Change] = [:]
    /// The users of `changes`, in the order of their first change.
    private var order: [UserID] = []

    var isEmpty: Bool { changes.isEmpty }
    /// Users shown somewhere.
    var onlineCount: Int { places.count }

    func isOnline(_ user: UserID) -> Bool { places[user] != nil }

    mutating func appeared(_ user: UserID, in conversation: ConversationID) {
        places[user, default: 0] += 1
        change(user) { change in
            change.goneFrom.removeAll { $0 == conversation }
            change.appearedIn.append(conversation)
        }
    }

    mutating func gone(_ user: UserID, from conversation: ConversationID, lastSeen: Timestamp?) {
        forget(user)
        change(user) { change in
            change.appearedIn.removeAll { $0 == conversation }
            change.goneFrom.append(conversation)
            change.lastSeen = lastSeen
        }
    }

    /// A conversation in which the user was shown has nobody here any more.
    mutating func forget(_ user: UserID) {
        guard let count = places[user] else { return }
        places[user] = count > 1 ? count - 1 : nil
    }

    /// Takes the oldest news out.
    mutating func take(_ limit: Int) -> [(user: UserID, change: Change)] {
        let users = order.prefix(limit)
        order.removeFirst(users.count)
        return users.compactMap { user in changes.removeValue(forKey: user).map { (user, $0) } }
    }

    private mutating func change(_ user: UserID, _ body: (inout Change) -> Void) {
        if changes[user] == nil { order.append(user) }
        body(&changes[user, default: Change()])
    }
}
