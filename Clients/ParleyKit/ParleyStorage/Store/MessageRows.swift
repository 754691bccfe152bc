import Models

extension LocalStore {
    /// Stores a message if it is newer than the stored state, and the user has neither hidden nor cleared it. Takes the
    /// receipts that came with it in any case.
    func store(_ message: Message, in conversation: Int64) throws(StorageError) {
        // A message that nothing has happened to since has neither, and had neither.
        if try insert(message, in: conversation) > 0,
            message.changeSeq != message.seq || !message.tapbacks.isEmpty || message.deletedForEveryone
        {
            try storeTapbacksAndRevisions(of: message, in: conversation)
        }
        try storeReceipts(of: message, in: conversation)
    }

    private func insert(_ message: Message, in conversation: Int64) throws(StorageError) -> Int {
        do throws(StorageError) {
            return try insertOrUpdate(message, in: conversation)
        } catch {
            guard error.isOfUniqueness else { throw error }
            // A restored server has it at another position, and may tell so before the session tells of the restoration.
            try connection.run(
                "DELETE FROM messages WHERE conversation = ?1 AND id = ?2 AND seq <> ?3", conversation, message.id,
                message.seq)
            return try insertOrUpdate(message, in: conversation)
        }
    }

    private func insertOrUpdate(_ message: Message, in conversation: Int64) throws(StorageError) -> Int {
        try connection.changes(
            """
            INSERT INTO messages (
                conversation, seq, change_seq, id, sender_id, kind, text, sent_at, created_at, edited_at, deleted_at,
                event_kind, event_user, event_title, parent_id, parent_seq, parent_sender, parent_preview,
                tapback_counts, mentions, attachments, file_names, extra, pinned_seq, pinned_by, pinned_at, is_expired,
                mentions_all, mentions_user, sealed, poll, own_vote, forwarded_by, forwarded_at)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?5 <> a.user_id
                    AND (?28 OR ?20 IS NOT NULL AND instr(',' || ?20 || ',', ',' || a.user_id || ',') > 0), ?29, ?30,
                iif(?31 = a.user_id, ?32, NULL), ?33, ?34
            FROM conversations c JOIN (SELECT coalesce(user_id, '') AS user_id FROM account) a
            WHERE c.key = ?1 AND ?2 > c.cleared_seq
                AND NOT EXISTS (SELECT 1 FROM hidden h WHERE h.conversation = ?1 AND h.message_id = ?4)
            ON CONFLICT (conversation, seq) DO UPDATE SET
                change_seq = excluded.change_seq, id = excluded.id, kind = excluded.kind, text = excluded.text,
                sent_at = excluded.sent_at, created_at = excluded.created_at, edited_at = excluded.edited_at,
                deleted_at = excluded.deleted_at, event_kind = excluded.event_kind, event_user = excluded.event_user,
                event_title = excluded.event_title, parent_id = excluded.parent_id, parent_seq = excluded.parent_seq,
                parent_sender = coalesce(excluded.parent_sender, messages.parent_sender),
                parent_preview = coalesce(excluded.parent_preview, messages.parent_preview),
                tapback_counts = excluded.tapback_counts, mentions = excluded.mentions,
                attachments = excluded.attachments, file_names = excluded.file_names, extra = excluded.extra,
                pinned_seq = excluded.pinned_seq, pinned_by = excluded.pinned_by, pinned_at = excluded.pinned_at,
                is_expired = excluded.is_expired, mentions_all = excluded.mentions_all,
                sealed = excluded.sealed, poll = excluded.poll,
                -- Changes of others tell nothing of one's own vote.
                own_vote = iif(excluded.deleted_at IS NULL, coalesce(excluded.own_vote, messages.own_vote), NULL),
                forwarded_by = excluded.forwarded_by, forwarded_at = excluded.forwarded_at,
                mentions_user = iif(excluded.deleted_at IS NULL, excluded.mentions_user, messages.mentions_user)
            WHERE excluded.change_seq > messages.change_seq OR (
                -- Stored by a version that did not keep them.
                excluded.change_seq = messages.change_seq
                AND (messages.attachments IS NULL AND excluded.attachments IS NOT NULL
                    OR messages.extra IS NULL AND excluded.extra IS NOT NULL
                    OR messages.poll IS NULL AND excluded.poll IS NOT NULL
                    OR messages.own_vote IS NULL AND excluded.own_vote IS NOT NULL
                    OR messages.sealed IS NULL AND excluded.sealed IS NOT NULL
                    OR messages.forwarded_by IS NULL AND excluded.forwarded_by IS NOT NULL
                    OR messages.pinned_seq IS NULL AND excluded.pinned_seq IS NOT NULL
                    OR messages.mentions_all < excluded.mentions_all))
            """, conversation, message.seq, message.changeSeq, message.id, message.senderId, message.kind,
            message.text, message.sentAt, message.createdAt, message.editedAt, message.deletedTime,
            message.event?.kind, message.event?.userId, message.event?.title, message.replyTo?.messageId,
            message.replyTo?.seq, message.replyTo?.senderId, message.replyTo?.preview,
            message.tapbackCounts.stored, message.mentions.stored, message.storedAttachments?.stored,
            message.storedAttachments?.storedNames, message.storedExtra, message.pinned?.seq,
            message.pinned?.userId, message.pinned?.at, message.expired,
            message.mentionsAll && !message.deletedForEveryone, message.deletedForEveryone ? nil : message.sealed,
            message.poll?.stored, message.poll?.vote?.userId, message.poll?.vote.map(String.init(json:)),
            message.forwarded?.userId, message.forwarded?.sentAt)
    }

