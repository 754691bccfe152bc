import Foundation
import Models
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

@Suite(.timeLimit(.minutes(3)))
struct ErasureTests {
    init() { ReactorThread.start() }

    private let conversation = ConversationID(.random)
    private let bob = UserID("bob")!

    @Reactor private func withSystem(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        try await store.startReceipt()
        try await body(store)
    }

    @Reactor private func erase(_ store: StoreUnderTest) async -> StoreUnderTest.Reply? {
        await store.ask(.eraseUser, in: bob.slot, EraseUser(bob))
    }

    /// Repeats the request until the user is erased, and returns the counts.
    @Reactor private func erased(_ store: StoreUnderTest) async throws -> [String: Int] {
        for _ in 0..<2000 {
            let reply = try #require(await erase(store))
            if reply.status == 200 { return reply.field("counts") as? [String: Int] ?? [:] }
            #expect(reply.status == 202)
            await Reactor.sleep(for: .milliseconds(10))
        }
        Issue.record("the user is never erased")
        return [:]
    }

    /// Returns the rows, by table, that contain the user's name, except in the conversations' own records.
    @Reactor private func rows(of user: String, in store: StoreUnderTest) throws -> [String] {
        let tables = [
            "store.memberships", "store.import_stays", "store.inbox", "store.tapbacks", "store.votes", "store.hidden",
            "store.early_deletions", "store.outcomes", "store.blocks", "store.shadows", "store.shadow_listings",
            "store.requests", "store.bans", "store.join_requests", "store.user_streams", "store.user_changes",
            "store.user_settings",
            "store.conversation_settings", "store.profiles", "store.reports", "receipt.horizons",
            "receipt.receipt_runs",
        ]
        return try tables.filter { table in
            try !store.database.query("SELECT FROM \(table) WHERE user_id = $1") { $0.add(user) }.isEmpty
        }
    }

