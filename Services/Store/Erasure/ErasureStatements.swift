import Models
import Postgres
import Slots
import Wire

/// The SQL of erasures: their start, their steps, and the queries of their driver.
///
/// Every step may be repeated: it processes what it finds, and counts that in its own transaction. Like all writes,
/// steps on a conversation run under the lock of its row. The first step makes the user leave. From then on no
/// message, edit or tapback is added there in their name, so later steps do not miss any.
enum ErasureStatements {
    static let commands = [begin, content, announced, stays, listing, remains]
    static let queries = [ofSlots, names, nextListing, nextMention, isErased]

    /// The number of messages that one step changes. At some 20 µs each it holds its conversation for as long as a
    /// large batch.
    static let hitsLimit = 200
    /// The number of messages that one step examines.
    static let scanLimit = 5_000
    /// The number of rows outside of conversations that one step removes.
    static let rowsLimit = 2_000

    /// Begins an erasure. $1 slot of the user · $2 user. Runs under the exclusive lock of the slot: a batch that adds
    /// the user to a conversation waits, and then finds them erased.
    static let begin = Statement(
        "begin_erasure", parameters: [.int2, .text],
        """
        WITH fresh AS (
            INSERT INTO store.erasures (user_slot, user_id, number, requested_at)
            SELECT $1, $2, 1 + coalesce((SELECT max(e.number) FROM store.erasures e WHERE e.user_slot = $1), 0),
                \(ChangeTime.now)
            ON CONFLICT (user_id, user_slot) DO NOTHING
            RETURNING *
        )
        SELECT \(columns) FROM fresh e
        UNION ALL
        SELECT \(columns) FROM store.erasures e WHERE e.user_slot = $1 AND e.user_id = $2
        """)

    private static let columns = """
        e.number, e.requested_at, e.erased_at, e.messages, e.revisions, e.tapbacks, e.mentions, e.receipts, e.memberships,
        e.hidden, e.private_changes, e.outcomes
        """

    /// Replaces the user's messages with tombstones, and removes the user's tapbacks and mentions of the user from
    /// other messages. Each changed message is one change, as if made by the user, so every client that holds it is
    /// notified.
    ///
    /// $1 slot · $2 conversation · $3 user · $4 the user's slot · $5 after.
    static let content = Statement(
        "erase_content", parameters: [.int2, .uuid, .text, .int2, .int8],
        """
        WITH scanned AS MATERIALIZED (
            SELECT m.seq, m.id, m.sender_id, m.kind, m.deleted_at, m.tapback_count, m.mentions
            FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND m.seq > $5
            ORDER BY m.seq LIMIT \(scanLimit)
        ), judged AS MATERIALIZED (
            SELECT s.seq, s.id, s.sender_id = $3 AND s.kind <> 3 AND s.deleted_at IS NULL AS is_own,
                s.tapback_count > 0 AND coalesce((
                    SELECT true FROM store.tapbacks t
                    WHERE t.slot = $1 AND t.conversation_id = $2 AND t.message_id = s.id AND t.user_id = $3), false)
                    AS has_tapback,
                coalesce(s.mentions @> ARRAY[$3], false) AS has_mention
            FROM scanned s
        ), hit AS MATERIALIZED (
            SELECT j.*, row_number() OVER (ORDER BY j.seq) AS place FROM judged j
            WHERE j.is_own OR j.has_tapback OR j.has_mention
            ORDER BY j.seq LIMIT \(hitsLimit)
        ), moved AS (
            UPDATE store.conversations c
            SET last_seq = c.last_seq + h.count,
                last_at = greatest(\(ChangeTime.now), c.last_at)
            FROM (SELECT count(*) AS count FROM hit) h
            WHERE c.slot = $1 AND c.id = $2 AND h.count > 0
            RETURNING c.last_seq, c.last_seq - h.count AS base, c.last_at, h.count AS positions
        ), change AS (
            INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id, about_seq)
            SELECT $1, $2, moved.base + h.place,
                CASE WHEN h.is_own THEN \(ChangeKind.messageDeleted.rawValue)
                    WHEN h.has_tapback THEN \(ChangeKind.tapbackRemoved.rawValue)
                    ELSE \(ChangeKind.messageEdited.rawValue) END,
                $3, moved.last_at, h.id, CASE WHEN h.is_own THEN h.seq END
            FROM hit h, moved
        ), erased AS (
            UPDATE store.messages m
            SET changed_seq = moved.base + h.place,
                body = CASE WHEN NOT h.is_own THEN m.body END,
                mentions = CASE WHEN NOT h.is_own THEN nullif(array_remove(m.mentions, $3), '{}') END,
                deleted_at = CASE WHEN h.is_own THEN moved.last_at ELSE m.deleted_at END,
                tapback_count = CASE WHEN h.is_own THEN 0 WHEN h.has_tapback THEN m.tapback_count - 1
                    ELSE m.tapback_count END
            FROM hit h, moved
            WHERE m.slot = $1 AND m.conversation_id = $2 AND m.seq = h.seq
        ), unindexed AS (
            DELETE FROM store.search_texts x USING hit h
            WHERE h.is_own AND x.slot = $1 AND x.conversation_id = $2 AND x.seq = h.seq
        ), no_revisions AS (
            DELETE FROM store.revisions r USING hit h
            WHERE h.is_own AND r.slot = $1 AND r.conversation_id = $2 AND r.message_id = h.id
            RETURNING 1
        ), no_tapbacks AS (
            DELETE FROM store.tapbacks r USING hit h
            WHERE (h.is_own OR r.user_id = $3) AND r.slot = $1 AND r.conversation_id = $2 AND r.message_id = h.id
            RETURNING r.user_id
        ), counted AS (
            UPDATE store.erasures e
            SET messages = e.messages + (SELECT count(*) FROM hit h WHERE h.is_own),
                revisions = e.revisions + (SELECT count(*) FROM no_revisions),
                tapbacks = e.tapbacks + (SELECT count(*) FROM no_tapbacks r WHERE r.user_id = $3),
                mentions = e.mentions + (SELECT count(*) FROM hit h WHERE h.has_mention AND NOT h.is_own)
            FROM moved
            WHERE e.user_slot = $4 AND e.user_id = $3
        )
        SELECT
            CASE
                WHEN (SELECT count(*) FROM hit) = \(hitsLimit) THEN (SELECT max(h.seq) FROM hit h)
                WHEN (SELECT count(*) FROM scanned) = \(scanLimit) THEN (SELECT max(s.seq) FROM scanned s)
                ELSE 0::bigint
            END,
            (SELECT moved.last_seq FROM moved), (SELECT moved.positions FROM moved)
        """)

