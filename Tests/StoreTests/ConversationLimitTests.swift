import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// The limit on a user's conversations.
@Suite(.timeLimit(.minutes(2)))
struct ConversationLimitTests {
    init() { ReactorThread.start() }

    /// Others may create nine of these ten.
    private static let limit = 10

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest(settings: ["PARLEY_CONVERSATIONS_PER_USER": "\(Self.limit)"])
        defer { store.close() }
        try await body(store)
    }

    @Reactor private func detail(_ reply: StoreUnderTest.Reply?) -> String? {
        if case .problem(let problem) = reply { problem.detail } else { nil }
    }

    /// Expects the stored count to equal the actual number of rows.
    @Reactor private func expectCount(_ expected: Int64, of user: String, _ store: StoreUnderTest) throws {
        let row = try store.database.query(
            """
            SELECT (SELECT conversation_count::bigint FROM store.user_streams WHERE user_id = $1),
                (SELECT count(*) FROM store.inbox WHERE user_id = $1 AND NOT is_removed)
            """
        ) { $0.add(user) }[0]
        let counted: Int64? = row[0], listed: Int64 = row[1]
        #expect(counted == expected && listed == expected)
    }

    @Test("a user creates conversations up to the limit, and is told why not another one; a repetition is no new one")
    @Reactor func ownCreations() async throws {
        try await withStore { store in
            var last = ConversationID(.random)
            for _ in 0..<Self.limit {
                last = ConversationID(.random)
                #expect(await store.create(last, by: "alice", with: [])?.status == 201)
            }
            let refused = await store.create(ConversationID(.random), by: "alice", with: [])
            #expect(refused?.status == 409)
            #expect(detail(refused)?.contains("you are in as many") == true)
            #expect(await store.create(last, by: "alice", with: [])?.status == 200)
            try expectCount(10, of: "alice", store)
        }
    }

    @Test(
        "others may fill nine tenths of a user's list, by creating and by adding; the last tenth stays the user's own")
    @Reactor func others() async throws {
        try await withStore { store in
            for _ in 0..<8 {
                #expect(await store.create(ConversationID(.random), by: "eve", with: ["alice"])?.status == 201)
            }
            let first = ConversationID(.random), second = ConversationID(.random)
            _ = await store.create(first, by: "bob", with: [])
            _ = await store.create(second, by: "bob", with: [])
            let alice = UserID("alice")!
            #expect(await store.write(.putMember(alice, nil), by: "bob", in: first)?.status == 200)
            #expect(await store.write(.putMember(alice, nil), by: "bob", in: second)?.status == 409)
            let refused = await store.create(ConversationID(.random), by: "bob", with: ["carol", "alice"])
            #expect(refused?.status == 409)
            #expect(detail(refused) == "members: one of them is in too many conversations")
            try expectCount(0, of: "carol", store)
            #expect(await store.create(ConversationID(.random), by: "alice", with: [])?.status == 201)
            // A member who leaves and returns keeps the conversation in their list throughout.
            #expect(await store.write(.removeMember(alice), by: "bob", in: first)?.status == 204)
            #expect(await store.write(.putMember(alice, nil), by: "bob", in: first)?.status == 200)
            try expectCount(10, of: "alice", store)
        }
    }

    @Test("many at once get no further than one after the other")
    @Reactor func race() async throws {
        try await withStore { store in
            let asked = (0..<40).map { _ in
                Task { @Reactor in await store.create(ConversationID(.random), by: "alice", with: [])?.status }
            }
            var statuses: [UInt16?] = []
            for task in asked { statuses.append(await task.value) }
            #expect(statuses.count { $0 == 201 } == Self.limit)
            #expect(statuses.count { $0 == 409 } == 40 - Self.limit)
        }
    }

    /// Creates a group, leaves it and removes it from the list. Returns the result of the last step.
    @Reactor private func unlistOne(
        _ group: ConversationID, by user: String, with others: [String] = [], _ store: StoreUnderTest
    ) async -> UInt16? {
        #expect(await store.create(group, by: user, with: others)?.status == 201)
        #expect(await store.write(.removeMember(UserID(user)!), by: user, in: group)?.status == 204)
        return await store.write(.unlist, by: user, in: group)?.status
    }

    @Test("taking a conversation out of the list makes room for another; being taken in again takes it, once")
    @Reactor func unlisting() async throws {
        try await withStore { store in
            let groups = (0..<Self.limit).map { _ in ConversationID(.random) }, alice = UserID("alice")!
            for (number, group) in groups.enumerated() {
                #expect(await store.create(group, by: "alice", with: number < 2 ? ["bob"] : [])?.status == 201)
            }
            for group in groups.prefix(2) {
                _ = await store.write(.removeMember(alice), by: "alice", in: group)
                try expectCount(10, of: "alice", store)
            }
            for _ in 0..<2 { #expect(await store.write(.unlist, by: "alice", in: groups[0])?.status == 204) }
            try expectCount(9, of: "alice", store)
            #expect(
                await store.write(.putMember(alice, nil), by: "bob", in: groups[0])?.status == 409, "the last tenth")
            #expect(await store.write(.unlist, by: "alice", in: groups[1])?.status == 204)
            try expectCount(8, of: "alice", store)
            #expect(await store.write(.putMember(alice, nil), by: "bob", in: groups[0])?.status == 200)
            try expectCount(9, of: "alice", store)
            _ = await store.write(.removeMember(alice), by: "alice", in: groups[0])
            #expect(await store.write(.putMember(alice, nil), by: "bob", in: groups[0])?.status == 200)
            try expectCount(9, of: "alice", store)
            #expect(await store.create(ConversationID(.random), by: "alice", with: [])?.status == 201)
            #expect(await store.create(ConversationID(.random), by: "alice", with: [])?.status == 409)
        }
    }

    @Test("what was taken out of a list is bounded; who is taken in again may take it out once more")
    @Reactor func unlistedLimit() async throws {
        try await withStore { store in
            let groups = (0..<5 * Self.limit).map { _ in ConversationID(.random) }
            for (number, group) in groups.enumerated() {
                #expect(await unlistOne(group, by: "alice", with: number == 0 ? ["other"] : [], store) == 204)
            }
            let last = ConversationID(.random)
            #expect(await unlistOne(last, by: "alice", store) == 409)
            #expect(await store.write(.unlist, by: "alice", in: groups[0])?.status == 204, "it is out already")
            #expect(await store.write(.putMember(UserID("alice")!, nil), by: "other", in: groups[0])?.status == 200)
            #expect(await store.write(.unlist, by: "alice", in: last)?.status == 204)
        }
    }

    @Test("who was taken in again by a store that knows of no such list sees the conversation")
    @Reactor func takenInByOlderStore() async throws {
        try await withStore { store in
            let group = ConversationID(.random)
            #expect(await unlistOne(group, by: "alice", with: ["other"], store) == 204)
            #expect(await store.write(.putMember(UserID("alice")!, nil), by: "other", in: group)?.status == 200)
            try store.database.execute("UPDATE store.inbox SET is_removed = true WHERE user_id = 'alice'")
            let query = ListConversations(reader: UserID("alice")!, limit: 50, before: .start)
            let list = await store.ask(.listConversations, in: query.reader.slot, query)
            let listed = list?.field("conversations") as? [[String: Any]]
            #expect(listed?.map { $0["id"] as? String } == [group.description])
        }
    }

    @Test("who was there before there was a limit is counted when it matters")
    @Reactor func uncounted() async throws {
        try await withStore { store in
            for _ in 0..<9 { _ = await store.create(ConversationID(.random), by: "alice", with: ["bob"]) }
            try store.database.execute("UPDATE store.user_streams SET conversation_count = NULL")
            let group = ConversationID(.random)
            _ = await store.create(group, by: "carol", with: [])
            #expect(await store.write(.putMember(UserID("bob")!, nil), by: "carol", in: group)?.status == 409)
            #expect(await store.create(ConversationID(.random), by: "alice", with: [])?.status == 201)
            try expectCount(10, of: "alice", store)
            #expect(await store.create(ConversationID(.random), by: "alice", with: [])?.status == 409)
        }
    }
}