    @Test("of an erased user stay tombstones; texts, revisions, tapbacks, mentions, receipts and memberships are gone")
    @Reactor func everything() async throws {
        try await withSystem { store in
            let direct = ConversationID(.random)
            _ = await store.create(conversation, by: "bob", with: ["alice", "carol"])
            _ = await store.ask(
                .createConversation, in: direct.slot,
                CreateConversation(
                    conversation: direct, kind: .direct, creator: bob, title: "", members: [UserID("alice")!]))
            let own = StoreUnderTest.Draft(text: "first words"), secret = StoreUnderTest.Draft(text: "between us")
            let other = StoreUnderTest.Draft(mentions: "bob,carol")
            _ = await store.send(own, from: "bob", to: conversation)
            _ = await store.send(secret, from: "bob", to: direct)
            _ = await store.send(other, from: "alice", to: conversation)
            let reply = StoreUnderTest.Draft(replyTo: own.id)
            _ = await store.send(reply, from: "alice", to: conversation)
            let asked = StoreUnderTest.Draft(text: "when?", poll: NewPoll(options: ["now", "never"], isMultiple: true))
            _ = await store.send(asked, from: "alice", to: conversation)
            _ = await store.write(.vote(asked.id, PollOptions(bits: 0b10)), by: "carol", in: conversation)
            let mine = StoreUnderTest.Draft(
                text: "mine", poll: NewPoll(options: ["secret", "other"], isMultiple: false))
            _ = await store.send(mine, from: "bob", to: conversation)
            _ = await store.write(.vote(mine.id, PollOptions(bits: 1)), by: "alice", in: conversation)
            for action in [
                Write.Action.vote(asked.id, PollOptions(bits: 0b11)), .edit(own.id, text: "second words"),
                .setTapback(own.id, "like"),
                .setTapback(other.id, "love"), .hide(reply.id), .mark(.pinned(order: 1)),
                .draft("third words", replyTo: own.id),
                .schedule(.later(text: "later words")),
            ] {
                _ = await store.write(action, by: "bob", in: conversation, key: .random)
            }
            _ = await store.write(.setTapback(own.id, "laugh"), by: "alice", in: conversation)
            _ = await store.write(.deleteForEveryone(MessageID(.random)), by: "bob", in: conversation)
            try await store.signal(read: 4, by: "bob", in: conversation)
            _ = await store.ask(.putProfile, in: bob.slot, PutProfile(bob, key: .random, displayName: "Bob"))
            let pair = ConversationID(.random)
            _ = await store.write(.block(UserID("dora")!, true), by: "bob", in: pair)
            // dora adds a shadow of bob, who is a member to others alone, and alice has bob on her list.
            _ = await store.create(ConversationID(.random), by: "dora", with: ["bob", "erin"])
            _ = await store.write(.block(UserID("bob")!, true), by: "alice", in: ConversationID(.random))
            // Somebody else has removed him from theirs.
            let banned = ConversationID(.random)
            _ = await store.create(banned, by: "carol", with: ["bob"])
            _ = await store.write(.removeMember(bob), by: "carol", in: banned)
            let invitation = NewInvitation(id: InvitationID(.random), secret: .random)
            #expect(await store.write(.createInvitation(invitation), by: "bob", in: conversation)?.status == 201)
            #expect(try rows(of: "bob", in: store).count >= 13)

            let counts = try await erased(store)
            #expect(
                counts["messages"] == 3 && counts["revisions"] == 1 && counts["tapbacks"] == 2 && counts["votes"] == 1)
            #expect(counts["mentions"] == 1 && counts["memberships"] == 3 && counts["hidden"] == 1)
            #expect(counts["receipts"] == 1 && counts["outcomes"] == 9)
            #expect(try rows(of: "bob", in: store).isEmpty)
            for column in ["blocks WHERE blocked_id", "user_changes WHERE about_id", "invitations WHERE creator_id"] {
                #expect(try store.database.query("SELECT FROM store.\(column) = 'bob'").isEmpty)
            }
            let again = try await erased(store)
            #expect(again == counts)
            let kept = try store.database.query("SELECT message_id::text, counts::text || voters FROM store.polls")
            #expect(kept.map { [$0[0], $0[1]] } == [[asked.id.description, "{0,1}1"]])
            try await expectTombstones(store, own.id, other.id, reply.id)
            #expect(
                await store.message(secret.id, for: "alice", in: direct)?.field("deletedForEveryone") as? Bool == true)
            #expect(await store.conversation(direct, for: "alice")?.field("memberCount") as? Int == 1)
        }
    }

    @Reactor private func expectTombstones(
        _ store: StoreUnderTest, _ own: MessageID, _ other: MessageID, _ response: MessageID
    ) async throws {
        let tombstone = await store.message(own, for: "alice", in: conversation)
        #expect(tombstone?.field("seq") as? Int == 2 && tombstone?.field("text") is NSNull)
        #expect(tombstone?.field("deletedForEveryone") as? Bool == true)
        #expect((tombstone?.field("tapbackCounts") as? [String: Int])?.isEmpty == true)
        let mentioning = await store.message(other, for: "alice", in: conversation)
        #expect(mentioning?.field("mentions") as? [String] == ["carol"])
        #expect((mentioning?.field("tapbackCounts") as? [String: Int])?.isEmpty == true)
        #expect(
            await store.message(response, for: "alice", in: conversation)?.field("replyTo", "unavailable") as? Bool
                == true)
        // The longest-standing member is now the owner.
        #expect(await store.conversation(conversation, for: "alice")?.field("role") as? String == "owner")
    }

    @Test("what an erasure changes is announced, dense and each once")
    @Reactor func announced() async throws {
        try await withSystem { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            for _ in 0..<5 { _ = await store.send(StoreUnderTest.Draft(), from: "bob", to: conversation) }
            _ = try await erased(store)
            // 1 creation, 5 messages, the user's leaving, 5 deletions.
            #expect(await store.eventually { store.changes.count == 12 })
            #expect(store.changes.map(\.seq) == Array(1...12))
            #expect(store.changes.suffix(5).allSatisfy { $0.json.contains("\"kind\":\"message.deleted\"") })
            #expect(store.changes.suffix(5).allSatisfy { $0.json.contains("\"text\":null") })
        }
    }

    @Test("mentions go from conversations in which the user never was, too")
    @Reactor func mentionsElsewhere() async throws {
        try await withSystem { store in
            _ = await store.create(conversation, by: "alice", with: [])
            let message = StoreUnderTest.Draft(mentions: "bob")
            _ = await store.send(message, from: "alice", to: conversation)
            let counts = try await erased(store)
            #expect(counts["mentions"] == 1)
            let left = await store.message(message.id, for: "alice", in: conversation)
            #expect((left?.field("mentions") as? [String])?.isEmpty == true && left?.field("changeSeq") as? Int == 3)
        }
    }

    @Test("an erased user is taken into no conversation, writes nothing and reads nothing of their own")
    @Reactor func refused() async throws {
        try await withSystem { store in
            _ = await store.create(conversation, by: "alice", with: [])
            #expect(await erase(store)?.status == 202)
            let others = ConversationID(.random)
            #expect(await store.create(others, by: "alice", with: ["bob"])?.status == 409)
            #expect(await store.create(others, by: "bob", with: ["alice"])?.status == 409)
            let add = Write.Action.putMember(bob, nil)
            #expect(await store.write(add, by: "alice", in: conversation, key: .random)?.status == 409)
            let settings = PutSettings(bob, key: .random, readReceipts: .no, presence: .leave)
            #expect(await store.ask(.putSettings, in: bob.slot, settings)?.status == 401)
            let profile = PutProfile(bob, key: .random, displayName: "Bob")
            #expect(await store.ask(.putProfile, in: bob.slot, profile)?.status == 401)
            #expect(await store.write(.rename("x"), by: "bob", in: conversation, key: .random)?.status == 401)
            let list = ListConversations(reader: bob, limit: 10, before: .start)
            #expect(await store.ask(.listConversations, in: bob.slot, list)?.status == 401)
            #expect(await store.ask(.sync, in: bob.slot, SyncQuery(bob, since: nil))?.status == 401)
            #expect(await store.ask(.bootstrap, in: bob.slot, BootstrapQuery(bob))?.status == 401)
            _ = try await erased(store)
            #expect(try rows(of: "bob", in: store).isEmpty)
        }
    }

    /// A step erases 200 messages. The store dies repeatedly while steps are running.
    @Test("an erasure goes on where a store died, and counts everything once")
    @Reactor func crashes() async throws {
        try await withSystem { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            let count = 3_000
            for _ in 0..<count / 100 {
                let drafts = (0..<100).map { _ in StoreUnderTest.Draft() }
                _ = await store.sendAll(drafts, from: "bob", to: conversation)
            }
            try await store.signal(read: 7, by: "bob", in: conversation)
            #expect(await erase(store)?.status == 202)
            var crashes = 0
            while try tombstones(store) < count, crashes < 4 {
                let before = try tombstones(store)
                while try tombstones(store) < min(before + 200, count) { await Reactor.sleep(for: .milliseconds(1)) }
                try await store.crash()
                crashes += 1
            }
            #expect(crashes > 1)
            let counts = try await erased(store)
            #expect(counts["messages"] == count && counts["memberships"] == 1 && counts["receipts"] == 1)
            #expect(try rows(of: "bob", in: store).isEmpty)
            let row = try store.database.query(
                "SELECT last_seq, (SELECT count(*) FROM store.changes) FROM store.conversations")[0]
            // 1 creation, the messages, the user's leaving, and one deletion each.
            #expect(row[0] as Int64 == Int64(2 * count + 2) && row[1] as Int64 == Int64(count + 2))
        }
    }

    @Reactor private func tombstones(_ store: StoreUnderTest) throws -> Int {
        try store.database.query("SELECT FROM store.messages WHERE deleted_at IS NOT NULL").count
    }

    @Test("whatever the user sends, or is taken into, while the erasure begins: nothing of it stays", arguments: 0..<4)
    @Reactor func races(_: Int) async throws {
        try await withSystem { store in
            _ = await store.create(conversation, by: "alice", with: ["bob"])
            async let sent: Void = sendOn(store)
            async let taken: Void = takeInto(store)
            await Reactor.sleep(for: .milliseconds(.random(in: 0...60)))
            #expect(await erase(store)?.status == 202)
            _ = await (sent, taken)
            _ = try await erased(store)
            let texts = try store.database.query(
                "SELECT FROM store.messages WHERE sender_id = 'bob' AND body IS NOT NULL")
            #expect(texts.isEmpty)
            #expect(try rows(of: "bob", in: store).isEmpty)
        }
    }

    @Reactor private func sendOn(_ store: StoreUnderTest) async {
        for _ in 0..<60 {
            let draft = StoreUnderTest.Draft()
            _ = await store.send(draft, from: "bob", to: conversation)
            _ = await store.write(.setTapback(draft.id, "like"), by: "bob", in: conversation, key: .random)
        }
    }

    @Reactor private func takeInto(_ store: StoreUnderTest) async {
        for _ in 0..<30 {
            let group = ConversationID(.random)
            _ = await store.create(group, by: "alice", with: ["bob"])
            _ = await store.write(.removeMember(bob), by: "alice", in: group)
            _ = await store.write(.putMember(bob, nil), by: "alice", in: group)
        }
    }
}