    /// Follows `content` and returns its changes for the announcement.
    static let announced = FeedStatement.latest("announced_erasures", count: hitsLimit)

    /// Removes the user's stays and settings in a conversation, and their marks on its messages. $1 slot · $2
    /// conversation · $3 user · $4 the user's slot. Receipts are counted here, because `receipt` cannot count in the
    /// transaction that marks them as counted. They are removed next.
    static let stays = Statement(
        "erase_stays", parameters: [.int2, .uuid, .text, .int2],
        """
        WITH no_hidden AS (
            DELETE FROM store.hidden h
            WHERE h.slot = $1 AND h.conversation_id = $2 AND h.user_id = $3 AND h.seq IN (
                SELECT o.seq FROM store.hidden o
                WHERE o.slot = $1 AND o.conversation_id = $2 AND o.user_id = $3
                ORDER BY o.seq LIMIT \(rowsLimit))
            RETURNING 1
        ), no_stays AS (
            DELETE FROM store.memberships s
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
            RETURNING 1
        ), no_deletions AS (
            DELETE FROM store.early_deletions d
            WHERE d.slot = $1 AND d.conversation_id = $2 AND d.user_id = $3
        ), no_settings AS (
            DELETE FROM store.conversation_settings o
            WHERE o.slot = $1 AND o.conversation_id = $2 AND o.user_id = $3
        ), counted AS (
            UPDATE store.erasures e
            SET hidden = e.hidden + (SELECT count(*) FROM no_hidden),
                memberships = e.memberships + (SELECT count(*) FROM no_stays),
                receipts = e.receipts + CASE WHEN EXISTS (SELECT FROM no_stays) THEN (
                    SELECT count(*) FROM receipt.published_receipt_runs r
                    WHERE r.slot = $1 AND r.conversation_id = $2 AND r.user_id = $3) ELSE 0 END
            WHERE e.user_slot = $4 AND e.user_id = $3
        )
        SELECT CASE WHEN (SELECT count(*) FROM no_hidden) = \(rowsLimit) THEN 1::bigint ELSE 0::bigint END
        """)

    /// Removes a conversation from the user's list. $1 the user's slot · $2 user · $3 conversation.
    static let listing = Statement(
        "erase_listing", parameters: [.int2, .text, .uuid],
        """
        WITH unlisted AS (
            DELETE FROM store.inbox i WHERE i.user_slot = $1 AND i.user_id = $2 AND i.conversation_id = $3
        )
        SELECT 0::bigint
        """)

