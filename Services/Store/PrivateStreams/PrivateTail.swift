import Models
import Postgres

/// How much of a user's private stream is kept: the latest changes, without a gap. Who is further behind loads anew what
/// the stream tells of, which costs less than the stream.
enum PrivateTail {
    /// So many changes are replayed. A few more may be there.
    static let kept: Int64 = 1_000
    /// Rows that one statement removes.
    static let rowsAtOnce: Int64 = 500

    /// The oldest rows up to $3, at most $4 of them. Returns how many went. Whoever does the same at once finds them gone.
    /// $1 slot · $2 user.
    static let trim = Statement(
        "trim_private", parameters: [.int2, .text, .int8, .int8],
        """
        WITH gone AS (
            DELETE FROM store.user_changes h
            WHERE h.user_slot = $1 AND h.user_id = $2 AND h.useq <= least($3, $4 - 1 + (
                SELECT o.useq FROM store.user_changes o WHERE o.user_slot = $1 AND o.user_id = $2 ORDER BY o.useq LIMIT 1))
            RETURNING 1
        )
        SELECT count(*) FROM gone
        """)

    /// The first position that is replayed, an SQL expression.
    ///
    /// - Parameters:
    ///   - user: expressions of the user's slot and name.
    ///   - last: an expression of the stream's last position.
    static func first(of user: (slot: String, name: String), last: String) -> String {
        """
        greatest(\(last) - \(kept - 1), (
            SELECT h.useq FROM store.user_changes h WHERE h.user_slot = \(user.slot) AND h.user_id = \(user.name)
            ORDER BY h.useq LIMIT 1), 1)
        """
    }
}