    private func storeTapbacksAndRevisions(of message: Message, in conversation: Int64) throws(StorageError) {
        let key = try connection.first(
            "SELECT key FROM messages WHERE conversation = ?1 AND seq = ?2", conversation, message.seq,
            read: { $0.integer(0) })
        guard let key else { return }
        try store(message.tapbacks, of: key)
        if message.deletedForEveryone { try connection.run("DELETE FROM revisions WHERE message = ?1", key) }
    }

    private func store(_ tapbacks: [Tapback], of message: Int64) throws(StorageError) {
        try connection.run("DELETE FROM tapbacks WHERE message = ?1", message)
        for (position, tapback) in tapbacks.enumerated() {
            try connection.run(
                "INSERT INTO tapbacks (message, position, user_id, kind) VALUES (?1, ?2, ?3, ?4)",
                message, position, tapback.userId, tapback.kind.name)
        }
    }

    /// Takes a message away that the user deleted for themselves, and keeps it away.
    func hide(_ message: MessageID, in conversation: Int64) throws(StorageError) {
        try connection.run(
            "INSERT OR IGNORE INTO hidden (conversation, message_id) VALUES (?1, ?2)", conversation, message)
        try connection.run("DELETE FROM messages WHERE conversation = ?1 AND id = ?2", conversation, message)
    }

    /// Stores a page of history. A page of before the copy followed the conversation is ignored: changes may be missing
    /// from it that never come. So is one of a request from before it was read again.
    func store(_ page: History, of id: ConversationID, place: HistoryPlace) throws(StorageError) {
        guard let state = try state(of: id) else { return }
        if state.cursor == nil {
            guard try isRequest(id), page.lastSeq >= state.headSeq else { return }
        }
        guard page.lastSeq >= state.firstCursor else { return }
        for message in page.messages { try store(message, in: state.key) }
        guard let covered = page.covered(from: place) else { return }
        try hideAbsent(Set(page.messages.map(\.seq)), from: covered, in: state.key)
        try cover(covered, in: state.key)
    }

