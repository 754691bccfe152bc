import Models
import Postgres
import Slots

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
    static let all = [
        keys.untyped, users.untyped, conversations.untyped, conversation.untyped, searches.untyped, erasures.untyped,
        newStreams.untyped, streams.untyped, importedStreams.untyped,
    ]

    /// - Parameter home: the batch's, where the rows of users are borrowed. Nil: they are here.
    static func add(_ locks: Locks, borrowingFrom home: Slot? = nil, to batch: inout Batch) {
        if let home { return add(locks, borrowingFrom: home, to: &batch) }
        if !locks.keys.isEmpty { add(locks.keys, to: &batch) }
        if !locks.userSlots.isEmpty { add(locks.userSlots, to: &batch) }
        if !locks.conversations.isEmpty { add(locks.conversations, to: &batch) }
        if !locks.searches.isEmpty { batch.execute(searches) { $0.set($1, to: locks.searches) } }
        if !locks.erasures.isEmpty { batch.execute(erasures) { $0.set($1, to: locks.erasures) } }
        if !locks.newStreams.isEmpty { batch.execute(newStreams) { $0.set($1, to: locks.newStreams) } }
        if !locks.endingImports.isEmpty {
            addStreams(locks, to: &batch)
        } else if !locks.streams.isEmpty {
            batch.execute(streams) { $0.set($1, to: locks.streams) }
        }
    }

    /// In the same order.
    private static func add(_ locks: Locks, borrowingFrom home: Slot, to batch: inout Batch) {
        let ids = locks.keys.filter { $0.user == nil }
        if !ids.isEmpty { add(ids, to: &batch) }
        Borrowing.lockUsers(of: locks, from: home, in: &batch)
        if !locks.conversations.isEmpty { add(locks.conversations, to: &batch) }
        if !locks.searches.isEmpty { batch.execute(searches) { $0.set($1, to: locks.searches) } }
        Borrowing.borrow(locks, in: &batch)
    }

    // MARK: Keys and users

    private struct KeyInput: NamedFields {
        let users: Parameter<[String]>
        let keys: Parameter<[UUIDBytes]>
    }

    private struct SlotInput: NamedFields {
        let slots: Parameter<[Slot]>
        let alone: Parameter<[Bool]>
    }

    private struct Locked: NamedFields {
        let locked: Column<NoValue>
    }

    private static let keys = PreparedStatement<KeyInput, Locked>("lock_keys", PackageResources.lock_keys_sql, .store)
    private static let users = PreparedStatement<SlotInput, Locked>(
        "lock_users", PackageResources.lock_users_sql, .store)

    private static func add(_ locked: Set<WriteKey>, to batch: inout Batch) {
        batch.execute(keys) { parameters, input in
            parameters.set(input.users, to: locked.lazy.map { $0.user?.name ?? "" })
            parameters.set(input.keys, to: locked.lazy.map(\.key))
        }
    }

    private static func add(_ slots: [Slot: Bool], to batch: inout Batch) {
        batch.execute(users) { parameters, input in
            parameters.set(input.slots, to: slots.keys)
            parameters.set(input.alone, to: slots.values)
        }
    }

    // MARK: Conversations

    private static let conversations = PreparedStatement<ConversationsInput, NoFields>(
        "lock_conversations", PackageResources.lock_conversations_sql, .store)
    private static let conversation = PreparedStatement<ConversationInput, NoFields>(
        "lock_conversation", PackageResources.lock_conversation_sql, .store)
    /// The indexer takes this lock alone.
    static let searches = PreparedStatement<ConversationsInput, NoFields>(
        "lock_searches", PackageResources.lock_searches_sql, .store)

    private static func add(_ locked: Set<ConversationID>, to batch: inout Batch) {
        if let only = locked.first, locked.count == 1 {
            batch.execute(conversation) { $0.set($1, to: only) }
        } else {
            batch.execute(conversations) { $0.set($1, to: locked) }
        }
    }

    // MARK: Erasures and private streams

    private static let erasures = PreparedStatement<UsersInput, NoFields>(
        "lock_erasures", PackageResources.lock_erasures_sql, .store)
    private static let newStreams = PreparedStatement<UsersInput, NoFields>(
        "begin_streams", PackageResources.begin_streams_sql, .store)
    private static let streams = PreparedStatement<UsersInput, NoFields>(
        "lock_streams", PackageResources.lock_streams_sql, .store)

    private struct ImportedStreamsInput: NamedFields {
        let users: UsersInput
        let conversations: ConversationsInput
    }

    private static let importedStreams = PreparedStatement<ImportedStreamsInput, NoFields>(
        "lock_imported_streams", PackageResources.lock_imported_streams_sql, .store)

    private static func addStreams(_ locks: Locks, to batch: inout Batch) {
        batch.execute(importedStreams) { parameters, input in
            parameters.set(input.users, to: locks.streams)
            parameters.set(input.conversations, to: locks.endingImports)
        }
    }
}
