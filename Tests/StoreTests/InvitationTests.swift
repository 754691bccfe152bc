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

/// Invitations, where what happens at once, what is kept and what others may learn matters.
@Suite(.timeLimit(.minutes(2))) struct InvitationTests {
    let conversation = ConversationID(.random)
    let alice = UserID("alice")!, bob = UserID("bob")!, carol = UserID("carol")!

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

    @Reactor private func invite(
        by user: String = "carol", until expiresAt: Timestamp? = nil, uses: Int32? = nil, _ store: StoreUnderTest
    ) async -> NewInvitation {
        let invitation = NewInvitation(
            id: InvitationID(.random), secret: .random, expiresAt: expiresAt, maxUses: uses)
        #expect(await store.write(.createInvitation(invitation), by: user, in: conversation)?.status == 201)
        return invitation
    }

    @Reactor private func join(
        _ invitation: NewInvitation, by user: String, key: UUIDBytes? = nil, _ store: StoreUnderTest
    ) async -> StoreUnderTest.Reply? {
        await store.write(.join(secret: invitation.secret), by: user, in: conversation, key: key)
    }

    @Reactor private func preview(
        _ invitation: NewInvitation, by user: String, _ store: StoreUnderTest
    ) async -> StoreUnderTest.Reply? {
        let head = ConversationQuery(conversation, reader: UserID(user)!)
        return await store.ask(.invitation, in: conversation.slot, InvitationQuery(head, secret: invitation.secret))
    }

    /// Neither call tells them more than of a code that nobody has given out.
    @Reactor private func expectUnknown(_ invitation: NewInvitation, to user: String, _ store: StoreUnderTest) async {
        let nothing = NewInvitation(id: InvitationID(.random), secret: .random)
        let unknown = Self.told(await preview(nothing, by: user, store))
        #expect(unknown == Self.told(.problem(.unknownInvitation)))
        #expect(Self.told(await join(nothing, by: user, store)) == unknown)
        #expect(Self.told(await preview(invitation, by: user, store)) == unknown)
        #expect(Self.told(await join(invitation, by: user, store)) == unknown)
    }

    private static func told(_ reply: StoreUnderTest.Reply?) -> String? {
        guard case .problem(let problem) = reply else { return nil }
        return "\(problem.code): \(problem.detail)"
    }

    @Reactor private func uses(_ store: StoreUnderTest) throws -> [Int32] {
        try store.database.query("SELECT uses FROM store.invitations ORDER BY created_at").map { $0[0] as Int32 }
    }

    @Test("of many who come at the last uses as many join, each once", arguments: [Layout.plain, .partitions(4)])
    @Reactor func lastUse(layout: Layout) async throws {
        try await withGroup(layout: layout) { store in
            let invitation = await invite(uses: 3, store)
            let comers = (0..<12).map { number in
                Task { @Reactor in await join(invitation, by: "comer\(number % 6)", store)?.status }
            }
            var statuses: [UInt16?] = []
            for comer in comers { statuses.append(await comer.value) }
            #expect(statuses.allSatisfy { $0 == 200 || $0 == 404 })
            let joined = try store.database.query(
                "SELECT actor_id = user_id FROM store.changes WHERE kind = \(ChangeKind.memberAdded.rawValue) AND user_id LIKE 'comer%'"
            )
            #expect(joined.count == 3 && joined.allSatisfy { $0[0] as Bool })
            let counted = try uses(store)
            #expect(counted == [3])
            #expect(await store.conversation(conversation, for: "alice")?.field("memberCount") as? Int == 6)
            await expectUnknown(invitation, to: "dora", store)
        }
    }

    @Test("a repetition joins once and uses the invitation once, whatever has become of it and of its user")
    @Reactor func repeated() async throws {
        try await withGroup { store in
            let invitation = await invite(uses: 1, store), key = UUIDBytes.random
            #expect(await join(invitation, by: "dora", key: key, store)?.status == 200)
            let seq = await store.conversation(conversation, for: "dora")?.field("lastSeq") as? Int
            for key in [key, nil, .random] {
                #expect(await join(invitation, by: "dora", key: key, store)?.status == 200)
            }
            #expect(await store.conversation(conversation, for: "dora")?.field("lastSeq") as? Int == seq)
            let counted = try uses(store)
            #expect(counted == [1])
            _ = await store.write(.revokeInvitation(invitation.id), by: "carol", in: conversation)
            #expect(await join(invitation, by: "dora", store)?.status == 200)
            _ = await store.write(.removeMember(UserID("dora")!), by: "dora", in: conversation)
            #expect(await join(invitation, by: "dora", key: key, store)?.status == 200)
            await expectUnknown(invitation, to: "dora", store)
        }
    }

    @Test("what is made again has a new code, and the one before opens nothing")
    @Reactor func madeAgain() async throws {
        try await withGroup { store in
            let first = await invite(uses: 2, store)
            #expect(await join(first, by: "dora", store)?.status == 200)
            var second = first
            second.secret = .random
            let again = await store.write(.createInvitation(second), by: "carol", in: conversation)
            #expect(again?.status == 201 && again?.field("uses") as? Int == 1)
            await expectUnknown(first, to: "erin", store)
            #expect(await join(second, by: "erin", store)?.status == 200)
            for (user, uses) in [("alice", 2), ("carol", 3)] as [(String, Int32)] {
                var other = second
                other.maxUses = uses
                #expect(await store.write(.createInvitation(other), by: user, in: conversation)?.status == 409)
            }
            let kept = try store.database.query("SELECT FROM store.invitations WHERE code_hash = $1") {
                $0.add(second.secret)
            }
            #expect(kept.isEmpty, "no secret is kept")
        }
    }

    @Test("who was removed, and whom its maker has blocked, learns no more than of a code that nobody has")
    @Reactor func unwelcome() async throws {
        try await withGroup { store in
            let invitation = await invite(store)
            _ = await store.write(.block(UserID("dora")!, true), by: "carol", in: ConversationID(.random))
            await expectUnknown(invitation, to: "dora", store)
            #expect(await join(invitation, by: "erin", store)?.status == 200)
            _ = await store.write(.removeMember(UserID("erin")!), by: "bob", in: conversation)
            await expectUnknown(invitation, to: "erin", store)
            _ = await store.write(.liftBan(UserID("erin")!), by: "bob", in: conversation)
            #expect(await preview(invitation, by: "erin", store)?.field("memberCount") as? Int == 3)
            #expect(await join(invitation, by: "erin", store)?.status == 200)
            let counted = try uses(store)
            #expect(counted == [2])
        }
    }

    @Test("it is good until it expires, and as long as its maker is there and may add members")
    @Reactor func good() async throws {
        try await withGroup { store in
            let expiring = await invite(until: Timestamp(milliseconds: 4_000_000_000_000), store)
            let plain = await invite(store), gone = await invite(by: "bob", store)
            let past = NewInvitation(
                id: InvitationID(.random), secret: .random, expiresAt: Timestamp(milliseconds: 1_000_000_000_000))
            #expect(await store.write(.createInvitation(past), by: "carol", in: conversation)?.status == 400)
            try store.database.execute("UPDATE store.invitations SET expires_at = now() WHERE expires_at IS NOT NULL")
            await expectUnknown(expiring, to: "dora", store)
            let restricted = GroupPermissions(addMembers: .admins), open = GroupPermissions(addMembers: .members)
            _ = await store.write(.setPermissions(restricted), by: "alice", in: conversation)
            await expectUnknown(plain, to: "dora", store)
            #expect(await store.write(.createInvitation(past), by: "carol", in: conversation)?.status == 403)
            #expect(await preview(gone, by: "dora", store)?.status == 200)
            _ = await store.write(.setPermissions(open), by: "alice", in: conversation)
            #expect(await preview(plain, by: "dora", store)?.status == 200)
            for leaver in [bob, carol] { _ = await store.write(.removeMember(leaver), by: "alice", in: conversation) }
            for leaver in [bob, carol] { _ = await store.write(.putMember(leaver, nil), by: "alice", in: conversation) }
            for invitation in [plain, gone] { await expectUnknown(invitation, to: "dora", store) }
            let counted = try uses(store)
            #expect(counted == [])
        }
    }

    @Test("a group has so many that are good, and what is good no more makes room")
    @Reactor func many() async throws {
        try await withGroup { store in
            let used = await invite(uses: 1, store)
            for _ in 1..<ContractLimits.invitationsPerConversation { _ = await invite(store) }
            let another = NewInvitation(id: InvitationID(.random), secret: .random)
            #expect(await store.write(.createInvitation(another), by: "alice", in: conversation)?.status == 409)
            #expect(await join(used, by: "dora", store)?.status == 200)
            #expect(await store.write(.createInvitation(another), by: "alice", in: conversation)?.status == 201)
            let kept = try uses(store).count
            #expect(kept == ContractLimits.invitationsPerConversation)
        }
    }

    @Test("a full group takes nobody, and who has too many conversations joins none")
    @Reactor func full() async throws {
        let limits = ["PARLEY_CONVERSATIONS_PER_USER": "10", "PARLEY_MEMBERS_PER_CONVERSATION": "20000"]
        try await withGroup(settings: limits) { store in
            let invitation = await invite(store)
            for _ in 0..<10 { _ = await store.create(ConversationID(.random), by: "dora", with: []) }
            #expect(await join(invitation, by: "dora", store)?.status == 409)
            try store.database.execute("UPDATE store.conversations SET member_count = 19999")
            #expect(await join(invitation, by: "erin", store)?.status == 200)
            #expect(await join(invitation, by: "frank", store)?.status == 413)
            let counted = try uses(store)
            #expect(counted == [1])
        }
    }

    @Test("who is asked about the group accepts by joining, also what they declined, and takes no use")
    @Reactor func asked() async throws {
        try await withGroup(settings: ["PARLEY_MESSAGE_REQUESTS": "strangers"]) { store in
            let invitation = await invite(uses: 1, store)
            for name in ["dora", "erin"] {
                #expect(await store.write(.putMember(UserID(name)!, nil), by: "bob", in: conversation)?.status == 200)
            }
            _ = await store.write(.declineRequest, by: "erin", in: conversation)
            let seq = await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int
            for name in ["dora", "erin"] {
                let key = UUIDBytes.random
                #expect(await join(invitation, by: name, key: key, store)?.status == 200)
                #expect(await join(invitation, by: name, key: key, store)?.field("role") as? String == "member")
                #expect(await store.conversation(conversation, for: name)?.field("request") == nil)
            }
            #expect(await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int == seq)
            let counted = try uses(store)
            #expect(counted == [0])
            let requests = try store.database.query("SELECT FROM store.requests")
            #expect(requests.isEmpty)
        }
    }

    @Test("who blocks the one that added them, and so is a member to the others, becomes one to themselves")
    @Reactor func shadow() async throws {
        try await withGroup { store in
            let invitation = await invite(by: "bob", store)
            _ = await store.write(.block(carol, true), by: "dora", in: ConversationID(.random))
            #expect(await store.write(.putMember(UserID("dora")!, nil), by: "carol", in: conversation)?.status == 200)
            let seq = await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int
            #expect(await store.conversation(conversation, for: "dora")?.status == 404)
            #expect(await join(invitation, by: "dora", store)?.field("memberCount") as? Int == 4)
            #expect(await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int == seq)
            _ = await store.send(.init(text: "hello"), from: "alice", to: conversation)
            let history = await store.history(conversation, for: "dora")
            #expect(history?.field("messages", "0", "text") as? String == "hello")
        }
    }
}
