import Bytes
import Foundation
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Counts of unread messages and the latest message, however far back they are. They are exact, and found without
/// reading the same rows twice.
@Suite(.timeLimit(.minutes(2)))
struct UnreadTests {
    private let conversation = ConversationID(.random)
    /// The number of blocks that a few counts read when all is known: the block with the message, and the block in which
    /// the first statement stopped. They are read again for each request that a busy machine repeats. A walk through
    /// everything reads far more.
    private let fewBlocks = 24

    init() { ReactorThread.start() }

    /// Creates a conversation of alice, bob and carol at position `lastSeq`, without messages.
    @Reactor private func begin(lastSeq: Int64, _ store: StoreUnderTest) throws {
        try store.database.execute(
            """
            INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
            VALUES (\(key), 1, 'alice', now(), \(lastSeq), now(), 3);
            INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
            SELECT \(key), name, 1, 1 FROM unnest('{alice,bob,carol}'::text[]) name
            """)
    }

    private var key: String { "\(conversation.slot.number), '\(conversation)'" }
    private var isHere: String { "slot = \(conversation.slot.number) AND conversation_id = '\(conversation)'" }

    /// Inserts messages at the positions of a query `seq, sender, kind, is_deleted`.
    @Reactor private func insertMessages(_ query: String, _ store: StoreUnderTest) throws {
        try store.database.execute(
            """
            INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at, deleted_at)
            SELECT \(key), seq, gen_random_uuid(), seq, sender, kind, CASE WHEN kind <> 3 AND NOT is_deleted THEN 'text' END,
                now(), now(), CASE WHEN is_deleted THEN now() END
            FROM (\(query)) m(seq, sender, kind, is_deleted)
            """)
    }

    @Reactor private func unread(_ reader: String, _ store: StoreUnderTest) async -> Int? {
        await store.conversation(conversation, for: reader)?.field("unreadCount") as? Int
    }

    // MARK: Cost

    @Test(
        "what does not count for its reader is walked through once: then a count costs a few rows",
        arguments: [
            "SELECT n, 'bob', 1, false FROM generate_series(3, 200000) n",
            "SELECT n, 'alice', 1, true FROM generate_series(3, 200000) n",
            "SELECT n, 'alice', 3, false FROM generate_series(3, 200000) n",
            "SELECT n, CASE n % 2 WHEN 0 THEN 'bob' ELSE 'alice' END, 1, n % 2 = 1 FROM generate_series(3, 200000) n",
        ])
    @Reactor func longTail(messages: String) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try begin(lastSeq: 200_000, store)
        try insertMessages("SELECT 2, 'alice', 1, false UNION ALL \(messages)", store)
        let walk = store.store.queries.unread
        #expect(await unread("bob", store) == 1)
        #expect(walk.blocksRead <= 197 + fewBlocks)
        let first = walk.blocksRead
        for _ in 0..<3 { #expect(await unread("bob", store) == 1) }
        #expect(walk.blocksRead - first <= fewBlocks)
    }

