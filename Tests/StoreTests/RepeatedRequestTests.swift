import Bytes
import Foundation
import Models
import Postgres
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Store

/// Publishes every kind of command twice: at once, after its response, and to the store that took over. The bus repeats
/// requests without a response within 100 ms, so a repetition may be in flight when the response is.
@Suite(.timeLimit(.minutes(3)))
struct RepeatedRequestTests {
    init() { ReactorThread.start() }

    /// A command, and what happens after its response so that a repetition would have a visible effect.
    private struct Case: Sendable {
        let kind: StoreRequestKind
        let slot: Slot
        let fields: @Sendable (inout ByteBuffer) -> Void
        let behind: @Reactor () async -> Void

        init(
            _ kind: StoreRequestKind, in slot: Slot, _ fields: some WireCodable & Sendable,
            behind: @escaping @Reactor () async -> Void = {}
        ) {
            self.kind = kind
            self.slot = slot
            self.fields = { fields.write(to: &$0) }
            self.behind = behind
        }

        init(
            importing records: @escaping @Sendable () -> [ImportRecord], into conversation: ConversationID,
            behind: @escaping @Reactor () async -> Void
        ) {
            kind = .importRecords
            slot = conversation.slot
            fields = { buffer in
                let records = records()
                ImportRecords.writeHead(conversation, count: records.count, to: &buffer)
                for record in records { record.write(to: &buffer) }
            }
            self.behind = behind
        }

        /// Creates two messages. The second one mentions somebody.
        init(
            sending ids: [MessageID], by sender: UserID, to conversation: ConversationID,
            behind: @escaping @Reactor () async -> Void
        ) {
            kind = .sendMessages
            slot = conversation.slot
            fields = { buffer in
                SendMessages.writeHead(conversation, sender, count: ids.count, to: &buffer)
                for (id, mentions) in zip(ids, ["", "carol"]) {
                    Array("hello".utf8).withUnsafeBytes { text in
                        Array(mentions.utf8).withUnsafeBytes { mentions in
                            NewMessage(
                                id: id, sentAt: Timestamp(milliseconds: 0), replyTo: nil, mentions: mentions, text: text
                            ).write(to: &buffer)
                        }
                    }
                }
            }
            self.behind = behind
        }
    }

    private static func name(_ user: String) -> UserID { UserID(user)! }

    private static let past = Timestamp(milliseconds: 1_000_000_000_000)

