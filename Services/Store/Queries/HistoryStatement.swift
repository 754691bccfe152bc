import Models
import Postgres
import Wire

/// A page of history, and the position it is exact at, in one snapshot. No row: the reader never was a member.
enum HistoryStatement {
    static let statement = Statement(
        "history", parameters: [.int2, .uuid, .text, .int8, .int8, .int8],
        """
        WITH stays AS MATERIALIZED (
            SELECT greatest(joined_seq, cleared_seq + 1) AS first_seq, coalesce(left_seq, 9223372036854775807) AS last_seq,
                joined_seq, left_seq
            FROM store.memberships
            WHERE slot = $1 AND conversation_id = $2 AND user_id = $3
        ), position AS (
            SELECT least(c.last_seq, max(s.last_seq)) AS last_seq
            FROM store.conversations c, stays s
            WHERE c.slot = $1 AND c.id = $2
            GROUP BY c.last_seq
        ), older AS (
            SELECT m.* FROM stays s, LATERAL (
                SELECT * FROM store.messages m
                WHERE m.slot = $1 AND m.conversation_id = $2 AND m.seq < $4 AND m.seq BETWEEN s.first_seq AND s.last_seq
                  \(isNotHidden)
                ORDER BY m.seq DESC LIMIT $5
            ) m
            ORDER BY m.seq DESC LIMIT $5
        ), newer AS (
            SELECT m.* FROM stays s, LATERAL (
                SELECT * FROM store.messages m
                WHERE m.slot = $1 AND m.conversation_id = $2 AND m.seq >= $4 AND m.seq BETWEEN s.first_seq AND s.last_seq
                  \(isNotHidden)
                ORDER BY m.seq LIMIT $6
            ) m
            ORDER BY m.seq LIMIT $6
        )
        SELECT \(MessageRow.columns(for: "$3", asOf: "position.last_seq")), position.last_seq
        FROM position
        LEFT JOIN (SELECT * FROM older UNION ALL SELECT * FROM newer) m ON true
        LEFT JOIN LATERAL (
            SELECT p.sender_id, \(MessageRow.text(of: "p", asOf: "position.last_seq")) AS body FROM store.messages p
            WHERE p.slot = $1 AND p.conversation_id = $2 AND p.seq = m.reply_seq AND p.deleted_at IS NULL
              AND EXISTS (SELECT FROM stays s WHERE p.seq BETWEEN s.first_seq AND s.last_seq)
              AND NOT EXISTS (SELECT FROM store.hidden d
                          WHERE d.slot = $1 AND d.conversation_id = $2 AND d.user_id = $3 AND d.seq = p.seq)
        ) parent ON true
        ORDER BY m.seq
        """)

    private static let isNotHidden = """
        AND NOT EXISTS (SELECT FROM store.hidden d
                        WHERE d.slot = $1 AND d.conversation_id = $2 AND d.user_id = $3 AND d.seq = m.seq)
        """

    static func add(_ query: HistoryQuery, to parameters: inout Parameters) {
        let bounds = HistoryBounds(query)
        parameters.add(query.head.conversation.slot)
        parameters.add(query.head.conversation)
        parameters.add(query.head.reader)
        parameters.add(bounds.pivot)
        // One more on either side tells whether there are more.
        parameters.add(Int64(bounds.older + 1))
        parameters.add(Int64(bounds.newer + 1))
    }

    static func lastSeq(_ row: Row) -> Int64 { row[MessageRow.columnCount] }
}

/// Where a page lies: up to `older` messages before `pivot`, up to `newer` from it on.
struct HistoryBounds: Equatable {
    var pivot: Int64
    var older: Int
    var newer: Int

    init(_ query: HistoryQuery) {
        let limit = Int(query.limit)
        (pivot, older, newer) =
            switch query.anchor {
            case .latest: (.max, limit, 0)
            case .before(let seq): (seq, limit, 0)
            case .after(let seq): (seq == .max ? seq : seq + 1, 0, limit)
            case .around(let seq): (seq, limit / 2, limit - limit / 2)
            }
    }
}