    /// A message that the copy has and the page has not was deleted by the user for themselves, perhaps so long ago that
    /// the private stream does not tell any more.
    private func hideAbsent(
        _ present: Set<Int64>, from covered: ClosedRange<Int64>, in conversation: Int64
    ) throws(StorageError) {
        let stored = try connection.all(
            "SELECT seq, id FROM messages WHERE conversation = ?1 AND seq BETWEEN ?2 AND ?3",
            conversation, covered.lowerBound, covered.upperBound
        ) { ($0.integer(0), MessageID($0.uuid(1))) }
        for (seq, id) in stored where !present.contains(seq) { try hide(id, in: conversation) }
    }
}

extension Message {
    /// Of a tombstone nothing is kept, whatever came with it.
    fileprivate var storedAttachments: [Attachment]? { deletedForEveryone ? nil : attachments }

    fileprivate var storedExtra: String? { deletedForEveryone ? nil : extra.map { String(json: $0) } }

    /// When it was deleted for everyone; its creation where the server does not say.
    fileprivate var deletedTime: Timestamp? { deletedForEveryone ? deletedAt ?? createdAt : nil }
}

// MARK: Reading

extension LocalStore {
    /// One message of the copy as the server knows it, without what waits in the outbox.
    package func message(_ id: MessageID, in conversation: ConversationID) throws(StorageError) -> Message? {
        let row = try connection.first(
            """
            SELECT m.*, c.id FROM conversations c JOIN messages m ON m.conversation = c.key
            WHERE c.id = ?1 AND m.id = ?2
            """, conversation, id, read: Self.message)
        guard let row else { return nil }
        return try completed(row)
    }

    func lastMessage(in conversation: Int64) throws(StorageError) -> Message? {
        let row = try connection.first(
            """
            SELECT m.*, c.id FROM conversations c JOIN shown_messages m ON m.conversation = c.key
            WHERE c.key = ?1 ORDER BY m.seq DESC LIMIT 1
            """, conversation, read: Self.message)
        guard let row else { return nil }
        return try completed(row)
    }

    /// Up to `limit` messages before a position, ascending, and not before `first`.
    func messages(
        in conversation: Int64, from first: Int64, through last: Int64, limit: Int
    ) throws(StorageError) -> [Message] {
        let rows = try connection.all(
            """
            SELECT m.*, c.id FROM conversations c JOIN shown_messages m ON m.conversation = c.key
            WHERE c.key = ?1 AND m.seq BETWEEN ?2 AND ?3 ORDER BY m.seq DESC LIMIT ?4
            """, conversation, first, last, limit, read: Self.message)
        return try completed(rows.reversed())
    }

    /// Up to `limit` messages from a position on, ascending, and not after `last`.
    func messagesAscending(
        in conversation: Int64, from first: Int64, through last: Int64, limit: Int
    ) throws(StorageError) -> [Message] {
        let rows = try connection.all(
            """
            SELECT m.*, c.id FROM conversations c JOIN shown_messages m ON m.conversation = c.key
            WHERE c.key = ?1 AND m.seq BETWEEN ?2 AND ?3 ORDER BY m.seq LIMIT ?4
            """, conversation, first, last, limit, read: Self.message)
        return try completed(rows)
    }

    /// How many columns `messages.*` has.
    static let messageColumns: Int32 = 35

    /// Reads `messages.*` and, as the last column, the id of the conversation.
    static func message(_ row: Row) -> (message: Message, key: Int64) {
        var message = Message(
            id: MessageID(row.uuid(4)), conversationId: ConversationID(row.uuid(Self.messageColumns)),
            seq: row.integer(2),
            changeSeq: row.integer(3), senderId: row.user(5), kind: .text, text: row.optional(7, row.text),
            sealed: row.optional(30, row.text), poll: poll(row), sentAt: row.time(8), createdAt: row.time(9),
            editedAt: row.optional(10, row.time),
            deletedAt: row.optional(11, row.time), expired: row.flag(27), event: event(row), replyTo: reference(row),
            tapbackCounts: row.optional(19, row.text).map { [TapbackKind: Int](stored: $0) } ?? [:],
            mentions: row.optional(20, row.text).map { [UserID](stored: $0) } ?? [],
            mentionsAll: row.flag(28),
            attachments: row.optional(21, row.text)?.decoded(as: [Attachment].self),
            extra: row.optional(23, row.text)?.decoded(as: [String: JSONValue].self),
            forwarded: row.optional(33, row.user).map { Forwarded(userId: $0, sentAt: row.time(34)) },
            pinned: pin(row))
        message.kind = Open(row.text(6))
        return (message, row.integer(0))
    }

