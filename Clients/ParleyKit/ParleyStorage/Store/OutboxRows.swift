import Models

// Writing: what the user does is a row before it is anything else.

extension LocalStore {
    /// Stores what the user did, or joins it to what waits: the text of a message that no request was made with yet is
    /// replaced, a later tapback takes the place of an earlier one, and so on.
    ///
    /// - Parameters:
    ///   - files: those of a message.
    ///   - key: for `Idempotency-Key`, new for each call.
    package func enqueue(
        _ new: PendingWrite, in conversation: ConversationID?, message: MessageID? = nil, files: [CopiedFile] = [],
        at: Timestamp, key: UUIDBytes
    ) throws(StorageError) {
        try write { () throws(StorageError) in
            // Who asks must not learn that they are read.
            if case .read = new, let conversation, try isRequest(conversation) { return }
            if case .block(let user, let isBlocked, _) = new { return try enqueue(user, isBlocked, at: at, key: key) }
            if let conversation, ["accept", "decline"].contains(new.kind) {
                try dropUntriedDecisions(in: conversation)
            }
            if let conversation, let state = try state(of: conversation) {
                if case .read(let seq) = new { try read(to: seq, in: conversation, state) }
                if case .mark(let mark, _) = new {
                    return try enqueue(mark, in: conversation, state, at: at, key: key)
                }
            }
            if let message, let conversation, try joinsUnsent(new, of: message, in: conversation) { return }
            for row in try untried(new.kind, conversation, message) {
                guard let joined = row.write.joined(by: new) else { continue }
                return try replace(row.key, with: joined)
            }
            if new.kind == "delete", let conversation, let message { try dropUntried(of: message, in: conversation) }
            let row = try connection.first(
                """
                INSERT INTO outbox (conversation_id, message_id, kind, write, idempotency_key, at, files)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING key
                """, conversation, message, new.kind, String(json: new), key, at, files.count, read: { $0.integer(0) })
            if let row { try store(files, ofRow: row) }
        }
    }

    private func read(to seq: Int64, in id: ConversationID, _ state: ConversationState) throws(StorageError) {
        // Who reads on after marking does not want the mark.
        if seq > state.readSeq {
            try connection.run(
                "DELETE FROM outbox WHERE conversation_id = ?1 AND kind = 'unread' AND was_tried = 0", id)
        }
        try moveRead(state.key, to: seq)
    }

    /// A mark takes the place of an earlier one of its kind that no request was made with, and is shown at once.
    private func enqueue(
        _ mark: ConversationMark, in id: ConversationID, _ state: ConversationState, at: Timestamp, key: UUIDBytes
    ) throws(StorageError) {
        let new = PendingWrite.mark(mark, after: try marksVersion(of: id))
        if let row = try untried(new.kind, id, nil).first {
            try replace(row.key, with: new)
        } else {
            try connection.run(
                """
                INSERT INTO outbox (conversation_id, kind, write, idempotency_key, at) VALUES (?1, ?2, ?3, ?4, ?5)
                """, id, new.kind, String(json: new), key, at)
        }
        try showMarks(of: state.key)
    }

    /// Joins an edit or a deletion to a message that the server cannot know: it was not sent, or was refused.
    private func joinsUnsent(
        _ new: PendingWrite, of message: MessageID, in conversation: ConversationID
    ) throws(StorageError) -> Bool {
        let sending = try outbox(of: message, in: conversation).first { $0.write.kind == "send" }
        guard let row = sending, !row.wasTried || row.state == .failed, let joined = row.write.joined(by: new) else {
            guard let row = sending, new.kind == "delete", !row.wasTried || row.state == .failed else { return false }
            try discard(row.message!, in: conversation)
            return true
        }
        try replace(row.key, with: joined)
        // An edited message is sent again, if it has failed.
        try retry(message, in: conversation)
        return true
    }

    private func untried(
        _ kind: String, _ conversation: ConversationID?, _ message: MessageID?
    ) throws(StorageError) -> [OutboxRow] {
        try connection.all(
            """
            SELECT * FROM outbox
            WHERE conversation_id IS ?1 AND message_id IS ?2 AND kind = ?3 AND state = 0 AND was_tried = 0
            ORDER BY key DESC LIMIT 1
            """, conversation, message, kind, read: Self.outboxRow
        ).compactMap(\.self)
    }