    @Test("what nobody can count is walked through once for all readers")
    @Reactor func deletedForAll() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try begin(lastSeq: 200_000, store)
        try insertMessages("SELECT n, 'alice', 1, true FROM generate_series(2, 200000) n", store)
        #expect(await unread("bob", store) == 0)
        let first = store.store.queries.unread.blocksRead
        #expect(await unread("carol", store) == 0)
        #expect(store.store.queries.unread.blocksRead - first <= fewBlocks)
    }

    @Test("what its reader hid is walked through once, for the count and for the latest message")
    @Reactor func hidden() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try begin(lastSeq: 50_000, store)
        try insertMessages("SELECT n, 'alice', 1, false FROM generate_series(2, 50000) n", store)
        try store.database.execute(
            "INSERT INTO store.hidden SELECT \(key), 'bob', n FROM generate_series(3, 50000) n")
        let walk = store.store.queries.unread
        let page = try #require(await store.conversation(conversation, for: "bob"))
        #expect(page.field("unreadCount") as? Int == 1)
        #expect(page.field("lastMessage", "seq") as? Int == 2)
        #expect(walk.blocksRead <= 98 + fewBlocks)
        let first = walk.blocksRead
        #expect(await unread("bob", store) == 1)
        #expect(walk.blocksRead - first <= fewBlocks)
        #expect(await unread("carol", store) == 100)
        #expect(walk.blocksRead - first <= fewBlocks, "hundred are found by the first statement")
    }

    @Test("what is remembered for one reader counts for no other, whoever reads first", arguments: ["bob", "carol"])
    @Reactor func secondReader(first: String) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try begin(lastSeq: 6_000, store)
        // A long run with sixty messages of bob, followed by a page of alice's.
        try insertMessages(
            "SELECT n, 'bob', CASE n % 95 WHEN 0 THEN 1 ELSE 3 END, false FROM generate_series(3, 5700) n", store)
        try insertMessages("SELECT n, 'alice', 1, false FROM generate_series(5701, 6000) n", store)
        #expect(await unread(first, store) == 100)
        try store.database.execute(
            "UPDATE store.messages SET deleted_at = now(), body = NULL WHERE sender_id = 'alice' AND \(isHere)")
        let expected = ["bob": 0, "carol": 60]
        for reader in [first] + expected.keys.filter({ $0 != first }) {
            for _ in 0..<2 { #expect(await unread(reader, store) == expected[reader]) }
        }
        // What bob has hidden or cleared is still visible to carol.
        try store.database.execute(
            "INSERT INTO store.hidden SELECT \(key), 'bob', n FROM generate_series(3, 6000) n")
        #expect(await store.conversation(conversation, for: "bob")?.field("lastMessage") == nil)
        let last = await store.conversation(conversation, for: "carol")?.field("lastMessage", "seq")
        #expect(last as? Int == 6_000)
    }

    @Test("one answer goes through so many blocks, whatever conversations they are of; a repetition goes on")
    @Reactor func budget() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let length: Int64 = 2_200 * Block.size
        try store.database.execute(
            """
            CREATE TEMP TABLE made AS
                SELECT (g + 1)::smallint AS slot, ('00000000-0000-7000-8000-00000000000' || g + 1)::uuid AS id
                FROM generate_series(0, 1) g;
            INSERT INTO store.conversations (slot, id, kind, creator_id, created_at, last_seq, last_at, member_count)
            SELECT slot, id, 1, 'bob', now(), \(length), now(), 1 FROM made;
            INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
            SELECT slot, id, 'bob', 1, 2 FROM made;
            INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
            SELECT \(UserID("bob")!.slot.number), 'bob', id, slot FROM made;
            INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
            SELECT slot, id, n, gen_random_uuid(), n, 'bob', 1, 'hidden', now(), now()
            FROM made, generate_series(\(length) - 299, \(length)) n;
            INSERT INTO store.hidden (slot, conversation_id, user_id, seq)
            SELECT slot, conversation_id, 'bob', seq FROM store.messages;
            INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
            SELECT slot, id, 'bob', \(length), \(length), 0, 1 FROM made
            """)
        let query = ListConversations(reader: UserID("bob")!, limit: 50, before: .start)
        let first = await store.ask(.listConversations, in: query.reader.slot, query)
        #expect(first?.status == 503)
        #expect(store.store.queries.unread.blocksRead <= 4_096)
        let second = await store.ask(.listConversations, in: query.reader.slot, query)
        #expect(second?.status == 200)
        #expect((second?.field("conversations") as? [Any])?.count == 2)
    }

    @Test("the statement itself looks at no more rows than it must, however long the conversation is")
    @Reactor func statementRows() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try begin(lastSeq: 100_000, store)
        try insertMessages("SELECT n, 'bob', 1, n % 3 = 0 FROM generate_series(2, 100000) n", store)
        try store.database.execute(
            "INSERT INTO store.hidden SELECT \(key), 'bob', n FROM generate_series(50000, 100000) n; ANALYZE")
        let connection = try store.database.connect()
        try connection.execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
        let plan = try connection.query(ConversationStatement.byID, prefix: "EXPLAIN ANALYZE ") {
            ConversationStatement.set([conversation], for: UserID("bob")!, of: $1, in: &$0)
        }
        let rows = Self.rows(of: "messages", in: plan.map { $0[0] })
        #expect(rows > 0 && rows <= 3 * ConversationStatement.nearbyRows, "\(rows) rows were read")
    }

    /// Returns how many rows of a table the plan's nodes have read.
    private static func rows(of table: String, in plan: [String]) -> Int {
        plan.filter { $0.contains(" on \(table) ") }.reduce(0) { sum, line in
            guard let match = line.firstMatch(of: /actual .*rows=(\d+) loops=(\d+)/) else { return sum }
            return sum + Int(match.1)! * Int(match.2)!
        }
    }

    // MARK: Mentions

    @Test("mentions are counted among the latest that mention anybody, by an index, however many there are")
    @Reactor func mentions() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try begin(lastSeq: 60_000, store)
        try insertMessages("SELECT n, 'alice', 1, false FROM generate_series(2, 60000) n", store)
        func mentioned() async -> Int? {
            await store.conversation(conversation, for: "bob")?.field("unreadMentions") as? Int
        }
        #expect(await mentioned() == nil)
        try store.database.execute("UPDATE store.messages SET mentions = '{bob}' WHERE seq = 2")
        #expect(await mentioned() == 1, "however far back it is")
        try store.database.execute(
            "UPDATE store.messages SET mentions = '{carol}' WHERE seq > 10000 AND seq % 2 = 0 OR seq BETWEEN 3 AND 200; ANALYZE"
        )
        #expect(await mentioned() == nil, "behind too many others")
        #expect(await store.conversation(conversation, for: "carol")?.field("unreadMentions") as? Int == 100)
        #expect(await store.conversation(conversation, for: "alice")?.field("unreadMentions") == nil)
        let connection = try store.database.connect()
        try connection.execute("SET plan_cache_mode = force_generic_plan")
        let plan = try connection.query(UnreadStatement.mentions, prefix: "EXPLAIN ANALYZE ") {
            UnreadStatement.set([(conversation, 1...60_000)], for: UserID("bob")!, of: $1, in: &$0)
        }.map { $0[0] as String }
        #expect(plan.contains { $0.contains("messages_mentioning") }, "\(plan)")
        let rows = Self.rows(of: "messages", in: plan)
        #expect(rows == UnreadStatement.mentioningRows, "\(plan)")
        #expect(!plan.contains { $0.contains(" on memberships ") && !$0.contains("never executed") }, "\(plan)")
    }

    @Test("who is mentioned in more conversations than are looked at together is told of each")
    @Reactor func manyMentions() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let ids = (0..<(2 * UnreadStatement.mentioningRanges + 3)).map { _ in ConversationID(.random) }
        for (number, id) in ids.enumerated() {
            _ = await store.create(id, by: "alice", with: ["bob"])
            let drafts = (0...(number % 3)).map {
                StoreUnderTest.Draft(mentions: $0 == 0 && number % 4 == 0 ? "*" : "bob")
            }
            for draft in drafts { _ = await store.send(draft, from: "alice", to: id) }
        }
        let query = ListConversations(reader: UserID("bob")!, limit: 100, before: .start)
        let list = await store.ask(.listConversations, in: query.reader.slot, query)
        let listed = try #require(list?.field("conversations") as? [[String: Any]])
        let counts = Dictionary(
            uniqueKeysWithValues: listed.map { ($0["id"] as! String, $0["unreadMentions"] as? Int) })
        for (number, id) in ids.enumerated() {
            #expect(counts[id.description] == 1 + number % 3, "conversation \(number)")
        }
    }

    // MARK: Exactness

    /// The counts as the contract defines them, row by row.
    private var naive: String {
        """
        SELECT (SELECT count(*)::int FROM (
                SELECT FROM visible m WHERE m.sender_id <> 'bob' AND m.kind <> 3 AND m.deleted_at IS NULL
                  AND m.seq > coalesce((SELECT read_seq FROM receipt.horizons WHERE \(isHere) AND user_id = 'bob'), 0) LIMIT 100
            ) u), (SELECT coalesce(max(seq), 0) FROM visible),
            (SELECT least(count(*), 100)::int FROM visible m
             WHERE m.sender_id <> 'bob' AND m.deleted_at IS NULL AND (m.mentions @> '{bob}' OR m.mentions @> '{*}')
               AND m.seq > coalesce((SELECT read_seq FROM receipt.horizons WHERE \(isHere) AND user_id = 'bob'), 0))
        FROM (SELECT) one
        """
    }

    private var visible: String {
        """
        WITH visible AS MATERIALIZED (
            SELECT m.* FROM store.messages m WHERE \(isHere)
              AND (SELECT true FROM store.memberships s WHERE \(isHere) AND s.user_id = 'bob'
                     AND m.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, m.seq))
              AND m.seq > (SELECT max(cleared_seq) FROM store.memberships s WHERE \(isHere) AND s.user_id = 'bob')
              AND (SELECT true FROM store.hidden d
                   WHERE d.conversation_id = m.conversation_id AND d.user_id = 'bob' AND d.seq = m.seq) IS NULL
        )
        """
    }

    @Reactor private func compare(_ store: StoreUnderTest, _ note: String) async throws {
        let expected = try #require(try store.database.query("\(visible) \(naive)").first)
        let page = try #require(await store.conversation(conversation, for: "bob"))
        #expect(page.field("unreadCount") as? Int == Int(expected[0] as Int32), "\(note)")
        #expect(page.field("lastMessage", "seq") as? Int ?? 0 == Int(expected[1] as Int64), "\(note)")
        #expect(page.field("unreadMentions") as? Int ?? 0 == Int(expected[2] as Int32), "\(note)")
    }

    /// Uses stretches of a conversation in which one thing is the rule, with a few exceptions.
    @Test(
        "counts and latest messages are those of a naive count, whatever was written, deleted and hidden",
        arguments: UInt64(0)..<12)
    @Reactor func generated(seed: UInt64) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let lastSeq: Int64 = 9_000
        try begin(lastSeq: lastSeq, store)
        try insertMessages(
            """
            SELECT n, CASE WHEN rule = 0 OR r < 0.004 THEN 'bob' ELSE 'alice' END,
                CASE WHEN rule = 2 AND r < 0.98 THEN 3 ELSE 1 END, rule IN (1, 5) AND r BETWEEN 0.003 AND 0.999
            FROM (SELECT n, rules[1 + n / 700] AS rule, random() AS r
                  FROM setseed(\(Double(seed) / 100)), (SELECT array_agg((random() * 5)::int) AS rules FROM generate_series(0, 13)) rules,
                      generate_series(2, \(lastSeq)) n) m
            WHERE rule <> 3 OR r < 0.01
            """, store)
        // Fewer than are looked at, of all kinds.
        try store.database.execute(
            """
            UPDATE store.messages SET mentions = (ARRAY['{bob}', '{*}', '{carol,bob}', '{carol}', '{*,bob}'])[1 + seq % 5]::text[]
            WHERE \(isHere) AND kind <> 3 AND seq % 37 = 0
            """)
        var random = SeededRandom(seed: seed)
        var cuts = (0..<6).map { _ in Int64.random(in: 1...lastSeq, using: &random) }.sorted()
        if seed % 2 == 0 { cuts[5] = lastSeq + 1 }
        try store.database.execute(
            """
            DELETE FROM store.memberships WHERE \(isHere) AND user_id = 'bob';
            INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, role, cleared_seq)
            SELECT DISTINCT ON (joined) \(key), 'bob', joined, left_seq, 1, \(seed % 3 == 0 ? cuts[2] : 0)
            FROM (VALUES (1::bigint, \(cuts[0])::bigint), (\(cuts[1] + 1), \(cuts[3] + 1)),
                (\(cuts[4] + 2), \(seed % 2 == 0 ? "NULL" : "\(lastSeq + 2)"))) s(joined, left_seq);
            INSERT INTO store.hidden SELECT \(key), 'bob', seq FROM store.messages
            WHERE \(isHere) AND (seq % 1400 > 900 OR seq > \(seed % 4 == 0 ? 6_000 : lastSeq));
            INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
            VALUES (\(key), 'bob', 100000, \(seed % 5 == 0 ? cuts[1] : 0), 0, 1)
            """)
        try await compare(store, "seed \(seed), at first")
        try await compare(store, "seed \(seed), with what is known")
        // Counted messages are deleted, hidden and read, while others keep writing.
        try store.database.execute(
            "UPDATE store.messages SET deleted_at = now(), body = NULL WHERE \(isHere) AND kind = 1 AND seq % 3 = 0")
        try await compare(store, "seed \(seed), after deletions")
        try store.database.execute(
            "UPDATE store.conversations SET last_seq = \(lastSeq + 400) WHERE slot = \(conversation.slot.number) AND id = '\(conversation)'"
        )
        try insertMessages(
            "SELECT n, 'alice', 1, n % 4 > 0 FROM generate_series(\(lastSeq + 1), \(lastSeq + 400)) n", store)
        try await compare(store, "seed \(seed), after more messages")
        try store.database.execute(
            """
            INSERT INTO store.hidden SELECT \(key), 'bob', seq FROM store.messages WHERE \(isHere) AND seq % 5 = 1
            ON CONFLICT DO NOTHING;
            UPDATE receipt.horizons SET read_seq = read_seq + 1500 WHERE \(isHere) AND user_id = 'bob'
            """)
        try await compare(store, "seed \(seed), after more was hidden and read")
    }

    // MARK: Without a database

    @Test("runs of blocks are those that were inserted, in whatever order", arguments: UInt64(0)..<100)
    func runs(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var runs = BlockRuns()
        var expected: Set<Int64> = []
        for _ in 0..<60 {
            let block = Int64.random(in: 0..<80, using: &random)
            runs.insert(block)
            expected.insert(block)
            #expect(Set(runs.runs.joined()) == expected)
            #expect(zip(runs.runs, runs.runs.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
        }
        for block in Int64(0)..<80 { #expect((runs.run(containing: block) != nil) == expected.contains(block)) }
    }

    @Test("what is remembered has a bound, and what is used stays")
    func memory() {
        var known = EmptyBlocks()
        let used = EmptyBlocks.Key.unread(UserID("bob")!, conversation)
        for _ in 0..<(3 * EmptyBlocks.limit) {
            known.insert(7, of: .forAnybody(ConversationID(.random)))
            known.insert(1, of: used)
        }
        #expect(known.size <= 3 * EmptyBlocks.limit)
        let run = known.run(containing: 1, of: used)
        #expect(run == 1...1)
    }
}
