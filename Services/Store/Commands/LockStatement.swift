import Models
import Postgres

/// Locks everything a batch depends on, kind by kind and each kind in order: the keys of its writes and the ids of the
/// conversations it creates, the users it adds to conversations, the rows of the conversations it writes to, their
/// index progress where texts change or go, the erasures whose steps it takes, and last the private streams it writes
/// to.
///
/// These are always the first statements of a batch. The snapshots of the following statements see state that can no
/// longer change, and no two batches deadlock. This requires that all batches on all connections do it: a row that
/// several batches may write to is locked here or protected by one that is. (Rows of `inbox`, settings and outcomes are
/// protected by their user's stream or their key. All parts of a conversation are protected by its row.)
enum LockStatement {
    static let all = [keys, users, conversations, searches, erasures, newStreams, streams]

    /// Locks keys by their hash. If two keys share one, one batch waits for the other without further harm.
    static let keys = Statement(
        "lock_keys", parameters: [.array(.text), .array(.uuid)],
        """
        SELECT pg_advisory_xact_lock(k.hash) FROM (
            SELECT DISTINCT hashtextextended(user_id || ' ' || key, 0) AS hash
            FROM unnest($1::text[], $2::uuid[]) AS t(user_id, key)
            ORDER BY 1
        ) k
        """)

    /// Locks users by slot, which takes few locks even for a conversation with many members. The start of an erasure
    /// holds the slot exclusively; all others share it. $1 slots · $2 exclusive.
    static let users = Statement(
        "lock_users", parameters: [.array(.int2), .array(.bool)],
        """
        SELECT CASE WHEN u.alone THEN pg_advisory_xact_lock(\(Schema.erasureLocks), u.slot)
            ELSE pg_advisory_xact_lock_shared(\(Schema.erasureLocks), u.slot) END
        FROM (
            SELECT slot::integer, alone FROM unnest($1::smallint[], $2::boolean[]) AS t(slot, alone) ORDER BY slot
        ) u
        """)

    static let conversations = Statement(
        "lock_conversations", parameters: [.array(.int2), .array(.uuid)],
        """
        SELECT FROM unnest($1::smallint[], $2::uuid[]) AS k(slot, id)
        JOIN store.conversations c ON c.slot = k.slot AND c.id = k.id
        ORDER BY c.id, c.slot
        FOR NO KEY UPDATE OF c
        """)

    /// Locks the index progress, which the indexer holds while it writes. After this statement its rows are visible and
    /// no new ones appear. It writes because a row that does not exist yet cannot be locked.
    static let searches = Statement(
        "lock_searches", parameters: [.array(.int2), .array(.uuid)],
        """
        INSERT INTO store.search_progress AS p (slot, conversation_id, indexed_seq)
        SELECT c.slot, c.id, 0 FROM store.conversations c
        WHERE (c.slot, c.id) IN (SELECT * FROM unnest($1::smallint[], $2::uuid[]))
        ORDER BY c.id, c.slot
        ON CONFLICT (conversation_id, slot) DO UPDATE SET indexed_seq = p.indexed_seq
        """)

    /// Every step adds to the counts in its user's row.
    static let erasures = Statement(
        "lock_erasures", parameters: [.array(.int2), .array(.text)],
        """
        SELECT FROM unnest($1::smallint[], $2::text[]) AS k(user_slot, user_id)
        JOIN store.erasures e ON e.user_slot = k.user_slot AND e.user_id = k.user_id
        ORDER BY e.user_id, e.user_slot
        FOR NO KEY UPDATE OF e
        """)

    /// Creates missing streams. Inserting a stream locks it; an existing one is locked by the next statement. A batch
    /// that waits here cannot deadlock: a batch that inserted the stream holds locks of earlier streams only. Erased
    /// users get no stream; the user locks taken before make their erasure visible.
    static let newStreams = Statement(
        "begin_streams", parameters: [.array(.int2), .array(.text)],
        """
        INSERT INTO store.user_streams (user_slot, user_id, last_useq, conversation_count)
        SELECT k.user_slot, k.user_id, 0, 0 FROM unnest($1::smallint[], $2::text[]) AS k(user_slot, user_id)
        WHERE (SELECT true FROM store.erasures e WHERE e.user_slot = k.user_slot AND e.user_id = k.user_id) IS NULL
        ORDER BY k.user_id COLLATE "C", k.user_slot
        ON CONFLICT DO NOTHING
        """)

    static let streams = Statement(
        "lock_streams", parameters: [.array(.int2), .array(.text)],
        """
        SELECT FROM unnest($1::smallint[], $2::text[]) AS k(user_slot, user_id)
        JOIN store.user_streams s ON s.user_slot = k.user_slot AND s.user_id = k.user_id
        ORDER BY s.user_id, s.user_slot
        FOR NO KEY UPDATE OF s
        """)

    /// - Returns: the number of statements added.
    static func add(to batch: inout Batch, for plan: BatchPlan) -> Int {
        let before = batch.statementCount
        if !plan.keysToLock.isEmpty { addKeys(plan.keysToLock, to: &batch) }
        if !plan.userSlotsToLock.isEmpty { addUsers(plan.userSlotsToLock, to: &batch) }
        if !plan.conversationsToLock.isEmpty {
            batch.execute(conversations) { add(plan.conversationsToLock, to: &$0) }
        }
        if !plan.searchesToLock.isEmpty { batch.execute(searches) { add(plan.searchesToLock, to: &$0) } }
        for (statement, names) in [
            (erasures, plan.erasuresToLock), (newStreams, plan.streamsToBegin), (streams, plan.streamsToLock),
        ] where !names.isEmpty {
            batch.execute(statement) { add(names, to: &$0) }
        }
        return batch.statementCount - before
    }

    private static func addUsers(_ slots: [Slot: Bool], to batch: inout Batch) {
        batch.execute(users) { parameters in
            parameters.addArray(of: .int2)
            for slot in slots.keys { parameters.append(slot) }
            parameters.addArray(of: .bool)
            for alone in slots.values { parameters.append(alone) }
        }
    }

    private static func addKeys(_ keysToLock: Set<WriteKey>, to batch: inout Batch) {
        batch.execute(keys) { parameters in
            parameters.addArray(of: .text)
            for key in keysToLock { parameters.append(key.user?.name ?? "") }
            parameters.addArray(of: .uuid)
            for key in keysToLock { parameters.append(key.key) }
        }
    }

    /// Adds users as two parameters: their slots and their names.
    private static func add(_ users: Set<UserID>, to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for user in users { parameters.append(user.slot) }
        parameters.addArray(of: .text)
        for user in users { parameters.append(user) }
    }

    /// Adds conversations as two parameters: their slots and their ids.
    static func add(_ conversations: some Collection<ConversationID>, to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for conversation in conversations { parameters.append(conversation.slot) }
        parameters.addArray(of: .uuid)
        for conversation in conversations { parameters.append(conversation) }
    }
}
