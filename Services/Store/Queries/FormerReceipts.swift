import Models
import Postgres
import Wire

/// How far the recipients of a former member's messages were when that member left. Later receipts are not shown. These
/// statements look at every stay of the conversation, which those for present members do not, so they are heavy.
enum FormerReceipts {
    static let statements = [end, counts, dates, single]

    /// Selects where and when the last stay of user $3 in conversation $2 of slot $1 ended. Returns no row if it lasts,
    /// or if there is none.
    static let end = Statement(
        "former_end", parameters: [.int2, .uuid, .text],
        """
        SELECT e.seq, e.at FROM store.changes e
        WHERE e.slot = $1 AND e.conversation_id = $2 AND e.seq = \(FormerView.end("$1", "$2", "$3"))
        """)

    struct End {
        let seq: Int64
        let at: Timestamp

        init(_ row: Row) { (seq, at) = (row[0], row[1]) }
    }

    static func addEnd(of user: UserID, in conversation: ConversationID, to parameters: inout Parameters) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.add(user)
    }

    // MARK: Counts and dates of many messages

    /// The stays of all but $3 between positions $6 and $4, and how far each was at time $5. Equal stays are one row.
    private static let counts = Statement(
        "former_receipt_counts", parameters: [.int2, .uuid, .text, .int8, .timestamptz, .int8],
        """
        SELECT joined_seq, left_seq, delivered_seq, shown_seq, count(*) FROM (
            SELECT s.joined_seq, least(s.left_seq, $4) AS left_seq, \(FormerView.horizon(ofKind: 1, "$4", "$5")) AS delivered_seq,
                \(FormerView.horizon(ofKind: 2, "$4", "$5")) AS shown_seq
            FROM store.memberships s
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id <> $3 AND s.joined_seq <= $4
              AND (s.left_seq IS NULL OR s.left_seq >= $6)
        ) s
        GROUP BY 1, 2, 3, 4
        """)

    private static func addCounts(
        _ messages: SentMessages, sender: UserID, asOf end: End, to parameters: inout Parameters
    ) {
        addEnd(of: sender, in: messages.conversation, to: &parameters)
        parameters.add(end.seq)
        parameters.add(end.at)
        parameters.add(messages.seqs.first ?? end.seq)
    }

    static func count(_ rows: Rows, of messages: SentMessages) -> [Receipts] {
        let spans = rows.map { row in
            RecipientsStatement.span(row, of: messages, count: Int(row[4] as Int64))
        }
        return ReceiptCounts.sum(spans, messageCount: messages.seqs.count)
    }

    /// Like `ReceiptDates`, without receipts after time $5.
    private static let dates = ReceiptDates.statement("former_receipt_dates", [.timestamptz], and: "AND r.at <= $5")

    static func addDates(_ messages: SentMessages, sender: UserID, asOf end: End, to parameters: inout Parameters) {
        ReceiptCounts.add(messages.conversation, sender: sender, seqs: messages.seqs, to: &parameters)
        parameters.add(end.at)
    }

    static func addStatements(
        _ messages: SentMessages, sender: UserID, asOf end: End, to batch: inout Batch
    ) {
        batch.execute(counts) { addCounts(messages, sender: sender, asOf: end, to: &$0) }
        batch.execute(dates) { addDates(messages, sender: sender, asOf: end, to: &$0) }
    }

    // MARK: One message

    /// Like `ReceiptsStatement`, for a former member's own message.
    static let single = Statement(
        "former_receipts", parameters: [.int2, .uuid, .text, .uuid, .text, .int8],
        """
        WITH \(MessageStatement.visible), own AS MATERIALIZED (
            SELECT m.seq, e.seq AS end_seq, e.at AS ended_at FROM visible m
            JOIN store.changes e ON e.slot = $1 AND e.conversation_id = $2 AND e.seq = \(MessageStatement.position)
            WHERE m.sender_id = $3 AND m.kind <> 3
        ), recipients AS MATERIALIZED (
            SELECT p.user_id, (\(ReceiptsStatement.time(ofKinds: 1, and: "AND r.at <= own.ended_at"))) AS delivered_at,
                (\(ReceiptsStatement.time(ofKinds: 2, and: "AND r.at <= own.ended_at"))) AS read_at
            FROM own JOIN store.memberships p ON p.slot = $1 AND p.conversation_id = $2 AND p.user_id <> $3
                AND own.seq BETWEEN p.joined_seq AND coalesce(p.left_seq, own.seq)
        )
        SELECT EXISTS (SELECT FROM own), count.*, page.* FROM visible m
        CROSS JOIN (
            SELECT count(*) AS recipients, count(delivered_at) AS delivered, count(read_at) AS read FROM recipients
        ) count
        LEFT JOIN LATERAL (
            SELECT * FROM recipients WHERE delivered_at IS NOT NULL AND user_id > $5 ORDER BY user_id LIMIT $6
        ) page ON true
        ORDER BY page.user_id
        """)
}

// Conversations of any size, in two round trips.
extension Queries {
    /// Fills in the counts that are still nil, if the sender has left.
    func countForFormer(_ sent: [SentMessages], by sender: UserID, _ receipts: inout [[Receipts]?]) async throws {
        let uncounted = sent.indices.filter { receipts[$0] == nil }
        guard !uncounted.isEmpty else { return }
        let ends = try await connection.transaction { batch in
            for index in uncounted {
                batch.execute(FormerReceipts.end) {
                    FormerReceipts.addEnd(of: sender, in: sent[index].conversation, to: &$0)
                }
            }
        }
        let former = zip(uncounted, ends).compactMap { index, rows in
            rows.first.map { (index: index, end: FormerReceipts.End($0)) }
        }
        guard !former.isEmpty else { return }
        let results = try await connection.transaction(.heavy) { batch in
            for (index, end) in former {
                FormerReceipts.addStatements(sent[index], sender: sender, asOf: end, to: &batch)
            }
        }
        for (place, (index, _)) in former.enumerated() {
            var counted = FormerReceipts.count(results[2 * place], of: sent[index])
            ReceiptDates.note(results[2 * place + 1], on: &counted)
            receipts[index] = counted
        }
    }
}
