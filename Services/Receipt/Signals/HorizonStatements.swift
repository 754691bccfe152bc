import Models
import Postgres
import Wire

/// The statements of a batch of signals. The first ones lock. Only then does the last one, with a fresh snapshot, move
/// the horizons.
enum HorizonStatements {
    static let all = [insertPositions, lockPositions, AdvanceStatement.statement] + UntoldStatements.notes.all

    /// Gives conversations their first position. If two insert at once, the second waits for the first and finds its
    /// row when it locks.
    private static let insertPositions = Statement(
        "insert_positions", parameters: [.array(.int2), .array(.uuid)],
        """
        INSERT INTO receipt.positions (slot, conversation_id)
        SELECT i.slot, i.conversation_id FROM unnest($1, $2) AS i (slot, conversation_id)
        WHERE (SELECT true FROM receipt.positions p WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id) IS NULL
          AND (SELECT true FROM store.published_conversations c WHERE c.slot = i.slot AND c.id = i.conversation_id)
        ORDER BY i.conversation_id, i.slot
        ON CONFLICT DO NOTHING
        """)

    /// Locks in the order of the keys, so that no two batches wait for each other. Returns one dummy row, since rows
    /// cost.
    private static let lockPositions = Statement(
        "lock_positions", parameters: [.array(.int2), .array(.uuid)],
        """
        SELECT count(*) FROM (
            SELECT FROM unnest($1::smallint[], $2::uuid[]) AS k (slot, id)
            JOIN receipt.positions p ON p.slot = k.slot AND p.conversation_id = k.id
            ORDER BY p.conversation_id, p.slot
            FOR NO KEY UPDATE OF p
        ) l
        """)

    /// Adds the statements of a batch. Each key occurs once in it, and the signals of a conversation are adjacent, in
    /// the order of the conversations' keys.
    ///
    /// - Parameters:
    ///   - isKnown: whether a conversation is known to have a position.
    ///   - note: adds the statements that note conversations, and returns how many they are.
    /// - Returns: the index of the statement that notes them; nil if there is none.
    static func add(
        _ signals: [MergedSignal], _ layout: SignalLayout, to batch: inout Batch, isKnown: (ConversationID) -> Bool,
        note: (inout Batch) -> Int
    ) -> Int? {
        let unknown = layout.conversations.filter { !isKnown($0) }
        if !unknown.isEmpty { batch.execute(insertPositions) { add(unknown, to: &$0) } }
        let place = batch.statementCount
        let hasNote = note(&batch) > 0
        batch.execute(lockPositions) { add(layout.conversations, to: &$0) }
        batch.execute(AdvanceStatement.statement) { AdvanceStatement.add(signals, layout, to: &$0) }
        return hasNote ? place : nil
    }

    static func add(_ conversations: [ConversationID], to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for conversation in conversations { parameters.append(conversation.slot) }
        parameters.addArray(of: .uuid)
        for conversation in conversations { parameters.append(conversation) }
    }
}
