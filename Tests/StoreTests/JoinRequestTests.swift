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

/// Requests to join, where what is kept, for how long and how much, and what others may learn matters.
@Suite(.timeLimit(.minutes(2))) struct JoinRequestTests {
    let conversation = ConversationID(.random)
    let alice = UserID("alice")!, bob = UserID("bob")!, dora = UserID("dora")!

    init() { ReactorThread.start() }

    /// Opens a group of alice, the owner, bob, an admin, and carol.
    @Reactor private func withGroup(
        layout: Layout = .plain, settings: [String: String] = [:], _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(layout: layout, settings: settings)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob", "carol"])
        for user in ["bob", "carol"] { _ = await store.write(.acceptRequest, by: user, in: conversation) }
        #expect(await store.write(.putMember(bob, .admin), by: "alice", in: conversation)?.status == 200)
        try await body(store)
    }

    @Reactor private func invite(by user: String = "alice", uses: Int32? = nil, _ store: StoreUnderTest) async
        -> NewInvitation
    {
        let invitation = NewInvitation(
            id: InvitationID(.random), secret: .random, maxUses: uses, needsApproval: true)
        #expect(await store.write(.createInvitation(invitation), by: user, in: conversation)?.status == 201)
        return invitation
    }

    @Reactor private func join(
        _ invitation: NewInvitation, by user: String, key: UUIDBytes? = nil, _ store: StoreUnderTest
    ) async -> StoreUnderTest.Reply? {
        await store.write(.join(secret: invitation.secret), by: user, in: conversation, key: key)
    }

    @Reactor private func waiting(_ store: StoreUnderTest) async -> [String] {
        let query = MembersQuery(ConversationQuery(conversation, reader: alice), after: "", limit: 1_000)
        let reply = await store.ask(.joinRequests, in: conversation.slot, query)
        let requests = reply?.field("requests") as? [[String: Any]] ?? []
        return requests.compactMap { $0["userId"] as? String }
    }

    /// Others who have asked.
    @Reactor private func fill(
        _ count: Int, as columns: String = "false, false", name: String = "other", _ store: StoreUnderTest
    ) throws {
        try store.database.execute(
            """
            INSERT INTO store.join_requests (
                slot, conversation_id, user_id, requested_at, invitation_id, is_declined, is_withdrawn)
            SELECT c.slot, c.id, '\(name)' || n, now() - n * interval '1 second', c.id, \(columns)
            FROM store.conversations c, generate_series(1, \(count)) n
            """)
    }

    @Reactor private func told(_ store: StoreUnderTest) -> [String] {
        store.privateChanges.filter { $0.json.contains(#""kind":"join.requested""#) }.map(\.user.name)
    }

    @Reactor private func count(_ condition: String, _ store: StoreUnderTest) throws -> Int64 {
        try store.database.query("SELECT count(*) FROM store.join_requests WHERE \(condition)")[0][0]
    }

    @Test("of many who come at the last uses as many ask, each once", arguments: [Layout.plain, .partitions(4)])
    @Reactor func lastUse(layout: Layout) async throws {
        try await withGroup(layout: layout) { store in
            let invitation = await invite(by: "bob", uses: 3, store)
            let comers = (0..<12).map { number in
                Task { @Reactor in await join(invitation, by: "comer\(number % 6)", store)?.status }
            }
            var statuses: [UInt16?] = []
            for comer in comers { statuses.append(await comer.value) }
            #expect(statuses.allSatisfy { $0 == 202 || $0 == 404 })
            #expect(await waiting(store).count == 3)
            #expect(await store.eventually { told(store) == ["bob", "bob", "bob"] })
            let uses = try store.database.query("SELECT uses FROM store.invitations")[0][0] as Int32
            #expect(uses == 3)
        }
    }

    @Test("so many wait in a group; what was decided makes room, and only so much of it is kept")
    @Reactor func bounds() async throws {
        try await withGroup { store in
            let most = ContractLimits.joinRequestsPerConversation
            let invitation = await invite(store), nothing = NewInvitation(id: InvitationID(.random), secret: .random)
            try fill(most, store)
            #expect(await join(invitation, by: "dora", store)?.status == 409)
            #expect(await join(nothing, by: "dora", store)?.status == 404)
            _ = await store.write(.block(dora, true), by: "alice", in: ConversationID(.random))
            #expect(await join(invitation, by: "dora", store)?.status == 404)
            #expect(await join(invitation, by: "other7", store)?.status == 202, "who waits goes on")
            try store.database.execute("UPDATE store.join_requests SET is_declined = true")
            try fill(50, as: "false, true", name: "gone", store)
            #expect(await join(invitation, by: "erin", store)?.status == 202)
            let kept = try count("is_declined OR is_withdrawn", store)
            let latest = try count("user_id = 'gone1'", store)
            #expect(kept == Int64(most) && latest == 1)
            #expect(await waiting(store) == ["erin"])
        }
    }

    @Test("while many wait the maker is told of no more")
    @Reactor func telling() async throws {
        try await withGroup { store in
            let invitation = await invite(store)
            try fill(ContractLimits.waitingRequests - 1, store)
            for name in ["dora", "erin"] { #expect(await join(invitation, by: name, store)?.status == 202) }
            _ = await store.send(.init(text: "after"), from: "alice", to: conversation)
            #expect(await store.eventually { told(store) == ["alice"] })
            #expect(await waiting(store).count == ContractLimits.waitingRequests + 1)
        }
    }

    @Test("what is asked ends after a while, whatever was decided", arguments: ["false", "true"])
    @Reactor func age(isDeclined: String) async throws {
        try await withGroup { store in
            let invitation = await invite(store), nothing = NewInvitation(id: InvitationID(.random), secret: .random)
            #expect(await join(invitation, by: "dora", store)?.status == 202)
            let days = ContractLimits.joinRequestLifetime.components.seconds / 86_400
            func age(_ interval: String) throws {
                try store.database.execute(
                    """
                    UPDATE store.join_requests
                    SET is_declined = \(isDeclined), requested_at = now() - interval '\(days) days' + \(interval)
                    """)
            }
            try age("interval '1 minute'")
            #expect(await join(nothing, by: "dora", store)?.status == 202)
            #expect(await waiting(store) == (isDeclined == "true" ? [] : ["dora"]))
            try age("interval '-1 minute'")
            #expect(await join(nothing, by: "dora", store)?.status == 404)
            #expect(await waiting(store) == [])
            #expect(await join(invitation, by: "erin", store)?.status == 202)
            #expect(try count("user_id = 'dora'", store) == 0, "it goes with the next")
            #expect(await join(invitation, by: "dora", store)?.status == 202)
            #expect(await waiting(store) == ["dora", "erin"])
            #expect(await store.eventually { told(store) == ["alice", "alice", "alice"] })
        }
    }

    @Test("whoever has asked is not asked, and comes in though they have blocked who lets them in")
    @Reactor func consent() async throws {
        try await withGroup(settings: ["PARLEY_MESSAGE_REQUESTS": "strangers"]) { store in
            let invitation = await invite(store)
            for name in ["dora", "erin", "frank"] {
                #expect(await join(invitation, by: name, store)?.status == 202)
            }
            _ = await store.write(.block(bob, true), by: "dora", in: ConversationID(.random))
            _ = await store.write(.declineJoinRequest(UserID("frank")!), by: "frank", in: conversation)
            for name in ["dora", "erin", "frank"] {
                #expect(await store.write(.putMember(UserID(name)!, nil), by: "bob", in: conversation)?.status == 200)
            }
            for name in ["dora", "erin"] {
                let shown = await store.conversation(conversation, for: name)
                #expect(shown?.field("role") as? String == "member" && shown?.field("request") == nil)
            }
            // Who has taken it back is asked as anybody is.
            #expect(await store.conversation(conversation, for: "frank")?.field("request") as? Bool == true)
            let rows = try store.database.query("SELECT user_id FROM store.requests").map { $0[0] as String }
            #expect(rows == ["frank"])
            #expect(try count("true", store) == 0)
        }
    }

    @Test("an invitation whose id was used before names nobody of those who came by the other")
    @Reactor func reusedId() async throws {
        try await withGroup { store in
            var invitation = await invite(store)
            #expect(await join(invitation, by: "dora", store)?.status == 202)
            _ = await store.write(.revokeInvitation(invitation.id), by: "alice", in: conversation)
            invitation.secret = .random
            #expect(await store.write(.createInvitation(invitation), by: "bob", in: conversation)?.status == 201)
            let query = MembersQuery(ConversationQuery(conversation, reader: alice), after: "", limit: 10)
            let reply = await store.ask(.joinRequests, in: conversation.slot, query)
            #expect(reply?.field("requests", "0", "userId") as? String == "dora")
            #expect(reply?.field("requests", "0", "inviterId") == nil)
        }
    }

    @Test("whoever is erased asks nothing, and nobody is told their name any more")
    @Reactor func erasure() async throws {
        try await withGroup { store in
            try await store.startReceipt()
            let invitation = await invite(store)
            for name in ["dora", "erin"] { #expect(await join(invitation, by: name, store)?.status == 202) }
            var status: UInt16?
            for _ in 0..<2000 where status != 200 {
                status = await store.ask(.eraseUser, in: dora.slot, EraseUser(dora))?.status
                await Reactor.sleep(for: .milliseconds(10))
            }
            #expect(status == 200)
            let asking = try store.database.query("SELECT user_id FROM store.join_requests").map { $0[0] as String }
            #expect(asking == ["erin"])
            let named = try store.database.query(
                "SELECT about_id IS NULL FROM store.user_changes WHERE kind = \(PrivateKind.joinRequested.rawValue) ORDER BY useq"
            ).map { $0[0] as Bool }
            #expect(named == [true, false])
            #expect(await join(invitation, by: "dora", store)?.status == 401)
        }
    }
}