    private static func event(_ row: Row) -> SystemEvent? {
        guard let kind = row.optional(12, row.text) else { return nil }
        var event = SystemEvent(
            kind: .memberAdded, userId: row.optional(13, row.user), title: row.optional(14, row.text))
        event.kind = Open(kind)
        return event
    }

    private static func poll(_ row: Row) -> Poll? {
        var poll = row.optional(31, row.text)?.decoded(as: Poll.self)
        poll?.vote = row.optional(32, row.text)?.decoded(as: Poll.Vote.self)
        return poll
    }

    private static func pin(_ row: Row) -> MessagePin? {
        guard let seq = row.optional(24, row.integer) else { return nil }
        return MessagePin(seq: seq, userId: row.user(25), at: row.time(26))
    }

    private static func reference(_ row: Row) -> Reference? {
        guard let id = row.optional(15, row.uuid) else { return nil }
        guard let seq = row.optional(16, row.integer) else { return Reference(unavailable: MessageID(id)) }
        return Reference(
            messageId: MessageID(id), seq: seq, senderId: row.optional(17, row.user),
            preview: row.optional(18, row.text))
    }

    private func completed(_ rows: [(message: Message, key: Int64)]) throws(StorageError) -> [Message] {
        var messages: [Message] = []
        messages.reserveCapacity(rows.count)
        for row in rows { messages.append(try completed(row)) }
        return messages
    }

    func completed(_ row: (message: Message, key: Int64)) throws(StorageError) -> Message {
        guard !row.message.tapbackCounts.isEmpty else { return row.message }
        let tapbacks = try connection.all(
            """
            SELECT t.user_id, t.kind, EXISTS (
                SELECT 1 FROM hidden_senders h JOIN messages m ON m.conversation = h.conversation
                WHERE h.user_id = t.user_id AND m.key = ?1)
            FROM tapbacks t WHERE t.message = ?1 ORDER BY t.position
            """, row.key
        ) { (tapback: Tapback(userId: $0.user(0), kind: TapbackKind(stored: $0.text(1))), isHidden: $0.flag(2)) }
        return withShownTapbacks(row.message, tapbacks)
    }

    package func revisions(of id: MessageID, in conversation: ConversationID) throws(StorageError) -> [Revision] {
        try connection.all(
            """
            SELECT r.text, r.at, m.kind = 'sealed' FROM conversations c JOIN messages m ON m.conversation = c.key
                JOIN revisions r ON r.message = m.key
            WHERE c.id = ?1 AND m.id = ?2 ORDER BY r.position
            """, conversation, id
        ) {
            let isSealed = $0.flag(2)
            return Revision(text: isSealed ? nil : $0.text(0), sealed: isSealed ? $0.text(0) : nil, at: $0.time(1))
        }
    }

    func store(_ revisions: [Revision], of id: MessageID, in conversation: Int64) throws(StorageError) {
        guard
            let key = try connection.first(
                "SELECT key FROM messages WHERE conversation = ?1 AND id = ?2 AND deleted_at IS NULL", conversation, id,
                read: { $0.integer(0) })
        else { return }
        try connection.run("DELETE FROM revisions WHERE message = ?1", key)
        for (position, revision) in revisions.enumerated() {
            try connection.run(
                "INSERT INTO revisions (message, position, text, at) VALUES (?1, ?2, ?3, ?4)", key, position,
                revision.text ?? revision.sealed ?? "", revision.at)
        }
    }
}
