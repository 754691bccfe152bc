/// A conversation as one user sees it. For a former member everything stops at the end of their last window: title,
/// `memberCount` and `lastActivityAt` are from that time.
public struct Conversation: Hashable, Sendable, Codable, Identifiable {
    public var id: ConversationID
    public var kind: Open<ConversationKind>
    /// At most 200 Unicode scalars; nil if there is none.
    public var title: String?
    public var createdAt: Timestamp
    /// The last position that the user may see.
    public var lastSeq: Int64
    /// The time of that change.
    public var lastActivityAt: Timestamp
    /// The last message that the user may see.
    public var lastMessage: Message?
    public var memberCount: Int
    /// The user's role in their last stay.
    public var role: Open<MemberRole>
    /// The user's stays, oldest first; at least one.
    public var windows: [Window]
    /// The user has cleared the history up to here; 0: nothing.
    public var clearedSeq: Int64
    /// Messages of others after `readSeq` and `clearedSeq`, counted up to 100. System messages and those that are
    /// deleted or hidden do not count.
    public var unreadCount: Int
    /// Those of them that mention the user, counted up to 100. Nil: none.
    public var unreadMentions: Int?
    /// The user has read up to here; 0: nothing.
    public var readSeq: Int64
    /// One of the user's devices has everything up to here; 0: nothing.
    public var deliveredSeq: Int64
    /// The end of the user's mute, which may have passed; nil: not muted. `Timestamp.forever`: until it is taken away.
    public var mutedUntil: Timestamp?
    /// The place among the user's pinned conversations, the lowest first; nil: not pinned.
    public var pinOrder: Int64?
    /// Archived by the user with all that had come up to here.
    public var archivedSeq: Int64?
    /// Archived, and not back: no message has come after `archivedSeq`, or it is muted. Nil: no.
    public var archived: Bool?
    /// Marked as unread by the user, who has read nothing since. Nil: no.
    public var markedUnread: Bool?
    /// What the user has written here and not sent, on whatever device.
    public var draft: KeptDraft?
    /// A request that waits: the user reads it, and is no member. Nil: no.
    public var request: Bool?
    /// Who may do what, where not every member may do everything that members may by default. Nil: every member may; and for
    /// former members.
    public var permissions: Permissions?
    /// How long new messages stay. Nil: until somebody deletes them; and for former members.
    public var messageLifetime: MessageLifetime?
    /// The first position whose message is kept: those before it were removed, for everybody. Nil: all are.
    public var keptFrom: Int64?

    public init(
        id: ConversationID, kind: ConversationKind, title: String? = nil, createdAt: Timestamp, lastSeq: Int64,
        lastActivityAt: Timestamp, lastMessage: Message? = nil, memberCount: Int, role: MemberRole,
        windows: [Window], clearedSeq: Int64 = 0, unreadCount: Int = 0, unreadMentions: Int? = nil, readSeq: Int64 = 0,
        deliveredSeq: Int64 = 0,
        mutedUntil: Timestamp? = nil, pinOrder: Int64? = nil, archivedSeq: Int64? = nil, archived: Bool? = nil,
        markedUnread: Bool? = nil, draft: KeptDraft? = nil, request: Bool? = nil, permissions: Permissions? = nil,
        messageLifetime: MessageLifetime? = nil, keptFrom: Int64? = nil
    ) {
        self.id = id
        self.kind = .known(kind)
        self.title = title
        self.createdAt = createdAt
        self.lastSeq = lastSeq
        self.lastActivityAt = lastActivityAt
        self.lastMessage = lastMessage
        self.memberCount = memberCount
        self.role = .known(role)
        self.windows = windows
        self.clearedSeq = clearedSeq
        self.unreadCount = unreadCount
        self.unreadMentions = unreadMentions
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
        self.mutedUntil = mutedUntil
        self.pinOrder = pinOrder
        self.archivedSeq = archivedSeq
        self.archived = archived
        self.markedUnread = markedUnread
        self.draft = draft
        self.request = request
        self.permissions = permissions
        self.messageLifetime = messageLifetime
        self.keptFrom = keptFrom
    }
}

