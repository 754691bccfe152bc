import Models

/// A message that is being written.
public struct Draft: Hashable, Sendable, Codable {
    public var text: String
    public var replyTo: MessageID?

    public init(text: String, replyTo: MessageID? = nil) {
        self.text = text
        self.replyTo = replyTo
    }

    /// As the server has it: what has no text is none there.
    package static func kept(_ draft: Draft?) -> Draft? { draft.flatMap { $0.text.isEmpty ? nil : $0 } }
}

// A draft is what was written here, a row of the outbox, until the server has told of it, and else what the server has told.
// A row is `held` where it is not to be sent by itself: it was put and not told yet, or the server refused it, or another
// device has a newer one.

extension LocalStore {
    /// What is being written, on whichever device.
    package func draft(in id: ConversationID) throws(StorageError) -> Draft? {
        if let own = try ownDrafts(in: id).last { return own.draft }
        return try toldDraft(in: id)
    }

    /// Those of which there is anything being written.
    func conversationsWithDrafts() throws(StorageError) -> Set<ConversationID> {
        Set(
            try connection.all(
                """
                SELECT id FROM conversations WHERE draft IS NOT NULL
                UNION SELECT conversation_id FROM outbox WHERE kind = 'draft'
                """
            ) { ConversationID($0.uuid(0)) })
    }

    private struct OwnDraft {
        let row: OutboxRow
        let draft: Draft?
        /// The server has told of it, or may have: what it tells from then on is newer.
        let isTold: Bool

        var key: Int64 { row.key }
        /// The server has it, and has not told of it yet.
        var isPut: Bool { row.state == .held && row.wasTried && row.problem == nil }
    }

    /// What was written here and not told yet, in the order of writing: the last one counts.
    private func ownDrafts(in id: ConversationID) throws(StorageError) -> [OwnDraft] {
        try connection.all(
            "SELECT * FROM outbox WHERE conversation_id = ?1 AND kind = 'draft' ORDER BY key", id, read: Self.outboxRow
        ).compactMap { row in
            guard let row, case .draft(let draft, let isTold) = row.write else { return nil }
            return OwnDraft(row: row, draft: draft, isTold: isTold)
        }
    }

    private func toldDraft(in id: ConversationID) throws(StorageError) -> Draft? {
        try connection.first("SELECT draft FROM conversations WHERE id = ?1", id) { row in
            row.optional(0, row.text)?.decoded(as: Draft.self)
        } ?? nil
    }

    // MARK: By the user

    /// Keeps what is being written; nil when it was sent or given up. What a request was made with is repeated until the
    /// server has answered, and what was written since follows it.
    ///
    /// - Parameter key: for `Idempotency-Key`, of which a draft makes no use.
    package func setDraft(
        _ new: Draft?, in id: ConversationID, at: Timestamp, key: UUIDBytes
    ) throws(StorageError) {
        try write { () throws(StorageError) in
            let draft = new.flatMap { $0.text.isEmpty && $0.replyTo == nil ? nil : $0 }
            guard draft != (try self.draft(in: id)) else { return }
            try connection.run(
                """
                DELETE FROM outbox
                WHERE conversation_id = ?1 AND kind = 'draft' AND (was_tried = 0 OR problem IS NOT NULL)
                """, id)
            // The server has this one, or will have it.
            guard draft != (try self.draft(in: id)) else { return }
            try connection.run(
                "INSERT INTO outbox (conversation_id, kind, write, idempotency_key, at) VALUES (?1, 'draft', ?2, ?3, ?4)",
                id, String(json: PendingWrite.draft(draft, isTold: false)), key, at)
        }
    }

    // MARK: By the server

    /// The server tells what is being written.
    ///
    /// - Parameter isWhole: it is a response, after which what was missed is not told again.
    func tell(_ told: KeptDraft?, in id: ConversationID, isWhole: Bool = false) throws(StorageError) {
        let draft = told.map { Draft(text: $0.text, replyTo: $0.replyTo) }
        let isNews = draft != (try toldDraft(in: id))
        if isNews { try setTold(draft, in: id) }
        let own = try ownDrafts(in: id)
        var last = own.last { $0.row.wasTried && (isWhole || Draft.kept($0.draft) == draft) }
        // Told again, a change of before comes without its draft: then it may be of any that was put.
        if draft == nil, last == nil { last = own.last { $0.row.wasTried } }
        for each in own where each.row.wasTried && each.key <= last?.key ?? 0 {
            if each.isPut {
                try remove(each.key)
            } else {
                try replace(each.key, with: .draft(each.draft, isTold: true))
            }
        }
        if isNews, own.count == 1, !own[0].row.wasTried { try meet(told, draft, own[0]) }
    }

