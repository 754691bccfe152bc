import Foundation
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Polls and votes.
@Suite(.timeLimit(.minutes(2)))
struct PollTests {
    typealias Draft = StoreUnderTest.Draft

    private let conversation = ConversationID(.random)
    private let one = Draft(text: "Which day?", poll: NewPoll(options: ["Sat \"1\"", "Sun", "é"], isMultiple: false))
    private let several = Draft(text: "Which?", poll: NewPoll(options: ["a", "b", "c"], isMultiple: true))

    init() { ReactorThread.start() }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob", "carol"])
        try await body(store)
    }

    @Reactor private func vote(
        _ store: StoreUnderTest, _ user: String, _ options: Int..., in poll: Draft, key: UUIDBytes? = nil
    ) async -> StoreUnderTest.Reply? {
        await store.write(.vote(poll.id, PollOptions(positions: options)!), by: user, in: conversation, key: key)
    }

    /// `counts voters vote`, and `closed`.
    private func shown(_ poll: Any?) -> String {
        guard let poll = poll as? [String: Any], let options = poll["options"] as? [[String: Any]] else {
            return "none"
        }
        let vote = (poll["vote"] as? [String: Any]).map { "\($0["userId"]!):\($0["options"] as? [Int] ?? [])" }
        return "\(options.map { $0["votes"] as? Int ?? -1 }) \(poll["voters"] ?? -1) \(vote ?? "-")"
            + (poll["closedAt"] == nil ? "" : " closed")
    }

    @Reactor private func seen(_ store: StoreUnderTest, _ user: String, _ poll: Draft) async -> String {
        shown(await store.message(poll.id, for: user, in: conversation)?.field("poll"))
    }

    @Test("a poll is sent among others and again; nobody has voted, and everybody gets the same of it")
    @Reactor func sent() async throws {
        try await withStore { store in
            let plain = Draft(text: "Which?"), drafts = [plain, several, one]
            let sent = await store.sendAll(drafts, from: "alice", to: conversation)
            #expect(sent.map(\.status) == [201, 201, 201])
            #expect(sent.map { $0.field("kind") as? String } == ["text", "poll", "poll"])
            #expect(shown(sent[2].field("poll")) == "[0, 0, 0] 0 alice:[]" && shown(sent[0].field("poll")) == "none")
            #expect(await seen(store, "alice", one) == "[0, 0, 0] 0 alice:[]")
            #expect(await seen(store, "bob", one) == "[0, 0, 0] 0 bob:[]")
            let again = await store.sendAll(drafts, from: "alice", to: conversation)
            #expect(again.map(\.status) == [200, 200, 200])
            #expect(again[2].field("poll") as? NSDictionary == sent[2].field("poll") as? NSDictionary)
            var others = drafts
            others[0].poll = several.poll
            others[1].poll = nil
            others[2].poll?.isMultiple = true
            #expect(await store.sendAll(others, from: "alice", to: conversation).map(\.status) == [409, 409, 409])
            others[2].poll = NewPoll(options: ["Sat", "Sun"], isMultiple: false)
            #expect(await store.send(others[2], from: "alice", to: conversation).map(\.status) == [409])
            #expect(
                await store.send(Draft(text: "yes", replyTo: one.id), from: "bob", to: conversation)[0].status == 201)
            #expect(await store.write(.edit(one.id, text: "x"), by: "alice", in: conversation)?.status == 409)
            #expect(await store.eventually { store.changes.count == 5 })
            let live = store.changes.map(\.json).joined()
            #expect(live.contains(#""poll":{"options":[{"text":"Sat \"1\"","votes":0},{"text":"Sun","votes":0}"#))
            #expect(!live.contains(#""vote""#))
        }
    }

    @Test("the last vote stands; the counts follow it, and the change shows whose it is, live and later")
    @Reactor func voted() async throws {
        try await withStore { store in
            _ = await store.send(one, several, from: "alice", to: conversation)
            #expect(shown(await vote(store, "bob", 2, in: one)?.field("poll")) == "[0, 0, 1] 1 bob:[2]")
            #expect(shown(await vote(store, "bob", 0, in: one)?.field("poll")) == "[1, 0, 0] 1 bob:[0]")
            _ = await vote(store, "bob", 0, in: one)
            _ = await vote(store, "carol", 0, in: one)
            _ = await vote(store, "bob", in: one)
            _ = await vote(store, "bob", in: one)
            _ = await vote(store, "alice", 0, 2, in: several)
            _ = await vote(store, "bob", 1, 2, in: several)
            let key = UUIDBytes.random
            _ = await vote(store, "carol", 0, 1, 2, in: several, key: key)
            _ = await vote(store, "carol", 2, in: several)
            #expect(
                shown(await vote(store, "carol", 0, 1, 2, in: several, key: key)?.field("poll"))
                    == "[1, 1, 3] 3 carol:[2]")
            #expect(await vote(store, "carol", 0, in: several, key: key)?.status == 200)
            let expected = [
                "[0, 0, 1] 1 bob:[2]", "[1, 0, 0] 1 bob:[0]", "[2, 0, 0] 2 carol:[0]", "[1, 0, 0] 1 bob:[]",
                "[1, 0, 1] 1 alice:[0, 2]", "[1, 1, 2] 2 bob:[1, 2]", "[2, 2, 3] 3 carol:[0, 1, 2]",
                "[1, 1, 3] 3 carol:[2]",
            ]
            #expect(await store.eventually { store.changes.count == 3 + expected.count })
            let live = try store.changes.dropFirst(3).map { change in
                let json = try JSONSerialization.jsonObject(with: Data(change.json.utf8)) as? [String: Any]
                #expect(json?["kind"] as? String == "poll.voted")
                return shown((json?["message"] as? [String: Any])?["poll"])
            }
            #expect(live == expected)
            // Later, every change has the poll, and the vote, as they are now.
            let changes = await store.changes(conversation, for: "alice")?.field("changes") as? [[String: Any]]
            let polls = changes?.compactMap { ($0["message"] as? [String: Any])?["poll"] }.map(shown) ?? []
            #expect(polls.prefix(3) == ["[1, 0, 0] 1 -", "[1, 1, 3] 3 -", "[1, 0, 0] 1 bob:[]"])
            #expect(polls.last == "[1, 1, 3] 3 carol:[2]" && polls.count == 2 + expected.count)
        }
    }

    @Test("what cannot be voted is refused: other options, two of one, no poll, a closed one, by who is not there")
    @Reactor func refused() async throws {
        try await withStore { store in
            let plain = Draft(text: "plain"), key = UUIDBytes.random
            _ = await store.send(one, several, plain, from: "bob", to: conversation)
            #expect(await vote(store, "bob", 3, in: one)?.status == 400)
            #expect(await vote(store, "bob", 0, 1, in: one)?.status == 400)
            let huge = Write.Action.vote(several.id, PollOptions(bits: .max))
            #expect(await store.write(huge, by: "bob", in: conversation)?.status == 400)
            #expect(await vote(store, "bob", 0, in: plain)?.status == 409)
            #expect(await vote(store, "dave", 0, in: one)?.status == 404)
            func close(_ poll: Draft, _ user: String) async -> StoreUnderTest.Reply? {
                await store.write(.closePoll(poll.id), by: user, in: conversation)
            }
            #expect(await vote(store, "carol", 1, in: one, key: key)?.status == 200)
            #expect(await close(one, "carol")?.status == 403)
            #expect(await close(plain, "bob")?.status == 409)
            #expect(shown(await close(one, "bob")?.field("poll")) == "[0, 1, 0] 1 bob:[] closed")
            let end = await store.conversation(conversation, for: "bob")?.field("lastSeq") as? Int
            #expect(shown(await close(one, "alice")?.field("poll")) == "[0, 1, 0] 1 alice:[] closed")
            #expect(await vote(store, "carol", in: one)?.status == 409)
            #expect(await vote(store, "carol", 1, in: one, key: key)?.status == 200)
            #expect(await store.conversation(conversation, for: "bob")?.field("lastSeq") as? Int == end)
            #expect(shown(await close(several, "alice")?.field("poll")) == "[0, 0, 0] 0 alice:[] closed")
            _ = await store.write(.deleteForEveryone(one.id), by: "bob", in: conversation)
            #expect(await seen(store, "bob", one) == "none")
            #expect(await vote(store, "carol", 0, in: one)?.status == 409)
            #expect(await close(one, "bob")?.status == 409)
            func rows(_ table: String) throws -> Int { try store.database.query("SELECT FROM store.\(table)").count }
            let (votes, polls) = (try rows("votes"), try rows("polls"))
            #expect((votes, polls) == (0, 1))
            // What is deleted before it comes has nothing.
            let early = Draft(text: "early", poll: one.poll)
            _ = await store.write(.deleteForEveryone(early.id), by: "bob", in: conversation)
            #expect(await store.send(early, from: "bob", to: conversation)[0].field("poll") == nil)
            let after = try rows("polls")
            #expect(after == 1)
        }
    }

    @Test("who has left sees the poll of then; their vote stays, and who came later sees nothing of it")
    @Reactor func windows() async throws {
        try await withStore { store in
            _ = await store.send(several, from: "alice", to: conversation)
            _ = await vote(store, "bob", 0, 1, in: several)
            _ = await vote(store, "carol", 1, in: several)
            _ = await store.write(.removeMember(UserID("bob")!), by: "alice", in: conversation)
            _ = await store.write(.putMember(UserID("dave")!, nil), by: "alice", in: conversation)
            #expect(await vote(store, "bob", 2, in: several)?.status == 403)
            #expect(await vote(store, "dave", 2, in: several)?.status == 404)
            _ = await vote(store, "alice", 2, in: several)
            _ = await store.write(.closePoll(several.id), by: "alice", in: conversation)
            #expect(await seen(store, "bob", several) == "[1, 2, 0] 2 bob:[0, 1]")
            #expect(await seen(store, "alice", several) == "[1, 2, 1] 3 alice:[2] closed")
            let later = await store.changes(conversation, for: "dave")?.field("changes") as? [[String: Any]]
            #expect(later?.map { $0["kind"] as? String } == ["member.added", "poll.voted", "poll.closed"])
            #expect(later?.allSatisfy { $0["message"] == nil } == true)
            func votes(_ reader: String, _ option: Int?, after: String = "", limit: UInt16 = 10) async -> [String]? {
                let message = MessageQuery(
                    ConversationQuery(conversation, reader: UserID(reader)!), message: several.id)
                let query = VotesQuery(AfterUserQuery(message, after: after, limit: limit), option: option)
                guard let page = await store.ask(.votes, in: conversation.slot, query), page.status == 200 else {
                    return nil
                }
                return (page.field("votes") as? [[String: Any]] ?? []).map {
                    "\($0["userId"]!) \($0["options"] as? [Int] ?? [])"
                }
                    + [page.field("nextCursor") as? String].compactMap { $0 }
            }
            #expect(await votes("dave", nil) == nil)
            #expect(await votes("bob", nil) == ["bob [0, 1]", "carol [1]"])
            #expect(await votes("alice", nil) == ["alice [2]", "bob [0, 1]", "carol [1]"])
            #expect(await votes("alice", 0) == ["bob [0, 1]"])
            #expect(await votes("alice", 2, limit: 1) == ["alice [2]"])
            #expect(await votes("alice", nil, limit: 2) == ["alice [2]", "bob [0, 1]", "bob"])
            #expect(await votes("alice", nil, after: "bob", limit: 2) == ["carol [1]"])
        }
    }

    @Test("a report has the options, and a search finds the question")
    @Reactor func reported() async throws {
        try await withStore { store in
            _ = await store.send(one, from: "alice", to: conversation)
            let report = NewReport(id: ReportID(.random), message: one.id, reason: .spam)
            #expect(await store.write(.report(report), by: "bob", in: conversation)?.status == 201)
            let kept = try store.database.query("SELECT message_text || '|' || message_options FROM store.reports")
            #expect(kept.map { $0[0] } == ["Which day?|Sat \"1\"\nSun\né"])
            await store.indexed()
            #expect(await store.found("which", by: "bob") == ["Which day?"])
        }
    }
}
