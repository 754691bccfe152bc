import Models

/// Notes an imported file as done, so that what is followed is what differs from it.
struct FollowSeed {
    private let database: ChatDatabase
    private let state: FollowState
    private let chats: FollowedChats
    private let now: Timestamp
    private var conversations: [ConversationID: FollowState.Conversation] = [:]

    private static let rowsPerStep = 10_000

    init(_ database: ChatDatabase, _ state: FollowState, me: UserID, now: Timestamp) throws {
        self.database = database
        self.state = state
        self.now = now
        chats = try FollowedChats(database, state, me: me, isImported: true)
    }

    /// - Returns: the highest number of a row.
    mutating func note() throws -> Int64 {
        for conversation in chats.all { try take(conversation) }
        let columns = RowGlance.columns(database)
        var last: Int64 = 0
        while true {
            let glances = try database.sqlite.all(
                "SELECT \(columns) FROM message WHERE ROWID > ? ORDER BY ROWID LIMIT ?", last, Self.rowsPerStep,
                read: RowGlance.init)
            for glance in glances { try take(glance) }
            guard let end = glances.last else { break }
            last = end.row
        }
        for (id, conversation) in conversations { try state.note(conversation, of: id) }
        return last
    }

    /// A conversation without rows is not imported.
    private mutating func take(_ conversation: FollowedChats.Conversation) throws {
        let hasRows = try database.sqlite.first(
            "SELECT 1 FROM chat_message_join WHERE chat_id IN (SELECT value FROM json_each(?)) LIMIT 1",
            conversation.chat.chatList, read: { _ in true })
        guard hasRows != nil else { return }
        conversations[conversation.id] = FollowState.Conversation(
            title: conversation.chat.title.map(MessageText.cut), members: conversation.chat.members.sorted())
        for guid in conversation.guids { try state.note(conversation.id, ofChat: guid) }
    }

    private mutating func take(_ glance: RowGlance) throws {
        guard try !state.isLater(row: glance.row) else { return }
        let row = FollowState.Row(
            signature: glance.signature, edited: glance.edited,
            text: glance.chats.isEmpty ? FollowState.homelessText : FollowState.unknownText)
        try state.note(row, of: glance.id)
        let date = AppleTime.timestamp(nanoseconds: glance.nanoseconds).map { $0 <= now } ?? false
        for id in Set(glance.chats.compactMap { chats[$0]?.id }) where date {
            conversations[id]?.take(glance)
        }
    }
}

extension FollowState.Conversation {
    fileprivate mutating func take(_ glance: RowGlance) {
        importedThrough = max(importedThrough, glance.nanoseconds)
        for kind in glance.receipts where (horizons[kind]?.date ?? 0) < glance.nanoseconds {
            horizons[kind] = FollowHorizon(
                date: glance.nanoseconds, message: MessageID(glance.id), isTold: true)
        }
    }
}

extension RowGlance {
    /// What the row says of receipts.
    var receipts: [FollowHorizon.Kind] {
        guard isFromMe else { return isRead ? [.ownRead] : [] }
        return (isDelivered ? [.delivered] : []) + (isRead ? [.read] : [])
    }
}
