/// An invitation into a group: whoever has its code may join, or ask to, for as long as it is good.
public struct Invitation: Hashable, Sendable, Codable, Identifiable {
    public var id: InvitationID
    /// What belongs into the application's link. Told once, to whoever made it: nil in lists.
    public var code: String?
    /// Who made it.
    public var creatorId: UserID
    public var createdAt: Timestamp
    /// From when on it is good no more. Nil: it does not expire.
    public var expiresAt: Timestamp?
    /// How many may come by it. Nil: as many as the group has room for.
    public var maxUses: Int?
    /// How many have joined by it, or asked to.
    public var uses: Int
    /// Owners and admins decide about whoever comes by it. Nil: whoever comes joins.
    public var approval: Bool?

    public init(
        id: InvitationID, code: String? = nil, creatorId: UserID, createdAt: Timestamp, expiresAt: Timestamp? = nil,
        maxUses: Int? = nil, uses: Int = 0, approval: Bool? = nil
    ) {
        self.id = id
        self.code = code
        self.creatorId = creatorId
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.maxUses = maxUses
        self.uses = uses
        self.approval = approval
    }
}

/// The invitations of a group that are good, the earliest first.
public struct InvitationList: Hashable, Sendable, Codable {
    public var invitations: [Invitation]

    public init(invitations: [Invitation]) { self.invitations = invitations }
}

/// What the code of an invitation tells of the group before one joins.
public struct InvitationPreview: Hashable, Sendable, Codable {
    public var title: String?
    public var memberCount: Int
    /// Whoever comes by the code asks, and owners and admins decide. Nil: they join.
    public var approval: Bool?

    public init(title: String? = nil, memberCount: Int, approval: Bool? = nil) {
        self.title = title
        self.memberCount = memberCount
        self.approval = approval
    }
}

/// Somebody who asks to join a group.
public struct JoinRequest: Hashable, Sendable, Codable {
    public var userId: UserID
    public var requestedAt: Timestamp
    /// Who made the invitation by which they ask. Nil: it is gone.
    public var inviterId: UserID?

    public init(userId: UserID, requestedAt: Timestamp, inviterId: UserID? = nil) {
        self.userId = userId
        self.requestedAt = requestedAt
        self.inviterId = inviterId
    }
}

public struct JoinRequestPage: Hashable, Sendable, Codable {
    /// In byte order of the user ids.
    public var requests: [JoinRequest]
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?

    public init(requests: [JoinRequest], nextCursor: UserID? = nil) {
        self.requests = requests
        self.nextCursor = nextCursor
    }
}

/// What a user has asked by an invitation: to join this group.
public struct AskedToJoin: Hashable, Sendable, Codable {
    public var conversationId: ConversationID
    public var requestedAt: Timestamp

    public init(conversationId: ConversationID, requestedAt: Timestamp) {
        self.conversationId = conversationId
        self.requestedAt = requestedAt
    }
}