    /// - Parameter conversation: alice's, with bob and carol as members and one message from alice.
    @Reactor private static func cases(
        _ store: StoreUnderTest, _ conversation: ConversationID, _ message: MessageID
    ) -> [Case] {
        func write(_ action: Write.Action, by actor: String = "alice", key: UUIDBytes? = nil) async {
            _ = await store.write(action, by: actor, in: conversation, key: key)
        }
        func once(
            _ action: Write.Action, by actor: String = "alice", behind: @escaping @Reactor () async -> Void
        ) -> Case {
            Case(
                .write, in: conversation.slot, Write(conversation, by: name(actor), key: nil, action), behind: behind)
        }
        let later = NewScheduled.later(), waiting = NewScheduled.later()
        let lone = MessageID(.random), several = [MessageID(.random), MessageID(.random)]
        let other = MessageID(.random), fresh = ConversationID(.random), direct = ConversationID(.random)
        let imported = ConversationID(.random)
        let revoked = NewInvitation(id: InvitationID(.random), secret: .random)
        let used = NewInvitation(id: InvitationID(.random), secret: .random)
        let asking = NewInvitation(id: InvitationID(.random), secret: .random, needsApproval: true)
        let report = NewReport(id: ReportID(.random), user: name("bob"), reason: .spam)
        let act = RecordAct(.random, by: name("backend"), for: name("bob"), call: "deleteMessage", in: conversation)
        let resolution = ReportResolution(of: report.id, .none)
        return [
            once(.edit(message, text: "second")) { await write(.edit(message, text: "third")) },
            once(.editSealed(message, "c2VhbA==")) {},  // Refused: it is not sealed.
            once(.setTapback(message, "love"), by: "bob") { await write(.setTapback(message, "like"), by: "bob") },
            once(.removeTapback(message), by: "bob") { await write(.setTapback(message, "laugh"), by: "bob") },
            once(.vote(message, PollOptions(bits: 1))) {},  // Refused: it is no poll.
            once(.closePoll(message)) {},
            once(.pinMessage(message), by: "bob") { await write(.unpinMessage(message)) },
            once(.setLifetime(seconds: 60)) { await write(.setLifetime(seconds: 0)) },
            once(.unpinMessage(message)) { await write(.pinMessage(message), by: "bob") },
            once(.putMember(name("dave"), nil)) { await write(.removeMember(name("dave"))) },
            once(.mark(.pinned(order: 1)), by: "bob") { await write(.mark(.pinned(order: nil)), by: "bob") },
            once(.schedule(later), by: "bob") { await write(.cancelScheduled(later.id), by: "bob") },
            once(.cancelScheduled(waiting.id), by: "bob") { await write(.schedule(waiting), by: "bob") },
            Case(.sendScheduled, in: conversation.slot, SendScheduled(of: name("bob"), in: conversation)),
            once(.draft("first", replyTo: nil), by: "bob") { await write(.draft("second", replyTo: nil), by: "bob") },
            once(.block(name("erin"), true), by: "bob") { await write(.block(name("erin"), false), by: "bob") },
            // dave has left. Then he returns and leaves again.
            once(.unlist, by: "dave") {
                await write(.putMember(name("dave"), nil))
                await write(.removeMember(name("dave")))
            },
            Case(sending: [lone], by: name("alice"), to: conversation) { await write(.deleteForEveryone(lone)) },
            Case(sending: several, by: name("alice"), to: conversation) {
                await write(.edit(several[0], text: "edited"))
                await write(.deleteForEveryone(several[1]))
            },
            Case(
                .revokeTokens, in: name("bob").slot,
                RevokeTokens(name("bob"), before: Timestamp(milliseconds: 1_000))
            ) {
                let later = RevokeTokens(name("bob"), before: Timestamp(milliseconds: 2_000))
                _ = await store.ask(.revokeTokens, in: name("bob").slot) { later.write(to: &$0) }
            },
            once(.report(report)) { await write(.resolveReport(ReportResolution(of: report.id, .deleted))) },
            once(.resolveReport(resolution)) { await write(.resolveReport(ReportResolution(of: report.id, .removed))) },
            once(.setRetention(days: 7)) { await write(.setRetention(days: nil)) },
            once(.createInvitation(revoked)) { await write(.revokeInvitation(revoked.id)) },
            once(.createInvitation(used)) {},
            once(.join(secret: used.secret), by: "gina") { await write(.removeMember(name("gina")), by: "gina") },
            once(.createInvitation(asking)) {},
            // Asked, and taken back.
            once(.join(secret: asking.secret), by: "hugo") {
                await write(.declineJoinRequest(name("hugo")), by: "hugo")
            },
            once(.declineJoinRequest(name("hugo")), by: "hugo") {
                await write(.join(secret: asking.secret), by: "hugo")
            },
            once(.revokeInvitation(used.id)) { await write(.createInvitation(used)) },
            once(.removeMember(name("carol"))) { await write(.putMember(name("carol"), nil)) },
            once(.rename("second")) { await write(.rename("third")) },
            // Refused at first. Later it would not be.
            once(.rename("fourth"), by: "erin") { await write(.putMember(name("erin"), nil)) },
            once(.clearHistory(through: 0), by: "bob") {
                _ = await store.send(.init(text: "for bob, too"), from: "alice", to: conversation)
            },
            once(.hide(message), by: "bob") {},
            once(.putSettings(readReceipts: .no)) { await write(.putSettings(readReceipts: .yes)) },
            once(.deleteForEveryone(other)) {
                _ = await store.send(.init(id: other), from: "alice", to: conversation)
            },
            once(.deleteForEveryone(message)) {},
            Case(
                .putSettings, in: name("bob").slot,
                PutSettings(name("bob"), key: nil, readReceipts: .no, presence: .leave)
            ) { _ = await store.put(readReceipts: .yes, by: "bob") },
            Case(
                .putProfile, in: name("bob").slot, PutProfile(name("bob"), key: nil, displayName: "Bob")
            ) {
                _ = await store.ask(
                    .putProfile, in: name("bob").slot, PutProfile(name("bob"), key: nil, displayName: "Robert"))
            },
            // A user without a stream.
            Case(
                .putSettings, in: name("newcomer").slot,
                PutSettings(name("newcomer"), key: nil, readReceipts: .no, presence: .no)
            ) { _ = await store.put(presence: .yes, by: "newcomer") },
            Case(
                .createConversation, in: fresh.slot,
                CreateConversation(
                    conversation: fresh, kind: .group, creator: name("alice"), title: "", members: [name("frank")])
            ) { _ = await store.write(.removeMember(name("frank")), by: "alice", in: fresh) },
            Case(
                .createConversation, in: direct.slot,
                CreateConversation(
                    conversation: direct, kind: .direct, creator: name("alice"), title: "", members: [name("grace")])
            ) {},
            Case(
                .readMoved, in: name("bob").slot,
                ReadPositions([.init(name("bob"), conversation, readSeq: 2)])
            ) {
                let further = ReadPositions([.init(name("bob"), conversation, readSeq: 3)])
                _ = await store.ask(.readMoved, in: name("bob").slot, further)
            },
            Case(
                importing: {
                    [
                        .conversation(
                            ImportRecord.Conversation(
                                kind: .group, createdAt: past, title: "", members: [name("alice"), name("heidi")])),
                        .title(ImportRecord.Title("one", at: past, by: nil)),
                        .member(ImportRecord.MemberChange(.memberAdded, of: name("ivan"), at: past, by: nil)),
                    ]
                }, into: imported
            ) {
                _ = await store.ask(.importRecords, in: imported.slot) { buffer in
                    ImportRecords.writeHead(imported, count: 1, to: &buffer)
                    ImportRecord.end.write(to: &buffer)
                }
                _ = await store.write(.removeMember(name("heidi")), by: "alice", in: imported)
            },
            Case(importing: { [.end] }, into: imported) {},
            // An erasure step may be requested by anyone at any time. Nobody is being erased here.
            Case(.eraseStep, in: conversation.slot, EraseStep(name("zoe"), .leave(conversation))),
            Case(.eraseStep, in: conversation.slot, EraseStep(name("zoe"), .content(conversation, after: 0))),
            Case(.expireMessages, in: conversation.slot, ExpireMessages(in: conversation)),
            Case(.trimHistory, in: conversation.slot, TrimHistory(in: conversation, days: 7)),
            Case(.recordAct, in: .ofAuditLog, act) {
                _ = await store.ask(.endAct, in: .ofAuditLog) { EndAct(act.id, status: 204).write(to: &$0) }
            },
            Case(.endAct, in: .ofAuditLog, EndAct(act.id, status: 204)) {
                _ = await store.ask(.endAct, in: .ofAuditLog) { EndAct(act.id, status: 503).write(to: &$0) }
            },
        ]
    }

