import Models

/// What a batch locks before its first step. The steps add to it in any order; `LockStatement` has the order in which
/// it is locked.
struct Locks {
    private(set) var keys: Set<WriteKey> = []
    /// The slots of users whose erasure must not begin meanwhile. True: alone, because it begins here, or because the
    /// slot's numbers are to follow the order of commits.
    private(set) var userSlots: [Slot: Bool] = [:]
    private(set) var conversations: Set<ConversationID> = []
    private(set) var searches: Set<ConversationID> = []
    private(set) var erasures: Set<UserID> = []
    private(set) var newStreams: Set<UserID> = []
    private(set) var streams: Set<UserID> = []
    private(set) var endingImports: Set<ConversationID> = []
    /// Whether the rows of users are borrowed (`Borrowing`). What follows is noted for that alone.
    let borrows: Bool
    /// All users whose rows the batch reads or writes.
    private(set) var people: Set<UserID> = []
    /// Of these, whose pins, drafts, blocks and scheduled messages are counted.
    private(set) var wholeLists: Set<UserID> = []
    /// Direct conversations of users that show whom they know.
    private(set) var directs: Set<Direct> = []
    /// Of which the makers' blocks are read.
    private(set) var invitations: Set<InvitationKey> = []

    init(borrows: Bool = false) { self.borrows = borrows }

    /// An `Idempotency-Key`, which belongs to its user.
    mutating func insert(key: UUIDBytes, of user: UserID) {
        keys.insert(WriteKey(user: user, key: key))
        insert(person: user)
    }

    /// The id of a conversation that may be new. Two creations of one then wait for each other before they hold any
    /// other lock.
    mutating func insert(idOf conversation: ConversationID) {
        keys.insert(WriteKey(user: nil, key: conversation.uuid))
    }

    /// The audit log, whose numbers are to follow the order of commits. It has the place of the one id that nobody can choose.
    mutating func insertAuditLog() { insert(idOf: ConversationID(.zero)) }

    /// A user whose erasure must not begin meanwhile.
    mutating func insert(user: UserID) {
        userSlots[user.slot, default: false] = userSlots[user.slot] == true
        insert(person: user)
    }

    /// A user to be alone with, and with all others of the slot.
    mutating func insert(userAlone user: UserID) {
        userSlots[user.slot] = true
        insert(person: user)
    }

    /// A conversation that is written to, and that may exist already. All that belongs to it is protected.
    mutating func insert(conversation: ConversationID) { conversations.insert(conversation) }

    /// The conversation's progress in the index, where texts change or go.
    mutating func insert(searchOf conversation: ConversationID) { searches.insert(conversation) }

    /// The erasure of a user, which is added to.
    mutating func insert(erasureOf user: UserID) {
        erasures.insert(user)
        insert(person: user)
    }

    /// A private stream that is written to. It protects the user's list of conversations, too.
    mutating func insert(streamOf user: UserID) {
        streams.insert(user)
        insert(person: user)
    }

    /// The private streams of all who are in the import of a conversation.
    mutating func insert(streamsOfImport conversation: ConversationID) { endingImports.insert(conversation) }

    /// A private stream that may not exist yet.
    mutating func insert(newStreamOf user: UserID) {
        newStreams.insert(user)
        insert(streamOf: user)
    }

    // MARK: What is read without a lock

    /// A user of whom something is read.
    mutating func insert(person: UserID) {
        if borrows { people.insert(person) }
    }

    /// A user whose pins, drafts, blocks or scheduled messages are counted.
    mutating func insert(listsOf user: UserID) {
        guard borrows else { return }
        people.insert(user)
        wholeLists.insert(user)
    }

    /// The direct conversation of a user of the batch with who brings them in.
    mutating func insert(directOf user: UserID, with other: UserID) {
        if borrows { directs.insert(Direct(user: user, conversation: DirectConversation.id(user, other))) }
    }

    mutating func insert(invitation codeHash: @autoclosure () -> UUIDBytes, to conversation: ConversationID) {
        if borrows { invitations.insert(InvitationKey(conversation: conversation, codeHash: codeHash())) }
    }
}

struct Direct: Hashable {
    let user: UserID
    let conversation: ConversationID
}

struct InvitationKey: Hashable {
    let conversation: ConversationID
    let codeHash: UUIDBytes
}

/// An `Idempotency-Key`, which belongs to its user, or the id of a conversation, which belongs to no user.
struct WriteKey: Hashable {
    let user: UserID?
    let key: UUIDBytes
}
