import Models

/// A message that is being written.
public struct Draft: Hashable, Sendable {
    public var text: String
    public var replyTo: MessageID?

    public init(text: String, replyTo: MessageID? = nil) {
        self.text = text
        self.replyTo = replyTo
    }
}

extension LocalStore {
    package func draft(in conversation: ConversationID) throws(StorageError) -> Draft? {
        try connection.first("SELECT text, parent_id FROM drafts WHERE conversation_id = ?1", conversation) { row in
            Draft(text: row.text(0), replyTo: row.optional(1, row.uuid).map(MessageID.init))
        }
    }

    /// Keeps what is being written; nil when it was sent or given up.
    package func setDraft(_ draft: Draft?, in conversation: ConversationID, at: Timestamp) throws(StorageError) {
        guard let draft else {
            return try connection.run("DELETE FROM drafts WHERE conversation_id = ?1", conversation)
        }
        try connection.run(
            "INSERT OR REPLACE INTO drafts (conversation_id, text, parent_id, at) VALUES (?1, ?2, ?3, ?4)",
            conversation, draft.text, draft.replyTo, at)
    }
}
