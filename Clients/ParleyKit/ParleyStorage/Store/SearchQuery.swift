import Models

extension LocalStore {
    /// Messages of the copy that have all words of a text, newest first. The last word may be the beginning of one. What
    /// the user may have hidden without the copy knowing is not among them.
    package func search(
        _ words: String, in conversation: ConversationID? = nil, limit: Int = 50
    ) throws(StorageError) -> [Message] {
        let query = Self.query(words)
        guard !query.isEmpty else { return [] }
        let rows = try connection.all(
            """
            SELECT m.*, c.id FROM message_words w JOIN shown_messages m ON m.key = w.rowid
                JOIN conversations c ON c.key = m.conversation
            WHERE message_words MATCH ?1 AND (?2 IS NULL OR c.id = ?2) AND m.deleted_at IS NULL
                AND c.key NOT IN (SELECT u.key FROM unlisted_conversations u)
                AND (m.seq > c.unsure_through OR EXISTS (
                    SELECT 1 FROM ranges r
                    WHERE r.conversation = c.key AND m.seq BETWEEN r.first_seq AND r.last_seq))
            ORDER BY m.created_at DESC, m.key DESC LIMIT ?3
            """, query, conversation, limit, read: Self.message)
        return rows.map(\.message)
    }

    /// The words in quotes, so that nothing in them is an operator.
    private static func query(_ words: String) -> String {
        let words = words.split { !$0.isLetter && !$0.isNumber && !$0.isSymbol }.map { "\"\($0)\"" }
        return words.isEmpty ? "" : words.joined(separator: " ") + "*"
    }
}
