import Bytes
import Foundation
import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Slots
@testable import Store

/// Data that would otherwise grow forever, and what a takeover scans.
@Suite(.timeLimit(.minutes(3)))
struct GrowthTests {
    init() { ReactorThread.start() }

    private typealias Draft = StoreUnderTest.Draft
    private let alice = UserID("alice")!
    private let bob = UserID("bob")!
    private let conversation = ConversationID(.random)

    @Reactor private func withConversation(
        _ body: @Reactor (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    // MARK: Private streams

    /// Gives a user a stream with this many changes, as heavy use would.
    @Reactor private func fill(_ store: StoreUnderTest, _ user: UserID, through last: Int64) throws {
        _ = try store.database.query(
            """
            WITH stream AS (
                INSERT INTO store.user_streams VALUES ($1, $2, $3)
                ON CONFLICT (user_id, user_slot) DO UPDATE SET last_useq = $3
            )
            INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
            SELECT $1, $2, n, 5, now(), $4, $5, n FROM generate_series(
                1 + coalesce((SELECT max(useq) FROM store.user_changes WHERE user_slot = $1 AND user_id = $2), 0), $3) n
            """
        ) { parameters in
            parameters.add(user.slot)
            parameters.add(user)
            parameters.add(last)
            parameters.add(conversation.slot)
            parameters.add(conversation)
        }
    }

    @Reactor private func kept(_ store: StoreUnderTest, _ user: UserID) throws -> (count: Int64, first: Int64) {
        let row = try store.database.query(
            "SELECT count(*), coalesce(min(useq), 0) FROM store.user_changes WHERE user_id = $1"
        ) { $0.add(user) }[0]
        return (row[0], row[1])
    }

    @Test("of a private stream the latest thousand changes are kept, without a hole; the others go, some at a time")
    @Reactor func trimming() async throws {
        try await withConversation { store in
            try fill(store, bob, through: 2_559)
            #expect(await store.put(readReceipts: .no, by: "bob")?.status == 200)
            #expect(await store.eventually { (try? kept(store, bob))?.count == PrivateTail.kept })
            #expect(try kept(store, bob) == (PrivateTail.kept, 2_560 - PrivateTail.kept + 1))
            #expect(await store.eventually { store.store.trimmer.trimmed == 1_560 })
            #expect(store.store.trimmer.waitingCount == 0)
            // Other streams stay untouched.
            #expect(try kept(store, alice).count == 1)
        }
    }

    @Test("one removal takes no more rows than it may, and nothing of what is kept")
    @Reactor func trimmingStep() async throws {
        try await withConversation { store in
            try fill(store, bob, through: 1_700)
            let connection = store.store.backgroundWriter.connection
            #expect(await store.eventually { connection.isUp })
            for expected in [500, 200, 0] as [Int64] {
                let results = try await connection.transaction { PrivateTail.addTrim(of: bob, through: 700, to: &$0) }
                #expect(PrivateTail.trimmedCount(results[0]) == expected)
            }
            #expect(try kept(store, bob) == (1_000, 701))
        }
    }

    @Reactor private func bootstrap(_ store: StoreUnderTest, _ user: UserID) async throws -> Bootstrap {
        let response = await store.ask(.bootstrap, in: user.slot) { BootstrapQuery(user).write(to: &$0) }
        return try (response?.payload ?? []).withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try Bootstrap(from: &reader)
        }
    }

    @Test("a session learns from which change on its private stream is replayed, trimmed or not")
    @Reactor func firstReplayed() async throws {
        try await withConversation { store in
            #expect(try await bootstrap(store, bob).firstUseq == 1)
            #expect(try await bootstrap(store, UserID("nobody")!).firstUseq == 1)
            try fill(store, bob, through: 1_300)
            #expect(try await bootstrap(store, bob).firstUseq == 301)
            try store.database.execute("DELETE FROM store.user_changes WHERE useq <= 900")
            #expect(try await bootstrap(store, bob).firstUseq == 901)
        }
    }

    @Reactor private func sync(_ store: StoreUnderTest, _ cursor: String?) async -> StoreUnderTest.Reply? {
        await store.ask(.sync, in: bob.slot, SyncQuery(bob, since: cursor.flatMap { SyncCursor(text: $0) }))
    }

    @Test("a cursor of sync that is older than what is kept gets everything anew, once, and goes on from there")
    @Reactor func syncBehindTheTail() async throws {
        try await withConversation { store in
            let second = ConversationID(.random)
            _ = await store.create(second, by: "bob", with: ["alice"])
            let start = try #require(await sync(store, nil)?.field("cursor") as? String)
            try fill(store, bob, through: 1_002)
            // A gap of exactly the kept changes comes change by change.
            var cursor = start
            var told = 0
            while let page = await sync(store, cursor), let next = page.field("cursor") as? String {
                #expect(page.field("reload") == nil)
                told += (page.field("private") as? [Any])?.count ?? 0
                cursor = next
                guard page.field("more") as? Bool == true else { break }
            }
            #expect(told == 1_000)
            // A larger gap does not.
            try fill(store, bob, through: 1_003)
            for _ in 0..<2 {
                let anew = try #require(await sync(store, start))
                #expect(anew.field("reload") as? Bool == true)
                #expect((anew.field("private") as? [Any])?.isEmpty == true)
                #expect((anew.field("conversations") as? [Any])?.count == 2)
                let next = try #require(anew.field("cursor") as? String)
                #expect(SyncCursor(text: next)?.useq == 1_003)
                let behind = try #require(await sync(store, next))
                #expect(behind.field("reload") == nil && (behind.field("private") as? [Any])?.isEmpty == true)
                // The second time, the stream has a hole from trimming.
                try store.database.execute("DELETE FROM store.user_changes WHERE useq <= 10")
            }
        }
    }

    // MARK: Early deletions

    @Test("a user's early deletions in a conversation are limited; those that are remembered stay, those that came go")
    @Reactor func earlyDeletions() async throws {
        try await withConversation { store in
            var drafts: [Draft] = []
            for _ in 0..<DeleteMessage.waitingLimit {
                drafts.append(Draft(text: "never seen"))
                let status = await store.write(.deleteForEveryone(drafts.last!.id), by: "bob", in: conversation)?.status
                #expect(status == 204)
            }
            let beyond = Draft()
            guard
                case .problem(let problem)? = await store.write(
                    .deleteForEveryone(beyond.id), by: "bob", in: conversation)
            else { return #expect(Bool(false), "not refused") }
            #expect(problem.code == .conflict && problem.detail.hasPrefix("messageId: 100 deletions"))
            // The limit applies neither to other users nor to deletions already stored nor to existing messages.
            #expect(await store.write(.deleteForEveryone(beyond.id), by: "alice", in: conversation)?.status == 204)
            #expect(await store.write(.deleteForEveryone(drafts[0].id), by: "bob", in: conversation)?.status == 204)
            let sent = await store.send(drafts[0], from: "bob", to: conversation)[0]
            #expect(sent.field("deletedForEveryone") as? Bool == true)
            // One message has arrived, so there is room for one deletion.
            #expect(await store.write(.deleteForEveryone(beyond.id), by: "bob", in: conversation)?.status == 204)
            #expect(await store.write(.deleteForEveryone(Draft().id), by: "bob", in: conversation)?.status == 409)
            let rows = try store.database.query("SELECT count(*) FROM store.early_deletions WHERE user_id = 'bob'")
            #expect(rows[0][0] as Int64 == Int64(DeleteMessage.waitingLimit))
            // A repetition of the message whose deletion is forgotten is still deleted.
            let again = await store.send(drafts[0], from: "bob", to: conversation)[0]
            #expect(again.status == 200 && again.field("deletedForEveryone") as? Bool == true)
        }
    }

    // MARK: The list of conversations

    @Reactor private func listed(_ store: StoreUnderTest, _ user: UserID) async -> [String] {
        let query = ListConversations(reader: user, limit: 50, before: .start)
        let list = await store.ask(.listConversations, in: user.slot, query)
        return (list?.field("conversations") as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
    }

    @Test("who has left takes a conversation out of the list; members, strangers and erased users do not")
    @Reactor func unlisting() async throws {
        try await withConversation { store in
            #expect(await store.write(.unlist, by: "bob", in: conversation)?.status == 409)
            #expect(await store.write(.unlist, by: "dave", in: conversation)?.status == 404)
            #expect(await store.write(.unlist, by: "dave", in: ConversationID(.random))?.status == 404)
            _ = await store.send(Draft(text: "remember"), from: "alice", to: conversation)
            _ = await store.write(.removeMember(bob), by: "bob", in: conversation)
            #expect(await listed(store, bob) == [conversation.description])
            let key = UUIDBytes.random
            for _ in 0..<2 {
                #expect(await store.write(.unlist, by: "bob", in: conversation, key: key)?.status == 204)
                #expect(await store.write(.unlist, by: "bob", in: conversation)?.status == 204)
            }
            #expect(await listed(store, bob).isEmpty)
            #expect((await sync(store, nil)?.field("conversations") as? [Any])?.isEmpty == true)
            let start = try await bootstrap(store, bob)
            #expect(start.conversations == Array("[]".utf8))
            #expect(await listed(store, alice) == [conversation.description])
            // The user alone is notified, once. What the windows show stays readable.
            let told = { (store.privateChanges.filter { $0.json.contains("conversation.removed") }) }
            #expect(await store.eventually { !told().isEmpty })
            #expect(told().map(\.user) == [bob] && told()[0].json.contains(conversation.description))
            #expect(await store.history(conversation, for: "bob")?.status == 200)
            #expect(await store.conversation(conversation, for: "bob")?.status == 200)
        }
    }

    @Test("who is added again has the conversation in the list again, with the windows of before")
    @Reactor func listedAgain() async throws {
        try await withConversation { store in
            _ = await store.write(.removeMember(bob), by: "bob", in: conversation)
            _ = await store.write(.unlist, by: "bob", in: conversation)
            #expect(await listed(store, bob).isEmpty)
            #expect(await store.write(.putMember(bob, nil), by: "alice", in: conversation)?.status == 200)
            #expect(await listed(store, bob) == [conversation.description])
            #expect(await store.write(.unlist, by: "bob", in: conversation)?.status == 409)
            let again = try #require(await store.conversation(conversation, for: "bob"))
            #expect((again.field("windows") as? [Any])?.count == 2)
            // Erasing also finds what is not in the list.
            _ = await store.write(.removeMember(bob), by: "bob", in: conversation)
            _ = await store.write(.unlist, by: "bob", in: conversation)
            let rows = try store.database.query("SELECT count(*) FROM store.inbox WHERE user_id = 'bob'")
            #expect(rows[0][0] as Int64 == 1)
        }
    }

    // MARK: Takeovers

    @Reactor private func noted(_ store: StoreUnderTest) throws -> Int64 {
        try store.database.query("SELECT count(*) FROM store.unindexed")[0][0]
    }

    /// Inserts conversations that are indexed but have no note.
    @Reactor private func fillConversations(_ store: StoreUnderTest, _ count: Int) throws {
        try store.database.execute(
            """
            INSERT INTO store.conversations
            SELECT g & 255, ('00000000-0000-7000-8000-' || lpad(to_hex(g), 12, '0'))::uuid, 1, NULL, 'ann', now(), 9, now(), 1
            FROM generate_series(1, \(count)) g;
            INSERT INTO store.search_positions SELECT slot, id, 9 FROM store.conversations WHERE last_seq = 9
            """)
    }

    @Test("a store that takes over looks at the conversations that were moving, not at all there are")
    @Reactor func takeover() async throws {
        try await withConversation { store in
            try fillConversations(store, 5_000)
            // Nothing is indexed from here on. The store dies.
            await store.indexed()
            store.store.indexer.connection.close()
            _ = await store.send(Draft(text: "left behind"), from: "alice", to: conversation)
            #expect(try noted(store) == 1)
            try await store.crash()
            #expect(await store.eventually { store.indexedCount == 1 })
            #expect(store.store.indexer.looked == 1)
        }
    }

    /// Takes slots and dies before it has scanned anything.
    @Reactor private final class Owner: SlotOwnerDelegate {
        private(set) var held = 0

        func acquired(_ slot: Slot, epoch: Int64) { held += 1 }
        func lost(_ slot: Slot) {}
        func ended(session: Int32) {}
    }

    @Test("behind an owner that died before it had looked at everything, a store looks at no more than that one")
    @Reactor func takeoverDuringTakeover() async throws {
        try await withConversation { store in
            try fillConversations(store, 5_000)
            await store.indexed()
            // Conversations without a note are found only by a full scan.
            try store.database.execute("UPDATE store.search_positions SET indexed_seq = 8 WHERE indexed_seq = 9")
            let before = store.store.indexer.looked
            let connection = store.database.open(name: "owner"), owner = Owner()
            let slots = SlotOwner(
                connection: connection, schema: Store.Schema.name, lockClass: Store.Schema.slotLocks, delegate: owner)
            #expect(await store.eventually { owner.held == Slot.count / 2 })
            connection.close()
            #expect(await store.eventually { store.store.slots.count == Slot.count })
            await Reactor.sleep(for: .seconds(1))
            withExtendedLifetime(slots) {}
            #expect(store.store.indexer.looked - before <= 1)
            let complete = "SELECT count(*) FROM store.slots WHERE noted_epoch = epoch"
            #expect(await store.eventually { (try? store.database.query(complete)[0][0] as Int64) == 256 })
        }
    }

    @Test("behind an owner of an older version, which notes nothing, a store looks at everything once")
    @Reactor func takeoverFromOlderVersion() async throws {
        try await withConversation { store in
            await store.indexed()
            store.store.indexer.connection.close()
            _ = await store.send(Draft(text: "left behind"), from: "alice", to: conversation)
            try store.database.execute(
                "DELETE FROM store.unindexed; UPDATE store.slots SET epoch = epoch + 1, noted_epoch = noted_epoch - 1")
            try fillConversations(store, 5_000)
            try store.database.execute("UPDATE store.search_positions SET indexed_seq = 8 WHERE indexed_seq = 9")
            try await store.crash()
            #expect(await store.eventually { store.indexedCount == 1 })
            #expect(await store.eventually { store.store.indexer.looked >= 5_001 })
            let complete = "SELECT count(*) FROM store.slots WHERE noted_epoch = epoch"
            #expect(await store.eventually { (try? store.database.query(complete)[0][0] as Int64) == 256 })
        }
    }

    @Test("a conversation is noted by its first message, once, and nobody can have others noted that there are not")
    @Reactor func notes() async throws {
        try await withConversation { store in
            for _ in 0..<3 { _ = await store.send(Draft(), from: "alice", to: conversation) }
            for _ in 0..<3 { _ = await store.send(Draft(), from: "mallory", to: ConversationID(.random)) }
            let count = try noted(store)
            #expect(count == 1)
            #expect(store.store.writer.notes?.written == 1)
        }
    }
}
