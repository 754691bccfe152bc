import Models
import Postgres

/// The statements of `CompletionKeeper`.
enum CompletionStatements {
    static let all = [messages, laggards, times, insert]

    /// The number of messages in a page. It bounds how many runs of a member are read at once.
    private static let pageSize: Int64 = 50

    /// Selects the messages after the last row of the history.
    private static let messages = Statement(
        "completion_messages", parameters: [.int2, .uuid, .int2, .int8],
        """
        SELECT m.seq, m.sender_id FROM store.published_messages m
        WHERE m.slot = $1 AND m.conversation_id = $2 AND m.kind <> 3 AND m.seq > coalesce((
            SELECT c.to_seq FROM receipt.completions c
            WHERE c.slot = $1 AND c.conversation_id = $2 AND c.kind = $3
            ORDER BY c.to_seq DESC LIMIT 1
        ), 0)
        ORDER BY m.seq LIMIT $4
        """)

    /// Selects the two present members who are farthest behind, and all former ones who lack a message from $4 to $5.
    private static let laggards = Statement(
        "completion_laggards", parameters: [.int2, .uuid, .int2, .int8, .int8],
        """
        WITH members AS MATERIALIZED (
            SELECT s.user_id, s.left_seq, greatest(
                s.joined_seq, CASE $3 WHEN 1 THEN h.delivered_seq ELSE h.shown_seq END) AS reached
            FROM store.published_memberships s
            LEFT JOIN receipt.horizons h
                ON h.slot = $1 AND h.conversation_id = $2 AND h.user_id = s.user_id
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.joined_seq < $5
              AND (s.left_seq IS NULL OR s.left_seq > $4)
        )
        (SELECT user_id, reached, left_seq FROM members WHERE left_seq IS NULL AND reached < $5
         ORDER BY reached LIMIT 2)
        UNION ALL
        (SELECT user_id, reached, left_seq FROM members WHERE left_seq > reached ORDER BY reached)
        """)

    /// Selects when the runs of one kind, and of kind both, last passed each of the messages $4; each sender $5
    /// separately.
    private static let times = Statement(
        "completion_times", parameters: [.int2, .uuid, .int2, .array(.int8), .array(.text)],
        """
        SELECT first, run_end, sender, max(at) FROM (
            SELECT width_bucket(greatest(r.from_seq, s.joined_seq) - 1, $4) AS first,
                width_bucket(least(r.to_seq, s.left_seq), $4) AS run_end,
                CASE WHEN s.user_id = ANY ($5) THEN s.user_id END AS sender, r.at
            FROM store.published_memberships s
            CROSS JOIN LATERAL unnest(ARRAY[$3, 3::smallint]) AS k (kind)
            CROSS JOIN LATERAL (
                SELECT r.from_seq, r.to_seq, r.at FROM receipt.receipt_runs r
                WHERE r.slot = $1 AND r.conversation_id = $2 AND r.user_id = s.user_id
                  AND r.kind = k.kind AND r.to_seq >= $4[1]
                ORDER BY r.to_seq LIMIT $4[cardinality($4)] - $4[1] + 1
            ) r
            WHERE s.slot = $1 AND s.conversation_id = $2
        ) covered
        WHERE first < run_end
        GROUP BY first, run_end, sender
        """)

    /// Inserts the dates. If two services own a slot for a moment, both write the same dates.
    private static let insert = Statement(
        "completion_insert", parameters: [.int2, .uuid, .int2, .array(.int8), .array(.int8), .array(.timestamptz)],
        """
        INSERT INTO receipt.completions (slot, conversation_id, kind, from_seq, to_seq, at)
        SELECT $1, $2, $3, from_seq, to_seq, at FROM unnest($4, $5, $6) AS r (from_seq, to_seq, at)
        ON CONFLICT DO NOTHING
        """)

    typealias Message = CompletionPage.Message
    typealias Laggard = CompletionPage.Laggard

    static func messages(
        _ conversation: ConversationID, _ kind: Int16, on connection: Connection
    ) async throws(DatabaseError) -> [Message] {
        try await connection.query(messages) { parameters in
            add(conversation, kind, to: &parameters)
            parameters.add(pageSize)
        }.map { Message(seq: $0[0], sender: $0[1]) }
    }

    /// Reads the present members, the farthest behind first, and the former ones.
    static func laggards(
        _ conversation: ConversationID, _ kind: Int16, among messages: [Message], on connection: Connection
    ) async throws(DatabaseError) -> (present: [Laggard], former: [Laggard]) {
        let laggards = try await connection.query(laggards) { parameters in
            add(conversation, kind, to: &parameters)
            parameters.add(messages.first!.seq)
            parameters.add(messages.last!.seq)
        }.map { Laggard(user: $0[0], reached: $0[1], leftSeq: $0[2]) }
        return (laggards.filter { $0.leftSeq == nil }, laggards.filter { $0.leftSeq != nil })
    }

    static func times(
        _ conversation: ConversationID, _ kind: Int16, of messages: [Message], on connection: Connection
    ) async throws(DatabaseError) -> [(first: Int, end: Int, sender: UserID?, at: Timestamp)] {
        try await connection.query(times) { parameters in
            add(conversation, kind, to: &parameters)
            parameters.addArray(of: .int8)
            for message in messages { parameters.append(message.seq) }
            parameters.addArray(of: .text)
            for sender in Set(messages.map(\.sender)) { parameters.append(sender) }
        }.map { (Int($0[0] as Int32), Int($0[1] as Int32), $0[2], $0[3]) }
    }

    static func insert(
        _ ranges: [CompletionPage.Range], _ conversation: ConversationID, _ kind: Int16, on connection: Connection
    ) async throws(DatabaseError) {
        _ = try await connection.query(insert) { parameters in
            add(conversation, kind, to: &parameters)
            parameters.addArray(of: .int8)
            for range in ranges { parameters.append(range.from) }
            parameters.addArray(of: .int8)
            for range in ranges { parameters.append(range.to) }
            parameters.addArray(of: .timestamptz)
            for range in ranges { parameters.append(range.at) }
        }
    }

    private static func add(_ conversation: ConversationID, _ kind: Int16, to parameters: inout Parameters) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.add(kind)
    }
}
