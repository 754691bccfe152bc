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
    /// May remove members and make owners.
    case owner = 2

    public var name: StaticString {
        switch self {
        case .member: "member"
        case .owner: "owner"
        }
    }
}