    /// Another device has written, while something written here was not put.
    private func meet(_ told: KeptDraft?, _ draft: Draft?, _ own: OwnDraft) throws(StorageError) {
        if own.draft == draft { return try remove(own.key) }
        guard let told, told.at > own.row.at else { return }
        // The newer one stays with the server. This one stays here until the user goes on with it.
        if own.draft == nil { try remove(own.key) } else { try hold(own.key) }
    }

    private func setTold(_ draft: Draft?, in id: ConversationID) throws(StorageError) {
        try connection.run(
            "UPDATE conversations SET draft = ?2 WHERE id = ?1", id, draft.map { String(json: $0) })
        if draft == nil { try retryRefusedDraft() }
    }

    /// There is room for one more: the oldest is put that there was none for.
    private func retryRefusedDraft() throws(StorageError) {
        let held = try connection.all(
            "SELECT * FROM outbox WHERE kind = 'draft' AND state = 3 ORDER BY key", read: Self.outboxRow)
        guard let row = held.compactMap(\.self).first(where: { $0.problem?.code == .known(.conflict) }) else { return }
        try connection.run(
            "UPDATE outbox SET state = 0, was_tried = 0, problem = NULL WHERE key = ?1", row.key)
    }

    /// A draft was put. What the server told meanwhile may have come before it or after it, so what is shown stays until the
    /// server tells of it.
    func completeDraft(_ key: Int64, in id: ConversationID) throws(StorageError) {
        let own = try ownDrafts(in: id)
        guard let row = own.first(where: { $0.key == key }) else { return }
        if Draft.kept(row.draft) != row.draft, own.last?.key == key {
            // A reply without a text is kept on this device alone.
            try connection.run("UPDATE outbox SET state = 3, was_tried = 0 WHERE key = ?1", key)
            return
        }
        let told = try toldDraft(in: id)
        // What was put before this one is told first.
        let isFirst = own.first?.key == key
        if row.isTold || isFirst && Draft.kept(row.draft) == told { try remove(key) } else { try hold(key) }
    }

    /// It stays on this device until the user goes on with it.
    func refuseDraft(_ key: Int64, in id: ConversationID, _ problem: ProblemDetails) throws(StorageError) {
        guard try ownDrafts(in: id).last?.key == key else { return try remove(key) }
        try connection.run(
            "UPDATE outbox SET state = 3, problem = ?2 WHERE key = ?1", key, String(json: problem))
    }

    /// Whether the server still has what was put is not known any more. The last one counts.
    func putDraftsAgain() throws(StorageError) {
        try connection.run(
            """
            DELETE FROM outbox AS o
            WHERE kind = 'draft' AND state = 3 AND was_tried = 1 AND problem IS NULL AND EXISTS (
                SELECT 1 FROM outbox l WHERE l.conversation_id = o.conversation_id AND l.kind = 'draft' AND l.key > o.key)
            """)
        try connection.run(
            """
            UPDATE outbox SET state = 0, was_tried = 0
            WHERE kind = 'draft' AND state = 3 AND was_tried = 1 AND problem IS NULL
            """)
    }

    private func hold(_ key: Int64) throws(StorageError) {
        try connection.run("UPDATE outbox SET state = 3 WHERE key = ?1", key)
    }

    private func remove(_ key: Int64) throws(StorageError) {
        try connection.run("DELETE FROM outbox WHERE key = ?1", key)
    }

    /// The user has left: nothing can be sent there.
    func dropDrafts(in id: ConversationID) throws(StorageError) {
        try connection.run("DELETE FROM outbox WHERE conversation_id = ?1 AND kind = 'draft'", id)
        if try toldDraft(in: id) != nil { try setTold(nil, in: id) }
    }
}
