import Models
import Postgres
import Wire

/// Conversations as their reader sees them. `list` reads the inbox (which names the user's slot) and from there the
/// conversations in whatever slots they lie: one of the few statements that fan out over slots.
enum ConversationStatement {
    static let list = Statement(
        "list_conversations", parameters: [.text, .int2, .timestamptz, .uuid, .int8],
        """
        WITH page AS (
            SELECT c.* FROM store.inbox i
            JOIN store.conversations c ON c.slot = i.slot AND c.id = i.conversation_id
            WHERE i.user_slot = $2 AND i.user_id = $1 AND NOT i.is_removed AND (c.last_at, c.id) < ($3, $4)
            ORDER BY c.last_at DESC, c.id DESC LIMIT $5
        )
        \(columns(orderedBy: "c.last_at DESC, c.id DESC"))
        """)

    /// For `sync`, by id: those that transaction $3 (its lower 32 bits) or a later one changed. Ages are taken against one
    /// counter for the whole transaction, so they compare exactly; a row older than half the number space seems new,
    /// which only makes it come again. Fans out over slots like `list`.
    static let changed = Statement(
        "changed_conversations", parameters: [.text, .int2, .int8, .uuid, .int8],
        """
        WITH page AS (
            SELECT c.* FROM store.inbox i
            JOIN store.conversations c ON c.slot = i.slot AND c.id = i.conversation_id
            WHERE i.user_slot = $2 AND i.user_id = $1 AND NOT i.is_removed AND i.conversation_id > $4
              AND ($3 = 0 OR age(c.xmin) <= age(($3 & 4294967295)::text::xid))
            ORDER BY i.conversation_id LIMIT $5
        )
        \(columns(orderedBy: "c.id"))
        """)

    static let single = Statement(
        "conversation", parameters: [.text, .int2, .uuid],
        """
        WITH page AS (SELECT * FROM store.conversations WHERE slot = $2 AND id = $3)
        \(columns(orderedBy: "c.id"))
        """)

    private static func columns(orderedBy order: String) -> String {
        """
        SELECT c.id, c.kind, \(title(asOf: "stay.last_seq")), c.created_at, least(c.last_seq, stay.last_seq), c.last_at, c.member_count,
            stay.role, stay.joined, stay.ended, stay.cleared_seq,
            unread.count::int, coalesce(h.read_seq, 0), coalesce(h.delivered_seq, 0),
            \(MessageRow.columns(for: "$1", asOf: "stay.last_seq"))
        FROM page c
        CROSS JOIN LATERAL (
            SELECT array_agg(s.joined_seq ORDER BY s.joined_seq) AS joined, array_agg(coalesce(s.left_seq, 0) ORDER BY s.joined_seq) AS ended,
                (array_agg(s.role ORDER BY s.joined_seq DESC))[1] AS role, max(s.cleared_seq) AS cleared_seq,
                max(coalesce(s.left_seq, 9223372036854775807)) AS last_seq
            FROM store.memberships s
            WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = $1
        ) stay
        LEFT JOIN receipt.horizons h ON h.slot = c.slot AND h.conversation_id = c.id AND h.user_id = $1
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM (
                SELECT FROM store.messages m
                WHERE m.slot = c.slot AND m.conversation_id = c.id
                  AND m.seq > greatest(coalesce(h.read_seq, 0), stay.cleared_seq) AND m.seq <= stay.last_seq
                  AND m.sender_id <> $1 AND m.kind <> 3 AND m.deleted_at IS NULL
                  AND EXISTS (SELECT FROM store.memberships s
                              WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = $1
                                AND m.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, m.seq))
                  AND NOT EXISTS (SELECT FROM store.hidden d
                                  WHERE d.slot = c.slot AND d.conversation_id = c.id AND d.user_id = $1 AND d.seq = m.seq)
                -- From the end: where thousands joined, and then somebody wrote, that is found first.
                ORDER BY m.seq DESC LIMIT 100
            ) u
        ) unread
        LEFT JOIN LATERAL (
            SELECT m.* FROM store.messages m
            WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.seq <= stay.last_seq AND m.seq > stay.cleared_seq
              AND EXISTS (SELECT FROM store.memberships s
                          WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = $1
                            AND m.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, m.seq))
              AND NOT EXISTS (SELECT FROM store.hidden d
                              WHERE d.slot = c.slot AND d.conversation_id = c.id AND d.user_id = $1 AND d.seq = m.seq)
            ORDER BY m.seq DESC LIMIT 1
        ) m ON true
        LEFT JOIN LATERAL (
            SELECT p.sender_id, \(MessageRow.text(of: "p", asOf: "stay.last_seq")) AS body FROM store.messages p
            WHERE p.slot = c.slot AND p.conversation_id = c.id AND p.seq = m.reply_seq AND p.deleted_at IS NULL
              AND p.seq > stay.cleared_seq
              AND EXISTS (SELECT FROM store.memberships s
                          WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = $1
                            AND p.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, p.seq))
              AND NOT EXISTS (SELECT FROM store.hidden d
                              WHERE d.slot = c.slot AND d.conversation_id = c.id AND d.user_id = $1 AND d.seq = p.seq)
        ) parent ON true
        WHERE stay.joined IS NOT NULL
        ORDER BY \(order)
        """
    }

    /// The title of `c`: for who has left the one of then.
    private static func title(asOf position: String) -> String {
        """
        CASE WHEN c.last_seq <= \(position) THEN c.title ELSE (
                SELECT h.title FROM store.changes h
                WHERE h.slot = c.slot AND h.conversation_id = c.id AND h.kind IN (\(titles)) AND h.seq <= \(position)
                ORDER BY h.seq DESC LIMIT 1
            ) END
        """
    }

    /// The changes that bring a title.
    private static let titles = [ChangeKind.conversationCreated, .conversationRenamed]
        .map { "\($0.rawValue)" }.joined(separator: ", ")

    static func add(_ query: ListConversations, to parameters: inout Parameters) {
        parameters.add(query.reader)
        parameters.add(query.reader.slot)
        parameters.add(query.before.lastActivityAt)
        parameters.add(query.before.conversation)
        // One more tells whether there are more.
        parameters.add(Int64(query.limit) + 1)
    }

    static func add(_ query: ConversationQuery, to parameters: inout Parameters) {
        parameters.add(query.reader)
        parameters.add(query.conversation.slot)
        parameters.add(query.conversation)
    }

    /// The first column of the latest message.
    static let messageColumn = 14
}

extension ConversationFields {
    init(_ row: Row) {
        id = row[0]
        let kindNumber: Int16 = row[1]
        kind = kindNumber == 2 ? .direct : .group
        title = row[2]
        createdAt = row[3]
        lastSeq = row[4]
        lastActivityAt = row[5]
        memberCount = Int(row[6] as Int32)
        role = MemberRole(rawValue: UInt8(row[7] as Int16)) ?? .member
        windows = zip(row.array(8) as [Int64], row.array(9) as [Int64]).map {
            Window(from: $0, through: $1 == 0 ? nil : $1)
        }
        clearedSeq = row[10]
        unreadCount = Int(row[11] as Int32)
        readSeq = row[12]
        deliveredSeq = row[13]
    }
}
