/// What a conversation is. The numbers stand in the database and in frames of the bus.
public enum ConversationKind: UInt8, CaseIterable, ContractName {
    /// Of any number of members, with a title if they give it one.
    case group = 1
    /// Of two users for good: nobody is added or leaves, there is no title, and there is one for each pair.
    case direct = 2

    public var name: StaticString {
        switch self {
        case .group: "group"
        case .direct: "direct"
        }
    }
}

/// What a member may do. The numbers stand in the database and in frames of the bus.
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
