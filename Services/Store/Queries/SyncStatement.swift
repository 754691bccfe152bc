import Models
import Postgres

/// The start of a round of `sync`: the history's identity, the position of the user's private stream, and the lowest
/// transaction that is still running.
enum SyncStatement {
    static let position = Statement(
        "sync_position", parameters: [.text, .int2],
        """
        SELECT d.log_id,
            coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = $2 AND u.user_id = $1), 0),
            pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        FROM store.deployment d
        """)
}