    func replace(_ key: Int64, with write: PendingWrite) throws(StorageError) {
        try connection.run("UPDATE outbox SET write = ?2 WHERE key = ?1", key, String(json: write))
    }

    /// What would happen to a message before its deletion need not happen.
    private func dropUntried(of message: MessageID, in conversation: ConversationID) throws(StorageError) {
        try connection.run(
            """
            DELETE FROM outbox WHERE conversation_id = ?1 AND message_id = ?2 AND state = 0 AND was_tried = 0
            """, conversation, message)
    }

    /// Notes that requests with these rows are about to be made.
    package func markTried(_ keys: [Int64]) throws(StorageError) {
        try write { () throws(StorageError) in
            for key in keys { try connection.run("UPDATE outbox SET was_tried = 1 WHERE key = ?1", key) }
        }
    }

    // MARK: By the user

    /// Sends a refused message again, and asks again for its conversation where that was refused. If the message's id is in use
    /// for something else, it gets another one.
    ///
    /// - Parameter newId: used in that case.
    package func retry(
        _ message: MessageID, in conversation: ConversationID, newId: MessageID? = nil
    ) throws(StorageError) {
        try write { () throws(StorageError) in
            guard
                let row = try outbox(of: conversation).first(where: { $0.message == message && $0.state == .failed })
            else { return }
            try connection.run(
                """
                UPDATE outbox SET state = 0, was_tried = 0, problem = NULL
                WHERE key = ?1 OR (conversation_id = ?2 AND kind = 'create' AND state = 1)
                """, row.key, conversation)
            try recheckFiles(ofRow: row.key)
            guard row.problem?.code == .known(.conflict), let newId else { return }
            try rename(message, to: newId, in: conversation)
        }
    }

    private func rename(_ old: MessageID, to new: MessageID, in conversation: ConversationID) throws(StorageError) {
        for row in try outbox(of: conversation) {
            if row.message == old {
                try connection.run("UPDATE outbox SET message_id = ?2 WHERE key = ?1", row.key, new)
            }
            if case .send(let text, old, let mentions, let sentAt, let extra, let all, let isSealed, let poll) = row
                .write
            {
                try replace(
                    row.key,
                    with: .send(
                        text: text, replyTo: new, mentions: mentions, sentAt: sentAt, extra: extra, mentionsAll: all,
                        isSealed: isSealed, poll: poll))
            }
        }
    }

    /// Takes back a message that the server does not have, with what was done to it since.
    package func discard(_ message: MessageID, in conversation: ConversationID) throws(StorageError) {
        try write { () throws(StorageError) in
            try connection.run(
                "DELETE FROM outbox WHERE conversation_id = ?1 AND message_id = ?2", conversation, message)
            // Without a message there is nothing to ask for the conversation again with.
            guard try !hasMessages(conversation), try outbox(of: conversation).contains(where: \.isRefusedCreation)
            else { return }
            try connection.run("DELETE FROM outbox WHERE conversation_id = ?1", conversation)
        }
    }

    private func hasMessages(_ conversation: ConversationID) throws(StorageError) -> Bool {
        try connection.first(
            "SELECT 1 FROM outbox WHERE conversation_id = ?1 AND kind IN ('send', 'forward') LIMIT 1", conversation
        ) { _ in true } ?? false
    }

    /// The user is told that a write was refused. Returns false if somebody else has done that.
    @discardableResult
    package func dismiss(_ key: Int64) throws(StorageError) -> Bool {
        try connection.changes("DELETE FROM outbox WHERE key = ?1 AND state = 2", key) > 0
    }

    /// The first write of which the user has to be told that it was refused.
    package func firstRefused() throws(StorageError) -> OutboxRow? {
        try connection.first(
            "SELECT * FROM outbox WHERE state = 2 ORDER BY key LIMIT 1", read: Self.outboxRow) ?? nil
    }

    // MARK: By the server

