import Bytes
import Foundation
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// What late members and former members see.
@Suite(.timeLimit(.minutes(2)))
struct WindowTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    /// Opens a group of alice, the owner, and bob. Her message is at 2, bob's reply at 3, and a text of hers at 4.
    @Reactor private func withStore(_ body: (StoreUnderTest, [MessageID]) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        let parent = Draft(text: "first"), reply = Draft(text: "answer", replyTo: parent.id), last = Draft(text: "last")
        _ = await store.send(parent, from: "alice", to: conversation)
        _ = await store.send(reply, from: "bob", to: conversation)
        _ = await store.send(last, from: "alice", to: conversation)
        try await body(store, [parent.id, reply.id, last.id])
    }

    @Reactor private func write(_ store: StoreUnderTest, by actor: String = "alice", _ actions: Write.Action...) async {
        for action in actions {
            let status = await store.write(action, by: actor, in: conversation)?.status
            #expect(status == 200 || status == 204, "\(action)")
        }
    }

    @Test("whatever happens to a message from before a member's stay, its change comes without the message")
    @Reactor func lateJoiner() async throws {
        try await withStore { store, messages in
            await write(
                store, .putMember(UserID("carol")!, nil), .edit(messages[0], text: "hidden from carol"),
                .setTapback(messages[0], "love"), .removeTapback(messages[0]), .deleteForEveryone(messages[2]))
            let page = try #require(await store.changes(conversation, for: "carol"))
            let changes = try #require(page.field("changes") as? [[String: Any]])
            #expect(changes.map { $0["seq"] as? Int } == [5, 6, 7, 8, 9])
            #expect(changes.allSatisfy { $0["message"] == nil && $0["actorId"] as? String == "alice" })
            let full = try #require(await store.changes(conversation, for: "bob", after: 5))
            #expect(full.field("changes", "0", "message", "text") as? String == "hidden from carol")
        }
    }

    @Test("a user has been in a conversation a hundred times at most: all stays come with every welcome")
    @Reactor func manyStays() async throws {
        try await withStore { store, _ in
            let bob = UserID("bob")!
            for _ in 1..<PutMember.staysLimit { await write(store, .removeMember(bob), .putMember(bob, nil)) }
            await write(store, .putMember(bob, .owner), .removeMember(bob))
            let last = try #require(await store.write(.putMember(bob, nil), by: "alice", in: conversation))
            guard case .problem(let problem) = last else {
                Issue.record("taken in once more: \(last)")
                return
            }
            #expect(problem.code == .conflict && problem.detail.contains("100 times"))
            await write(store, .putMember(UserID("carol")!, nil))
        }
    }

    @Test("what a batch of queries reads is one state, whatever is committed in between")
    @Reactor func oneState() async throws {
        try await withStore { store, _ in
            var counts: [Int64]?
            Reactor.spawn {
                let rows = try? await store.store.queries.connection.transaction { batch in
                    for _ in 0..<2 { batch.execute(sql: "SELECT count(*), pg_sleep(0.3) FROM store.messages") }
                }
                counts = (rows ?? []).map { $0[0][0] }
            }
            await Reactor.sleep(for: .milliseconds(100))
            _ = await store.send(Draft(), from: "alice", to: conversation)
            #expect(await store.eventually { counts != nil })
            #expect(counts == [3, 3])
        }
    }

    @Test("who comes back is told of the messages of both stays, and of none in between")
    @Reactor func comingBack() async throws {
        try await withStore { store, messages in
            let bob = UserID("bob")!, between = Draft(text: "between")
            await write(store, .removeMember(bob))
            _ = await store.send(between, from: "alice", to: conversation)
            await write(store, .putMember(bob, nil))
            await write(store, .edit(between.id, text: "still between"), .edit(messages[0], text: "for bob, too"))
            let page = try #require(await store.changes(conversation, for: "bob", after: 7))
            #expect(page.field("changes", "0", "seq") as? Int == 8 && page.field("changes", "0", "message") == nil)
            #expect(page.field("changes", "1", "message", "text") as? String == "for bob, too")
        }
    }

    @Test("a former member sees texts, revisions, tapbacks, previews and the title of when they left")
    @Reactor func formerMember() async throws {
        try await withStore { store, messages in
            let bob = UserID("bob")!
            await write(
                store, .rename("then"), .edit(messages[0], text: "second"), .setTapback(messages[0], "like"),
                .removeMember(bob))
            let head = ConversationQuery(conversation, reader: bob)
            let before = try await texts(store, messages)
            let seen = try #require(await store.message(messages[0], for: "bob", in: conversation))
            await write(
                store, .rename("now"), .edit(messages[0], text: "third"), .edit(messages[0], text: "fourth"),
                .edit(messages[2], text: "other"), .setTapback(messages[0], "love"), .setTapback(messages[2], "love"))
            #expect(try await texts(store, messages) == before)
            let after = try #require(await store.message(messages[0], for: "bob", in: conversation))
            #expect(after.field("text") as? String == "second" && after.field("editedAt") != nil)
            #expect(after.field("editedAt") as? String == seen.field("editedAt") as? String)
            // Only the last tapback is kept, so alice's earlier one is gone.
            #expect((after.field("tapbacks") as? [Any])?.isEmpty == true)
            #expect(after.field("changeSeq") as? Int == 8)
            let unedited = try #require(await store.message(messages[2], for: "bob", in: conversation))
            #expect(unedited.field("text") as? String == "last" && unedited.field("editedAt") == nil)
            let revisions = try #require(
                await store.ask(.revisions, in: conversation.slot, MessageQuery(head, message: messages[0])))
            #expect(
                (revisions.field("revisions") as? [[String: Any]])?.map { $0["text"] as? String } == [
                    "first", "second",
                ])
            let tapbacks = try #require(
                await store.ask(
                    .tapbacks, in: conversation.slot,
                    AfterUserQuery(MessageQuery(head, message: messages[2]), after: "", limit: 10)))
            #expect((tapbacks.field("tapbacks") as? [Any])?.isEmpty == true)
            #expect((tapbacks.field("counts") as? [String: Any])?.isEmpty == true)
        }
    }

    /// Returns all text that bob can see.
    @Reactor private func texts(_ store: StoreUnderTest, _ messages: [MessageID]) async throws -> [String] {
        let history = try #require(await store.history(conversation, for: "bob"))
        let changes = try #require(await store.changes(conversation, for: "bob"))
        let listed = try #require(await store.conversation(conversation, for: "bob"))
        let reply = try #require(await store.message(messages[1], for: "bob", in: conversation))
        let pages =
            (history.field("messages") as? [[String: Any]] ?? [])
            + (changes.field("changes") as? [[String: Any]] ?? []).compactMap { $0["message"] as? [String: Any] }
        return pages.compactMap { $0["text"] as? String }
            + [listed.field("title"), reply.field("replyTo", "preview")].map { "\($0 ?? "")" }
    }

    @Test("a deletion for everyone takes the text from former members, too")
    @Reactor func deletedAfterLeaving() async throws {
        try await withStore { store, messages in
            await write(store, .edit(messages[0], text: "second"), .removeMember(UserID("bob")!))
            await write(store, .edit(messages[0], text: "third"), .deleteForEveryone(messages[0]))
            let tombstone = try #require(await store.message(messages[0], for: "bob", in: conversation))
            #expect(tombstone.field("deletedForEveryone") as? Bool == true && tombstone.field("text") is NSNull)
            #expect(tombstone.field("changeSeq") as? Int == 6)
        }
    }

    @Test("what fanout replays has the present text, or that of when the next member left")
    @Reactor func replay() async throws {
        try await withStore { store, messages in
            await write(store, .edit(messages[0], text: "second"), .edit(messages[0], text: "third"))
            await write(store, .removeMember(UserID("bob")!), .edit(messages[0], text: "fourth"), .rename("title"))
            let query = ReplayQuery(conversation, after: 0, through: 100, limit: 100)
            let raw = try #require(
                await store.ask(.replay, in: conversation.slot, fields: { query.write(to: &$0) }))
            let entries = Self.entries(raw.payload)
            #expect(entries.map(\.messageSeq) == [nil, 2, 3, 4, 2, 2, nil, 2, nil])
            for index in [1, 4, 5] { #expect(entries[index].json.contains(#""text":"third""#)) }
            #expect(entries[7].json.contains(#""text":"fourth""#))
            #expect(entries.allSatisfy { $0.json.hasPrefix($0.head) })
            #expect(!entries[7].head.contains("message\":") && entries[8].head.hasSuffix(#""actorId":"alice""#))
        }
    }

    private static func entries(_ payload: [UInt8]) -> [(messageSeq: Int64?, json: String, head: String)] {
        payload.withUnsafeBytes { raw in
            var reader = ByteReader(raw)
            guard (try? reader.number(Int64.self)) != nil else { return [] }
            var entries: [(Int64?, String, String)] = []
            while !reader.isAtEnd, let entry = try? ChangeEntry(from: &reader) {
                entries.append(
                    (
                        entry.messageSeq, String(decoding: entry.json, as: UTF8.self),
                        String(decoding: entry.head, as: UTF8.self)
                    )
                )
            }
            return entries
        }
    }
}
