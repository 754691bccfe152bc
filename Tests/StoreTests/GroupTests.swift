import Bytes
import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Roles, permissions and bans, where what happens at once and what it costs matters.
@Suite(.timeLimit(.minutes(2))) struct GroupTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)
    let bob = UserID("bob")!, carol = UserID("carol")!

    init() { ReactorThread.start() }

    /// Opens a group of alice, the owner, bob, an admin, and carol.
    @Reactor private func withGroup(
        layout: Layout = .plain, _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(layout: layout)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob", "carol"])
        #expect(await store.write(.putMember(bob, .admin), by: "alice", in: conversation)?.status == 200)
        try await body(store)
    }

    @Reactor private func permit(_ permissions: GroupPermissions, _ store: StoreUnderTest) async {
        #expect(await store.write(.setPermissions(permissions), by: "alice", in: conversation)?.status == 200)
    }

    @Test("in one run, those who may write are stored and others refused", arguments: [Layout.plain, .partitions(4)])
    @Reactor func oneRun(layout: Layout) async throws {
        try await withGroup(layout: layout) { store in
            let other = ConversationID(.random)
            _ = await store.create(other, by: "carol", with: ["alice"])
            await permit(GroupPermissions(write: .admins), store)
            let sends = (0..<60).map { number in
                let sender = ["alice", "bob", "carol"][number % 3], isElsewhere = number % 4 == 0 && sender != "bob"
                let place = isElsewhere ? other : conversation
                let send = Task { @Reactor in await store.send(Draft(), Draft(), from: sender, to: place).map(\.status)
                }
                return (sender == "carol" && !isElsewhere ? [403, 403] : [201, 201] as [UInt16], send)
            }
            for (expected, send) in sends { #expect(await send.value == expected) }
            let rows = try store.database.query(
                """
                SELECT c.last_seq, count(*) FROM store.conversations c
                JOIN (SELECT conversation_id, seq FROM store.messages UNION SELECT conversation_id, seq FROM store.changes) p
                    ON p.conversation_id = c.id
                GROUP BY c.id, c.last_seq
                """)
            #expect(rows.count == 2 && rows.allSatisfy { ($0[0] as Int64) == ($0[1] as Int64) }, "dense")
        }
    }

    @Test("one message alone meets the same refusal as one of many, and what is repeated is answered")
    @Reactor func alone() async throws {
        try await withGroup { store in
            let known = Draft()
            _ = await store.send(known, from: "carol", to: conversation)
            await permit(GroupPermissions(write: .owners), store)
            for sender in ["bob", "carol"] {
                #expect(await store.send(Draft(), from: sender, to: conversation).map(\.status) == [403])
                #expect(
                    await store.send(Draft(), Draft(), from: sender, to: conversation).map(\.status) == [403, 403])
            }
            #expect(await store.send(known, from: "carol", to: conversation).map(\.status) == [200])
            #expect(await store.send(Draft(), known, from: "carol", to: conversation).map(\.status) == [403, 200])
            #expect(await store.send(Draft(), from: "alice", to: conversation).map(\.status) == [201])
            await permit(GroupPermissions(write: .members), store)
            #expect(await store.send(Draft(), from: "carol", to: conversation).map(\.status) == [201])
            let marks = try store.database.query("SELECT FROM store.early_deletions")
            #expect(marks.isEmpty)
        }
    }

    @Test(
        "who may not mention everybody is refused, alone, in a run and beside attachments; what is repeated is answered"
    )
    @Reactor func mentioningAll() async throws {
        try await withGroup { store in
            let file = StoreUnderTest.File(name: "a.pdf")
            let all = { @Sendable in Draft(mentions: "*,bob") }
            func statuses(_ sender: String) async -> [UInt16] {
                await store.send(all(), from: sender, to: conversation).map(\.status)
                    + store.send(all(), Draft(mentions: "bob"), from: sender, to: conversation).map(\.status)
                    + store.send(Draft(mentions: "*", files: [file]), from: sender, to: conversation).map(\.status)
            }
            let may: [UInt16] = [201, 201, 201, 201], mayNot: [UInt16] = [403, 403, 201, 403]
            #expect(await statuses("alice") == may)
            #expect(await statuses("bob") == may)
            #expect(await statuses("carol") == mayNot)
            let known = all()
            for (permitted, bobs, carols) in [
                (PermittedRoles.members, may, may), (.owners, mayNot, mayNot), (.admins, may, mayNot),
            ] {
                await permit(GroupPermissions(mentionAll: permitted), store)
                #expect(await statuses("alice") == may)
                #expect(await statuses("bob") == bobs)
                #expect(await statuses("carol") == carols)
                let again = await store.send(known, from: "carol", to: conversation)
                #expect(again.map(\.status) == [permitted == .members ? 201 : 200], "\(permitted)")
                #expect(
                    again[0].field("mentionsAll") as? Bool == true && again[0].field("mentions") as? [String] == ["bob"]
                )
                // Nobody else's message has its permissions looked up for this.
                #expect(try store.database.query("SELECT FROM store.early_deletions").isEmpty)
            }
            let rows = try store.database.query("SELECT permissions::int FROM store.conversations")
            #expect(rows.map { $0[0] as Int32 } == [21], "as it was before anybody said anything")
        }
    }

    @Test("changing permissions reads and writes as much in a group of 10,000 as in one of three")
    @Reactor func large() async throws {
        try await withGroup { store in
            try store.database.execute(
                """
                INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
                SELECT slot, id, 'member' || n, 1, 1 FROM store.conversations, generate_series(1, 10000) n;
                UPDATE store.conversations SET member_count = 10003; ANALYZE
                """)
            let write = Write(
                conversation, by: UserID("alice")!, key: nil, .setPermissions(GroupPermissions(write: .admins)))
            let connection = try store.database.connect()
            try connection.execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
            let limit = ConversationLimit(ofUser: 1)
            let plan = try connection.query(SetPermissions.statement, prefix: "EXPLAIN (ANALYZE) ") {
                parameters, input in
                parameters.set(input.write, to: write, nil, nil)
                SetPermissions(permissions: GroupPermissions(write: .admins)).set(input.own, in: &parameters, limit)
            }.map { $0[0] as String }
            let rows = plan.compactMap { $0.firstMatch(of: /actual .*rows=(\d+)/).flatMap { Int($0.1) } }
            #expect(!rows.isEmpty && rows.allSatisfy { $0 <= 1 }, "\(plan)")
            #expect(!plan.contains { $0.contains("Rows Removed by Filter") }, "\(plan)")
        }
    }

    @Test("an admin who was one before a change of role is seen as one by those who left before it")
    @Reactor func formerRole() async throws {
        try await withGroup { store in
            _ = await store.write(.removeMember(carol), by: "carol", in: conversation)
            _ = await store.write(.putMember(bob, .owner), by: "alice", in: conversation)
            _ = await store.write(.putMember(bob, .member), by: "alice", in: conversation)
            func role() async throws -> String? {
                let query = MembersQuery(ConversationQuery(conversation, reader: carol), after: "alice", limit: 9)
                return await store.ask(.members, in: conversation.slot, query)?.field("members", "0", "role") as? String
            }
            #expect(try await role() == "admin")
            // As executables of before left it, which knew two roles: what was an owner was a member.
            try store.database.execute("UPDATE store.changes SET prior_role = NULL")
            #expect(try await role() == "member")
        }
    }

    @Test("who has blocked their adder is banned like everybody, and a ban that is lifted lets them be added")
    @Reactor func bannedShadow() async throws {
        try await withGroup { store in
            _ = await store.write(.block(carol, true), by: "dora", in: ConversationID(.random))
            let dora = UserID("dora")!
            #expect(await store.write(.putMember(dora, nil), by: "carol", in: conversation)?.status == 200)
            #expect(await store.write(.removeMember(dora), by: "bob", in: conversation)?.status == 204)
            #expect(await store.write(.putMember(dora, nil), by: "carol", in: conversation)?.status == 403)
            #expect(await store.write(.liftBan(dora), by: "carol", in: conversation)?.status == 403)
            #expect(await store.write(.liftBan(dora), by: "bob", in: conversation)?.status == 204)
            #expect(await store.write(.putMember(dora, nil), by: "carol", in: conversation)?.status == 200)
        }
    }
}
