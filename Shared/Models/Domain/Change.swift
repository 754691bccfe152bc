/// A change of a conversation. A live change carries the state at that change. A replayed one carries the present
/// state, or the state when a member left.
///
/// A change of an unknown kind still moves the cursor.
public struct Change: Hashable, Sendable, Codable {
    public var conversationId: ConversationID
    /// The position: dense, from 1, within each of the reader's windows.
    public var seq: Int64
    public var kind: Open<ChangeKind>
    public var at: Timestamp
    /// The user who made the change.
    public var actorId: UserID
    /// The message of a `message.…` or `tapback.…` change, in the form that is the same for every reader. Nil if the
    /// message lies in none of the reader's windows: then only take the position.
    public var message: Message?
    /// The conversation of `conversation.created`.
    public var conversation: CreatedConversation?
    /// The user whom a `member.…` change is about.
    public var userId: UserID?
    /// The new role of a `member.…` change; for `member.removed` the last one.
    public var role: Open<MemberRole>?
    /// The new title of `conversation.renamed`.
    public var title: String?
    /// Who may do what from then on, of `permissions.changed`.
    public var permissions: Permissions?
    /// How long messages stay that are sent from then on, of `lifetime.changed`. Nil: until somebody deletes them.
    public var messageLifetime: MessageLifetime?
    /// The first position whose message is kept, of `history.trimmed`: those before it were removed, for everybody.
    public var keptFrom: Int64?

    public init(
        conversationId: ConversationID, seq: Int64, kind: ChangeKind, at: Timestamp, actorId: UserID,
        message: Message? = nil, conversation: CreatedConversation? = nil, userId: UserID? = nil,
        role: MemberRole? = nil, title: String? = nil, permissions: Permissions? = nil,
        messageLifetime: MessageLifetime? = nil, keptFrom: Int64? = nil
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
        self.permissions = permissions
        self.messageLifetime = messageLifetime
        self.keptFrom = keptFrom
    }
}

/// A conversation within the change that created it. It has only fields that are the same for every reader.
public struct CreatedConversation: Hashable, Sendable, Codable {
    public var id: ConversationID
    public var kind: Open<ConversationKind>
    public var title: String?
    public var createdAt: Timestamp
    /// Includes the creator.
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

/// A change on a user's private stream.
///
/// A change of an unknown kind still moves the cursor.
public struct PrivateChange: Hashable, Sendable, Codable {
    /// The position: dense, from 1, for each user. The latest 1,000 are kept.
    public var useq: Int64
    public var kind: Open<PrivateKind>
    public var at: Timestamp
    /// Set for all kinds except `profile.changed`, and `settings.changed` of the user's own settings.
    public var conversationId: ConversationID?
    /// The message of `message.hidden`.
    public var messageId: MessageID?
    /// The last position cleared by `history.cleared`.
    public var throughSeq: Int64?
    /// The position of `read.moved`: the user has read up to here, on any device. Of `markedUnread`: as far as here when
    /// they marked it.
    public var readSeq: Int64?
    /// The last position at `conversation.joined`. The session sends the changes after it.
    public var lastSeq: Int64?
    /// The setting in force after `settings.changed`.
    public var readReceipts: Bool?
    /// The setting in force after `settings.changed` without a conversation.
    public var presence: Bool?
    /// The settings that follow the user's own, after `settings.changed` with a conversation.
    public var inherited: [Open<InheritedSetting>]?
    /// The end of the mute after `muted`; nil if there is none.
    public var mutedUntil: Timestamp?
    /// The place among the pinned after `pinned`; nil if it is not pinned.
    public var pinOrder: Int64?
    /// The position up to which the conversation is archived, after `archived` and `muted`; nil if it is not.
    public var archivedSeq: Int64?
    /// Whether it is marked as unread, after `markedUnread`.
    public var markedUnread: Bool?
    /// Whom `blocked` is about, or who asks to join, after `join.requested`; nil if they were erased since.
    public var userId: UserID?
    /// Whether they are blocked, after `blocked`.
    public var blocked: Bool?
    /// The version of the user's own profile after `profile.changed`; nil if there is none any more.
    public var profileVersion: Int64?
    /// The draft after `draft`. Nil: there is none, or, when it is told again, a later change has it.
    public var draft: KeptDraft?
    /// Whether a request waits, after `request`.
    public var waiting: Bool?
    /// The message after `scheduled`. Nil: it was sent or is cancelled, or, when it is told again, a later change has it.
    public var scheduled: ScheduledMessage?

    public init(
        useq: Int64, kind: PrivateKind, at: Timestamp, conversationId: ConversationID? = nil,
        messageId: MessageID? = nil, throughSeq: Int64? = nil, readSeq: Int64? = nil, lastSeq: Int64? = nil,
        readReceipts: Bool? = nil, presence: Bool? = nil, inherited: [InheritedSetting]? = nil,
        mutedUntil: Timestamp? = nil, pinOrder: Int64? = nil, archivedSeq: Int64? = nil, markedUnread: Bool? = nil,
        userId: UserID? = nil, blocked: Bool? = nil, profileVersion: Int64? = nil, draft: KeptDraft? = nil,
        waiting: Bool? = nil, scheduled: ScheduledMessage? = nil
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
        self.mutedUntil = mutedUntil
        self.pinOrder = pinOrder
        self.archivedSeq = archivedSeq
        self.markedUnread = markedUnread
        self.userId = userId
        self.blocked = blocked
        self.profileVersion = profileVersion
        self.draft = draft
        self.waiting = waiting
        self.scheduled = scheduled
    }
}
