import Models
import Postgres

/// Locks what a batch depends on: the keys of its writes and the ids of the conversations it creates, the users it takes
/// into conversations, then the rows of the conversations it writes to, the progress of their index where texts change or
/// go, the erasures whose steps it takes, and last the private streams it writes to; each in order.
///
/// Always the first statements of a batch: those behind them have snapshots in which nothing that the batch depends on
/// can change any more, and no two batches wait for each other. That takes all of them, on all connections: a row that
/// several batches may write to is locked here, or stands behind one that is. (Rows of `inbox`, settings and outcomes stand
/// behind their user's stream or their key; all that conversations consist of behind these.)
enum LockStatement {
    static let all = [keys, users, conversations, searches, erasures, newStreams, streams]

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

    /// Every step counts in the row of its user.
    static let erasures = Statement(
        "lock_erasures", parameters: [.array(.int2), .array(.text)],
        """
        SELECT FROM unnest($1::smallint[], $2::text[]) AS k(user_slot, user_id)
        JOIN store.erasures e ON e.user_slot = k.user_slot AND e.user_id = k.user_id
        ORDER BY e.user_id, e.user_slot
        FOR NO KEY UPDATE OF e
        """)

    /// Streams that may not be there yet. Who inserts one has its lock; who finds it there gets that from the next
    /// statement, and waits here for nobody who could wait for them: such a one has none but the streams before it. Erased
    /// users get none: their locks, which are taken before, tell who they are.
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

    /// - Returns: how many statements that was.
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

    /// Users as two parameters: their slots, and their names.
    private static func add(_ users: Set<UserID>, to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for user in users { parameters.append(user.slot) }
        parameters.addArray(of: .text)
        for user in users { parameters.append(user) }
    }

    /// Conversations as two parameters: their slots, and their ids.
    static func add(_ conversations: some Collection<ConversationID>, to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for conversation in conversations { parameters.append(conversation.slot) }
        parameters.addArray(of: .uuid)
        for conversation in conversations { parameters.append(conversation) }
    }
}