    /// The same of users whom strangers bring in, and who decide about it.
    ///
    /// - Parameter conversation: alice's. bob, carol, dave and erin are asked.
    @Reactor private static func decisions(
        _ store: StoreUnderTest, _ conversation: ConversationID, _ message: MessageID
    ) async -> [Case] {
        func write(_ action: Write.Action, by actor: String, in other: ConversationID? = nil) async {
            _ = await store.write(action, by: actor, in: other ?? conversation)
        }
        func once(
            _ action: Write.Action, by actor: String, behind: @escaping @Reactor () async -> Void
        ) -> Case {
            Case(
                .write, in: conversation.slot, Write(conversation, by: name(actor), key: nil, action), behind: behind)
        }
        func opening(_ direct: ConversationID, by one: UserID, with other: UserID) -> CreateConversation {
            CreateConversation(conversation: direct, kind: .direct, creator: one, title: "", members: [other])
        }
        let fresh = ConversationID(.random), direct = DirectConversation.id(name("alice"), name("grace"))
        _ = await store.ask(
            .createConversation, in: direct.slot, opening(direct, by: name("grace"), with: name("alice")))
        return [
            once(.acceptRequest, by: "bob") { await write(.removeMember(name("bob")), by: "bob") },
            once(.declineRequest, by: "carol") { await write(.acceptRequest, by: "carol") },
            Case(sending: [MessageID(.random)], by: name("dave"), to: conversation) {
                await write(.removeMember(name("dave")), by: "dave")
            },
            once(.setTapback(message, "love"), by: "erin") { await write(.removeTapback(message), by: "erin") },
            Case(
                .createConversation, in: fresh.slot,
                CreateConversation(
                    conversation: fresh, kind: .group, creator: name("alice"), title: "", members: [name("bob")])
            ) { await write(.declineRequest, by: "bob", in: fresh) },
            // Asked, alice opens it as well.
            Case(
                .createConversation, in: direct.slot, opening(direct, by: name("alice"), with: name("grace"))
            ) { await write(.draft("text", replyTo: nil), by: "alice", in: direct) },
        ]
    }

