import Models
import Postgres
import Wire

/// Stores a run of messages: finds repetitions, checks membership and parents, gives each new message the next `seq` of
/// its conversation, and returns one row per message, whatever became of it.
///
/// The shape is what PostgreSQL's planner needs with a generic plan, which expects one row from every array: other
/// tables are probed by scalar subqueries, which stay index lookups; positions are numbered by a window over a union,
/// because a join of two CTEs would become a nested loop over all of their rows.
enum SendStatement {
    static let statement = Statement(
        "send_messages",
        parameters: [
            .array(.int2), .array(.uuid), .array(.uuid), .array(.text), .array(.text), .array(.uuid), .array(.text),
            .array(.timestamptz),
        ],
        """
        WITH input AS MATERIALIZED (
            SELECT * FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::timestamptz[])
                WITH ORDINALITY AS t(slot, conversation_id, id, sender_id, body, reply_to, mentions, sent_at, ordinal)
        ), checked AS MATERIALIZED (
            SELECT i.*,
                (SELECT true FROM store.memberships s
                 WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = i.sender_id
                   AND s.left_seq IS NULL) AS is_member,
                (SELECT m.seq FROM store.messages m
                 WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.id = i.id) AS known_seq,
                (SELECT p.seq FROM store.messages p
                 WHERE i.reply_to IS NOT NULL
                   AND p.slot = i.slot AND p.conversation_id = i.conversation_id AND p.id = i.reply_to
                   AND p.kind IN (1, 2) AND p.deleted_at IS NULL
                   AND EXISTS (SELECT FROM store.memberships s
                               WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = i.sender_id
                                 AND p.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, p.seq))) AS parent_seq,
                EXISTS (SELECT FROM store.early_deletions e
                        WHERE e.slot = i.slot AND e.conversation_id = i.conversation_id AND e.message_id = i.id
                          AND e.user_id = i.sender_id) AS is_deleted
            FROM input i
        ), fresh AS MATERIALIZED (
            SELECT * FROM checked
            WHERE is_member AND known_seq IS NULL AND (reply_to IS NULL OR parent_seq IS NOT NULL)
        ), advanced AS (
            UPDATE store.conversations c
            SET last_seq = c.last_seq + n.count,
                last_at = greatest(date_trunc('milliseconds', clock_timestamp()), c.last_at)
            FROM (SELECT slot, conversation_id, count(*) AS count FROM fresh GROUP BY 1, 2) n
            WHERE c.slot = n.slot AND c.id = n.conversation_id
            RETURNING c.slot, c.id, c.last_seq - n.count AS base, c.last_at, c.member_count
        ), numbered AS MATERIALIZED (
            SELECT * FROM (
                SELECT slot, conversation_id, ordinal, id, sender_id, body, reply_to, parent_seq, mentions, sent_at, is_deleted,
                    first_value(base) OVER stream + row_number() OVER stream - 1 AS seq,
                    first_value(last_at) OVER stream AS created_at,
                    first_value(member_count) OVER stream AS member_count
                FROM (
                    SELECT slot, id AS conversation_id, base, last_at, member_count, NULL::bigint AS ordinal, NULL::uuid AS id,
                        NULL::text AS sender_id, NULL::text AS body, NULL::uuid AS reply_to, NULL::bigint AS parent_seq,
                        NULL::text AS mentions, NULL::timestamptz AS sent_at, NULL::boolean AS is_deleted
                    FROM advanced
                    UNION ALL
                    SELECT slot, conversation_id, NULL, NULL, NULL, ordinal, id, sender_id, body, reply_to, parent_seq, mentions, sent_at, is_deleted
                    FROM fresh
                ) u
                WINDOW stream AS (PARTITION BY slot, conversation_id ORDER BY ordinal NULLS FIRST)
            ) w
            WHERE ordinal IS NOT NULL
        ), inserted AS (
            INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, reply_to, reply_seq, mentions, sent_at, created_at, deleted_at)
            SELECT slot, conversation_id, seq, id, seq, sender_id, CASE WHEN reply_to IS NULL THEN 1 ELSE 2 END,
                CASE WHEN NOT is_deleted THEN body END, reply_to, parent_seq,
                CASE WHEN NOT is_deleted THEN string_to_array(mentions, ',') END, sent_at, created_at,
                CASE WHEN is_deleted THEN created_at END
            FROM numbered
        )
        SELECT ordinal, 0::smallint AS outcome, seq, created_at, member_count, parent_seq,
            (SELECT p.sender_id FROM store.messages p
             WHERE n.parent_seq IS NOT NULL AND p.slot = n.slot AND p.conversation_id = n.conversation_id AND p.seq = n.parent_seq) AS parent_sender,
            (SELECT p.body FROM store.messages p
             WHERE n.parent_seq IS NOT NULL AND p.slot = n.slot AND p.conversation_id = n.conversation_id AND p.seq = n.parent_seq) AS parent_body,
            n.is_deleted
        FROM numbered n
        UNION ALL
        SELECT ordinal,
            CASE
                WHEN NOT EXISTS (SELECT FROM store.memberships s
                                 WHERE s.slot = c.slot AND s.conversation_id = c.conversation_id AND s.user_id = c.sender_id) THEN 1
                WHEN c.known_seq IS NOT NULL THEN (
                    SELECT CASE
                        WHEN m.sender_id <> c.sender_id THEN 3
                        WHEN m.edited_at IS NULL AND m.deleted_at IS NULL
                            AND (m.body, m.reply_to, array_to_string(m.mentions, ',')) IS DISTINCT FROM (c.body, c.reply_to, c.mentions) THEN 3
                        ELSE 2 END
                    FROM store.messages m
                    WHERE m.slot = c.slot AND m.conversation_id = c.conversation_id AND m.seq = c.known_seq)
                WHEN c.is_member IS NULL THEN 4
                ELSE 5
            END::smallint,
            NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM checked c
        WHERE NOT (c.is_member IS NOT NULL AND c.known_seq IS NULL AND (c.reply_to IS NULL OR c.parent_seq IS NOT NULL))
        """)

