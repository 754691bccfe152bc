import Models
import Postgres
import Wire

/// Conversations as their reader sees them. `list` reads the inbox, which names the user's slot, and then the
/// conversations in their own slots. It is one of the few statements that fan out over slots.
enum ConversationStatement {
    static let list = Statement(
        "list_conversations", parameters: [.text, .int2, .timestamptz, .uuid, .int8],
        """
        WITH page AS (
            SELECT * FROM (
                SELECT c.*, \(shownAt) AS shown_at FROM \(inbox(where: "true"))
                CROSS JOIN LATERAL (\(conversation(where: "true"))) c
                OFFSET 0
            ) c
            WHERE (c.shown_at, c.id) < ($3, $4)
            ORDER BY c.shown_at DESC, c.id DESC LIMIT $5
        )
        \(columns(orderedBy: "c.shown_at DESC, c.id DESC"))
        """)

    /// Selects for `sync`, by id, the conversations that transaction $3 (its lower 32 bits) or a later one changed.
    /// Ages are measured against one counter for the whole transaction, so they compare exactly. A row older than half
    /// the number space looks new, which only means that it is sent again. Fans out over slots like `list`.
    ///
    /// For a former member a conversation changes only when their stay changes, or when a message they see is deleted
    /// for everyone. They must not learn that anything else happens there.
    static let changed = Statement(
        "changed_conversations", parameters: [.text, .int2, .int8, .uuid, .int8],
        """
        WITH page AS (
            SELECT c.*, \(shownAt) AS shown_at FROM \(inbox(where: "i.conversation_id > $4"))
            CROSS JOIN LATERAL (
                \(conversation(where: "$3 = 0 OR (\(isRecent("c.xmin")) AND (\(isMember) OR \(hasChangedForFormer)))"))
            ) c
            ORDER BY i.conversation_id LIMIT $5
        )
        \(columns(orderedBy: "c.id"))
        """)

    /// The inbox of user $1 in the order of the ids. Each conversation is looked up from it. Otherwise the planner
    /// scans all conversations whenever it expects long inboxes.
    private static func inbox(where condition: String) -> String {
        """
        (
                SELECT i.slot, i.conversation_id FROM store.inbox i
                WHERE i.user_slot = $2 AND i.user_id = $1 AND \(Listing.shows(to: "$1")) AND \(condition)
                ORDER BY i.conversation_id OFFSET 0
            ) i
        """
    }

    private static func conversation(where condition: String) -> String {
        """
        SELECT c.* FROM store.conversations c
                WHERE c.slot = i.slot AND c.id = i.conversation_id AND (\(condition)) OFFSET 0
        """
    }

    static let single = Statement(
        "conversation", parameters: [.text, .int2, .uuid],
        """
        WITH page AS (SELECT c.*, \(shownAt) AS shown_at FROM store.conversations c WHERE c.slot = $2 AND c.id = $3)
        \(columns(orderedBy: "c.id"))
        """)

    /// The latest activity in `c` that the reader sees; for a former member, that of their removal.
    private static let shownAt = """
        CASE WHEN \(isMember) THEN c.last_at
            ELSE coalesce(\(FormerView.endedAt("c.slot", "c.id", FormerView.end("c.slot", "c.id", "$1"))), c.created_at) END
        """

    // Scalar subqueries, as in `HiddenMessages`: `EXISTS` may become a table of everything the reader has anywhere.

    private static let isMember = """
        (SELECT true FROM store.memberships o
         WHERE o.slot = c.slot AND o.conversation_id = c.id AND o.user_id = $1 AND o.left_seq IS NULL) IS NOT NULL
        """

    private static func isRecent(_ transaction: String) -> String {
        "age(\(transaction)) <= age(($3 & 4294967295)::text::xid)"
    }

    /// Whether their stay ended, or a message they see was deleted for everyone. Executables that did not note the
    /// position of a deletion left it in the message only.
    private static let hasChangedForFormer = """
        (
            SELECT true FROM store.memberships o
            WHERE o.slot = c.slot AND o.conversation_id = c.id AND o.user_id = $1 AND (\(isRecent("o.xmin"))
                OR (SELECT true \(deletions) AND h.about_seq BETWEEN o.joined_seq AND o.left_seq LIMIT 1) IS NOT NULL
                OR (SELECT true \(deletions) AND h.about_seq IS NULL AND (
                    SELECT m.seq BETWEEN o.joined_seq AND o.left_seq FROM store.messages m
                    WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.id = h.message_id) LIMIT 1) IS NOT NULL)
            LIMIT 1) IS NOT NULL
        """

    /// The recent deletions in `c`, after the stay `o`.
    private static let deletions = """
        FROM store.changes h
                WHERE h.slot = c.slot AND h.conversation_id = c.id AND h.kind = \(ChangeKind.messageDeleted.rawValue)
                  AND h.seq > o.left_seq AND \(isRecent("h.xmin"))
        """

