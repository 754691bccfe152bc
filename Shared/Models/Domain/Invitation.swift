/// An invitation into a group: whoever has its code may join, for as long as it is good.
public struct Invitation: Hashable, Sendable, Codable, Identifiable {
    public var id: InvitationID
    /// What belongs into the application's link. Told once, to whoever made it: nil in lists.
    public var code: String?
    /// Who made it.
    public var creatorId: UserID
    public var createdAt: Timestamp
    /// From when on it is good no more. Nil: it does not expire.
    public var expiresAt: Timestamp?
    /// How many may join by it. Nil: as many as the group has room for.
    public var maxUses: Int?
    /// How many have joined by it.
    public var uses: Int

    public init(
        id: InvitationID, code: String? = nil, creatorId: UserID, createdAt: Timestamp, expiresAt: Timestamp? = nil,
        maxUses: Int? = nil, uses: Int = 0
    ) {
        self.id = id
        self.code = code
        self.creatorId = creatorId
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.maxUses = maxUses
        self.uses = uses
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

    public init(title: String? = nil, memberCount: Int) {
        self.title = title
        self.memberCount = memberCount
    }
}
