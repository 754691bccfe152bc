import Models
import Postgres

/// Reads the rows before those that `ConversationStatement` looks at, a few blocks of positions at a time.
enum UnreadStatement {
    /// Unread messages are counted up to this number.
    static let limit = 100

    /// Returns for each range of positions, which lies in one block: its number among the ranges, how many messages
    /// count for reader $1, and whether none counts for anybody.
    static let blocks = Statement(
        "unread_blocks", parameters: parameters,
        """
        SELECT i.n::int, m.count::int, m.is_empty
        FROM \(ranges)
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE m.counts AND m.sender_id <> $1 AND \(isVisible)) AS count,
                count(*) FILTER (WHERE m.counts) = 0 AS is_empty
            FROM (
                SELECT m.seq, m.sender_id, m.kind <> 3 AND m.deleted_at IS NULL AS counts FROM \(messages) OFFSET 0
            ) m
        ) m
        """)

    /// Returns for each range its number and the position of the last message that reader $1 sees, NULL if there is
    /// none.
    static let latest = Statement(
        "latest_visible", parameters: parameters,
        """
        SELECT i.n::int, (SELECT m.seq FROM \(messages) AND \(isVisible) ORDER BY m.seq DESC LIMIT 1)
        FROM \(ranges)
        """)

    private static let parameters: [PostgresType] = [
        .text, .array(.int2), .array(.uuid), .array(.int8), .array(.int8),
    ]

    private static let ranges = """
        unnest($2::smallint[], $3::uuid[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
            AS i(slot, conversation_id, first_seq, last_seq, n)
        """

    private static let messages = """
        store.messages m
            WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.seq BETWEEN i.first_seq AND i.last_seq
        """

    private static let isVisible = """
        (SELECT true FROM store.memberships s
            WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = $1
              AND m.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, m.seq) LIMIT 1)
            AND \(HiddenMessages.isNone(at: "m.seq", slot: "i.slot", conversation: "i.conversation_id", reader: "$1"))
        """

    static func add(
        _ ranges: [(conversation: ConversationID, seqs: ClosedRange<Int64>)], for reader: UserID,
        to parameters: inout Parameters
    ) {
        parameters.add(reader)
        LockStatement.add(ranges.lazy.map(\.conversation), to: &parameters)
        parameters.addArray(of: .int8)
        for range in ranges { parameters.append(range.seqs.lowerBound) }
        parameters.addArray(of: .int8)
        for range in ranges { parameters.append(range.seqs.upperBound) }
    }
}
