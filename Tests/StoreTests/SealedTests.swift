import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Messages that the server does not look into.
@Suite(.timeLimit(.minutes(2)))
struct SealedTests {
    typealias Draft = StoreUnderTest.Draft

    private let conversation = ConversationID(.random)

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

    @Test("everybody gets what is sealed, alone, among others and beside files, and no text")
    @Reactor func carried() async throws {
        try await withStore { store in
            let lone = Draft(text: "AAAA", isSealed: true)
            let sent = await store.send(lone, from: "alice", to: conversation)
            #expect(sent[0].status == 201 && sent[0].field("kind") as? String == "sealed")
            #expect(text(sent[0]).contains(#""kind":"sealed","text":null,"sealed":"AAAA""#))
            let plain = Draft(text: "AAAA"), reply = Draft(text: "two", replyTo: plain.id)
            let file = Draft(text: "BBBB", files: [.init(name: "a.pdf")], isSealed: true)
            let named = Draft(text: "CCCC", mentions: "bob", extra: "{}", isSealed: true)
            let batch = await store.send(plain, reply, file, named, from: "alice", to: conversation)
            #expect(batch.map(\.status) == [201, 201, 201, 201])
            #expect(batch.map { $0.field("kind") as? String } == ["text", "reply", "sealed", "sealed"])
            #expect(batch[0].field("sealed") == nil && batch[0].field("text") as? String == "AAAA")
            for sealed in ["AAAA", "BBBB", "CCCC"] {
                let part = #""kind":"sealed","text":null,"sealed":"\#(sealed)""#
                #expect(text(await store.history(conversation, for: "bob")).contains(part))
                #expect(text(await store.changes(conversation, for: "bob", after: 1)).contains(part))
            }
            #expect(await eventually { store.changes.contains { $0.seq == 6 } })
            #expect(store.changes.filter { $0.seq == 2 }.map(\.json).joined().contains(#""sealed":"AAAA""#))
            let list = await store.conversation(conversation, for: "bob")
            #expect(list?.field("unreadCount") as? Int == 5 && list?.field("unreadMentions") as? Int == 1)
            #expect(list?.field("lastMessage", "sealed") as? String == "CCCC")
        }
    }

    @Test("a repetition is known by its kind, too, alone, among others and beside files")
    @Reactor func repeated() async throws {
        try await withStore { store in
            for drafts in [
                [Draft(text: "AAAA", isSealed: true)], [Draft(text: "AAAA")],
                [Draft(text: "AAAA", isSealed: true), Draft(text: "BBBB"), Draft(text: "CCCC", isSealed: true)],
                [Draft(text: "AAAA", files: [.init(name: "a.pdf")], isSealed: true)],
                [Draft(text: "AAAA", files: [.init(name: "a.pdf")])],
            ] {
                #expect(await store.sendAll(drafts, from: "alice", to: conversation).allSatisfy { $0.status == 201 })
                #expect(await store.sendAll(drafts, from: "alice", to: conversation).allSatisfy { $0.status == 200 })
                let others = drafts.map {
                    var other = $0
                    other.isSealed.toggle()
                    return other
                }
                #expect(await store.sendAll(others, from: "alice", to: conversation).allSatisfy { $0.status == 409 })
                #expect(
                    await store.sendAll(others + [Draft()], from: "alice", to: conversation).map(\.status)
                        == others.map { _ in 409 } + [201])
            }
        }
    }

    @Test("it is edited by what is sealed alone, keeps what it was, and is replied to by none")
    @Reactor func edited() async throws {
        try await withStore { store in
            let sealed = Draft(text: "AAAA", isSealed: true), plain = Draft(text: "one")
            _ = await store.send(sealed, plain, from: "alice", to: conversation)
            func edit(_ action: Write.Action) async -> StoreUnderTest.Reply? {
                await store.write(action, by: "alice", in: conversation)
            }
            #expect(await edit(.edit(sealed.id, text: "words"))?.status == 409)
            #expect(await edit(.editSealed(plain.id, "BBBB"))?.status == 409)
            let edited = await edit(.editSealed(sealed.id, "BBBB"))
            #expect(edited?.status == 200 && text(edited).contains(#""text":null,"sealed":"BBBB""#))
            let query = MessageQuery(ConversationQuery(conversation, reader: UserID("bob")!), message: sealed.id)
            let revisions = await store.ask(.revisions, in: conversation.slot) { query.write(to: &$0) }
            let json = String(decoding: revisions?.payload ?? [], as: UTF8.self)
            #expect(json.contains(#"[{"sealed":"AAAA","at""#) && json.contains(#"{"sealed":"BBBB","at""#))
            #expect(!json.contains("text"))
            let reply = Draft(text: "two", replyTo: sealed.id)
            #expect(await store.send(reply, from: "alice", to: conversation).map(\.status) == [422])
            #expect(await edit(.deleteForEveryone(sealed.id))?.status == 204)
            let tombstone = text(await store.history(conversation, for: "bob"))
            #expect(tombstone.contains(#""kind":"sealed","text":null"#) && !tombstone.contains(#""sealed":"#))
        }
    }

    @Test("no search finds it, indexed or not, edited or not, and a report has no copy of it")
    @Reactor func unread() async throws {
        try await withStore { store in
            let sealed = Draft(text: "cherrypie123", isSealed: true), edited = Draft(text: "AAAA", isSealed: true)
            let file = Draft(text: "BBBB", files: [.init(name: "cherrypie123.pdf")], isSealed: true)
            let plain = Draft(text: "cherrypie123 here")
            _ = await store.send(sealed, edited, file, plain, from: "alice", to: conversation)
            _ = await store.write(.editSealed(edited.id, "cherrypie123"), by: "alice", in: conversation)
            #expect(await store.found("cherrypie123", by: "bob") == [plain.text])
            await store.indexed()
            #expect(await store.found("cherrypie123", by: "bob") == [plain.text])
            #expect(store.indexedTexts == [" cherrypie123 here "])
            let report = NewReport(id: ReportID(.random), message: sealed.id, reason: .spam)
            #expect(await store.write(.report(report), by: "bob", in: conversation)?.status == 201)
            let kept = try store.database.query("SELECT sender_id FROM store.reports WHERE message_text IS NULL")
            #expect(kept.map { $0[0] } == ["alice"])
        }
    }
}
