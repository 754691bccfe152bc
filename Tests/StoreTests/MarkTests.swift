import Foundation
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// What users keep to themselves about conversations: mutes, pins, the archive, marks as unread.
@Suite(.timeLimit(.minutes(2)))
struct MarkTests {
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    /// What a reader's conversation shows of the marks.
    @Reactor private func marks(of user: String = "bob", _ store: StoreUnderTest) async -> NSDictionary {
        let shown = await store.conversation(conversation, for: user)
        let names = ["mutedUntil", "pinOrder", "archivedSeq", "archived", "markedUnread"]
        return NSDictionary(
            dictionary: Dictionary(
                uniqueKeysWithValues: names.compactMap { name in shown?.field(name).map { (name, $0) } }))
    }

    @Reactor private func mark(_ mark: Mark, by user: String = "bob", _ store: StoreUnderTest) async -> UInt16? {
        await store.write(.mark(mark), by: user, in: conversation)?.status
    }

    /// Returns a user's announced changes of marks.
    @Reactor private func told(_ user: String, by store: StoreUnderTest) -> [NSDictionary] {
        store.privateChanges.filter { $0.user.name == user }
            .compactMap { try? JSONSerialization.jsonObject(with: Data($0.json.utf8)) as? NSDictionary }
            .filter { ["muted", "pinned", "archived", "markedUnread"].contains($0["kind"] as? String) }
    }

    @Test("marks are shown to who made them, alone, and on all devices; setting them again tells nothing")
    @Reactor func shown() async throws {
        try await withStore { store in
            for _ in 0..<2 {
                #expect(await mark(.muted(until: .forever), store) == 204)
                #expect(await mark(.pinned(order: -2), store) == 204)
                #expect(await mark(.archived(through: .max), store) == 204)
                #expect(await mark(.unread(true), store) == 204)
            }
            #expect(
                await marks(store) == [
                    "mutedUntil": "9999-12-31T23:59:59.999Z", "pinOrder": -2, "archivedSeq": 1, "archived": true,
                    "markedUnread": true,
                ])
            #expect(await marks(of: "alice", store) == [:])
            #expect(await store.eventually { told("bob", by: store).count == 4 })
            #expect(told("bob", by: store).map { $0["useq"] as? Int } == [2, 3, 4, 5])
            #expect(told("bob", by: store)[0]["mutedUntil"] as? String == "9999-12-31T23:59:59.999Z")
            #expect(told("bob", by: store)[1]["pinOrder"] as? Int == -2)
            #expect(told("bob", by: store)[2]["archivedSeq"] as? Int == 1)
            #expect(told("bob", by: store)[3]["markedUnread"] as? Bool == true)
            #expect(told("alice", by: store).isEmpty)
            for gone in [Mark.muted(until: nil), .pinned(order: nil), .archived(through: nil), .unread(false)] {
                #expect(await mark(gone, store) == 204)
            }
            #expect(await marks(store) == [:])
        }
    }

    @Test("what others do in a conversation does not change with a mark: no position, no time, nothing new for sync")
    @Reactor func alone() async throws {
        try await withStore { store in
            let row = "SELECT xmin::text, last_seq, last_at::text FROM store.conversations"
            let before = try store.database.query(row)
            #expect(await mark(.pinned(order: 0), store) == 204)
            let after = try store.database.query(row)
            #expect(after[0][0] as String == before[0][0] as String)
            #expect(after[0][1] as Int64 == before[0][1] as Int64)
        }
    }

    @Test("a message brings a conversation back from the archive; while it is muted, none does")
    @Reactor func archive() async throws {
        try await withStore { store in
            _ = await mark(.archived(through: .max), store)
            _ = await store.send(.init(text: "one"), from: "alice", to: conversation)
            #expect(await marks(store) == ["archivedSeq": 1])
            // Muting does not put it away again.
            _ = await mark(.muted(until: .forever), store)
            #expect(await marks(store) == ["mutedUntil": "9999-12-31T23:59:59.999Z"])
            _ = await mark(.archived(through: .max), store)
            _ = await store.send(.init(text: "two"), from: "alice", to: conversation)
            #expect(await marks(store)["archived"] as? Bool == true)
            // A mute that is over is none.
            _ = await mark(.muted(until: Timestamp(milliseconds: 1)), store)
            #expect(await marks(store)["archived"] == nil)
        }
    }

    @Test("what came after the position that the user was shown is not archived")
    @Reactor func archiveThrough() async throws {
        try await withStore { store in
            _ = await store.send(.init(text: "one"), .init(text: "two"), from: "alice", to: conversation)
            _ = await mark(.archived(through: 2), store)
            #expect(await marks(store) == ["archivedSeq": 2])
            _ = await mark(.archived(through: 3), store)
            #expect(await marks(store) == ["archivedSeq": 3, "archived": true])
        }
    }

    @Test("a former member keeps marks, which say nothing of what came after they left; a stranger has none")
    @Reactor func others() async throws {
        try await withStore { store in
            _ = await store.write(.removeMember(UserID("bob")!), by: "bob", in: conversation)
            _ = await store.send(.init(text: "one"), .init(text: "two"), from: "alice", to: conversation)
            #expect(await mark(.archived(through: .max), store) == 204)
            #expect(await marks(store) == ["archivedSeq": 2, "archived": true])
            #expect(await mark(.pinned(order: 0), by: "mallory", store) == 404)
            // Taken out of the list, it takes no pin with it.
            #expect(await mark(.pinned(order: 0), store) == 204)
            _ = await store.write(.unlist, by: "bob", in: conversation)
            #expect(await marks(store) == [:])
            #expect(await mark(.pinned(order: 0), store) == 409)
            _ = await store.write(.putMember(UserID("bob")!, nil), by: "alice", in: conversation)
            #expect(await mark(.pinned(order: 0), store) == 204)
        }
    }

    @Test("as many are pinned as the contract says, and moving one of them needs no place")
    @Reactor func pins() async throws {
        try await withStore { store in
            #expect(await mark(.pinned(order: 0), store) == 204)
            // Others, which nobody looks at.
            try store.database.execute(
                """
                INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot, pin_order)
                SELECT \(UserID("bob")!.slot.number), 'bob', gen_random_uuid(), 0, n
                FROM generate_series(1, \(ContractLimits.pinnedConversations - 1)) n
                """)
            #expect(await mark(.pinned(order: 5), store) == 204)
            #expect(await mark(.pinned(order: nil), store) == 204)
            try store.database.execute(
                """
                INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot, pin_order)
                VALUES (\(UserID("bob")!.slot.number), 'bob', gen_random_uuid(), 0, 0)
                """)
            #expect(await mark(.pinned(order: 5), store) == 409)
            #expect(await mark(.pinned(order: 5), by: "alice", store) == 204)
        }
    }

    @Test("a key serves one mark with one value")
    @Reactor func keys() async throws {
        try await withStore { store in
            let key = UUIDBytes.random
            for _ in 0..<2 {
                #expect(
                    await store.write(.mark(.pinned(order: 1)), by: "bob", in: conversation, key: key)?.status == 204)
            }
            for other in [Mark.pinned(order: 2), .pinned(order: nil), .archived(through: 1)] {
                #expect(await store.write(.mark(other), by: "bob", in: conversation, key: key)?.status == 409)
            }
        }
    }
}
