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
    /// The user has read up to here; 0: nothing.
    public var readSeq: Int64
    /// One of the user's devices has everything up to here; 0: nothing.
    public var deliveredSeq: Int64

    public init(
        id: ConversationID, kind: ConversationKind, title: String? = nil, createdAt: Timestamp, lastSeq: Int64,
        lastActivityAt: Timestamp, lastMessage: Message? = nil, memberCount: Int, role: MemberRole,
        windows: [Window], clearedSeq: Int64 = 0, unreadCount: Int = 0, readSeq: Int64 = 0, deliveredSeq: Int64 = 0
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
        self.readSeq = readSeq
        self.deliveredSeq = deliveredSeq
    }
}

extension Conversation {
    /// Whether the user is a member now. A former member reads their windows and writes nothing.
    public var isMember: Bool { windows.last.map { $0.to == nil } ?? false }

    /// Whether the position lies in one of the user's stays.
    public func shows(_ seq: Int64) -> Bool { windows.contains { $0.contains(seq) } }
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
