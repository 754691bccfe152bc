/// A conversation that somebody whom the user does not know brought them into, and that the user has not decided about.
public struct MessageRequest: Hashable, Sendable, Codable {
    /// Since when.
    public var at: Timestamp
    /// Who brought the user in; nil where a block that ended left it to the user.
    public var userId: UserID?
    /// As its user sees it: its `request` is true.
    public var conversation: Conversation

    public init(at: Timestamp, userId: UserID? = nil, conversation: Conversation) {
        self.at = at
        self.userId = userId
        self.conversation = conversation
    }
}

/// The requests that wait for a user, the latest first.
public struct MessageRequestList: Hashable, Sendable, Codable {
    public var requests: [MessageRequest]

    public init(requests: [MessageRequest]) { self.requests = requests }
}

/// Who has to ask before they reach a user, by a deployment's choice.
public enum MessageRequests: UInt8, CaseIterable, ContractName {
    /// Nobody.
    case off = 1
    /// Those with whom the user has no direct conversation.
    case strangers = 2

    public var name: StaticString {
        switch self {
        case .off: "off"
        case .strangers: "strangers"
        }
    }
}
