import Models
import Postgres

/// Locks what a batch depends on: the keys of its writes, the users it takes into conversations, then the rows of the
/// conversations it writes to, then the progress of their index where texts change or go; each in order.
///
/// Always the first statements of a batch: those behind them have snapshots in which nothing that the batch depends on
/// can change any more, and no two batches wait for each other.
enum LockStatement {
    /// A key is locked by its hash. Where two share one, one batch waits for the other, which is all.
    static let keys = Statement(
        "lock_keys", parameters: [.array(.text), .array(.uuid)],
        """
        SELECT pg_advisory_xact_lock(k.hash) FROM (
            SELECT DISTINCT hashtextextended(user_id || ' ' || key, 0) AS hash
            FROM unnest($1::text[], $2::uuid[]) AS t(user_id, key)
            ORDER BY 1
        ) k
        """)

    /// By the slots of the users: few locks, however many members a conversation is created with. Whoever begins an
    /// erasure has the slot alone; all others share it. $1 slots · $2 alone.
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

    /// The indexer holds these while it writes. Behind this statement its rows are seen, and none can come. It writes,
    /// because a row that is not there yet cannot be locked.
    static let searches = Statement(
        "lock_searches", parameters: [.array(.int2), .array(.uuid)],
        """
        INSERT INTO store.search_progress AS p (slot, conversation_id, indexed_seq)
        SELECT c.slot, c.id, 0 FROM store.conversations c
        WHERE (c.slot, c.id) IN (SELECT * FROM unnest($1::smallint[], $2::uuid[]))
        ORDER BY c.id, c.slot
        ON CONFLICT (conversation_id, slot) DO UPDATE SET indexed_seq = p.indexed_seq
        """)

    /// - Returns: how many statements that was.
    static func add(to batch: inout Batch, for plan: BatchPlan) -> Int {
        var count = 0
        if !plan.keysToLock.isEmpty {
            addKeys(plan.keysToLock, to: &batch)
            count += 1
        }
        if !plan.userSlotsToLock.isEmpty {
            addUsers(plan.userSlotsToLock, to: &batch)
            count += 1
        }
        if !plan.conversationsToLock.isEmpty {
            batch.execute(conversations) { add(plan.conversationsToLock, to: &$0) }
            count += 1
        }
        if !plan.searchesToLock.isEmpty {
            batch.execute(searches) { add(plan.searchesToLock, to: &$0) }
            count += 1
        }
        return count
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
            for key in keysToLock { parameters.append(key.user) }
            parameters.addArray(of: .uuid)
            for key in keysToLock { parameters.append(key.key) }
        }
    }

    /// Conversations as two parameters: their slots, and their ids.
    static func add(_ conversations: some Collection<ConversationID>, to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for conversation in conversations { parameters.append(conversation.slot) }
        parameters.addArray(of: .uuid)
        for conversation in conversations { parameters.append(conversation) }
    }
}
