import Models
import Postgres
import Wire

/// The messages of a page of history, whatever the reader's stays and whatever they hid, and the position it is exact at,
/// in one snapshot. No row: the reader never was a member. A row without a message: the page is empty. The rows are in no
/// order.
enum HistoryStatement {
    static let statement = Statement(
        "history", parameters: [.int2, .uuid, .text, .int8, .int8, .int8],
        """
        SELECT \(MessageRow.plainColumns), page.last_seq
        FROM (
            SELECT least(c.last_seq, stays.last_seq) AS last_seq, EXISTS (
                SELECT FROM store.hidden d WHERE d.slot = $1 AND d.conversation_id = $2 AND d.user_id = $3) AS hides
            FROM store.conversations c, (
                SELECT max(coalesce(s.left_seq, \(Int64.max))) AS last_seq FROM store.memberships s
                WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
            ) stays
            WHERE c.slot = $1 AND c.id = $2 AND stays.last_seq IS NOT NULL
            OFFSET 0
        ) page
        LEFT JOIN LATERAL (
            \(side("m.seq < $4", order: "DESC", limit: "$5"))
            UNION ALL
            \(side("m.seq >= $4", order: "ASC", limit: "$6"))
        ) m ON true
        """)

    /// The messages nearest to the pivot on one side of it. The nested loop keeps the order of the stays, which overlap
    /// nowhere, so the messages are not sorted, texts and all.
    private static func side(_ condition: String, order: String, limit: String) -> String {
        """
        (SELECT m.* FROM (
            SELECT greatest(s.joined_seq, s.cleared_seq + 1) AS first_seq, coalesce(s.left_seq, \(Int64.max)) AS last_seq
            FROM store.memberships s
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
            ORDER BY s.joined_seq \(order) OFFSET 0
        ) s CROSS JOIN LATERAL (
            SELECT * FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND \(condition) AND m.seq BETWEEN s.first_seq AND s.last_seq
              AND (NOT page.hides OR \(isNotHidden))
            ORDER BY m.seq \(order) LIMIT \(limit)
        ) m LIMIT \(limit))
        """
    }

    private static let isNotHidden = HiddenMessages.isNone(at: "m.seq", slot: "$1", conversation: "$2", reader: "$3")

    static func add(_ head: ConversationQuery, _ bounds: HistoryBounds, to parameters: inout Parameters) {
        parameters.add(head.conversation.slot)
        parameters.add(head.conversation)
        parameters.add(head.reader)
        parameters.add(bounds.pivot)
        // One more on either side tells whether there are more.
        parameters.add(Int64(bounds.older + 1))
        parameters.add(Int64(bounds.newer + 1))
    }
}

/// Messages that a reader sees, with all that belongs to them: parents, tapbacks, events, and the texts of then where the
/// reader has left since. Few messages have any, and PostgreSQL prepares every node of a statement each time it runs, used
/// or not: so these are asked for where the rows alone do not tell all (`HistoryRows`).
///
/// It is read behind a page's snapshot, as of the page's position. What may differ is a deletion, or a tapback that was
/// taken back, since: then the change that tells so lies behind that position, and says it once more.
enum WholeMessages {
    static let statement = Statement(
        "whole_messages", parameters: [.int2, .uuid, .text, .array(.int8), .int8],
        """
        SELECT \(MessageRow.columns(for: "$3", asOf: "$5"))
        FROM store.messages m
        LEFT JOIN LATERAL (\(MessageRow.parent(for: "$3", asOf: "$5"))) parent ON true
        WHERE m.slot = $1 AND m.conversation_id = $2 AND m.seq = ANY ($4)
        """)

    static func add(_ head: ConversationQuery, seqs: [Int64], asOf position: Int64, to parameters: inout Parameters) {
        parameters.add(head.conversation.slot)
        parameters.add(head.conversation)
        parameters.add(head.reader)
        parameters.addArray(of: .int8)
        for seq in seqs { parameters.append(seq) }
        parameters.add(position)
    }
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
