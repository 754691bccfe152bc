import Bytes
import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Messages that disappear, where it matters when a store looks, and what happens at once.
@Suite(.timeLimit(.minutes(2))) struct LifetimeTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withGroup(
        layout: Layout = .plain, _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(layout: layout)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    @Reactor private func setLifetime(_ seconds: UInt32, _ store: StoreUnderTest) async {
        #expect(await store.write(.setLifetime(seconds: seconds), by: "alice", in: conversation)?.status == 200)
    }

    @Reactor private func send(_ count: Int, _ store: StoreUnderTest) async {
        for _ in 0..<count { _ = await store.send(Draft(), from: "bob", to: conversation) }
    }

    /// Has messages be as much older, and the store look at once.
    private func age(_ seconds: Int, where condition: String = "true", _ store: StoreUnderTest) throws {
        try store.database.execute(
            """
            UPDATE store.messages SET created_at = created_at - interval '\(seconds) s' WHERE \(condition);
            UPDATE store.lifetimes SET due_at = '-infinity'
            """)
    }

    private func number(_ sql: String, _ store: StoreUnderTest) throws -> Int64 {
        try #require(try store.database.query(sql).first)[0]
    }

    private func expiredCount(_ store: StoreUnderTest) throws -> Int64 {
        try number("SELECT count(*) FROM store.messages WHERE is_expired", store)
    }

    /// Whether the store looks again in about as many seconds.
    private func looks(in seconds: Int64, _ store: StoreUnderTest) -> Bool {
        let next = try? number(
            """
            SELECT CASE WHEN isfinite(due_at) THEN round(extract(epoch FROM due_at - now()))::bigint ELSE 0::bigint END
            FROM store.lifetimes
            """, store)
        return next.map { abs($0 - seconds) < 60 } ?? false
    }

    private func expectDense(_ store: StoreUnderTest) throws {
        let rows = try store.database.query(
            """
            SELECT c.last_seq, count(*), count(DISTINCT p.seq) FROM store.conversations c
            JOIN (SELECT conversation_id, seq FROM store.messages UNION ALL SELECT conversation_id, seq FROM store.changes) p
                ON p.conversation_id = c.id
            GROUP BY c.id, c.last_seq
            """)
        #expect(rows.allSatisfy { ($0[0] as Int64) == ($0[1] as Int64) && ($0[1] as Int64) == ($0[2] as Int64) })
    }

    @Test(
        "a store looks again when the next message is due, or in one lifetime where none is left, and nowhere when all have gone",
        arguments: [Layout.plain, .partitions(4)])
    @Reactor func whenItLooks(layout: Layout) async throws {
        try await withGroup(layout: layout) { store in
            await setLifetime(3_600, store)
            await send(3, store)
            try age(4_000, where: "seq < 5", store)
            try age(600, where: "seq = 5", store)
            #expect(await store.eventually { (try? expiredCount(store)) == 2 })
            #expect(await store.eventually { looks(in: 3_000, store) }, "the third one is ten minutes old")
            try age(4_000, where: "seq = 5", store)
            #expect(await store.eventually { (try? expiredCount(store)) == 3 })
            #expect(await store.eventually { looks(in: 3_600, store) })
            await send(1, store)
            await setLifetime(0, store)
            try age(4_000, where: "NOT coalesce(is_expired, false)", store)
            #expect(await store.eventually { (try? number("SELECT count(*) FROM store.lifetimes", store)) == 0 })
            #expect(try expiredCount(store) == 4)
            await send(1, store)
            try expectDense(store)
        }
    }

    @Test(
        "what one store has begun, the next one ends: each message goes once, whoever dies and whoever writes meanwhile"
    )
    @Reactor func takeover() async throws {
        try await withGroup { store in
            await setLifetime(60, store)
            _ = await store.sendAll((0..<450).map { _ in Draft() }, from: "bob", to: conversation)
            try age(100, store)
            #expect(await store.eventually { (try? expiredCount(store)) ?? 0 > 0 })
            try await store.crash()
            for _ in 0..<20 {
                _ = await store.send(Draft(), from: "alice", to: conversation)
                await Reactor.sleep(for: .milliseconds(10))
            }
            #expect(await store.eventually { (try? expiredCount(store)) == 450 })
            let deletions = "SELECT count(*) FROM store.changes WHERE kind = \(ChangeKind.messageDeleted.rawValue)"
            #expect(try number(deletions, store) == 450)
            try expectDense(store)
        }
    }

    @Test("a step where nothing is due changes nothing, and one that is repeated neither")
    @Reactor func repeated() async throws {
        try await withGroup { store in
            let step = ExpireMessages(in: conversation)
            func take() async -> UInt16? { await store.ask(.expireMessages, in: conversation.slot, step)?.status }
            #expect(await take() == 204, "without a lifetime")
            await setLifetime(3_600, store)
            await send(2, store)
            #expect(await take() == 204)
            try age(4_000, store)
            _ = await take()
            #expect(await take() == 204)
            #expect(try expiredCount(store) == 2)
            try expectDense(store)
        }
    }
}
