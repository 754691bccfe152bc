import Models

/// What applying a change needs to know of its conversation.
struct ConversationState {
    let key: Int64
    let headSeq: Int64
    let cursor: Int64?
    let firstCursor: Int64
    let clearedSeq: Int64
    let needsHead: Bool
    let unsureThrough: Int64
    let readSeq: Int64
}

extension LocalStore {
    func state(of id: ConversationID) throws(StorageError) -> ConversationState? {
        try connection.first(
            """
            SELECT key, head_seq, cursor, first_cursor, cleared_seq, needs_head, unsure_through, read_seq
            FROM conversations WHERE id = ?1
            """, id
        ) { row in
            ConversationState(
                key: row.integer(0), headSeq: row.integer(1), cursor: row.optional(2, row.integer),
                firstCursor: row.integer(3), clearedSeq: row.integer(4), needsHead: row.flag(5),
                unsureThrough: row.integer(6), readSeq: row.integer(7))
        }
    }

    /// Returns the conversation, of which perhaps nothing but the id is known.
    func stateOrNew(_ id: ConversationID) throws(StorageError) -> ConversationState {
        if let known = try state(of: id) { return known }
        try connection.run("INSERT INTO conversations (id) VALUES (?1)", id)
        return try state(of: id)!
    }

    // MARK: What the server says

    func store(_ head: Conversation, follows: Bool) throws(StorageError) {
        let state = try stateOrNew(head.id)
        // An older response says nothing new, except what only grows. If it was asked for because changes do not tell
        // enough, it counts, and the changes after it are applied to it.
        if head.lastSeq >= state.headSeq || state.needsHead && follows { try storeNewer(head, key: state.key) }
        try connection.run(
            """
            UPDATE conversations SET
                cleared_seq = max(cleared_seq, ?2), read_seq = max(read_seq, ?3),
                delivered_seq = max(delivered_seq, ?4)
            WHERE key = ?1
            """, state.key, head.clearedSeq, head.readSeq, head.deliveredSeq)
        try takeMarks(head, of: state.key, readBefore: state.readSeq)
        if head.lastSeq >= state.headSeq, head.windows.last?.to != nil { try dropDrafts(in: head.id) }
        try clear(state.key, through: head.clearedSeq)
        if let keptFrom = head.keptFrom { try trim(state.key, keptFrom: keptFrom) }
        try takeRequest(head, state)
        if follows, head.request != true, state.cursor == nil { try follow(state.key, from: head.lastSeq) }
        if let message = head.lastMessage { try store(message, in: state.key) }
    }

    private func storeNewer(_ head: Conversation, key: Int64) throws(StorageError) {
        try connection.run(
            """
            UPDATE conversations SET
                needs_head = cursor IS NULL OR cursor > ?2, head_seq = ?2, kind = ?3, title = ?4, created_at = ?5, last_seq = ?2,
                last_activity_at = ?6, member_count = ?7, role = ?8, windows = ?9,
                unread_count = ?10, unread_seq = ?2, unread_after = max(?11, ?12), permissions = ?13,
                lifetime = ?14, lifetime_seq = ?15, unread_mentions = ?16, lifetime_from = ?17
            WHERE key = ?1
            """, key, head.lastSeq, head.kind, head.title, head.createdAt, head.lastActivityAt, head.memberCount,
            head.role, head.windows.stored, head.unreadCount, head.readSeq, head.clearedSeq,
            head.permissions?.stored, head.messageLifetime.map { Int64($0.seconds) }, head.messageLifetime?.sinceSeq,
            head.unreadMentions ?? 0, head.messageLifetime?.storedStart)
    }

    /// The server was asked for a conversation after the private stream was interrupted: of messages behind its position
    /// the stream tells what the user hides, and up to there its last message is the last that they have not hidden.
    func takeHidden(from head: Conversation) throws(StorageError) {
        guard let state = try state(of: head.id), state.unsureThrough > 0 else { return }
        try connection.run(
            """
            DELETE FROM messages WHERE conversation = ?1 AND seq > ?2 AND seq <= ?3 AND NOT EXISTS (
                SELECT 1 FROM ranges r
                WHERE r.conversation = ?1 AND messages.seq BETWEEN r.first_seq AND r.last_seq)
            """, state.key, head.lastMessage?.seq ?? 0, min(head.lastSeq, state.unsureThrough))
        try connection.run(
            "UPDATE conversations SET unsure_through = min(unsure_through, ?2) WHERE key = ?1", state.key, head.lastSeq)
    }

    /// Begins to follow a conversation: everything after `seq` will come. What was loaded before is not kept up to date.
    func follow(_ key: Int64, from seq: Int64) throws(StorageError) {
        try connection.run(
            """
            UPDATE conversations SET cursor = ?2, first_cursor = ?2, needs_head = head_seq = 0 OR head_seq < ?2
            WHERE key = ?1
            """, key, seq)
        try connection.run("DELETE FROM ranges WHERE conversation = ?1", key)
    }

