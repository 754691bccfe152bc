import Foundation
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// What users have written in conversations and not sent.
@Suite(.timeLimit(.minutes(2)))
struct DraftTests {
    let conversation = ConversationID(.random)
    let message = MessageID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    /// The draft that a reader's conversation shows.
    @Reactor private func text(of user: String = "bob", _ store: StoreUnderTest) async -> String? {
        await store.conversation(conversation, for: user)?.field("draft", "text") as? String
    }

    @Reactor private func put(
        _ text: String, replyTo: MessageID? = nil, by user: String = "bob", _ store: StoreUnderTest
    ) async -> UInt16? {
        await store.write(.draft(text, replyTo: replyTo), by: user, in: conversation)?.status
    }

    @Test("what was put last is there, alone to its writer; putting it again writes nothing")
    @Reactor func last() async throws {
        try await withStore { store in
            let row = "SELECT xmin::text, last_seq, last_at::text FROM store.conversations"
            let before = try store.database.query(row)
            for text in ["one", "two", "two", "", ""] { #expect(await put(text, replyTo: message, store) == 204) }
            #expect(await put("three", store) == 204)
            #expect(await text(store) == "three")
            #expect(await text(of: "alice", store) == nil)
            #expect(await store.eventually { store.privateChanges.count { $0.json.contains("draft") } == 4 })
            let told = store.privateChanges.filter { $0.json.contains("\"kind\":\"draft\"") }
            #expect(told.map(\.user.name) == ["bob", "bob", "bob", "bob"])
            #expect(told.map { $0.json.contains(message.description) } == [true, true, false, false])
            let after = try store.database.query(row)
            #expect(after[0][0] as String == before[0][0] as String, "the conversation's row is left alone")
        }
    }

    @Test("as many conversations have a draft as the contract says, and each of them any number")
    @Reactor func limit() async throws {
        try await withStore { store in
            func add(_ count: Int) throws {
                try store.database.execute(
                    """
                    INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot, has_draft, draft_text)
                    SELECT \(UserID("bob")!.slot.number), 'bob', gen_random_uuid(), 0, true, 'text'
                    FROM generate_series(1, \(count)) n
                    """)
            }
            try add(ContractLimits.draftsPerUser - 1)
            #expect(await put("one", store) == 204)
            #expect(await put("two", store) == 204)
            #expect(await put("", store) == 204)
            try add(1)
            #expect(await put("one", store) == 409)
            #expect(await put("", store) == 204)
            #expect(await put("one", by: "alice", store) == 204)
        }
    }

    @Test("what a member wrote goes with the stay, and nothing of it is left in the table")
    @Reactor func stays() async throws {
        try await withStore { store in
            for user in ["alice", "bob"] { #expect(await put("one", replyTo: message, by: user, store) == 204) }
            _ = await store.write(.removeMember(UserID("bob")!), by: "alice", in: conversation)
            #expect(await text(of: "alice", store) == "one")
            let left = try store.database.query(
                """
                SELECT FROM store.inbox WHERE user_id = 'bob'
                  AND (has_draft OR num_nonnulls(draft_text, draft_reply_id, draft_at, draft_useq) > 0)
                """)
            #expect(left.isEmpty)
            #expect(await put("two", store) == 403)
            _ = await store.write(.putMember(UserID("bob")!, nil), by: "alice", in: conversation)
            #expect(await text(store) == nil)
        }
    }
}
