import Models
import Postgres
import Wire

/// The changes of a conversation in a range of positions, in one snapshot with the position the conversation is at. The
/// feed is the union of created messages and all other changes; each change carries its message as it is now.
enum FeedStatement {
    /// For fanout, which cuts by the windows of its sessions: everything. No row: there is no such conversation.
    static let replay = Statement(
        "replay", parameters: [.int2, .uuid, .int8, .int8, .int8],
        """
        WITH stays AS MATERIALIZED (SELECT 1::bigint AS first_seq, 9223372036854775807 AS last_seq)
        \(feed)
        """)

    /// For a client: what its windows cover. No row: the reader never was a member.
    static let changes = Statement(
        "changes", parameters: [.int2, .uuid, .int8, .int8, .int8, .text],
        """
        WITH stays AS MATERIALIZED (
            SELECT joined_seq AS first_seq, coalesce(left_seq, 9223372036854775807) AS last_seq FROM store.memberships
            WHERE slot = $1 AND conversation_id = $2 AND user_id = $6
        )
        \(feed)
        """)

    private static let feed = """
        , position AS (
            SELECT c.kind, c.title, c.created_at, c.member_count, least(c.last_seq, max(s.last_seq)) AS last_seq
            FROM store.conversations c, stays s
            WHERE c.slot = $1 AND c.id = $2
            GROUP BY c.slot, c.id
        ), feed AS (
            SELECT f.* FROM stays s, LATERAL (
                (SELECT m.seq, 1::smallint AS kind, m.created_at AS at, m.sender_id AS actor_id, NULL::text AS user_id,
                    m.id AS message_id
                 FROM store.messages m
                 WHERE m.slot = $1 AND m.conversation_id = $2 AND m.seq > $3 AND m.seq <= $4 AND m.kind <> 3
                   AND m.seq BETWEEN s.first_seq AND s.last_seq
                 ORDER BY m.seq LIMIT $5)
                UNION ALL
                (SELECT h.seq, h.kind, h.at, h.actor_id, h.user_id, h.message_id FROM store.changes h
                 WHERE h.slot = $1 AND h.conversation_id = $2 AND h.seq > $3 AND h.seq <= $4
                   AND h.seq BETWEEN s.first_seq AND s.last_seq
                 ORDER BY h.seq LIMIT $5)
            ) f
            ORDER BY f.seq LIMIT $5
        )
        SELECT p.last_seq, p.kind, p.title, p.created_at, p.member_count, f.seq, f.kind, f.at, f.actor_id, f.user_id,
            \(MessageRow.bareColumns)
        FROM position p
        LEFT JOIN feed f ON true
        LEFT JOIN store.messages m ON m.slot = $1 AND m.conversation_id = $2 AND m.id = f.message_id
        ORDER BY f.seq
        """

    static func add(
        _ conversation: ConversationID, after: Int64, through: Int64, limit: Int, to parameters: inout Parameters
    ) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.add(after)
        parameters.add(through)
        parameters.add(Int64(limit))
    }

    static func lastSeq(_ row: Row) -> Int64 { row[0] }

    /// The name of the user a change of the members is about.
    static func user(_ row: Row) -> String { row[9] ?? "" }
}

extension ChangeFields {
    /// Reads a row of the feed; nil where the outer join found no change, and for kinds that came with a later version.
    init?(_ row: Row, conversation: ConversationID) {
        guard !row.isNull(5), let kind = ChangeKind(rawValue: UInt8(row[6] as Int16)) else { return nil }
        self.conversation = conversation
        self.kind = kind
        seq = row[5]
        at = row[7]
        actor = row[8]
        if let message = MessageFields(row, first: 10, conversation: conversation) {
            content = .message(message)
        } else {
            let isDirect = row[1] as Int16 == 2
            content = .conversation(
                kind: isDirect ? .direct : .group, title: row[2], createdAt: row[3], memberCount: Int(row[4] as Int32))
        }
    }
}
