/// One step of a conversation. Live it carries the state at that change; replayed, the present state, or that of when a
/// member left.
///
/// A change of an unknown kind still moves the cursor.
public struct Change: Hashable, Sendable, Codable {
    public var conversationId: ConversationID
    /// Dense, from 1, within each of the reader's windows.
    public var seq: Int64
    public var kind: Open<ChangeKind>
    public var at: Timestamp
    /// Who did it.
    public var actorId: UserID
    /// Of `message.…` and `tapback.…`: as it is for every reader. Nil where the message lies in none of the reader's
    /// windows: take the position and nothing else.
    public var message: Message?
    /// Of `conversation.created`.
    public var conversation: CreatedConversation?
    /// Of `member.…`: whom it is about.
    public var userId: UserID?
    /// Of `member.…`: the role from then on; of `member.removed` the last one.
    public var role: Open<MemberRole>?
    /// Of `conversation.renamed`: the new title.
    public var title: String?

    public init(
        conversationId: ConversationID, seq: Int64, kind: ChangeKind, at: Timestamp, actorId: UserID,
        message: Message? = nil, conversation: CreatedConversation? = nil, userId: UserID? = nil,
        role: MemberRole? = nil, title: String? = nil
    ) {
        self.conversationId = conversationId
        self.seq = seq
        self.kind = .known(kind)
        self.at = at
        self.actorId = actorId
        self.message = message
        self.conversation = conversation
        self.userId = userId
        self.role = role.map(Open.known)
        self.title = title
    }
}

/// A conversation within the change that created it: only what is the same for every reader.
public struct CreatedConversation: Hashable, Sendable, Codable {
    public var id: ConversationID
    public var kind: Open<ConversationKind>
    public var title: String?
    public var createdAt: Timestamp
    /// The creator included.
    public var memberCount: Int

    public init(
        id: ConversationID, kind: ConversationKind, title: String? = nil, createdAt: Timestamp, memberCount: Int
    ) {
        self.id = id
        self.kind = .known(kind)
        self.title = title
        self.createdAt = createdAt
        self.memberCount = memberCount
    }
}

/// One step of what concerns one user alone.
///
/// A change of an unknown kind still moves the cursor.
public struct PrivateChange: Hashable, Sendable, Codable {
    /// Dense, from 1, for each user. The latest 1,000 are kept.
    public var useq: Int64
    public var kind: Open<PrivateKind>
    public var at: Timestamp
    /// Of all kinds but `settings.changed` of the user's own settings.
    public var conversationId: ConversationID?
    /// Of `message.hidden`.
    public var messageId: MessageID?
    /// Of `history.cleared`: everything up to this position.
    public var throughSeq: Int64?
    /// Of `read.moved`: read by the user up to here, on whatever device.
    public var readSeq: Int64?
    /// Of `conversation.joined`: the session sends the changes after it.
    public var lastSeq: Int64?
    /// Of `settings.changed`: what is in force.
    public var readReceipts: Bool?
    /// Of `settings.changed` without a conversation: what is in force.
    public var presence: Bool?
    /// Of `settings.changed` with a conversation: the settings that follow the user's own.
    public var inherited: [Open<InheritedSetting>]?

    public init(
        useq: Int64, kind: PrivateKind, at: Timestamp, conversationId: ConversationID? = nil,
        messageId: MessageID? = nil, throughSeq: Int64? = nil, readSeq: Int64? = nil, lastSeq: Int64? = nil,
        readReceipts: Bool? = nil, presence: Bool? = nil, inherited: [InheritedSetting]? = nil
    ) {
        self.useq = useq
        self.kind = .known(kind)
        self.at = at
        self.conversationId = conversationId
        self.messageId = messageId
        self.throughSeq = throughSeq
        self.readSeq = readSeq
        self.lastSeq = lastSeq
        self.readReceipts = readReceipts
        self.presence = presence
        self.inherited = inherited?.map(Open.known)
    }
}
