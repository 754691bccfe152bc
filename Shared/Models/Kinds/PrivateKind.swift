/// The kinds of change on a user's private stream. Numbers are retired, never reused.
public enum PrivateKind: UInt8, CaseIterable, ContractName {
    case messageHidden = 1
    case historyCleared = 2
    case conversationJoined = 3
    case conversationLeft = 4
    case readMoved = 5
    case settingsChanged = 6
    case conversationRemoved = 7
    case muted = 8
    case pinned = 9
    case archived = 10
    case markedUnread = 11
    case blocked = 12
    case profileChanged = 13
    case draft = 14
    case request = 15
    case joinRequested = 16
    case scheduled = 17

    public var name: StaticString {
        switch self {
        case .messageHidden: "message.hidden"
        case .historyCleared: "history.cleared"
        case .conversationJoined: "conversation.joined"
        case .conversationLeft: "conversation.left"
        case .readMoved: "read.moved"
        case .settingsChanged: "settings.changed"
        case .conversationRemoved: "conversation.removed"
        case .muted: "muted"
        case .pinned: "pinned"
        case .archived: "archived"
        case .markedUnread: "markedUnread"
        case .blocked: "blocked"
        case .profileChanged: "profile.changed"
        case .draft: "draft"
        case .request: "request"
        case .joinRequested: "join.requested"
        case .scheduled: "scheduled"
        }
    }
}
