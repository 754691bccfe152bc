import Models
import Postgres
import Wire

/// The SQL of the revocation of tokens.
enum RevocationStatements {
    static let queries = [behind, ofSlots]

    /// The maximum number of revocations in one response.
    private static let rowsLimit = 2_000

    /// Revokes a user's tokens. $1 slot of the user · $2 user · $3 moment. Runs under the exclusive lock of the slot.
    /// Returns the moment in force and whether it moved.
    static let revoke = Statement(
        "revoke_tokens", parameters: [.int2, .text, .timestamptz],
        """
        WITH moved AS (
            INSERT INTO store.revocations AS r (user_slot, user_id, number, before)
            SELECT $1, $2, 1 + coalesce((SELECT max(o.number) FROM store.revocations o WHERE o.user_slot = $1), 0), $3
            ON CONFLICT (user_id, user_slot) DO UPDATE SET number = excluded.number, before = excluded.before
            WHERE r.before < excluded.before
            RETURNING r.number, r.before
        )
        SELECT m.number, m.before, true FROM moved m
        UNION ALL
        SELECT r.number, r.before, false FROM store.revocations r
        WHERE r.user_slot = $1 AND r.user_id = $2 AND NOT EXISTS (SELECT FROM moved)
        """)

    static func add(_ revocation: RevokeTokens, to batch: inout Batch) {
        batch.execute(revoke) { parameters in
            parameters.add(revocation.user.slot)
            parameters.add(revocation.user)
            parameters.add(revocation.before)
        }
    }

    /// Returns the last number of each slot. $1 slots.
    static let ofSlots = Statement(
        "revocations_of_slots", parameters: [.array(.int2)],
        """
        SELECT s.slot, coalesce((SELECT max(r.number) FROM store.revocations r WHERE r.user_slot = s.slot), 0)
        FROM unnest($1::smallint[]) AS s(slot)
        """)

    /// Returns the revocations after a number. $1 slot · $2 after. The first column is the last number; the others are
    /// NULL if there are none.
    static let behind = Statement(
        "revocations", parameters: [.int2, .int8],
        """
        SELECT coalesce((SELECT max(r.number) FROM store.revocations r WHERE r.user_slot = $1), 0),
            r.number, r.user_id, r.before
        FROM (SELECT 1) one
        LEFT JOIN LATERAL (
            SELECT r.number, r.user_id, r.before FROM store.revocations r WHERE r.user_slot = $1 AND r.number > $2
            ORDER BY r.number LIMIT \(rowsLimit)
        ) r ON true
        ORDER BY r.number
        """)
}
