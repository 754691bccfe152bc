/// The kind of a conversation. The numbers are used in the database and on the bus.
public enum ConversationKind: UInt8, CaseIterable, ContractName {
    /// A conversation of any number of members, with an optional title.
    case group = 1
    /// A permanent conversation of two users: nobody is added or leaves, there is no title, and each pair has one.
    case direct = 2

    public var name: StaticString {
        switch self {
        case .group: "group"
        case .direct: "direct"
        }
    }
}

/// The role of a member. The numbers are used in the database and on the bus.
public enum MemberRole: UInt8, CaseIterable, ContractName {
    case member = 1
    /// May do everything, give roles among it.
    case owner = 2
    /// May remove members who are neither owners nor admins, and what the group's permissions leave to admins.
    case admin = 3

    public var name: StaticString {
        switch self {
        case .member: "member"
        case .owner: "owner"
        case .admin: "admin"
        }
    }
}

/// From when on a lifetime counts.
public enum LifetimeStart: CaseIterable, ContractName {
    /// When the message was sent.
    case sending
    /// When everybody else in the conversation had read it.
    case reading

    public var name: StaticString {
        switch self {
        case .sending: "sending"
        case .reading: "reading"
        }
    }
}

/// Who may do something in a group. The numbers are those of the lowest role that may (`MemberRole`).
public enum PermittedRoles: UInt8, CaseIterable, ContractName {
    case members = 1
    case owners = 2
    /// Admins and owners.
    case admins = 3

    public var name: StaticString {
        switch self {
        case .members: "members"
        case .owners: "owners"
        case .admins: "admins"
        }
    }
}
