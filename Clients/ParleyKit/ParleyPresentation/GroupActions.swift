import Models
import ParleyStorage

/// What a user can do to a conversation itself.
public enum GroupAction: CaseIterable, Hashable, Sendable {
    case rename, addMembers, removeMembers, changeRoles, changePermissions, changeLifetime, leave
    /// Shows who was removed, and lets them be brought back.
    case liftBans
    /// Shows who asks to join, and lets them in or not.
    case decideRequests
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
    case notAdmin
    /// Owners and admins do not remove each other: owners do.
    case notAboveThem
    case stillMember

    public var text: String {
        switch self {
        case .direct: "That is not possible in a direct conversation."
        case .request: "Accept the request first."
        case .formerMember: ActionRefusal.formerMember.text
        case .notOwner: "Only an owner of the group can do that."
        case .notAdmin: "Only admins of the group can do that."
        case .notAboveThem: "Only an owner of the group can remove an owner or an admin."
        case .stillMember: "Leave the group first."
        }
    }
}

/// What one user can do to one conversation now. The server has the last word.
public struct GroupActions: Sendable {
    private let isGroup: Bool
    private let isMember: Bool
    private let isRequest: Bool
    private let conversation: Conversation

    public init(_ conversation: Conversation) {
        isGroup = conversation.kind == .group
        isMember = conversation.isMember
        isRequest = conversation.request == true
        self.conversation = conversation
    }

    public var allowed: [GroupAction] { GroupAction.allCases.filter { refusal(of: $0) == nil } }

    /// Nil if the action is possible.
    public func refusal(of action: GroupAction) -> GroupRefusal? {
        if isRequest { return .request }
        if action == .removeFromList, !isMember { return nil }
        if action == .changeLifetime, isMember, !isGroup { return nil }
        if !isGroup { return .direct }
        if action == .removeFromList { return .stillMember }
        if !isMember { return .formerMember }
        switch action {
        case .changeRoles, .changePermissions: return refusal(unlessAmong: .owners)
        case .removeMembers, .liftBans, .decideRequests, .changeLifetime: return refusal(unlessAmong: .admins)
        case .rename: return refusal(unlessAmong: conversation.permittedRoles(.rename))
        case .addMembers: return refusal(unlessAmong: conversation.permittedRoles(.addMembers))
        case .leave, .removeFromList: return nil
        }
    }

    /// Nil if the user may remove a member, who is somebody else.
    public func refusal(ofRemoving member: Membership) -> GroupRefusal? {
        if let refusal = refusal(of: .removeMembers) { return refusal }
        return conversation.role == .owner || member.role == .member ? nil : .notAboveThem
    }

    private func refusal(unlessAmong roles: PermittedRoles) -> GroupRefusal? { refusal(unlessAmong: .known(roles)) }

    private func refusal(unlessAmong roles: Open<PermittedRoles>) -> GroupRefusal? {
        if roles.include(conversation.role) { return nil }
        return roles == .admins ? .notAdmin : .notOwner
    }
}

extension Conversation {
    /// In the place of a composer, where a member may not write; nil where they may, and for who is no member.
    public var writingRefusal: ActionRefusal? {
        isMember && !mayWrite ? .mayNotWrite(permittedRoles(.write)) : nil
    }
}