    /// Takes away what the user cleared.
    func clear(_ key: Int64, through seq: Int64) throws(StorageError) {
        guard seq > 0 else { return }
        try connection.run("UPDATE conversations SET cleared_seq = max(cleared_seq, ?2) WHERE key = ?1", key, seq)
        try connection.run("DELETE FROM messages WHERE conversation = ?1 AND seq <= ?2", key, seq)
    }

    func discard(_ id: ConversationID) throws(StorageError) {
        try connection.run("DELETE FROM conversations WHERE id = ?1", id)
    }
}

// MARK: Reading

extension LocalStore {
    /// One conversation as the copy has it.
    package func conversation(_ id: ConversationID) throws(StorageError) -> Conversation? {
        let row = try connection.first(
            """
            SELECT id, kind, title, created_at, last_seq, last_activity_at, member_count, role, windows, cleared_seq,
                read_seq, delivered_seq, muted_until, pin_order, archived_seq, is_marked_unread, permissions,
                lifetime, lifetime_seq, lifetime_from, key
            FROM conversations WHERE id = ?1 AND head_seq > 0
            """, id, read: Self.conversation)
        guard let row else { return nil }
        return try completed(row.conversation, key: row.key)
    }

    /// Conversations by their latest activity.
    ///
    /// - Parameter last: of the page before, to continue after it.
    package func conversations(
        after last: ConversationID? = nil, limit: Int
    ) throws(StorageError) -> [Conversation] {
        let rows =
            if let last {
                try connection.all(
                    """
                    SELECT c.id, c.kind, c.title, c.created_at, c.last_seq, c.last_activity_at, c.member_count, c.role,
                        c.windows, c.cleared_seq, c.read_seq, c.delivered_seq, c.muted_until, c.pin_order,
                        c.archived_seq, c.is_marked_unread, c.permissions, c.lifetime, c.lifetime_seq, c.lifetime_from,
                        c.key
                    FROM conversations l JOIN conversations c
                        ON (c.last_activity_at, c.key) < (l.last_activity_at, l.key)
                    WHERE l.id = ?1 AND c.head_seq > 0
                        AND c.key NOT IN (SELECT u.key FROM unlisted_conversations u)
                    ORDER BY c.last_activity_at DESC, c.key DESC LIMIT ?2
                    """, last, limit, read: Self.conversation)
            } else {
                try connection.all(
                    """
                    SELECT id, kind, title, created_at, last_seq, last_activity_at, member_count, role, windows,
                        cleared_seq, read_seq, delivered_seq, muted_until, pin_order, archived_seq, is_marked_unread,
                        permissions, lifetime, lifetime_seq, lifetime_from, key
                    FROM conversations
                    WHERE head_seq > 0 AND key NOT IN (SELECT u.key FROM unlisted_conversations u)
                    ORDER BY last_activity_at DESC, key DESC LIMIT ?1
                    """, limit, read: Self.conversation)
            }
        var result: [Conversation] = []
        for row in rows { result.append(try completed(row.conversation, key: row.key)) }
        return result
    }

    private static func conversation(_ row: Row) -> (conversation: Conversation, key: Int64) {
        conversation(row, from: 0)
    }

    /// - Parameter first: the column of the id, which the others follow.
    private static func conversation(_ row: Row, from first: Int32) -> (conversation: Conversation, key: Int64) {
        var conversation = Conversation(
            id: ConversationID(row.uuid(first)), kind: .group, title: row.optional(first + 2, row.text),
            createdAt: row.time(first + 3), lastSeq: row.integer(first + 4), lastActivityAt: row.time(first + 5),
            memberCount: Int(row.integer(first + 6)), role: .member, windows: [Window](stored: row.text(first + 8)),
            clearedSeq: row.integer(first + 9), readSeq: row.integer(first + 10), deliveredSeq: row.integer(first + 11),
            mutedUntil: row.optional(first + 12, row.time), pinOrder: row.optional(first + 13, row.integer),
            archivedSeq: row.optional(first + 14, row.integer), markedUnread: row.flag(first + 15) ? true : nil)
        conversation.kind = Open(row.text(first + 1))
        conversation.role = Open(row.text(first + 7))
        conversation.permissions = row.optional(first + 16, row.text).flatMap(Permissions.init(stored:))
        if let seconds = row.optional(first + 17, row.integer), let seq = row.optional(first + 18, row.integer) {
            conversation.messageLifetime = MessageLifetime(seconds: Int(seconds), sinceSeq: seq)
            conversation.messageLifetime?.from = row.optional(first + 19, row.text).map(Open.init)
        }
        return (conversation, row.integer(first + 20))
    }

