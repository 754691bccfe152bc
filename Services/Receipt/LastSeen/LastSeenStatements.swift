import Models
import Postgres
import Slots
import Wire

enum LastSeenStatements {
    /// Writes nothing for a user already seen in this minute, one who hides it or is being erased, or one in no
    /// conversation (nobody could see them). Writes in the order of the keys, so that no two wait for each other.
    static let seen = Statement(
        "seen", parameters: [.array(.int2), .array(.text)],
        """
        INSERT INTO receipt.last_seen AS l (user_slot, user_id, seen_at)
        SELECT DISTINCT i.user_slot, i.user_id, date_trunc('minute', (SELECT \(ChangeTime.now)))
        FROM unnest($1, $2) AS i (user_slot, user_id)
        WHERE coalesce((SELECT s.presence FROM store.published_user_settings s
                        WHERE s.user_slot = i.user_slot AND s.user_id = i.user_id), true)
          AND NOT EXISTS (SELECT FROM store.published_erasures e WHERE e.user_slot = i.user_slot AND e.user_id = i.user_id)
          AND EXISTS (SELECT FROM store.published_inbox n WHERE n.user_slot = i.user_slot AND n.user_id = i.user_id)
        ORDER BY i.user_id
        ON CONFLICT (user_id, user_slot) DO UPDATE SET seen_at = excluded.seen_at WHERE l.seen_at < excluded.seen_at
        """)

    static func add(_ seen: SeenUsers, to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for user in seen.users { parameters.append(user.slot) }
        parameters.addArray(of: .text)
        for user in seen.users { parameters.append(user) }
    }

    /// The number of direct conversations that are looked at, latest activity first.
    private static let peersLimit = 100

    /// Selects the peers in the user's direct conversations in which both show when they are online. Fans out over
    /// slots, like the list of conversations.
    static let ofPeers = Statement(
        "last_seen_of_peers", parameters: [.text, .int2],
        """
        SELECT p.user_id, l.seen_at
        FROM (
            SELECT m.user_id FROM store.published_inbox i
            JOIN store.published_conversations c ON c.slot = i.slot AND c.id = i.conversation_id AND c.kind = 2
            JOIN store.published_memberships m
                ON m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.user_id <> $1 AND m.left_seq IS NULL
            WHERE i.user_slot = $2 AND i.user_id = $1
            ORDER BY c.last_at DESC LIMIT \(peersLimit)
        ) p
        JOIN receipt.last_seen l ON l.user_id = p.user_id
        WHERE coalesce((SELECT s.presence FROM store.published_user_settings s WHERE s.user_id = l.user_id AND s.user_slot = l.user_slot), true)
          AND coalesce((SELECT s.presence FROM store.published_user_settings s WHERE s.user_id = $1 AND s.user_slot = $2), true)
        """)

    static func departure(_ row: Row) -> PresenceList.Departure { PresenceList.Departure(row[0], lastSeen: row[1]) }
}
