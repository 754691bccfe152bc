import Models
import Postgres
import Slots
import Wire

/// Stores a run of one message that neither replies nor mentions, as most are while there is little to do. What
/// `SendStatement` spends on starting its many nodes is most of a lone message's time; this one has half of them.
///
/// It finds what that one finds, and returns a row of the same columns.
enum SendOneStatement {
    static let statement = Statement(
        "send_message", parameters: [.int2, .uuid, .uuid, .text, .text, .timestamptz],
        """
        WITH judged AS MATERIALIZED (
            SELECT is_deleted,
                CASE WHEN is_member IS NULL THEN 1 WHEN known IS NOT NULL THEN known WHEN is_member THEN 0 ELSE 4 END AS outcome
            FROM (
                SELECT
                    (SELECT s.left_seq IS NULL FROM store.memberships s
                     WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $4
                     ORDER BY s.joined_seq DESC LIMIT 1) AS is_member,
                    (SELECT CASE
                        WHEN k.sender_id <> $4 THEN 3
                        WHEN k.edited_at IS NULL AND k.deleted_at IS NULL
                            AND (k.body IS DISTINCT FROM $5 OR k.reply_to IS NOT NULL OR k.mentions IS NOT NULL) THEN 3
                        ELSE 2 END
                     FROM store.messages k
                     WHERE k.slot = $1 AND k.conversation_id = $2 AND k.id = $3) AS known,
                    (SELECT true FROM store.early_deletions e
                     WHERE e.slot = $1 AND e.conversation_id = $2 AND e.message_id = $3 AND e.user_id = $4) IS NOT NULL AS is_deleted
                OFFSET 0
            ) m
        ), advanced AS (
            UPDATE store.conversations c
            SET last_seq = c.last_seq + 1, last_at = greatest(c.last_at, \(ChangeTime.now))
            WHERE c.slot = $1 AND c.id = $2 AND (SELECT outcome FROM judged) = 0
            RETURNING c.last_seq, c.last_at, c.member_count
        ), inserted AS (
            INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at, deleted_at)
            SELECT $1, $2, last_seq, $3, last_seq, $4, 1, CASE WHEN NOT is_deleted THEN $5 END, $6, last_at,
                CASE WHEN is_deleted THEN last_at END
            FROM advanced, judged
        )
        SELECT '{1}'::bigint[], ARRAY[coalesce(a.last_seq - 1, 0)], ARRAY[coalesce(a.last_at, 'epoch')],
            ARRAY[coalesce(a.member_count, 0)],
            CASE WHEN outcome = 0 THEN '{}' ELSE '{1}' END::bigint[], ARRAY[outcome::smallint],
            CASE WHEN is_deleted THEN '{1}' ELSE '{}' END::bigint[],
            '{}'::bigint[], '{}'::bigint[], '{}'::text[], '{}'::text[]
        FROM judged LEFT JOIN advanced a ON true
        """)

    static func fits(_ items: ArraySlice<SendItem>) -> Bool {
        guard items.count == 1, let message = items.first?.message else { return false }
        return message.replyTo == nil && message.mentions.isEmpty
    }

    static func add(to batch: inout Batch, _ item: SendItem) {
        batch.execute(statement) { parameters in
            parameters.add(item.conversation.slot)
            parameters.add(item.conversation)
            parameters.add(item.message.id)
            parameters.add(item.sender)
            parameters.add(item.message.text)
            parameters.add(item.message.sentAt)
        }
    }
}