    private static func columns(orderedBy order: String) -> String {
        """
        SELECT c.id, c.kind, \(title(asOf: "stay.last_seq")), c.created_at, least(c.last_seq, stay.last_seq), c.shown_at,
            CASE WHEN c.last_seq <= stay.last_seq THEN c.member_count
                ELSE \(FormerView.memberCount("c.slot", "c.id", present: "c.member_count", asOf: "stay.last_seq")) END,
            stay.role, stay.joined, stay.ended, stay.cleared_seq,
            unread.count::int, coalesce(h.read_seq, 0), coalesce(h.delivered_seq, 0), unread.rest, latest.rest,
            \(MessageRow.columns(for: "$1", asOf: "stay.last_seq"))
        FROM page c
        CROSS JOIN LATERAL (
            SELECT array_agg(s.joined_seq ORDER BY s.joined_seq) AS joined, array_agg(coalesce(s.left_seq, 0) ORDER BY s.joined_seq) AS ended,
                (array_agg(s.role ORDER BY s.joined_seq DESC))[1] AS role, max(s.cleared_seq) AS cleared_seq,
                max(coalesce(s.left_seq, 9223372036854775807)) AS last_seq,
                (SELECT true FROM store.hidden d
                 WHERE d.slot = c.slot AND d.conversation_id = c.id AND d.user_id = $1 LIMIT 1) IS NOT NULL AS hides
            FROM store.memberships s
            WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = $1
        ) stay
        LEFT JOIN LATERAL (
            SELECT h.read_seq, h.delivered_seq FROM receipt.published_horizons h
            WHERE h.slot = c.slot AND h.conversation_id = c.id AND h.user_id = $1
            OFFSET 0
        ) h ON true
        CROSS JOIN LATERAL (
            SELECT least(count(*) FILTER (WHERE m.sender_id <> $1 AND m.kind <> 3 AND m.deleted_at IS NULL AND \(isVisible)),
                    \(UnreadStatement.limit)) AS count,
                CASE WHEN count(*) = \(nearbyRows) THEN min(m.seq) END AS rest
            FROM (\(newest("\(nearbyRows)", after: "greatest(coalesce(h.read_seq, 0), stay.cleared_seq)"))) m
        ) unread
        CROSS JOIN LATERAL (
            SELECT max(m.seq) FILTER (WHERE \(isVisible)) AS seq,
                CASE WHEN count(*) = \(nearbyRows) AND NOT bool_or(\(isVisible)) THEN min(m.seq) END AS rest
            FROM (\(newest("CASE WHEN stay.hides THEN \(nearbyRows) ELSE 1 END", after: "stay.cleared_seq"))) m
        ) latest
        LEFT JOIN LATERAL (
            SELECT m.* FROM store.messages m
            WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.seq = latest.seq
            OFFSET 0
        ) m ON true
        LEFT JOIN LATERAL (
            SELECT p.sender_id, \(MessageRow.text(of: "p", asOf: "stay.last_seq")) AS body FROM store.messages p
            WHERE p.slot = c.slot AND p.conversation_id = c.id AND p.seq = m.reply_seq AND p.deleted_at IS NULL
              AND p.seq > stay.cleared_seq
              AND EXISTS (SELECT FROM store.memberships s
                          WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = $1
                            AND p.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, p.seq))
              AND \(HiddenMessages.isNone(at: "p.seq", slot: "c.slot", conversation: "c.id", reader: "$1"))
        ) parent ON true
        WHERE stay.joined IS NOT NULL
        ORDER BY \(order)
        """
    }

    /// The number of rows at the end of a conversation that one statement looks at. If none of them is shown, or
    /// too few of them count, `UnreadWalk` looks at earlier ones.
    static let nearbyRows = 256

    /// The last rows of `c` in the stays of the reader, newest first. The nested loop keeps the order of the stays,
    /// which never overlap.
    private static func newest(_ limit: String, after floor: String) -> String {
        """
        SELECT m.* FROM (
            SELECT greatest(s.joined_seq, \(floor) + 1) AS first_seq, coalesce(s.left_seq, \(Int64.max)) AS last_seq
            FROM store.memberships s
            WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = $1
              AND coalesce(s.left_seq, \(Int64.max)) > \(floor)
            ORDER BY s.joined_seq DESC OFFSET 0
        ) s CROSS JOIN LATERAL (
            SELECT m.seq, m.sender_id, m.kind, m.deleted_at FROM store.messages m
            WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.seq BETWEEN s.first_seq AND s.last_seq
            ORDER BY m.seq DESC LIMIT \(limit)
        ) m LIMIT \(limit)
        """
    }

    /// Whether the reader has not hidden row `m`. Few readers hide anything, so one check for any hidden message
    /// precedes the check of each row.
    private static let isVisible = """
        (NOT stay.hides OR \(HiddenMessages.isNone(at: "m.seq", slot: "c.slot", conversation: "c.id", reader: "$1")))
        """

    /// The title of `c`; for a former member, the title at the end of their stay.
    private static func title(asOf position: String) -> String {
        """
        CASE WHEN c.last_seq <= \(position) THEN c.title ELSE (
                SELECT h.title FROM store.changes h
                WHERE h.slot = c.slot AND h.conversation_id = c.id AND h.kind IN (\(titles)) AND h.seq <= \(position)
                ORDER BY h.seq DESC LIMIT 1
            ) END
        """
    }

    /// The changes that carry a title.
    private static let titles = [ChangeKind.conversationCreated, .conversationRenamed]
        .map { "\($0.rawValue)" }.joined(separator: ", ")

    static func add(_ query: ListConversations, to parameters: inout Parameters) {
        parameters.add(query.reader)
        parameters.add(query.reader.slot)
        parameters.add(query.before.lastActivityAt)
        parameters.add(query.before.conversation)
        // One more row shows whether there are more.
        parameters.add(Int64(query.limit) + 1)
    }

    static func add(_ query: ConversationQuery, to parameters: inout Parameters) {
        parameters.add(query.reader)
        parameters.add(query.conversation.slot)
        parameters.add(query.conversation)
    }

    /// The lowest position looked at for the count and for the latest message, if there are earlier ones.
    static let unreadRest = 14
    static let latestRest = 15
    /// The first column of the latest message.
    static let messageColumn = 16
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
