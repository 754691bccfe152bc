import Models
import Postgres
import Slots
import Wire

/// Edits, deletions and tapbacks: their statements and permissions.
enum MessageWrites {
    private static let conflict = Problem.Code.conflict.rawValue
    private static let forbidden = Problem.Code.forbidden.rawValue
    private static let notFound = Problem.Code.notFound.rawValue

    /// Measured by the server's clock, under the row lock.
    private static let editWindow = "interval '\(ContractLimits.editWindow.components.seconds) seconds'"

    /// A message dated further ahead than this got its time from a wrong clock. It cannot be edited until its time is
    /// within this tolerance.
    private static let clockTolerance = "interval '\(TrustedTime.tolerance) milliseconds'"

    /// Replaces the text with $8. The previous text is kept as a revision. Two racing edits have an order, and both are
    /// kept.
    static let edit = WriteStatement.statement(
        "edit_message", parameters: [.text], facts: WriteStatement.visibleTarget,
        problem: """
            \(WriteStatement.targetIsMissing)
            WHEN (SELECT t.sender_id <> $3 OR t.kind = 3 FROM target t) THEN \(forbidden)
            WHEN (SELECT t.deleted_at IS NOT NULL FROM target t) THEN \(conflict)
            WHEN (SELECT \(ChangeTime.now) NOT BETWEEN t.created_at - \(clockTolerance) AND t.created_at + \(editWindow) FROM target t)
                THEN \(Problem.Code.editWindowClosed.rawValue)
            """,
        isVoid: "false", positions: "1",
        effects: """
            , revision AS (
                INSERT INTO store.revisions (slot, conversation_id, message_id, replaced_seq, body, at)
                SELECT $1, $2, $7, moved.last_seq, t.body, coalesce(t.edited_at, t.created_at) FROM moved, target t
            ), edited AS (
                UPDATE store.messages m SET body = $8, edited_at = moved.last_at, changed_seq = moved.last_seq
                FROM moved WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = $7
            )\(SearchIndex.forget)\(WriteStatement.change(.messageEdited, columns: ", message_id", values: ", $7"))
            """)

    /// The number of early deletions that are remembered for one user in a conversation until their messages arrive.
    static let earlyDeletionsLimit = 100

    /// Whether the message of an early deletion `w` has arrived.
    private static let hasCome = """
        (SELECT true FROM store.messages m
         WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = w.message_id) IS NOT NULL
        """

    /// Deletes a message for everyone. The deletion wins over concurrent and later writes. It is remembered for a
    /// message that has not arrived yet. When too many are remembered for the user, it is refused, and those whose
    /// message has arrived are forgotten because they are no longer needed. (Rows from before the limit are unbounded
    /// in number: at most twice the limit is examined.)
    static let deleteForEveryone = WriteStatement.statement(
        "delete_message",
        facts: """
            target AS MATERIALIZED (
                SELECT m.*, EXISTS (
                    SELECT FROM store.memberships s
                    WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
                      AND m.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, m.seq)) AS is_visible
                FROM store.messages m WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = $7
            ), waiting AS MATERIALIZED (
                SELECT e.message_id FROM store.early_deletions e
                WHERE e.slot = $1 AND e.conversation_id = $2 AND e.user_id = $3 AND NOT EXISTS (SELECT FROM target)
                LIMIT \(2 * earlyDeletionsLimit)
            ),
            """,
        problem: """
            WHEN (SELECT count(*) FROM waiting w WHERE NOT \(hasCome)) >= \(earlyDeletionsLimit) AND (
                SELECT true FROM store.early_deletions e
                WHERE e.slot = $1 AND e.conversation_id = $2 AND e.message_id = $7 AND e.user_id = $3) IS NULL
                THEN \(conflict)
            WHEN (SELECT t.sender_id <> $3 AND NOT t.is_visible FROM target t) THEN \(notFound)
            WHEN (SELECT t.sender_id <> $3 OR t.kind = 3 FROM target t) THEN \(forbidden)
            """,
        isVoid: "(SELECT t.deleted_at IS NOT NULL FROM target t)",
        positions: "(SELECT count(*) FROM target)",
        effects: """
            , early AS (
                INSERT INTO store.early_deletions (slot, conversation_id, message_id, user_id)
                SELECT $1, $2, $7, $3 FROM moved WHERE NOT EXISTS (SELECT FROM target)
                ON CONFLICT DO NOTHING
            ), come AS (
                DELETE FROM store.early_deletions e USING moved, waiting w
                WHERE e.slot = $1 AND e.conversation_id = $2 AND e.message_id = w.message_id AND e.user_id = $3
                  AND \(hasCome)
            ), erased AS (
                UPDATE store.messages m
                SET body = NULL, mentions = NULL, tapback_count = 0, deleted_at = moved.last_at, changed_seq = moved.last_seq
                FROM moved WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = $7
            ), no_revisions AS (
                DELETE FROM store.revisions r USING moved
                WHERE r.slot = $1 AND r.conversation_id = $2 AND r.message_id = $7
            ), no_tapbacks AS (
                DELETE FROM store.tapbacks r USING moved
                WHERE r.slot = $1 AND r.conversation_id = $2 AND r.message_id = $7
            )\(SearchIndex.forget)\(WriteStatement.change(
                .messageDeleted, columns: ", message_id, about_seq", values: ", $7, target.seq", from: "moved, target"))
            """)

    /// Hides a message for the actor alone. It takes no position of the conversation because nobody else learns of it.
    static let hide = WriteStatement.statement(
        "hide_message", facts: WriteStatement.target, problem: WriteStatement.targetIsMissing,
        isVoid: """
            (SELECT true FROM store.hidden h, target t
             WHERE h.slot = $1 AND h.conversation_id = $2 AND h.user_id = $3 AND h.seq = t.seq)
            """,
        positions: "0",
        effects: """
            , hidden AS (
                INSERT INTO store.hidden (slot, conversation_id, user_id, seq)
                SELECT $1, $2, $3, t.seq FROM moved, target t
            )\(WriteStatement.told(
                .messageHidden, user: "$3", userSlot: "$4", message: "$7", seq: "(SELECT t.seq FROM target t)"))
            """,
        useq: WriteStatement.toldUseq)

    /// Removes a tapback. A missing tapback is no problem.
    static let removeTapback = WriteStatement.statement(
        "remove_tapback", facts: WriteStatement.visibleTarget + present, problem: WriteStatement.targetIsMissing,
        isVoid: "NOT EXISTS (SELECT FROM present)", positions: "1",
        effects: """
            , removed AS (
                DELETE FROM store.tapbacks r USING moved
                WHERE r.slot = $1 AND r.conversation_id = $2 AND r.message_id = $7 AND r.user_id = $3
            ), counted AS (
                UPDATE store.messages m SET changed_seq = moved.last_seq, tapback_count = m.tapback_count - 1
                FROM moved WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = $7
            )\(WriteStatement.change(.tapbackRemoved, columns: ", message_id", values: ", $7"))
            """)

    /// The actor's tapback on the message before the write.
    private static let present = """
         present AS MATERIALIZED (
            SELECT r.kind FROM store.tapbacks r
            WHERE r.slot = $1 AND r.conversation_id = $2 AND r.message_id = $7 AND r.user_id = $3
        ),
        """
}