    /// The server has carried a write out: it leaves the outbox in the transaction that stores what it did.
    ///
    /// - Returns: whether the user is in the conversation by that, so that the server has to be asked about it.
    @discardableResult
    package func complete(_ row: OutboxRow, with response: WriteResponse) throws(StorageError) -> Bool {
        try write { () throws(StorageError) -> Bool in
            try store(response, row)
            try storeUntold(row)
            if row.fileCount > 0 { try keepFiles(ofRow: row.key, at: row.at) }
            if case .draft = row.write, let id = row.conversation {
                try completeDraft(row.key, in: id)
                return false
            }
            try connection.run("DELETE FROM outbox WHERE key = ?1", row.key)
            if case .mark(_, let version) = row.write, let id = row.conversation {
                try completeMark(after: version, in: id)
            }
            if case .block(let user, let isBlocked, let version) = row.write {
                try completeBlock(user, isBlocked, after: version)
            }
            guard let id = row.conversation else { return false }
            let isAccepted = try completeRequest(row.write, in: id)
            return isAccepted || row.write.kind == "create"
        }
    }

    private func store(_ response: WriteResponse, _ row: OutboxRow) throws(StorageError) {
        switch response {
        case .message(let message): try store(alone: message)
        case .conversation(let conversation):
            // The user may have taken it out of the list since.
            guard try state(of: conversation.id) != nil || row.write.kind == "create" else { return }
            try store(conversation, follows: false)
        case .settings(let settings): try apply([.settings(settings)])
        case .settingsInConversation(let settings):
            if let id = row.conversation { try apply([.settingsInConversation(id, settings)]) }
        case .member, .done: break
        }
    }

    /// What the response does not tell is done to the copy, so that nothing flickers until the change arrives, which then
    /// is the newer state.
    private func storeUntold(_ row: OutboxRow) throws(StorageError) {
        guard let id = row.conversation, let state = try state(of: id) else { return }
        switch row.write {
        case .deleteForMe: if let message = row.message { try hide(message, in: state.key) }
        case .deleteForEveryone: if let message = row.message { try bury(message, in: state.key, at: row.at) }
        case .removeTapback:
            // The response to a repetition may be older than a tapback of another device, which must stay.
            if let message = row.message, !row.wasTried { try removeOwnTapback(from: message, in: state.key) }
        case .pinMessage(false):
            // As with a tapback: a repetition may be older than a pin of somebody else.
            if let message = row.message, !row.wasTried {
                try connection.run(
                    "UPDATE messages SET pinned_seq = NULL WHERE conversation = ?1 AND id = ?2", state.key, message)
            }
        case .clearHistory(let through): try clear(state.key, through: through)
        // The private stream tells of a conversation that left the list, before it may tell that the user came back.
        default: break
        }
    }

    private func bury(_ message: MessageID, in conversation: Int64, at time: Timestamp) throws(StorageError) {
        guard
            let key = try connection.first(
                """
                UPDATE messages SET
                    text = NULL, deleted_at = ?3, tapback_counts = NULL, mentions = NULL, mentions_all = 0,
                    attachments = NULL, file_names = NULL, extra = NULL, sealed = NULL, poll = NULL, own_vote = NULL,
                    pinned_seq = NULL, forwarded_by = NULL, forwarded_at = NULL
                WHERE conversation = ?1 AND id = ?2 AND deleted_at IS NULL RETURNING key
                """, conversation, message, time, read: { $0.integer(0) })
        else { return }
        try connection.run("DELETE FROM tapbacks WHERE message = ?1", key)
        try connection.run("DELETE FROM revisions WHERE message = ?1", key)
    }

    private func removeOwnTapback(from message: MessageID, in conversation: Int64) throws(StorageError) {
        guard
            let (key, counts) = try connection.first(
                "SELECT key, tapback_counts FROM messages WHERE conversation = ?1 AND id = ?2", conversation, message,
                read: { ($0.integer(0), [TapbackKind: Int](stored: $0.text(1))) }),
            let kind = try connection.first(
                "DELETE FROM tapbacks WHERE message = ?1 AND user_id = (SELECT user_id FROM account) RETURNING kind",
                key, read: { TapbackKind(stored: $0.text(0)) })
        else { return }
        try connection.run(
            "UPDATE messages SET tapback_counts = ?2 WHERE key = ?1", key, counts.without(kind).stored)
    }

