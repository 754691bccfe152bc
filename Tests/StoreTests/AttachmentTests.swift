import Bytes
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Messages that carry files, from the send to the release.
@Suite(.timeLimit(.minutes(3))) struct AttachmentTests {
    typealias Draft = StoreUnderTest.Draft
    typealias File = StoreUnderTest.File

    private let conversation = ConversationID(.random)
    private let bob = UserID("bob")!

    init() { ReactorThread.start() }

    @Reactor private func withStore(
        settings: [String: String] = [:], preparedBy sql: String = "", _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(settings: settings, preparedBy: sql)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    private func names(_ reply: StoreUnderTest.Reply?, _ path: String...) -> [String]? {
        guard case .json(_, let text)? = reply, let list = Self.value(text, path) as? [[String: Any]] else {
            return nil
        }
        return list.map { $0["name"] as? String ?? "" }
    }

    private static func value(_ text: String, _ path: [String]) -> Any? {
        path.reduce(StoreUnderTest.Reply.json(status: 200, text).field()) { value, key in
            Int(key).map { index in (value as? [Any])?[index] } ?? (value as? [String: Any])?[key]
        }
    }

    @Test("a message carries its files in every answer, byte for byte as they were described, with and without a text")
    @Reactor func carried() async throws {
        try await withStore { store in
            let picture = File(name: "harbour.jpg", type: "image/jpeg"), report = File(name: #"a \"b\" é.pdf"#)
            let bare = Draft(text: "", files: [picture, report]),
                both = Draft(text: "look", mentions: "bob", files: [picture])
            let replies = await store.send(bare, both, Draft(text: "plain"), from: "alice", to: conversation)
            #expect(replies.map(\.status) == [201, 201, 201])
            guard case .json(_, let sent) = replies[0], case .json(_, let plain) = replies[2] else { return }
            #expect(sent.contains(#""text":null"#))
            #expect(sent.contains(#","attachments":[\#(picture.json),\#(report.json)],"status""#))
            #expect(!plain.contains("attachments"))
            let read = try #require(await store.message(bare.id, for: "bob", in: conversation))
            guard case .json(_, let shown) = read else { return }
            #expect(
                shown.contains(#""text":null"#) && shown.contains(#""attachments":[\#(picture.json),\#(report.json)]"#))
            let history = await store.history(conversation, for: "bob")
            #expect(names(history, "messages", "0", "attachments") == ["harbour.jpg", #"a "b" é.pdf"#])
            #expect(history?.field("messages", "1", "mentions") as? [String] == ["bob"])
            #expect(history?.field("messages", "2", "attachments") == nil)
            let changes = await store.changes(conversation, for: "bob", after: 1)
            #expect(names(changes, "changes", "1", "message", "attachments") == ["harbour.jpg"])
            let isAnnounced = await eventually { store.changes.contains { $0.seq == 2 } }
            #expect(isAnnounced)
            let live = store.changes.filter { $0.seq == 2 }.map(\.json).joined()
            #expect(live.contains(#""attachments":[\#(picture.json),\#(report.json)]"#))
            let listed = await store.conversation(conversation, for: "bob")
            #expect(listed?.field("lastMessage", "text") as? String == "plain")
        }
    }

    @Test(
        "a repetition is known by its files, whatever has become of them, and other files under its id are a conflict")
    @Reactor func repeated() async throws {
        try await withStore { store in
            let one = File(name: "1"), two = File(name: "2")
            let draft = Draft(text: "", files: [one, two])
            _ = await store.send(draft, from: "alice", to: conversation)
            var gone = draft
            gone.files = [one.with(.notFound), two.with(.notReady)]
            #expect(await store.send(gone, from: "alice", to: conversation).map(\.status) == [200])
            for files in [[two, one], [one], [one, two, File(name: "3")], []] {
                var other = draft
                other.files = files
                other.text = files.isEmpty ? "a text" : ""
                #expect(await store.send(other, from: "alice", to: conversation).map(\.status) == [409])
            }
            let text = Draft(text: "only a text")
            _ = await store.send(text, from: "alice", to: conversation)
            var carrying = text
            carrying.files = [one]
            #expect(await store.send(carrying, from: "alice", to: conversation).map(\.status) == [409])
            carrying = Draft(text: "both", files: [one])
            _ = await store.send(carrying, from: "alice", to: conversation)
            carrying.files = []
            // Alone, and in a run of several.
            #expect(await store.send(carrying, from: "alice", to: conversation).map(\.status) == [409])
            #expect(await store.send(carrying, Draft(), from: "alice", to: conversation).map(\.status) == [409, 201])
        }
    }

    @Test(
        "a file that is not there refuses the message by its place, and takes no position",
        arguments: [
            (AttachVerdict.notFound, Problem.Code.notFound), (.notReady, .mediaNotReady), (.refused, .mediaNotReady),
        ])
    @Reactor func missing(verdict: AttachVerdict, code: Problem.Code) async throws {
        try await withStore { store in
            let draft = Draft(text: "x", files: [File(name: "1"), File(name: "2").with(verdict)])
            let replies = await store.send(Draft(), draft, Draft(), from: "alice", to: conversation)
            guard case .problem(let problem) = replies[1] else {
                Issue.record("it is stored")
                return
            }
            #expect(problem.code == code && problem.detail.hasPrefix("attachments[1].id: "))
            #expect(replies.map { $0.field("seq") as? Int } == [2, nil, 3])
            // Who is no member learns nothing else.
            #expect(await store.send(draft, from: "mallory", to: conversation).map(\.status) == [404])
        }
    }

    @Test(
        "what carries files is replied to only where the deployment says so; the preview then names the first file's kind"
    )
    @Reactor func replies() async throws {
        let previews = [
            (File(name: "a.png", type: "image/png"), "", "Photo"), (File(name: "b", type: "video/mp4"), "", "Video"),
            (File(name: "c", type: "audio/ogg"), "", "Audio"), (File(name: "d.pdf"), "", "d.pdf"),
            (File(name: "e.pdf"), "text", "text"),
        ]
        try await withStore { store in
            let parent = Draft(text: "text", files: [previews[0].0])
            _ = await store.send(parent, from: "alice", to: conversation)
            for draft in [Draft(replyTo: parent.id), Draft(replyTo: parent.id, files: [File(name: "x")])] {
                #expect(await store.send(draft, from: "bob", to: conversation).map(\.status) == [422])
            }
            let plain = Draft()
            _ = await store.send(plain, from: "alice", to: conversation)
            let reply = await store.send(
                Draft(replyTo: plain.id, files: [File(name: "x")]), from: "bob", to: conversation)
            #expect(reply[0].status == 201 && reply[0].field("replyTo", "preview") as? String == "hello")
        }
        try await withStore(settings: ["PARLEY_REPLY_TO_ATTACHMENTS": "true"]) { store in
            for (file, text, preview) in previews {
                let parent = Draft(text: text, files: [file]), reply = Draft(replyTo: parent.id)
                _ = await store.send(parent, from: "alice", to: conversation)
                let sent = await store.send(reply, from: "bob", to: conversation)
                #expect(sent[0].field("replyTo", "preview") as? String == preview)
                let read = await store.message(reply.id, for: "alice", in: conversation)
                #expect(read?.field("replyTo", "preview") as? String == preview)
                let listed = await store.conversation(conversation, for: "alice")
                #expect(listed?.field("lastMessage", "replyTo", "preview") as? String == preview)
            }
        }
    }

    @Test("an edit gives a text and keeps the files, and the revisions begin with none")
    @Reactor func edited() async throws {
        try await withStore { store in
            let draft = Draft(text: "", files: [File(name: "a")])
            _ = await store.send(draft, from: "alice", to: conversation)
            let edited = await store.write(.edit(draft.id, text: "now with words"), by: "alice", in: conversation)
            #expect(edited?.field("text") as? String == "now with words")
            #expect(names(edited, "attachments") == ["a"])
            let revisions = await store.ask(
                .revisions, in: conversation.slot,
                MessageQuery(ConversationQuery(conversation, reader: UserID("bob")!), message: draft.id))
            #expect(revisions?.field("revisions", "0", "text") as? String == "")
            #expect(revisions?.field("revisions", "1", "text") as? String == "now with words")
            #expect(await store.send(draft, from: "alice", to: conversation).map(\.status) == [200])
        }
    }

    @Test("a message deleted for everyone carries nothing, and media is told until it acknowledges, also after a crash")
    @Reactor func deleted() async throws {
        try await withStore { store in
            let files = [File(name: "1"), File(name: "2")]
            let draft = Draft(text: "x", files: files), early = Draft(text: "", files: [files[0].with(.notReady)])
            _ = await store.send(draft, from: "alice", to: conversation)
            store.isMediaAway = true
            #expect(await store.write(.deleteForEveryone(draft.id), by: "alice", in: conversation)?.status == 204)
            // Deleted before it came: a tombstone, whether its file is there or not.
            _ = await store.write(.deleteForEveryone(early.id), by: "alice", in: conversation)
            let tombstone = await store.send(early, from: "alice", to: conversation)
            #expect(tombstone[0].status == 201 && tombstone[0].field("deletedForEveryone") as? Bool == true)
            let history = await store.history(conversation, for: "bob")
            guard case .json(_, let text)? = history else { return }
            #expect(!text.contains("attachments"))
            let noted = "SELECT FROM store.media_releases"
            #expect(try store.database.query(noted).count == 2)
            try await store.crash()
            store.isMediaAway = false
            let isTold = await eventually { Set(store.released.map(\.message.message)) == [draft.id, early.id] }
            #expect(isTold)
            #expect(store.released.first { $0.message.message == draft.id }?.message.media == files.map(\.id))
            #expect(store.released.allSatisfy { $0.uploader.name == "alice" && $0.conversation == conversation })
            let isForgotten = await eventually { (try? store.database.query(noted).isEmpty) == true }
            #expect(isForgotten)
        }
    }

    @Test("a file may be read by whoever sees a message that carries it, and by nobody else")
    @Reactor func readers() async throws {
        try await withStore { store in
            let file = File(name: "secret.pdf"), draft = Draft(text: "", files: [file])
            func mayRead(_ reader: String?, _ id: MediaID? = nil, by sender: String = "alice") async -> Bool? {
                await store.ask(.mayReadAttachment, in: conversation.slot) { buffer in
                    MayReadAttachment(
                        id ?? file.id, of: draft.id, by: UserID(sender)!, in: conversation,
                        reader: reader.flatMap { UserID($0) }
                    ).write(to: &buffer)
                }.map { $0.status == 200 && $0.payload == [1] }
            }
            #expect(await mayRead("bob") == false)  // Not sent yet.
            _ = await store.send(draft, from: "alice", to: conversation)
            for reader in ["alice", "bob", nil] { #expect(await mayRead(reader) == true) }
            #expect(await mayRead("mallory") == false)
            #expect(await mayRead("bob", MediaID(.random)) == false)
            #expect(await mayRead("bob", by: "bob") == false)
            // Who came later does not see it; who left still does, what was cleared or hidden not.
            _ = await store.write(.putMember(UserID("carol")!, nil), by: "alice", in: conversation)
            #expect(await mayRead("carol") == false)
            _ = await store.write(.removeMember(bob), by: "bob", in: conversation)
            #expect(await mayRead("bob") == true)
            _ = await store.write(.putMember(bob, nil), by: "alice", in: conversation)
            _ = await store.write(.hide(draft.id), by: "bob", in: conversation)
            #expect(await mayRead("bob") == false)
            _ = await store.write(.clearHistory(through: 3), by: "alice", in: conversation)
            #expect(await mayRead("alice") == false)
            #expect(await mayRead(nil) == true)
            _ = await store.write(.deleteForEveryone(draft.id), by: "alice", in: conversation)
            #expect(await mayRead(nil) == false)
        }
    }

    @Test("a message is found by the names of its files, before and after it is indexed, and not once it is deleted")
    @Reactor func found() async throws {
        try await withStore { store in
            let bare = Draft(text: "", files: [File(name: "Quarterly Report.pdf"), File(name: "harbour.jpg")])
            let both = Draft(text: "see below", files: [File(name: "harbour-2.jpg")])
            func found(_ words: String) async -> (ids: Set<String>, snippet: String?) {
                let query = SearchQuery(reader: bob, conversation: conversation, before: nil, limit: 20, text: words)
                let reply = await store.ask(.search, in: conversation.slot, query)
                let results = reply?.field("results") as? [[String: Any]] ?? []
                return (
                    Set(results.compactMap { ($0["message"] as? [String: Any])?["id"] as? String }),
                    results.first?["snippet"] as? String
                )
            }
            _ = await store.send(bare, both, from: "alice", to: conversation)
            for _ in 0..<2 {
                #expect(await found("quarterly report").ids == [bare.id.description])
                #expect(await found("quarterly").snippet == "\u{2}Quarterly\u{3} Report.pdf\nharbour.jpg")
                #expect(await found("harbour").ids == [bare.id.description, both.id.description])
                #expect(await found("below").ids == [both.id.description])
                #expect(await found("image").ids.isEmpty)
                let isIndexed = await eventually {
                    store.indexedCount == 2
                }
                #expect(isIndexed)
            }
            _ = await store.write(.deleteForEveryone(bare.id), by: "alice", in: conversation)
            #expect(await found("quarterly").ids.isEmpty)
            #expect(store.indexedCount == 1)
        }
    }

    @Test("of an erased user media erases the uploads, after the messages and before the user is erased")
    @Reactor func erased() async throws {
        let media = "CREATE SCHEMA media; CREATE TABLE media.objects (id uuid)"
        try await withStore(preparedBy: media) { store in
            try await store.startReceipt()
            let draft = Draft(text: "", files: [File(name: "private.pdf")])
            _ = await store.send(draft, from: "bob", to: conversation)
            store.isMediaAway = true
            let request = EraseUser(bob)
            #expect(await store.ask(.eraseUser, in: bob.slot, request)?.status == 202)
            let isGone = await eventually {
                (try? store.database.query("SELECT FROM store.messages WHERE attachments IS NOT NULL").isEmpty) == true
            }
            #expect(isGone)
            #expect(await store.ask(.eraseUser, in: bob.slot, request)?.status == 202)
            store.isMediaAway = false
            var status: UInt16? = 202
            while status == 202 {
                await Reactor.sleep(for: .milliseconds(10))
                status = await store.ask(.eraseUser, in: bob.slot, request)?.status
            }
            #expect(status == 200)
            #expect(store.mediaErased == [bob])
            let kept = "SELECT FROM store.search_blocks WHERE texts <> '{}' UNION ALL SELECT FROM store.media_releases"
            #expect(try store.database.query(kept).isEmpty)
        }
    }
}
