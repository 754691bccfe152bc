import Models
import Postgres
import Wire

/// The changes of a conversation in a range of positions, and the position of the conversation, in one snapshot. The
/// feed is the union of created messages and all other changes.
enum FeedStatement {
    /// Selects everything for fanout, which cuts by the windows of its sessions. Each change has its message in the
    /// present state, or in the state when the next member left. Anyone who sees the change left at that time or later,
    /// so nobody gets a text from after their stay. Returns no row if there is no such conversation.
    static let replay = Statement(
        "replay", parameters: [.int2, .uuid, .int8, .int8, .int8],
        """
        WITH \(everything)
        \(feed(after: "$3", through: "$4", limit: "$5", asOf: "coalesce(\(nextRemoval), p.last_seq)"))
        """)

    private static let nextRemoval = """
        (SELECT r.seq FROM store.changes r
         WHERE r.slot = $1 AND r.conversation_id = $2 AND r.kind = \(ChangeKind.memberRemoved.rawValue) AND r.seq > f.seq
         ORDER BY r.seq LIMIT 1)
        """

    /// Selects the latest changes for a write that was just carried out, in the same transaction. The latest one comes
    /// last. Messages are in the state that the write left.
    static let latest = latest("latest_changes", count: 2)

    /// The same for a write that changes up to `count` messages at once.
    static func latest(_ name: String, count: Int) -> Statement {
        Statement(
            name, parameters: [.int2, .uuid],
            """
            WITH \(everything), latest AS MATERIALIZED (
                SELECT c.last_seq FROM store.conversations c WHERE c.slot = $1 AND c.id = $2
            )
            \(feed(
                after: "(SELECT l.last_seq - \(count) FROM latest l)", through: "(SELECT l.last_seq FROM latest l)",
                limit: "\(count)", asOf: "f.seq", countsMembers: false))
            """)
    }

    private static let everything = """
        stays AS MATERIALIZED (SELECT 1::bigint AS first_seq, 9223372036854775807 AS last_seq)
        """

    /// Selects for a client what its windows cover. Each change has its message in the present state, or in the state
    /// when the reader left, and no message if that was created before, between or after their stays. Returns no row if
    /// the reader never was a member.
    static let changes = Statement(
        "changes", parameters: [.int2, .uuid, .int8, .int8, .int8, .text],
        """
        WITH stays AS MATERIALIZED (
            SELECT joined_seq AS first_seq, coalesce(left_seq, 9223372036854775807) AS last_seq FROM store.memberships
            WHERE slot = $1 AND conversation_id = $2 AND user_id = $6
        )
        \(feed(after: "$3", through: "$4", limit: "$5", asOf: "p.last_seq"))
        """)

    /// - Parameter countsMembers: adds the member count as of the position, for ranges that may hold the conversation's
    ///   creation.
    private static func feed(
        after: String, through: String, limit: String, asOf position: String, countsMembers: Bool = true
    ) -> String {
        """
        , position AS (
            SELECT c.kind, c.created_at, c.member_count, least(c.last_seq, max(s.last_seq)) AS last_seq
            FROM store.conversations c, stays s
            WHERE c.slot = $1 AND c.id = $2
            GROUP BY c.slot, c.id
        ), feed AS (
            SELECT f.* FROM stays s, LATERAL (
                (SELECT m.seq, 1::smallint AS kind, m.created_at AS at, m.sender_id AS actor_id, NULL::text AS user_id,
                    NULL::smallint AS role, NULL::text AS title, m.id AS message_id
                 FROM store.messages m
                 WHERE m.slot = $1 AND m.conversation_id = $2 AND m.seq > \(after) AND m.seq <= \(through) AND m.kind <> 3
                   AND m.seq BETWEEN s.first_seq AND s.last_seq
                 ORDER BY m.seq LIMIT \(limit))
                UNION ALL
                (SELECT h.seq, h.kind, h.at, h.actor_id, h.user_id, h.role, h.title, h.message_id
                 FROM store.changes h
                 WHERE h.slot = $1 AND h.conversation_id = $2 AND h.seq > \(after) AND h.seq <= \(through)
                   AND h.seq BETWEEN s.first_seq AND s.last_seq
                 ORDER BY h.seq LIMIT \(limit))
            ) f
            ORDER BY f.seq LIMIT \(limit)
        )
        SELECT p.last_seq, p.kind, p.created_at,
            \(countsMembers ? memberCount(asOf: position) : "p.member_count"), f.seq, f.kind, f.at, f.actor_id, f.user_id, f.role,
            f.title,
            \(MessageRow.bareColumns(asOf: position))
        FROM position p
        LEFT JOIN feed f ON true
        LEFT JOIN LATERAL (
            SELECT m.* FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = f.message_id
              AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq)
            OFFSET 0  -- Else the planner joins all messages of the conversation with the stays first.
        ) m ON true
        ORDER BY f.seq
        """
    }

    private static func memberCount(asOf position: String) -> String {
        """
        CASE WHEN f.kind = \(ChangeKind.conversationCreated.rawValue)
            THEN \(FormerView.memberCount("$1", "$2", present: "p.member_count", asOf: position))
            ELSE p.member_count END
        """
    }

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

    /// Whether the outer join found no change.
    static func isEmpty(_ row: Row) -> Bool { row.isNull(4) }

    /// The name of the user whom a membership change is about.
    static func user(_ row: Row) -> String { row[8] ?? "" }
}

extension ChangeFields {
    /// Reads a row of the feed. Nil if the outer join found no change, and for kinds of a later version.
    init?(_ row: Row, conversation: ConversationID) {
        guard !FeedStatement.isEmpty(row), let kind = ChangeKind(rawValue: UInt8(row[5] as Int16)) else { return nil }
        self.conversation = conversation
        self.kind = kind
        seq = row[4]
        at = row[6]
        actor = row[7]
        content = Self.content(row, kind, conversation)
    }

    private static func content(_ row: Row, _ kind: ChangeKind, _ conversation: ConversationID) -> Content {
        switch kind {
        case .conversationCreated:
            return .conversation(
                kind: row[1] as Int16 == 2 ? .direct : .group, title: row[10], createdAt: row[2],
                memberCount: Int(row[3] as Int32))
        case .conversationRenamed:
            return .title(row[10] ?? "")
        case .memberAdded, .memberRemoved, .memberChanged:
            let role: Int16? = row[9]
            return .member(user: row[8] ?? "", role: role.flatMap { MemberRole(rawValue: UInt8($0)) })
        case .messageCreated, .messageEdited, .messageDeleted, .tapbackSet, .tapbackRemoved:
            return .message(MessageFields(row, first: 11, conversation: conversation))
        }
    }
}