    /// Returns everything that repetitions could change.
    @Reactor private func contents(of store: StoreUnderTest) throws -> [String] {
        let tables = [
            "conversations", "memberships", "messages", "changes", "revisions", "tapbacks", "hidden", "early_deletions",
            "inbox", "user_streams", "user_changes", "user_settings", "conversation_settings", "outcomes",
            "recent_outcomes", "profiles", "blocks", "shadows", "shadow_listings", "requests", "revocations", "imports",
            "devices", "device_revocations", "suspensions", "import_stays", "import_events", "bans", "invitations",
            "join_requests", "scheduled",
            "reports", "acts",
        ]
        return try tables.map { table in
            let row = try store.database.query(
                "SELECT coalesce(string_agg(t::text, ' ' ORDER BY t::text), '') FROM store.\(table) t")
            return "\(table): \(row[0][0] as String)"
        }
    }

    @Reactor private func withConversation(
        layout: Layout = .plain, asks: Bool, _ body: (StoreUnderTest, [Case]) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(
            layout: layout, settings: ["PARLEY_MESSAGE_REQUESTS": asks ? "strangers" : "off"])
        defer { store.close() }
        let conversation = ConversationID(.random), draft = StoreUnderTest.Draft()
        let members = asks ? ["bob", "carol", "dave", "erin"] : ["bob", "carol", "zoe"]
        _ = await store.create(conversation, by: "alice", with: members)
        #expect(await store.send(draft, from: "alice", to: conversation).first?.status == 201)
        let cases =
            asks
            ? await Self.decisions(store, conversation, draft.id) : Self.cases(store, conversation, draft.id)
        try await body(store, cases)
    }

    @Reactor private func publish(_ item: Case, _ number: Int, times: Int = 1, to store: StoreUnderTest) async {
        for _ in 0..<times {
            store.publish(item.kind, in: item.slot, RequestNumber(1 << 40 | UInt64(number)), fields: item.fields)
        }
        await store.settle()
    }

    @Test(
        "a command that comes again, with its first copy or behind its answer, is carried out once",
        arguments: [false, true])
    @Reactor func behindTheAnswer(asks: Bool) async throws {
        try await withConversation(asks: asks) { store, cases in
            for (number, item) in cases.enumerated() {
                await publish(item, number, times: 2, to: store)
                await item.behind()
                let before = try contents(of: store)
                for _ in 0..<2 { await publish(item, number, to: store) }
                #expect(try contents(of: store) == before, "\(item.kind), case \(number)")
            }
        }
    }

    @Test(
        "and so it is by the store that took the slot over", arguments: [Layout.plain, .partitions(8)], [false, true])
    @Reactor func afterTakeOver(layout: Layout, asks: Bool) async throws {
        try await withConversation(layout: layout, asks: asks) { store, cases in
            for (number, item) in cases.enumerated() {
                await publish(item, number, to: store)
                await item.behind()
            }
            let before = try contents(of: store)
            try await store.crash()
            for (number, item) in cases.enumerated() { await publish(item, number, to: store) }
            #expect(try contents(of: store) == before)
        }
    }

    @Test("what became of writes without a key is forgotten after a while, piece by piece; that of keyed ones is not")
    @Reactor func forgotten() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let conversation = ConversationID(.random)
        _ = await store.create(conversation, by: "alice", with: [])
        _ = await store.write(.rename("with a key"), by: "alice", in: conversation, key: .random)
        _ = await store.write(.rename("without"), by: "alice", in: conversation)
        #expect(try count("recent_outcomes", store) == 1)
        try store.database.execute(
            """
            INSERT INTO store.recent_outcomes SELECT 7, gen_random_uuid(), 0, now() - interval '20 minutes'
            FROM generate_series(1, \(RecentOutcomes.rowsPerStep + 500));
            UPDATE store.outcomes SET at = at - interval '1 year'
            """)
        let old = RecentOutcomes.rowsPerStep + 500
        for _ in 0..<2_000 where store.store.recentOutcomes.forgotten < old {
            await Reactor.sleep(for: .milliseconds(10))
        }
        #expect(store.store.recentOutcomes.forgotten == old)
        #expect(try count("recent_outcomes", store) == 1)
        #expect(try count("outcomes", store) == 1)
    }

    @Reactor private func count(_ table: String, _ store: StoreUnderTest) throws -> Int64 {
        try store.database.query("SELECT count(*) FROM store.\(table)")[0][0]
    }
}
