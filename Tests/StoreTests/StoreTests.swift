import Bytes
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// The store with a real PostgreSQL and a real bus.
@Suite(.timeLimit(.minutes(2)))
struct StoreTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try await body(store)
    }

    // MARK: Conversations

    @Test("a conversation is created once; its members find it, others are refused")
    @Reactor func creation() async throws {
        try await withStore { store in
            let created = try #require(await store.create(conversation, by: "alice", with: ["bob"]))
            #expect(created.status == 201)
            #expect(created.field("memberCount") as? Int == 2)
            #expect(created.field("role") as? String == "owner")
            #expect(await store.create(conversation, by: "alice", with: ["bob"])?.status == 200)
            #expect(await store.create(conversation, by: "bob", with: [])?.status == 200)
            #expect(await store.create(conversation, by: "mallory", with: [])?.status == 409)
        }
    }

    @Test("a creation is announced to everybody, and to each member on their private stream")
    @Reactor func creationAnnounced() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            #expect(await store.eventually { store.changes.count == 1 && store.privateChanges.count == 2 })
            #expect(store.changes.map(\.seq) == [1])
            #expect(Set(store.privateChanges.map(\.user.name)) == ["alice", "bob"])
            #expect(
                store.privateChanges.allSatisfy { $0.useq == 1 && $0.json.contains(#""kind":"conversation.joined""#) })
        }
    }

    @Test("racing creations of one conversation make one")
    @Reactor func racingCreations() async throws {
        try await withStore { store in
            async let first = store.create(conversation, by: "alice", with: ["bob"])
            async let second = store.create(conversation, by: "bob", with: ["alice"])
            #expect(Set([await first?.status, await second?.status]) == [200, 201])
        }
    }

    // MARK: Messages

    @Test("messages get dense positions, and everybody hears them in order")
    @Reactor func positions() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            for number in 2...20 {
                let replies = await store.send(Draft(), from: number % 2 == 0 ? "alice" : "bob", to: conversation)
                #expect(replies.first?.field("seq") as? Int == number)
            }
            #expect(await store.eventually { store.changes.count == 20 })
            #expect(store.changes.map(\.seq) == Array(1...20))
        }
    }

    @Test("a repeated message is the same message, and announced once")
    @Reactor func repetition() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            let draft = Draft()
            let first = await store.send(draft, from: "alice", to: conversation)
            let second = await store.send(draft, from: "alice", to: conversation)
            #expect([first[0].status, second[0].status] == [201, 200])
            #expect(first[0].field("seq") as? Int == second[0].field("seq") as? Int)
            _ = await store.send(Draft(), from: "alice", to: conversation)
            #expect(await store.eventually { store.changes.count == 3 })
        }
    }

    @Test("the same id with other content, or from another sender, is a conflict that shows nothing")
    @Reactor func conflict() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            var draft = Draft()
            _ = await store.send(draft, from: "alice", to: conversation)
            #expect(await store.send(draft, from: "bob", to: conversation).first?.status == 409)
            draft.text = "other"
            #expect(await store.send(draft, from: "alice", to: conversation).first?.status == 409)
            draft.text = "hello"
            draft.mentions = "bob"
            #expect(await store.send(draft, from: "alice", to: conversation).first?.status == 409)
        }
    }

    @Test("messages of one request keep their order, may reply to each other, and fail alone")
    @Reactor func batch() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            let first = Draft()
            let replies = await store.send(
                first, Draft(replyTo: first.id), Draft(replyTo: MessageID(.random)), first, Draft(), from: "alice",
                to: conversation)
            #expect(replies.map(\.status) == [201, 201, 422, 200, 201])
            #expect(replies[1].field("replyTo", "preview") as? String == "hello")
            #expect(replies[4].field("seq") as? Int == 4)
        }
    }

    @Test("a stranger learns nothing; what nobody knows is not there")
    @Reactor func strangers() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            let draft = Draft()
            _ = await store.send(draft, from: "alice", to: conversation)
            #expect(await store.send(Draft(), from: "mallory", to: conversation).first?.status == 404)
            #expect(await store.send(draft, from: "mallory", to: conversation).first?.status == 404)
            #expect(await store.history(conversation, for: "mallory")?.status == 404)
            #expect(await store.history(ConversationID(.random), for: "alice")?.status == 404)
        }
    }

    @Test("only the sender is told how far the recipients are")
    @Reactor func receiptsForSender() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob", "carol"])
            let reply = await store.send(Draft(), from: "alice", to: conversation)[0]
            #expect(reply.field("status") as? String == "sent")
            #expect(reply.field("recipientCount") as? Int == 2)
            try store.database.execute(
                """
                INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
                SELECT slot, conversation_id, user_id, 2, seq, seq, 1
                FROM store.memberships, LATERAL (SELECT CASE WHEN user_id = 'bob' THEN 2 ELSE 0 END AS seq) AS bobs
                WHERE user_id <> 'alice'
                """)
            let own = try #require(await store.history(conversation, for: "alice"))
            #expect(own.field("messages", "0", "status") as? String == "delivered")
            #expect(own.field("messages", "0", "readCount") as? Int == 1)
            let others = try #require(await store.history(conversation, for: "bob"))
            #expect(others.field("messages", "0", "status") == nil)
        }
    }

    // MARK: Exactly once

    @Test("what others wrote is unread however much its reader wrote behind it")
    @Reactor func unreadBehindOwn() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            _ = await store.send(Draft(text: "to be read"), from: "bob", to: conversation)
            for _ in 0..<3 {
                let drafts = (0..<400).map { _ in Draft(text: "my own") }
                #expect(await store.sendAll(drafts, from: "alice", to: conversation).count == drafts.count)
            }
            let alices = try #require(await store.conversation(conversation, for: "alice"))
            #expect(alices.field("unreadCount") as? Int == 1)
            let bobs = try #require(await store.conversation(conversation, for: "bob"))
            #expect(bobs.field("unreadCount") as? Int == 100)
        }
    }

    @Test("a value that PostgreSQL refuses fails alone; its neighbours are stored")
    @Reactor func culprit() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            // U+0000 is valid UTF-8 that no PostgreSQL text can hold. The edge refuses it. Here it gets through.
            async let poisoned = store.send(Draft(text: "a\0b"), from: "alice", to: conversation)
            async let healthy = store.send(Draft(), from: "bob", to: conversation)
            let (bad, good) = await (poisoned, healthy)
            #expect(good.map(\.status) == [201])
            #expect(bad.isEmpty)  // The whole request is refused.
        }
    }

    @Test("what waits when a slot is given up is not written any more; what was sent before is")
    @Reactor func givenUp() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            let locking = try store.database.connect()
            try locking.execute("BEGIN; LOCK TABLE store.messages IN ACCESS EXCLUSIVE MODE")
            // Each is a batch of its own while there is room for one: the last one waits.
            for number in 0...Writer.batchesInFlight {
                await store.publishMessage(
                    from: "alice", to: conversation, RequestNumber(1 << 40 | UInt64(number)))
            }
            #expect(store.store.writer.waiting.rows == 1)
            store.store.slots.lost(conversation.slot)
            try locking.execute("ROLLBACK")
            #expect(await store.eventually { store.store.writer.isIdle })
            let stored = try store.database.query("SELECT FROM store.messages WHERE body IS NOT NULL")
            #expect(stored.count == Writer.batchesInFlight)
        }
    }

    @Test("a commit whose connection is lost is found by its repetition, and stored once")
    @Reactor func lostConnection() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            let conversation = conversation
            let senders = (0..<40).map { _ in Draft() }
            let sending = senders.map { draft in
                Task { @Reactor in await store.send(draft, from: "alice", to: conversation) }
            }
            try store.database.endSessions(of: "parley-store-writer")
            for task in sending { #expect(await task.value.first.map { [200, 201].contains($0.status) } == true) }
            let page = try #require(await store.history(conversation, for: "bob", limit: 200))
            #expect((page.field("messages") as? [Any])?.count == 40)
            #expect(page.field("lastSeq") as? Int == 41)
        }
    }

    @Test("the digest tells the position of what was committed")
    @Reactor func digest() async throws {
        try await withStore { store in
            _ = await store.create(conversation, by: "alice", with: [])
            _ = await store.send(Draft(), from: "alice", to: conversation)
            let key = StreamKey.conversation(conversation)
            let moved = await store.eventually {
                store.digests.contains { $0.moved.contains(StreamPosition(key, 2)) && $0.slot == conversation.slot }
            }
            #expect(moved)
        }
    }
}
