import Models
import Postgres
import Wire

/// The rows that a page of history is made of, and the position that it is exact at.
///
/// Nearly every reader sees all there is around the pivot, so that is asked for first: what lies there, whoever reads, and
/// beside it what this reader may see. These are statements of few nodes, which PostgreSQL prepares in half the time of
/// the one that finds its way between stays and past hidden messages (`HistoryStatement`; Tests/Load/PROFILE.md).
struct HistoryRows {
    let position: Int64
    /// In no order. What lies before `first` or behind `position` is not the reader's to see.
    let sides: [Rows]
    let first: Int64
    /// The recipients of what the reader sent, where they were asked for at once.
    let recipients: Rows?

    // MARK: For who sees everything

    static let statements = [stays, before, from]

    /// The stays of reader $3 in conversation $2 of slot $1, and whether they hid anything in it.
    private static let stays = Statement(
        "reader_stays", parameters: [.int2, .uuid, .text],
        """
        SELECT c.last_seq, greatest(s.joined_seq, s.cleared_seq + 1), coalesce(s.left_seq, \(Int64.max)), EXISTS (
            SELECT FROM store.hidden d WHERE d.slot = $1 AND d.conversation_id = $2 AND d.user_id = $3)
        FROM store.conversations c, store.memberships s
        WHERE c.slot = $1 AND c.id = $2 AND s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
        """)

    /// The $4 messages of conversation $2 that are nearest to position $3.
    private static let before = side("messages_before", "m.seq < $3 ORDER BY m.seq DESC")
    private static let from = side("messages_from", "m.seq >= $3 ORDER BY m.seq")

    private static func side(_ name: String, _ condition: String) -> Statement {
        Statement(
            name, parameters: [.int2, .uuid, .int8, .int8],
            """
            SELECT \(MessageRow.plainColumns) FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND \(condition) LIMIT $4
            """)
    }

    /// The stays first: what is found behind them has everything that they tell of, and perhaps something newer.
    static func add(_ head: ConversationQuery, _ bounds: HistoryBounds, to batch: inout Batch) {
        batch.execute(stays) { parameters in
            parameters.add(head.conversation.slot)
            parameters.add(head.conversation)
            parameters.add(head.reader)
        }
        add(before, head.conversation, bounds.pivot, bounds.older, to: &batch)
        if bounds.pivot < .max { add(from, head.conversation, bounds.pivot, bounds.newer, to: &batch) }
    }

    private static func add(
        _ side: Statement, _ conversation: ConversationID, _ pivot: Int64, _ limit: Int, to batch: inout Batch
    ) {
        batch.execute(side) { parameters in
            parameters.add(conversation.slot)
            parameters.add(conversation)
            parameters.add(pivot)
            parameters.add(Int64(limit) + 1)  // One more tells whether there are more.
        }
    }

    /// What `add` has brought, and the recipients. Nil where the reader does not see everything from the pivot on, in either
    /// direction, up to where nothing more is theirs to see.
    init?(_ results: [Rows]) {
        guard results[0].count == 1, let stay = results[0].first, !(stay[3] as Bool) else { return nil }
        position = min(stay[0], stay[2])
        first = stay[1]
        sides = Array(results[1..<(results.count - 1)])
        recipients = results[results.count - 1]
        if let nearest: Int64 = sides[0].first?[0], nearest > position { return nil }
        if sides.count > 1, let nearest: Int64 = sides[1].first?[0], nearest < first { return nil }
    }

    // MARK: For everybody

    /// What `HistoryStatement` has found; nil when the reader never was a member.
    init?(_ rows: Rows) {
        guard let row = rows.first else { return nil }
        position = row[MessageRow.plainColumnCount]
        first = 0
        sides = [rows]
        recipients = nil
    }

    func isVisible(_ seq: Int64) -> Bool { seq >= first && seq <= position }

    /// Whether a visible message has more to it than its row.
    func hasMore(_ row: Row) -> Bool {
        row[MessageRow.plainColumnCount - 1] || row[MessageRow.changedSeq] as Int64 > position
    }

    /// The visible messages that have.
    var seqsWithMore: [Int64] {
        sides.flatMap { rows in
            rows.compactMap { row in
                guard let seq: Int64 = row[0], isVisible(seq), hasMore(row) else { return nil }
                return seq
            }
        }
    }
}
