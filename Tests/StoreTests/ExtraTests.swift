import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// The application's own JSON in messages.
@Suite(.timeLimit(.minutes(2)))
struct ExtraTests {
    typealias Draft = StoreUnderTest.Draft

    private let conversation = ConversationID(.random)
    private let extra = #"{"card":{"price":1.50,"labels":["a","b"]},"n":12345678901234567890}"#

    init() { ReactorThread.start() }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    private func text(_ reply: StoreUnderTest.Reply?) -> String {
        guard case .json(_, let text)? = reply else { return "" }
        return text
    }

    @Test("every response has it byte for byte, of a text, a reply and beside files, and others are as without it")
    @Reactor func carried() async throws {
        try await withStore { store in
            let first = Draft(text: "one", mentions: "bob", extra: extra)
            let reply = Draft(text: "two", replyTo: first.id, extra: "{}")
            let file = Draft(text: "three", files: [.init(name: "a.pdf")], extra: extra), plain = Draft(text: "four")
            let sent = await store.send(first, reply, file, plain, from: "alice", to: conversation)
            #expect(sent.map(\.status) == [201, 201, 201, 201])
            #expect(sent.map { $0.field("seq") as? Int } == [2, 3, 4, 5])
            let expected = [#","extra":\#(extra),"status""#, #","extra":{},"status""#, #","extra":\#(extra),"status""#]
            for (reply, part) in zip(sent, expected) { #expect(text(reply).contains(part)) }
            #expect(!text(sent[3]).contains("extra"))
            #expect(sent[1].field("replyTo", "preview") as? String == "one")
            #expect(text(sent[2]).contains(#""attachments":[{"#))
            let own = #""extra":\#(extra)"#
            #expect(text(await store.message(first.id, for: "bob", in: conversation)).contains(own))
            let history = text(await store.history(conversation, for: "bob"))
            #expect(history.ranges(of: own).count == 2 && history.contains(#""extra":{}"#))
            let changes = text(await store.changes(conversation, for: "bob", after: 1))
            #expect(changes.ranges(of: own).count == 2)
            #expect(await eventually { store.changes.contains { $0.seq == 5 } })
            #expect(store.changes.filter { $0.seq == 2 }.map(\.json).joined().contains(own))
            _ = await store.write(.edit(first.id, text: "one, edited"), by: "alice", in: conversation)
            #expect(text(await store.message(first.id, for: "bob", in: conversation)).contains(own))
        }
    }

    @Test("a repetition is known by it, alone and among others, and another one under its id is a conflict")
    @Reactor func repeated() async throws {
        try await withStore { store in
            let draft = Draft(text: "one", extra: extra), plain = Draft(text: "two")
            _ = await store.send(draft, plain, from: "alice", to: conversation)
            #expect(await store.send(draft, plain, from: "alice", to: conversation).map(\.status) == [200, 200])
            var other = draft
            for extra in ["", "{}"] {
                other.extra = extra
                #expect(await store.send(other, from: "alice", to: conversation).map(\.status) == [409])
                #expect(await store.send(other, Draft(), from: "alice", to: conversation).map(\.status) == [409, 201])
            }
            other = plain
            other.extra = extra
            #expect(await store.send(other, from: "alice", to: conversation).map(\.status) == [409])
        }
    }

    @Test("a former member keeps it, who came later never sees it, and a deletion for everyone takes it away")
    @Reactor func deleted() async throws {
        try await withStore { store in
            let draft = Draft(text: "one", extra: extra), early = Draft(text: "two", extra: extra)
            _ = await store.send(draft, from: "alice", to: conversation)
            _ = await store.write(.removeMember(UserID("bob")!), by: "bob", in: conversation)
            _ = await store.write(.putMember(UserID("carol")!, nil), by: "alice", in: conversation)
            #expect(text(await store.history(conversation, for: "bob")).contains(extra))
            #expect(!text(await store.history(conversation, for: "carol")).contains("extra"))
            #expect(await store.write(.deleteForEveryone(draft.id), by: "alice", in: conversation)?.status == 204)
            // Deleted before it came.
            _ = await store.write(.deleteForEveryone(early.id), by: "alice", in: conversation)
            let tombstone = await store.send(early, from: "alice", to: conversation)
            #expect(tombstone[0].field("deletedForEveryone") as? Bool == true && !text(tombstone[0]).contains("extra"))
            for reader in ["alice", "bob"] {
                #expect(!text(await store.history(conversation, for: reader)).contains("extra"))
            }
            let kept = try store.database.query("SELECT FROM store.messages WHERE extra IS NOT NULL")
            #expect(kept.isEmpty)
        }
    }

    @Test("what a store of before these columns deletes shows none")
    @Reactor func deletedByOlder() async throws {
        try await withStore { store in
            let draft = Draft(text: "one", extra: extra)
            _ = await store.send(draft, from: "alice", to: conversation)
            try store.database.execute("UPDATE store.messages SET body = NULL, deleted_at = created_at WHERE seq = 2")
            #expect(!text(await store.history(conversation, for: "bob")).contains("extra"))
            #expect(!text(await store.message(draft.id, for: "bob", in: conversation)).contains("extra"))
        }
    }

    @Test("an erased user's is gone, others' stays")
    @Reactor func erased() async throws {
        try await withStore { store in
            try await store.startReceipt()
            _ = await store.send(Draft(text: "mine", extra: extra), from: "bob", to: conversation)
            _ = await store.send(Draft(text: "hers", mentions: "bob", extra: "{}"), from: "alice", to: conversation)
            var status: UInt16? = 202
            while status == 202 {
                status = await store.ask(.eraseUser, in: UserID("bob")!.slot, EraseUser(UserID("bob")!))?.status
                await Reactor.sleep(for: .milliseconds(10))
            }
            #expect(status == 200)
            let left = try store.database.query("SELECT extra FROM store.messages WHERE extra IS NOT NULL")
            #expect(left.map { $0[0] } == ["{}"])
        }
    }
}
