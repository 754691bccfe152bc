/// The kinds of change in a conversation. Numbers are retired, never reused.
public enum ChangeKind: UInt8, CaseIterable, ContractName {
    case messageCreated = 1
    case messageEdited = 2
    case messageDeleted = 3
    case tapbackSet = 4
    case tapbackRemoved = 5
    case memberAdded = 6
    case memberRemoved = 7
    case conversationCreated = 8
    case conversationRenamed = 9
    case memberChanged = 10
    case permissionsChanged = 11
    case messagePinned = 12
    case messageUnpinned = 13
    case lifetimeChanged = 14
    case pollVoted = 15
    case pollClosed = 16
    case historyTrimmed = 17

    public var name: StaticString {
        switch self {
        case .messageCreated: "message.created"
        case .messageEdited: "message.edited"
        case .messageDeleted: "message.deleted"
        case .tapbackSet: "tapback.set"
        case .tapbackRemoved: "tapback.removed"
        case .memberAdded: "member.added"
        case .memberRemoved: "member.removed"
        case .conversationCreated: "conversation.created"
        case .conversationRenamed: "conversation.renamed"
        case .memberChanged: "member.changed"
        case .permissionsChanged: "permissions.changed"
        case .messagePinned: "message.pinned"
        case .messageUnpinned: "message.unpinned"
        case .lifetimeChanged: "lifetime.changed"
        case .pollVoted: "poll.voted"
        case .pollClosed: "poll.closed"
        case .historyTrimmed: "history.trimmed"
        }
    }
}

/// The event of a system message: a kind of change that also appears in the history, as a message with the same `seq`.
public enum SystemEventKind: CaseIterable, ContractName {
    case memberAdded
    case memberRemoved
    case memberChanged
    case conversationRenamed

    /// The change that the message represents.
    public var change: ChangeKind {
        switch self {
        case .memberAdded: .memberAdded
        case .memberRemoved: .memberRemoved
        case .memberChanged: .memberChanged
        case .conversationRenamed: .conversationRenamed
        }
    }

    public var name: StaticString { change.name }
}
