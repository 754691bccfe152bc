import Bytes
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Batches of many messages with some refused. Positions stay dense, and every sender gets their own results.
@Suite(.timeLimit(.minutes(2))) struct SendBatchTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    @Test("refused and repeated messages within a run take no position")
    @Reactor func refusedAmongOthers() async throws {
        try await withStore { store in
            let known = Draft(text: "known"), taken = Draft(text: "bob's")
            _ = await store.send(known, from: "alice", to: conversation)
            _ = await store.send(taken, from: "bob", to: conversation)
            let replies = await store.send(
                Draft(replyTo: MessageID(.random)), Draft(text: "one"), Draft(id: taken.id, text: "mine"), known,
                Draft(text: "two", replyTo: known.id), Draft(replyTo: MessageID(.random)),
                Draft(text: "three", replyTo: taken.id), from: "alice", to: conversation)
            #expect(replies.map(\.status) == [422, 201, 409, 200, 201, 422, 201])
            #expect(replies.map { $0.field("seq") as? Int } == [nil, 4, nil, 2, 5, nil, 6])
            #expect(replies[4].field("replyTo", "preview") as? String == "known")
            #expect(replies[6].field("replyTo", "preview") as? String == "bob's")
            #expect(replies[6].field("replyTo", "senderId") as? String == "bob")
        }
    }

    @Test("a run of many conversations and senders, members and strangers, keeps each conversation dense")
    @Reactor func manyConversations() async throws {
        try await withStore { store in
            let others = (0..<4).map { _ in ConversationID(.random) }
            for other in others { _ = await store.create(other, by: "alice", with: ["bob"]) }
            let all = others + [conversation]
            let sends = (0..<60).map { number in
                let sender = ["alice", "bob", "mallory"][number % 3]
                return Task { @Reactor in
                    await store.send(
                        Draft(mentions: number % 4 == 0 ? "bob" : ""), Draft(), from: sender, to: all[number % 5])
                }
            }
            for (number, send) in sends.enumerated() {
                let statuses = await send.value.map(\.status)
                #expect(statuses == (number % 3 == 2 ? [404, 404] : [201, 201]))
            }
            let seqs = try store.database.query(
                "SELECT count(*), max(seq), count(DISTINCT seq) FROM store.messages GROUP BY conversation_id")
            for row in seqs {
                let count: Int64 = row[0], last: Int64 = row[1], distinct: Int64 = row[2]
                #expect(count == 16 && last == 17 && distinct == 16)
            }
            #expect(seqs.count == 5)
        }
    }

    @Test("within a run, only those messages that were deleted before they came are tombstones")
    @Reactor func deletedEarly() async throws {
        try await withStore { store in
            let deleted = Draft(text: "never seen")
            #expect(
                await store.write(.deleteForEveryone(deleted.id), by: "bob", in: conversation)?.status == 204)
            let replies = await store.send(Draft(), deleted, Draft(), from: "bob", to: conversation)
            #expect(replies.map(\.status) == [201, 201, 201])
            #expect(replies.map { $0.field("deletedForEveryone") as? Bool } == [nil, true, nil])
            #expect(replies.map { $0.field("seq") as? Int } == [2, 3, 4])
        }
    }

    @Test("one message alone meets the same refusals as one of many")
    @Reactor func alone() async throws {
        try await withStore { store in
            let draft = Draft()
            #expect(await store.send(draft, from: "mallory", to: conversation).map(\.status) == [404])
            #expect(await store.send(draft, from: "alice", to: conversation).map(\.status) == [201])
            #expect(await store.send(draft, from: "alice", to: conversation).map(\.status) == [200])
            #expect(await store.send(draft, from: "bob", to: conversation).map(\.status) == [409])
            _ = await store.write(.removeMember(UserID("bob")!), by: "alice", in: conversation)
            #expect(await store.send(Draft(), from: "bob", to: conversation).map(\.status) == [403])
            #expect(await store.send(Draft(), Draft(), from: "bob", to: conversation).map(\.status) == [403, 403])
            #expect(await store.send(Draft(), from: "alice", to: ConversationID(.random)).map(\.status) == [404])
        }
    }
}
