import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Later activity in a conversation costs its former members nothing.
@Suite(.timeLimit(.minutes(2)))
struct FormerMemberTests {
    typealias Draft = StoreUnderTest.Draft
    private let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    private var key: String { "\(conversation.slot.number), '\(conversation)'::uuid" }

    /// Opens alice's group of four, which bob has left after two of her messages.
    @Reactor private func withStore(_ body: (StoreUnderTest, [MessageID]) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob", "carol", "dave"])
        let drafts = [Draft(text: "one"), Draft(text: "two")]
        _ = await store.sendAll(drafts, from: "alice", to: conversation)
        _ = await store.write(.removeMember(UserID("bob")!), by: "alice", in: conversation)
        try await body(store, drafts.map(\.id))
    }

    /// Inserts more changes of a kind than anyone makes by hand.
    @Reactor private func insertChanges(_ kind: ChangeKind, _ store: StoreUnderTest) throws {
        try store.database.execute(
            """
            INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id, about_seq, user_id)
            SELECT \(key), n, \(kind.rawValue), 'alice', now(), gen_random_uuid(), n - 1, 'somebody'
            FROM generate_series(1001, 21000) n;
            UPDATE store.conversations SET last_seq = 21000; ANALYZE
            """)
    }

    /// Returns how many rows of changes and messages a statement reads.
    @Reactor private func rowsRead<Input, Columns>(
        by statement: PreparedStatement<Input, Columns>, _ store: StoreUnderTest,
        _ build: (inout Parameters, Input) -> Void
    ) throws -> Int {
        let connection = try store.database.connect()
        try connection.execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
        let plan = try connection.query(statement, prefix: "EXPLAIN (ANALYZE) ", build)
        return plan.map { $0[0] as String }.reduce(0) { sum, line in
            if let removed = line.firstMatch(of: /Rows Removed by Filter: (\d+)/) { return sum + Int(removed.1)! }
            guard line.contains(" on changes ") || line.contains(" on messages "),
                let match = line.firstMatch(of: /actual .*rows=(\d+) loops=(\d+)/)
            else { return sum }
            return sum + Int(match.1)! * Int(match.2)!
        }
    }

    @Reactor private func memberCount(_ store: StoreUnderTest) async throws -> Int? {
        try #require(await store.conversation(conversation, for: "bob")).field("memberCount") as? Int
    }

    @Test("how many members there were is known from the removal, however many came and went since")
    @Reactor func memberCount() async throws {
        try await withStore { store, _ in
            _ = await store.write(.putMember(UserID("erin")!, nil), by: "alice", in: conversation)
            _ = await store.write(.removeMember(UserID("carol")!), by: "carol", in: conversation)
            _ = await store.write(.removeMember(UserID("dave")!), by: "dave", in: conversation)
            #expect(try await memberCount(store) == 3)
            try store.database.execute("UPDATE store.changes SET member_count = NULL")
            #expect(try await memberCount(store) == 3, "as executables of before left it")
        }
    }

    @Test("the members that came since are not counted")
    @Reactor func memberCountCost() async throws {
        try await withStore { store, _ in
            try insertChanges(.memberAdded, store)
            #expect(try await memberCount(store) == 3)
            let rows = try rowsRead(by: ConversationStatement.byID, store) {
                ConversationStatement.set([conversation], for: UserID("bob")!, of: $1, in: &$0)
            }
            #expect(rows <= 20, "\(rows) rows")
        }
    }

    /// Returns the conversations that `sync` sends bob, who has seen everything up to a transaction.
    @Reactor private func changed(since transaction: Int64, _ store: StoreUnderTest) throws -> Int {
        let connection = try store.database.connect()
        return try connection.query(ConversationStatement.changed) { set(transaction, of: $1, in: &$0) }.count
    }

    private func set(
        _ transaction: Int64, of input: ConversationStatement.ChangedInput, in parameters: inout Parameters
    ) {
        ConversationStatement.set(
            UserID("bob")!, since: transaction, after: ConversationID(.zero), limit: 10, of: input, in: &parameters)
    }

    @Reactor private func nextTransaction(_ store: StoreUnderTest) throws -> Int64 {
        try store.database.query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")[0][0]
    }

    @Test("a deletion for everyone of what a former member sees brings the conversation again; no other does")
    @Reactor func deletions() async throws {
        try await withStore { store, messages in
            let later = Draft()
            _ = await store.send(later, from: "alice", to: conversation)
            let before = try nextTransaction(store)
            _ = await store.write(.deleteForEveryone(later.id), by: "alice", in: conversation)
            #expect(try changed(since: before, store) == 0)
            _ = await store.write(.deleteForEveryone(messages[1]), by: "alice", in: conversation)
            #expect(try changed(since: before, store) == 1)
            try store.database.execute("UPDATE store.changes SET about_seq = NULL WHERE about_seq = 3")
            #expect(try changed(since: before, store) == 1, "as executables of before left it")
            try store.database.execute("DELETE FROM store.changes WHERE about_seq IS NULL AND kind = 3")
            #expect(try changed(since: before, store) == 0)
        }
    }

    @Test("a former member's sync looks at none of what was deleted of later messages")
    @Reactor func deletionsCost() async throws {
        try await withStore { store, _ in
            let before = try nextTransaction(store)
            try insertChanges(.messageDeleted, store)
            let rows = try rowsRead(by: ConversationStatement.changed, store) { set(before, of: $1, in: &$0) }
            #expect(rows <= 20, "\(rows) rows")
        }
    }
}
