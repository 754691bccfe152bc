import Models

/// One thing that synchronisation found out. All that come together are applied in one transaction, with the cursors
/// that stand for them.
package enum SyncWrite: Hashable, Sendable {
    // MARK: The whole copy

    /// The session's user, the identity of the server's database, and where the private stream begins if the copy does
    /// not follow it yet.
    case session(userId: UserID, logId: UUIDBytes, useq: Int64)
    /// Takes the copy away, except the outbox, drafts among it.
    case discardAll
    case settings(Settings)
    /// Whom the user has blocked: all of them, as of a position of the private stream; nil for a response, of which that is
    /// not known.
    case blocks([UserID], useq: Int64?)
    /// The requests that wait: all that the server shows.
    case requests([MessageRequest])
    /// What people are called and look like; version 0: nothing that the user may read.
    case profiles([Profile])
    /// Whether the copy has every conversation of the user's list.
    case listComplete(Bool)
    case syncCursor(String)

    // MARK: A conversation

    /// What the server says of a conversation. If `follows`, it was waited for, and the stream sends everything after its
    /// `lastSeq`.
    case conversation(Conversation, follows: Bool)
    case discard(ConversationID)
    /// A change, which moves the cursor if it is the next one.
    case change(Change, movesCursor: Bool)
    /// Positions without a change that the user may see: the cursor passes them.
    case passed(ConversationID, through: Int64)
    case history(ConversationID, History, place: HistoryPlace)
    case message(Message)
    case status(FrameFromServer.Status)
    case members(ConversationID, [Membership], isFirstPage: Bool)
    case settingsInConversation(ConversationID, SettingsInConversation)
    case revisions(ConversationID, MessageID, [Revision])
    /// What is stored of these positions may be outdated: it is loaded again when somebody looks at it.
    case outdated(ConversationID?, ClosedRange<Int64>)
    /// The server knows that this copy reaches here.
    case delivered(ConversationID, Int64)

    // MARK: The private stream

    case privateChange(PrivateChange)
    /// Moves the cursor of the private stream without its changes; nil: the next session begins it anew.
    case privateStream(Int64?)
}

/// Which page of a conversation's history was asked for.
package enum HistoryPlace: Hashable, Sendable {
    case newest
    case before(Int64)
    case after(Int64)
    case around(Int64)
}

extension History {
    /// The positions of which the page has every message: from a page's edge if there are more beyond it, else from the
    /// end of the history.
    package func covered(from place: HistoryPlace) -> ClosedRange<Int64>? {
        var first = hasMoreBefore ? messages.first?.seq : 1
        var last = hasMoreAfter ? messages.last?.seq : lastSeq
        switch place {
        case .newest, .around: break
        case .before(let seq): last = min(seq - 1, lastSeq)
        case .after(let seq): first = seq + 1
        }
        guard let first, let last, first <= last else { return nil }
        return first...last
    }
}
