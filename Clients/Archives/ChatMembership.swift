import Models

/// Who is in a conversation while its rows are read. Messages stores the members of now and, of groups, some of the
/// changes; the members of the beginning follow from both and from who writes.
struct ChatMembership {
    struct Change: Sendable {
        let user: UserID
        let isAdded: Bool
    }

    let initial: [UserID]
    private(set) var current: Set<UserID>
    /// Nil where the file lists none, as of groups one has left long ago.
    private let final: Set<UserID>?

    /// - Parameters:
    ///   - changes: all that the file has, in the order of time.
    ///   - active: who writes or reacts at any time.
    init(conversation: ChatConversation, me: UserID, changes: [Change], active: Set<UserID>) {
        var members = conversation.members
        for change in changes.reversed() {
            if change.isAdded { members.remove(change.user) } else { members.insert(change.user) }
        }
        let added = Set(changes.filter(\.isAdded).map(\.user))
        if conversation.isGroup { members.formUnion(active.subtracting(added)) }
        // Whoever has the file was there when it began.
        members.remove(me)
        initial = [me] + members.sorted()
        current = members.union([me])
        final = conversation.members.isEmpty || !conversation.isGroup ? nil : conversation.members
    }

    /// Returns whether the change changes something, and makes it.
    mutating func apply(_ change: Change) -> Bool {
        change.isAdded ? current.insert(change.user).inserted : current.remove(change.user) != nil
    }

    /// The changes that lead to the members of now.
    func closing(me: UserID) -> [Change] {
        guard let final else { return [] }
        let others = current.subtracting([me])
        return others.subtracting(final).sorted().map { Change(user: $0, isAdded: false) }
            + final.subtracting(others).sorted().map { Change(user: $0, isAdded: true) }
    }
}
