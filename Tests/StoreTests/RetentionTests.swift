import Bytes
import Models
import Postgres
import PostgresSupport
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Store

/// Messages that are removed because they are kept no longer, and what is left of a conversation then.
@Suite(.timeLimit(.minutes(2))) struct RetentionTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withGroup(
        layout: Layout = .plain, retention: String? = "30d", _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let settings = retention.map { ["PARLEY_RETENTION": $0] } ?? [:]
        let store = try await StoreUnderTest(layout: layout, settings: settings)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    @Reactor private func send(_ count: Int, _ store: StoreUnderTest) async -> [MessageID] {
        let drafts = (0..<count).map { _ in Draft() }
        for draft in drafts { _ = await store.send(draft, from: "bob", to: conversation) }
        return drafts.map(\.id)
    }

    /// Has all messages up to a position be as old.
    private func age(_ days: Int, through seq: Int64 = .max, _ store: StoreUnderTest) throws {
        try store.database.execute(
            "UPDATE store.messages SET created_at = created_at - interval '\(days) days' WHERE seq <= \(seq)")
    }

    private func number(_ sql: String, _ store: StoreUnderTest) throws -> Int64 {
        try #require(try store.database.query(sql).first)[0]
    }

    private func seqs(_ table: String, _ store: StoreUnderTest) throws -> [Int64] {
        try store.database.query("SELECT seq FROM store.\(table) ORDER BY seq").map { $0[0] }
    }

    private func keptFrom(_ store: StoreUnderTest) throws -> Int64 {
        try number("SELECT coalesce(kept_from, 1) FROM store.conversations", store)
    }

    @Test(
        "what is too old is removed with all that belongs to it; changes of members stay, and positions",
        arguments: [Layout.plain, .partitions(4)])
    @Reactor func removed(layout: Layout) async throws {
        try await withGroup(layout: layout) { store in
            func write(_ action: Write.Action, by user: String = "alice") async {
                let status = await store.write(action, by: user, in: conversation)?.status ?? 0
                #expect([200, 204].contains(status), "\(action)")
            }
            let old = await send(3, store)  // 2, 3, 4
            await write(.edit(old[0], text: "another"), by: "bob")  // 5
            await write(.setTapback(old[0], "love"))  // 6
            await write(.hide(old[1]))
            await write(.pinMessage(old[2]))  // 7
            await write(.putMember(UserID("carol")!, nil))  // 8
            let kept = await send(2, store)  // 9, 10
            await write(.setTapback(old[0], "like"))  // 11
            await write(.setTapback(kept[0], "love"))  // 12
            #expect(await store.eventually { store.store.indexer.waitingCount == 0 })
            let activity = try number("SELECT extract(epoch FROM last_at)::bigint FROM store.conversations", store)
            try age(31, through: 8, store)
            #expect(await store.eventually { (try? keptFrom(store)) == 9 })
            #expect(try seqs("messages", store) == [9, 10])
            #expect(try seqs("changes", store) == [1, 8, 11, 12, 13])
            #expect(try number("SELECT count(*) FROM store.tapbacks", store) == 1)
            for table in ["revisions", "polls", "votes", "hidden"] {
                #expect(try number("SELECT count(*) FROM store.\(table)", store) == 0, "\(table)")
            }
            let indexed = "SELECT count(*) FROM store.search_blocks b, unnest(b.seqs) AS s(seq) WHERE s.seq < 9"
            #expect(try number(indexed, store) == 0)
            #expect(
                try number("SELECT extract(epoch FROM last_at)::bigint FROM store.conversations", store) == activity)
            #expect(
                await store.eventually {
                    store.changes.last?.json.contains("\"kind\":\"history.trimmed\"") ?? false
                        && store.changes.last?.json.contains("\"keptFrom\":9") ?? false
                })
        }
    }

    @Test("a large piece is removed in steps, each ends where it can, and the last one says that there is no more")
    @Reactor func steps() async throws {
        try await withGroup(retention: nil) { store in
            try store.database.execute(
                """
                INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at,
                    tapback_count)
                SELECT slot, id, n, gen_random_uuid(), n, 'bob', 1, 'text', now(), now() - interval '9 days',
                    CASE WHEN n = 1500 THEN 6000 ELSE 0 END
                FROM store.conversations, generate_series(2, 2201) n;
                UPDATE store.messages SET created_at = now() WHERE seq > 2150;
                UPDATE store.conversations SET last_seq = 2201
                """)
            let step = TrimHistory(in: conversation, days: 7)
            func take() async throws -> (UInt16?, Int64) {
                let status = await store.ask(.trimHistory, in: conversation.slot, step)?.status
                return (status, try keptFrom(store))
            }
            #expect(try await take() == (200, 1002))
            #expect(try await take() == (200, 1501), "with its tapbacks")
            #expect(try await take() == (204, 2151))
            #expect(try await take() == (204, 2151))
            #expect(try number("SELECT count(*) FROM store.messages", store) == 51)
            #expect(try seqs("changes", store) == [1, 2202, 2203, 2204])
            try age(8, store)
            #expect(try await take() == (204, 2202), "all of them")
            #expect(try seqs("messages", store) == [])
            #expect(try seqs("changes", store) == [1, 2202, 2203, 2204, 2205])
        }
    }

    @Test("many changes between two messages are removed in steps, too")
    @Reactor func manyChanges() async throws {
        try await withGroup(retention: nil) { store in
            let old = await send(2, store)  // 2, 3
            try store.database.execute(
                """
                UPDATE store.messages SET seq = 7000, changed_seq = 7000 WHERE seq = 3;
                INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
                SELECT slot, id, n, 4, 'alice', now(), '\(old[0])' FROM store.conversations, generate_series(3, 6999) n;
                UPDATE store.conversations SET last_seq = 7000
                """)
            try age(8, store)
            let step = TrimHistory(in: conversation, days: 7)
            #expect(await store.ask(.trimHistory, in: conversation.slot, step)?.status == 200)
            #expect(try keptFrom(store) == 5003)
            #expect(await store.ask(.trimHistory, in: conversation.slot, step)?.status == 204)
            #expect(try keptFrom(store) == 7001)
            #expect(try seqs("changes", store) == [1, 7001, 7002])
        }
    }

    @Test("an administrator's time for one conversation holds where it is shorter, and alone where there is no other")
    @Reactor func ofOne() async throws {
        for (deployment, own, age, isGone) in [
            (nil, 7, 8, true), (nil, 7, 6, false), ("30d", 7, 8, true), ("30d", 60, 31, true), ("30d", 60, 29, false),
        ] as [(String?, Int32, Int, Bool)] {
            try await withGroup(retention: deployment) { store in
                let set = Write.Action.setRetention(days: own)
                #expect(await store.write(set, by: "backend", in: conversation)?.status == 204)
                _ = await send(2, store)
                try self.age(age, through: 2, store)
                if isGone {
                    #expect(await store.eventually { (try? keptFrom(store)) == 3 })
                } else {
                    let step = TrimHistory(in: conversation, days: deployment == nil ? nil : 30)
                    #expect(await store.ask(.trimHistory, in: conversation.slot, step)?.status == 204)
                    #expect(try keptFrom(store) == 1)
                }
            }
        }
    }

    @Test("it may be taken back; of a conversation that is not there it is refused")
    @Reactor func takenBack() async throws {
        try await withGroup(retention: nil) { store in
            for days in [7, nil] as [Int32?] {
                #expect(
                    await store.write(.setRetention(days: days), by: "backend", in: conversation)?.status == 204)
                #expect(try number("SELECT count(*) FROM store.retentions", store) == (days == nil ? 0 : 1))
            }
            let nowhere = ConversationID(.random)
            #expect(await store.write(.setRetention(days: 7), by: "backend", in: nowhere)?.status == 404)
            _ = await send(1, store)
            try age(10_000, store)
            let step = TrimHistory(in: conversation, days: nil)
            #expect(await store.ask(.trimHistory, in: conversation.slot, step)?.status == 204)
            #expect(try keptFrom(store) == 1)
        }
    }

    @Test("files are released, and an import that has not ended is left alone")
    @Reactor func filesAndImports() async throws {
        try await withGroup(retention: nil) { store in
            _ = await send(1, store)
            try store.database.execute(
                """
                UPDATE store.messages SET attachments = '[{"id":"0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"}]';
                INSERT INTO store.imports (slot, conversation_id) SELECT slot, id FROM store.conversations
                """)
            try age(8, store)
            let step = TrimHistory(in: conversation, days: 7)
            #expect(await store.ask(.trimHistory, in: conversation.slot, step)?.status == 204)
            #expect(try keptFrom(store) == 1)
            try store.database.execute("UPDATE store.imports SET ended_at = now()")
            #expect(await store.ask(.trimHistory, in: conversation.slot, step)?.status == 204)
            #expect(try keptFrom(store) == 3)
            #expect(await store.eventually { store.released.count == 1 })
        }
    }

    @Test("the walk goes through all conversations, page by page, and begins again")
    @Reactor func walk() async throws {
        try await withGroup { store in
            let last = Retention.conversationsPerLook * 2 + 7
            try store.database.execute(
                """
                INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
                SELECT n % 256, (lpad(to_hex(n), 30, '0') || lpad(to_hex(n % 256), 2, '0'))::uuid, 1, 'alice', now(), 2, now(), 1
                FROM generate_series(1, \(last)) n;
                INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
                SELECT slot, id, 2, gen_random_uuid(), 2, 'alice', 1, 'text', now(), now() - interval '31 days'
                FROM store.conversations WHERE last_seq = 2
                """)
            let left = "SELECT count(*) FROM store.messages"
            #expect(await store.eventually { (try? number(left, store)) == 0 })
            _ = await send(1, store)
            try age(31, store)
            #expect(await store.eventually { (try? number(left, store)) == 0 }, "again")
        }
    }

    @Test("a time is days, one at least", arguments: ["30", "0d", "-1d", "1h", "d", "40000d"])
    func malformed(text: String) {
        var environment = Environment(["PARLEY_RETENTION": text])
        #expect(throws: ConfigurationError.self) { try environment.retention() }
    }
}