    /// One conversation, of which nothing waits in the outbox: the same as `conversation(_:)`, for the rows of a list.
    func settledConversation(_ id: ConversationID) throws(StorageError) -> Conversation? {
        let row = try connection.first(
            """
            SELECT m.*, c.id, c.kind, c.title, c.created_at, c.last_seq, c.last_activity_at, c.member_count, c.role,
                c.windows, c.cleared_seq, c.read_seq, c.delivered_seq, c.muted_until, c.pin_order, c.archived_seq,
                c.is_marked_unread, c.permissions, c.lifetime, c.lifetime_seq, c.lifetime_from, c.key, c.unread_count,
                c.unread_seq, c.unread_after, c.unread_mentions
            FROM conversations c LEFT JOIN messages m
                ON m.key = (SELECT l.key FROM shown_messages l WHERE l.conversation = c.key ORDER BY l.seq DESC LIMIT 1)
            WHERE c.id = ?1 AND c.head_seq > 0
            """, id
        ) { SettledRow($0) }
        guard let row else { return nil }
        var conversation = try settled(row)
        conversation.request = try isRequest(id) ? true : nil
        return conversation
    }

    /// The first conversations of a folder's list, each as if nothing waited in the outbox.
    func settledConversations(
        _ folder: ConversationFolder, at now: Timestamp, limit: Int
    ) throws(StorageError) -> [Conversation] {
        let rows = try connection.all(
            """
            SELECT m.*, c.id, c.kind, c.title, c.created_at, c.last_seq, c.last_activity_at, c.member_count, c.role,
                c.windows, c.cleared_seq, c.read_seq, c.delivered_seq, c.muted_until, c.pin_order, c.archived_seq,
                c.is_marked_unread, c.permissions, c.lifetime, c.lifetime_seq, c.lifetime_from, c.key, c.unread_count,
                c.unread_seq, c.unread_after, c.unread_mentions
            FROM (
                SELECT * FROM conversations
                WHERE head_seq > 0 AND key NOT IN (SELECT u.key FROM unlisted_conversations u) AND
                    (key IN (SELECT a.key FROM archived_conversations a WHERE a.is_quiet OR a.muted_until > ?1)) = ?2
                ORDER BY coalesce(pin_order, 9007199254740992), last_activity_at DESC, key DESC LIMIT ?3
            ) c LEFT JOIN messages m
                ON m.key = (SELECT l.key FROM shown_messages l WHERE l.conversation = c.key ORDER BY l.seq DESC LIMIT 1)
            ORDER BY coalesce(c.pin_order, 9007199254740992), c.last_activity_at DESC, c.key DESC
            """, now, folder == .archive, limit
        ) { SettledRow($0) }
        var conversations: [Conversation] = []
        conversations.reserveCapacity(rows.count)
        for row in rows { conversations.append(try settled(row)) }
        return conversations
    }

    /// A conversation and its last message.
    private struct SettledRow {
        let conversation: Conversation
        let key: Int64
        let unread: UnreadPosition
        let message: (message: Message, key: Int64)?

        init(_ row: Row) {
            let first = LocalStore.messageColumns
            (conversation, key) = LocalStore.conversation(row, from: first)
            unread = UnreadPosition(
                lastSeq: conversation.lastSeq, seen: max(conversation.readSeq, conversation.clearedSeq),
                count: Int(row.integer(first + 21)), seq: row.integer(first + 22), after: row.integer(first + 23),
                mentions: Int(row.integer(first + 24)))
            message = row.isNull(0) ? nil : LocalStore.message(row)
        }
    }

    private func settled(_ row: SettledRow) throws(StorageError) -> Conversation {
        var conversation = row.conversation
        if let message = row.message { conversation.lastMessage = try completed(message) }
        try count(row.unread, in: row.key, for: &conversation)
        return conversation
    }

    private func count(
        _ position: UnreadPosition, in key: Int64, for conversation: inout Conversation
    ) throws(StorageError) {
        conversation.unreadCount = try unreadCount(position, in: key)
        guard conversation.unreadCount > 0 else { return }
        let mentions = min(conversation.unreadCount, try unreadCount(position, of: .mentions, in: key))
        conversation.unreadMentions = mentions > 0 ? mentions : nil
    }

    private func completed(_ conversation: Conversation, key: Int64) throws(StorageError) -> Conversation {
        var conversation = conversation
        conversation.lastMessage = try lastMessage(in: key)
        if let position = try unreadPosition(in: key) { try count(position, in: key, for: &conversation) }
        conversation.request = try isRequest(conversation.id) ? true : nil
        for row in try outbox(of: conversation.id) where row.state == .waiting {
            switch row.write {
            case .rename(let title): conversation.title = title
            case .permissions(let new):
                conversation.permissions = (conversation.permissions ?? Permissions()).changed(by: new).restricting
            case .lifetime(let seconds, let isFromReading):
                conversation.messageLifetime = seconds.map {
                    MessageLifetime(seconds: $0, from: isFromReading ?? false ? .reading : .sending, sinceSeq: .max)
                }
            default: break
            }
        }
        return conversation
    }
}