    static func add(to batch: inout Batch, _ items: ArraySlice<SendItem>) {
        batch.execute(statement) { parameters in
            parameters.addArray(of: .int2)
            for item in items { parameters.append(item.conversation.slot) }
            parameters.addArray(of: .uuid)
            for item in items { parameters.append(item.conversation) }
            parameters.addArray(of: .uuid)
            for item in items { parameters.append(item.message.id) }
            parameters.addArray(of: .text)
            for item in items { parameters.append(item.sender) }
            parameters.addArray(of: .text)
            for item in items { parameters.append(item.message.text) }
            parameters.addArray(of: .uuid)
            for item in items { parameters.append(item.message.replyTo) }
            parameters.addArray(of: .text)
            for item in items { parameters.append(item.message.mentions.isEmpty ? nil : item.message.mentions) }
            parameters.addArray(of: .timestamptz)
            for item in items { parameters.append(item.message.sentAt) }
        }
    }

    /// What became of one message.
    enum Outcome {
        case created(Created)
        /// It is stored already, by this sender and with this content.
        case repeated
        case refused(Problem)
    }

    struct Created {
        let seq: Int64
        let createdAt: Timestamp
        /// Everybody but the sender.
        let recipientCount: Int
        let parent: Parent?
        /// It was deleted for everyone before it came.
        let isDeleted: Bool

        struct Parent {
            let seq: Int64
            let sender: UserID
            let text: UnsafeRawBufferPointer
        }
    }

    /// Reads a row: the message's place in the run, from 0, and its outcome. Bytes in it live as long as the rows.
    static func decode(_ row: Row) -> (index: Int, outcome: Outcome) {
        let ordinal: Int64 = row[0]
        return (Int(ordinal) - 1, outcome(row))
    }

    private static func outcome(_ row: Row) -> Outcome {
        let number: Int16 = row[1]
        switch number {
        case 0: return .created(Created(row))
        case 1: return .refused(.unknownConversation)
        case 2: return .repeated
        case 3: return .refused(Problem(.conflict, "id: another message has this id"))
        case 4: return .refused(.notAMember)
        default: return .refused(Problem(.notReplyable, "replyTo: this message cannot be replied to"))
        }
    }
}

extension SendStatement.Created {
    fileprivate init(_ row: Row) {
        seq = row[2]
        createdAt = row[3]
        let members: Int32 = row[4]
        recipientCount = Int(members) - 1
        let parentSeq: Int64? = row[5]
        isDeleted = row[8]
        parent = parentSeq.map { Parent(seq: $0, sender: row[6], text: row[7]) }
    }
}

extension Problem {
    static let unknownConversation = Problem(.notFound, "there is no such conversation")
    static let notAMember = Problem(.forbidden, "only members may do this")
}