    /// The server has refused a write for good. A message fails, and so does a conversation for which one was written; anything
    /// else is undone, and the user is to be told.
    package func refuse(_ row: OutboxRow, _ problem: ProblemDetails) throws(StorageError) {
        try write { () throws(StorageError) in
            switch row.write {
            case .send, .forward: try fail(row, problem)
            case .draft: if let id = row.conversation { try refuseDraft(row.key, in: id, problem) }
            // Nobody waits for these.
            case .read: try connection.run("DELETE FROM outbox WHERE key = ?1", row.key)
            default:
                var state = OutboxRow.State.refused
                if case .createGroup = row.write, let id = row.conversation, try hasMessages(id) { state = .failed }
                try connection.run(
                    "UPDATE outbox SET state = ?2, problem = ?3 WHERE key = ?1", row.key, state.rawValue,
                    String(json: problem))
            }
            if case .mark = row.write, let id = row.conversation, let state = try state(of: id) {
                try showMarks(of: state.key)
            }
            if case .block = row.write { try showBlocks() }
        }
    }

    /// Later writes to a message that the server will never have join it now.
    private func fail(_ row: OutboxRow, _ problem: ProblemDetails) throws(StorageError) {
        guard let conversation = row.conversation, let message = row.message else { return }
        if try checkFiles(of: row, after: problem) { return }
        var write = row.write
        for later in try outbox(of: message, in: conversation) where later.key > row.key {
            if later.write.kind == "delete" { return try discard(message, in: conversation) }
            write = write.joined(by: later.write) ?? write
            try connection.run("DELETE FROM outbox WHERE key = ?1", later.key)
        }
        try connection.run(
            "UPDATE outbox SET state = 1, problem = ?2, write = ?3 WHERE key = ?1", row.key, String(json: problem),
            String(json: write))
    }

    /// A message came back by the stream: its row is done, whatever becomes of the request.
    func forgetSent(_ message: MessageID, in conversation: ConversationID, by sender: UserID) throws(StorageError) {
        guard try isOwn(sender) else { return }
        for row in try outbox(of: message, in: conversation) where row.fileCount > 0 {
            try keepFiles(ofRow: row.key, at: row.at)
        }
        try connection.run(
            "DELETE FROM outbox WHERE message_id = ?1 AND conversation_id = ?2 AND kind = 'send'", message,
            conversation)
    }

    // MARK: Reading

    package func outboxCount() throws(StorageError) -> Int {
        try connection.first("SELECT count(*) FROM outbox") { Int($0.integer(0)) } ?? 0
    }

    /// All rows, in the order of writing.
    package func outbox() throws(StorageError) -> [OutboxRow] {
        try withFiles(
            connection.all("SELECT * FROM outbox ORDER BY key", read: Self.outboxRow).compactMap(\.self))
    }

    /// The rows of a conversation. Where it was refused its first message has failed by that.
    package func outbox(of conversation: ConversationID) throws(StorageError) -> [OutboxRow] {
        var rows = try withFiles(
            connection.all(
                "SELECT * FROM outbox WHERE conversation_id = ?1 ORDER BY key", conversation, read: Self.outboxRow
            ).compactMap(\.self))
        if let creation = rows.first(where: \.isRefusedCreation),
            let first = rows.firstIndex(where: { ["send", "forward"].contains($0.write.kind) })
        {
            rows[first].state = .failed
            rows[first].problem = creation.problem
        }
        return rows
    }

    private func outbox(
        of message: MessageID, in conversation: ConversationID
    ) throws(StorageError) -> [OutboxRow] {
        try withFiles(
            connection.all(
                "SELECT * FROM outbox WHERE message_id = ?1 AND conversation_id = ?2 ORDER BY key", message,
                conversation, read: Self.outboxRow
            ).compactMap(\.self))
    }