    /// Removes what remains. $1 the user's slot · $2 user. The user is erased when nothing was left.
    static let remains = Statement(
        "erase_remains", parameters: [.int2, .text],
        """
        WITH no_changes AS (
            DELETE FROM store.user_changes c
            WHERE c.user_slot = $1 AND c.user_id = $2 AND c.useq IN (
                SELECT o.useq FROM store.user_changes o
                WHERE o.user_slot = $1 AND o.user_id = $2 ORDER BY o.useq LIMIT \(rowsLimit))
            RETURNING 1
        ), no_outcomes AS (
            DELETE FROM store.outcomes k
            WHERE k.user_slot = $1 AND k.user_id = $2 AND k.key IN (
                SELECT o.key FROM store.outcomes o
                WHERE o.user_slot = $1 AND o.user_id = $2 ORDER BY o.key LIMIT \(rowsLimit))
            RETURNING 1
        ), no_stream AS (
            DELETE FROM store.user_streams s WHERE s.user_slot = $1 AND s.user_id = $2
        ), no_settings AS (
            DELETE FROM store.user_settings s WHERE s.user_slot = $1 AND s.user_id = $2
        ), rest AS MATERIALIZED (
            SELECT EXISTS (SELECT FROM no_changes) OR EXISTS (SELECT FROM no_outcomes)
                OR EXISTS (SELECT FROM store.inbox i WHERE i.user_slot = $1 AND i.user_id = $2) AS is_left
        ), counted AS (
            UPDATE store.erasures e
            SET private_changes = e.private_changes + (SELECT count(*) FROM no_changes),
                outcomes = e.outcomes + (SELECT count(*) FROM no_outcomes),
                erased_at = CASE WHEN rest.is_left THEN e.erased_at
                    ELSE coalesce(e.erased_at, \(ChangeTime.now)) END
            FROM rest
            WHERE e.user_slot = $1 AND e.user_id = $2
        )
        SELECT CASE WHEN rest.is_left THEN 1::bigint ELSE 0::bigint END FROM rest
        """)

    // MARK: Queries of the driver

    /// Returns the number of erased users in each slot, and the users whose erasure is in progress. $1 slots.
    static let ofSlots = Statement(
        "erasures_of_slots", parameters: [.array(.int2)],
        """
        SELECT s.slot, coalesce((SELECT max(e.number) FROM store.erasures e WHERE e.user_slot = s.slot), 0), e.user_id
        FROM unnest($1::smallint[]) AS s(slot)
        LEFT JOIN store.erasures e ON e.user_slot = s.slot AND e.erased_at IS NULL
        """)

    /// Returns erased users in the order of their numbers. $1 slot · $2 after. The first column is the last number; the
    /// second is NULL if there is no name.
    static let names = Statement(
        "erased_users", parameters: [.int2, .int8],
        """
        SELECT coalesce((SELECT max(e.number) FROM store.erasures e WHERE e.user_slot = $1), 0), e.user_id
        FROM (SELECT 1) one
        LEFT JOIN LATERAL (
            SELECT e.user_id, e.number FROM store.erasures e WHERE e.user_slot = $1 AND e.number > $2
            ORDER BY e.number LIMIT \(rowsLimit)
        ) e ON true
        ORDER BY e.number
        """)

    /// Returns an unfinished conversation. $1 the user's slot · $2 user.
    static let nextListing = Statement(
        "next_listing", parameters: [.int2, .text],
        """
        SELECT i.conversation_id FROM store.inbox i WHERE i.user_slot = $1 AND i.user_id = $2
        ORDER BY i.conversation_id LIMIT 1
        """)

    /// Returns a conversation that mentions the user, who never was in it, and the position before. $1 user.
    static let nextMention = Statement(
        "next_mention", parameters: [.text],
        """
        SELECT m.conversation_id, min(m.seq) - 1 FROM store.messages m
        WHERE m.mentions IS NOT NULL AND m.mentions @> ARRAY[$1]
        GROUP BY m.conversation_id LIMIT 1
        """)

    /// Returns a row if the user is erased. $1 the user's slot · $2 user.
    static let isErased = Statement(
        "is_erased", parameters: [.int2, .text],
        "SELECT FROM store.erasures e WHERE e.user_slot = $1 AND e.user_id = $2")

    /// Adds the parameters of `isErased`.
    static func add(_ user: UserID, to parameters: inout Parameters) {
        parameters.add(user.slot)
        parameters.add(user)
    }
}
