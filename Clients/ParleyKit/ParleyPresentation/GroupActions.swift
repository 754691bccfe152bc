import Models

/// What a user can do to a conversation itself.
public enum GroupAction: CaseIterable, Hashable, Sendable {
    case rename, addMembers, removeMembers, changeRoles, leave
    /// Takes a conversation off the list that has ended for the user: a group that they have left, a direct conversation
    /// whose other user they have blocked.
    case removeFromList
}

/// Why that is not possible, to be told to the user.
public enum GroupRefusal: Hashable, Sendable {
    /// A direct conversation has its two members, and no title.
    case direct
    /// The user is asked, and has not decided.
    case request
    case formerMember
    case notOwner
    case stillMember

    public var text: String {
        switch self {
        case .direct: "That is not possible in a direct conversation."
        case .request: "Accept the request first."
        case .formerMember: ActionRefusal.formerMember.text
        case .notOwner: "Only an owner of the group can do that."
        case .stillMember: "Leave the group first."
        }
    }
}

/// What one user can do to one conversation now. The server has the last word.
public struct GroupActions: Sendable {
    private let isGroup: Bool
    private let isMember: Bool
    private let isRequest: Bool
    private let isOwner: Bool

    public init(_ conversation: Conversation) {
        isGroup = conversation.kind == .group
        isMember = conversation.isMember
        isRequest = conversation.request == true
        isOwner = conversation.role == .owner
    }

    public var allowed: [GroupAction] { GroupAction.allCases.filter { refusal(of: $0) == nil } }

    /// Nil if the action is possible.
    public func refusal(of action: GroupAction) -> GroupRefusal? {
        if isRequest { return .request }
        if action == .removeFromList, !isMember { return nil }
        if !isGroup { return .direct }
        if action == .removeFromList { return .stillMember }
        if !isMember { return .formerMember }
        switch action {
        case .removeMembers, .changeRoles: return isOwner ? nil : .notOwner
        case .rename, .addMembers, .leave, .removeFromList: return nil
        }
    }
}
