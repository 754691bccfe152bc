import Models
import Postgres

/// The part of a user's private stream that is kept: the latest changes, without a gap. A client further behind reloads
/// the affected data, which costs less than the stream.
enum PrivateTail {
    /// The number of changes that are replayed. Slightly more may be stored.
    static let kept: Int64 = 1_000
    /// The number of rows that one statement removes.
    static let rowsAtOnce: Int64 = 500

    /// Removes the oldest rows up to $3, at most $4 of them, and returns their number. A concurrent trim finds them
    /// gone. $1 slot · $2 user.
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

    /// An SQL expression for the first replayed position.
    ///
    /// - Parameters:
    ///   - user: expressions for the user's slot and name.
    ///   - last: an expression for the stream's last position.
    static func first(of user: (slot: String, name: String), last: String) -> String {
        """
        greatest(\(last) - \(kept - 1), (
            SELECT h.useq FROM store.user_changes h WHERE h.user_slot = \(user.slot) AND h.user_id = \(user.name)
            ORDER BY h.useq LIMIT 1), 1)
        """
    }
}
