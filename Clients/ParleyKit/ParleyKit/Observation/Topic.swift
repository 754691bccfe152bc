import Models
import ParleyStorage

/// What may have changed, so that those who do not show it need not look.
enum Topic: Hashable, Sendable {
    /// Anything stored.
    case everything
    /// The messages, the head or the pending writes of a conversation.
    case conversation(ConversationID)
    case receipts(ConversationID)
    case members(ConversationID)
    case draft(ConversationID)
    /// Somebody has asked to join.
    case joinRequests(ConversationID)
    /// What the user has scheduled has changed.
    case scheduled(ConversationID)
    case settings(ConversationID?)
    case refusals
    case problems
    case connection
    case presence
    /// What people are called, or look like.
    case profiles
    case typing(ConversationID)
    /// How far its files are.
    case uploads(ConversationID)
    /// Files left this device, of whichever conversations.
    case files
    /// The window of a timeline or a list was moved, or a response to a search has come.
    case view

    /// Whether the outbox may have changed with it.
    var isOfOutbox: Bool {
        switch self {
        case .conversation, .settings, .refusals: true
        default: false
        }
    }
}

extension [SyncWrite] {
    var topics: Set<Topic> {
        var topics: Set<Topic> = []
        for write in self { write.insertTopics(into: &topics) }
        return topics
    }
}

extension SyncWrite {
    fileprivate func insertTopics(into topics: inout Set<Topic>) {
        switch self {
        case .session, .discardAll, .blocks, .requests: topics.insert(.everything)
        case .settings: topics.insert(.settings(nil))
        case .profiles: topics.insert(.profiles)
        case .listComplete, .syncCursor, .delivered, .privateStream: break
        case .conversation(let head, _): topics.formUnion([.conversation(head.id), .members(head.id)])
        case .discard(let id): topics.formUnion([.conversation(id), .members(id), .receipts(id)])
        case .change(let change, _): insertTopics(of: change, into: &topics)
        case .passed(let id, _): topics.insert(.conversation(id))
        case .history(let id, _, _): topics.formUnion([.conversation(id), .receipts(id)])
        case .message(let message):
            topics.formUnion([.conversation(message.conversationId), .receipts(message.conversationId)])
        case .status(let status): topics.insert(.receipts(status.conversationId))
        case .members(let id, _, _): topics.formUnion([.members(id), .receipts(id)])
        case .settingsInConversation(let id, _): topics.insert(.settings(id))
        case .revisions(let id, _, _): topics.insert(.conversation(id))
        case .outdated(let id, _): topics.insert(id.map { .conversation($0) } ?? .everything)
        case .privateChange(let change): insertTopics(of: change, into: &topics)
        }
    }

    private func insertTopics(of change: Change, into topics: inout Set<Topic>) {
        let id = change.conversationId
        topics.insert(.conversation(id))
        switch change.kind {
        case .known(.messageCreated): topics.insert(.receipts(id))
        case .known(.memberAdded), .known(.memberRemoved), .known(.memberChanged): topics.insert(.members(id))
        default: break
        }
    }

    private func insertTopics(of change: PrivateChange, into topics: inout Set<Topic>) {
        if change.kind == .settingsChanged { topics.insert(.settings(change.conversationId)) }
        if let id = change.conversationId {
            if change.kind == .scheduled { return topics.formUnion([.scheduled(id)]) }
            topics.insert(.conversation(id))
            if change.kind == .joinRequested { topics.insert(.joinRequests(id)) }
        }
        if change.kind == .blocked { topics.insert(.everything) }
    }
}
