import Models
import Postgres

/// Finds when the last recipient had, and had read, each of some messages of one conversation.
///
/// Each run of a member covers a range of messages at one time. Cut to the member's stay it becomes two bounds in the
/// sorted positions, as in `ReceiptCounts`. The latest run over a message gives its date. Only the runs from the first
/// message on are read. Each of them passes at least one position, so the span of the messages bounds their number.
enum ReceiptDates {
    static let statement = statement("receipt_dates")

    /// - Parameter condition: SQL on a run `r`, which may use further parameters.
    static func statement(_ name: String, _ parameters: [PostgresType] = [], and condition: String = "") -> Statement {
        Statement(
            name, parameters: [.int2, .uuid, .text, .array(.int8)] + parameters,
            """
            SELECT kind, first, run_end, max(at) FROM (
                SELECT k.kind, width_bucket(greatest(r.from_seq, s.joined_seq) - 1, $4) AS first,
                    width_bucket(least(r.to_seq, s.left_seq), $4) AS run_end, r.at
                FROM store.memberships s
                CROSS JOIN (VALUES (1::smallint), (2::smallint), (3::smallint)) AS k (kind)
                CROSS JOIN LATERAL (
                    SELECT r.from_seq, r.to_seq, r.at FROM receipt.published_receipt_runs r
                    WHERE r.slot = s.slot AND r.conversation_id = s.conversation_id AND r.user_id = s.user_id
                      AND r.kind = k.kind AND r.to_seq >= $4[1] \(condition)
                    ORDER BY r.to_seq LIMIT $4[cardinality($4)] - $4[1] + 1
                ) r
                WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id <> $3
            ) covered
            WHERE first < run_end
            GROUP BY kind, first, run_end
            """)
    }

    /// Notes on each message the latest time at which a recipient reached it.
    static func note(_ rows: Rows, on receipts: inout [Receipts]) {
        for row in rows {
            let kind: Int16 = row[0], first: Int32 = row[1], end: Int32 = row[2], at: Timestamp = row[3]
            for index in Int(first)..<Int(end) {
                if kind != 2 { receipts[index].lastDeliveredAt = max(receipts[index].lastDeliveredAt ?? at, at) }
                if kind != 1 { receipts[index].lastReadAt = max(receipts[index].lastReadAt ?? at, at) }
            }
        }
    }
}