extension Conversation {
    /// Whether the user is a member now. A former member reads their windows and writes nothing.
    public var isMember: Bool { request != true && windows.last.map { $0.to == nil } ?? false }

    public func isMuted(at now: Timestamp) -> Bool { mutedUntil.map { $0 > now } ?? false }

    /// Whether it is in the user's archive: no message has come after, or it is muted.
    public func isArchived(at now: Timestamp) -> Bool {
        archivedSeq.map { lastMessage?.seq ?? 0 <= $0 || isMuted(at: now) } ?? false
    }

    /// Whether the position lies in one of the user's stays.
    public func shows(_ seq: Int64) -> Bool { windows.contains { $0.contains(seq) } }
}

/// How long the messages of a conversation stay that are sent behind a position. Then they are deleted for everyone.
public struct MessageLifetime: Hashable, Sendable, Codable {
    public var seconds: Int
    /// From when on they count. Nil: `sending`.
    public var from: Open<LifetimeStart>?
    /// The position of the change `lifetime.changed`.
    public var sinceSeq: Int64

    public init(seconds: Int, from: LifetimeStart = .sending, sinceSeq: Int64) {
        self.seconds = seconds
        self.from = from == .sending ? nil : .known(from)
        self.sinceSeq = sinceSeq
    }
}

extension MessageLifetime {
    /// Whether time counts from sending on, so that the end of a message is known when it is sent.
    public var isFromSending: Bool { from.map { $0 == .sending } ?? true }

    /// When the message expires, if it was sent with this lifetime. Nil, too, where only the server knows it.
    public func end(of message: Message) -> Timestamp? {
        guard isFromSending, message.seq > sinceSeq, message.kind != .known(.system) else { return nil }
        return Timestamp(milliseconds: message.createdAt.milliseconds + Int64(seconds) * 1000)
    }
}

/// What is unread in the latest conversations of a user, without those that are muted or archived.
public struct UnreadSummary: Hashable, Sendable, Codable {
    /// Those with unread messages, or marked as unread.
    public var conversations: Int
    public var messages: Int
    /// Those of them that mention the user.
    public var mentions: Int
    /// There are conversations that were not looked at.
    public var more: Bool

    public init(conversations: Int, messages: Int, mentions: Int, more: Bool) {
        self.conversations = conversations
        self.messages = messages
        self.mentions = mentions
        self.more = more
    }
}

/// One stay of a user in a conversation: the changes that they see, both ends included.
public struct Window: Hashable, Sendable, Codable {
    public var from: Int64
    /// Nil while the user is a member.
    public var to: Int64?

    public init(from: Int64, to: Int64? = nil) {
        self.from = from
        self.to = to
    }

    public func contains(_ seq: Int64) -> Bool { seq >= from && to.map { seq <= $0 } ?? true }
}

/// A member of a conversation, with their receipts.
public struct Membership: Hashable, Sendable, Codable {
    public var userId: UserID
    public var role: Open<MemberRole>
    /// The position at which the present stay began.
    public var joinedSeq: Int64
    /// One of their devices has everything up to here; 0: nothing.
    public var deliveredSeq: Int64
    /// They have read up to here; for other members, as far as their read receipts show it.
    public var readSeq: Int64

    public init(
        userId: UserID, role: MemberRole, joinedSeq: Int64, deliveredSeq: Int64 = 0, readSeq: Int64 = 0
    ) {
        self.userId = userId
        self.role = .known(role)
        self.joinedSeq = joinedSeq
        self.deliveredSeq = deliveredSeq
        self.readSeq = readSeq
    }
}

/// The time at which a user received, or read, a message.
public struct Receipt: Hashable, Sendable, Codable {
    public var userId: UserID
    public var at: Timestamp

    public init(userId: UserID, at: Timestamp) {
        self.userId = userId
        self.at = at
    }
}