    /// The first rows that may be sent: not the messages behind one that failed, or whose files are on their way, nothing behind
    /// a conversation that was refused, and no draft in one that is being created, or not accepted. Where an answer waits that
    /// accepts, all else waits for it.
    package func sendable(limit: Int) throws(StorageError) -> [OutboxRow] {
        let rows = try connection.all(
            """
            SELECT o.* FROM outbox o
            WHERE o.state = 0 AND NOT (o.kind = 'send' AND EXISTS (
                SELECT 1 FROM outbox f
                WHERE f.conversation_id = o.conversation_id AND f.key < o.key AND (f.state = 1 OR f.files > 0)
                    AND (f.state = 1 OR f.files > (
                        SELECT count(*) FROM uploads u WHERE u.outbox_key = f.key AND u.is_ready = 1))))
                AND NOT EXISTS (
                    SELECT 1 FROM outbox c
                    WHERE c.conversation_id = o.conversation_id AND c.kind = 'create' AND (o.kind = 'draft' OR c.state = 1))
                AND NOT (o.kind NOT IN ('accept', 'decline', 'send', 'tapback') AND EXISTS (
                    SELECT 1 FROM answered_requests r
                    WHERE r.id = o.conversation_id AND (o.kind = 'draft' OR coalesce(r.answer, 'decline') <> 'decline')))
            ORDER BY o.key LIMIT ?1
            """, limit, read: Self.outboxRow)
        return try withFiles(rows.compactMap(\.self))
    }

    /// Nil for a write of a later version of the application, which waits until that runs again.
    static func outboxRow(_ row: Row) -> OutboxRow? {
        guard let write = row.text(4).decoded(as: PendingWrite.self),
            let state = OutboxRow.State(rawValue: row.integer(6))
        else { return nil }
        return OutboxRow(
            key: row.integer(0), conversation: row.optional(1, row.uuid).map(ConversationID.init),
            message: row.optional(2, row.uuid).map(MessageID.init), write: write, idempotencyKey: row.uuid(5),
            state: state, wasTried: row.flag(7),
            problem: row.optional(8, row.text)?.decoded(as: ProblemDetails.self), at: row.time(9),
            // A damaged database of an earlier version has no such column.
            fileCount: row.columnCount > 10 ? Int(row.integer(10)) : 0)
    }
}

extension PendingWrite {
    /// What this and a later write are together, if nobody has seen this one yet; nil if they stay apart.
    func joined(by later: PendingWrite) -> PendingWrite? {
        switch (self, later) {
        case (
            .send(_, let parent, let mentions, let sentAt, let extra, let all, let isSealed, let poll),
            .edit(let text, let other)
        ) where isSealed == other:
            .send(
                text: text, replyTo: parent, mentions: mentions, sentAt: sentAt, extra: extra, mentionsAll: all,
                isSealed: isSealed, poll: poll)
        case (.edit, .edit), (.setTapback, .setTapback), (.removeTapback, .setTapback), (.rename, .rename),
            (.pinMessage, .pinMessage), (.vote, .vote), (.closePoll, .closePoll), (.lifetime, .lifetime),
            (.deleteForEveryone, .deleteForEveryone), (.deleteForMe, .deleteForMe), (.deleteForMe, .deleteForEveryone):
            later
        // Never nothing: an earlier tapback may be set on the server.
        case (.setTapback, .removeTapback), (.removeTapback, .removeTapback): .removeTapback
        case (.read(let one), .read(let other)): .read(seq: max(one, other))
        case (.clearHistory(let one), .clearHistory(let other)): .clearHistory(through: max(one, other))
        case (.settings(let one), .settings(let other)):
            .settings(
                .init(
                    readReceipts: other.readReceipts ?? one.readReceipts, presence: other.presence ?? one.presence))
        case (.settingsInConversation, .settingsInConversation): later
        case (.permissions(let one), .permissions(let other)): .permissions(one.joined(by: other))
        default: nil
        }
    }
}

extension [TapbackKind: Int] {
    func without(_ kind: TapbackKind) -> Self {
        var counts = self
        counts[kind] = counts[kind].flatMap { $0 > 1 ? $0 - 1 : nil }
        return counts
    }

    func with(_ kind: TapbackKind) -> Self {
        var counts = self
        counts[kind, default: 0] += 1
        return counts
    }
}
