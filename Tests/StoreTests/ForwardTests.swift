import Foundation
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Forwarded messages, as their two stores have them.
@Suite(.timeLimit(.minutes(2)))
struct ForwardTests {
    typealias Draft = StoreUnderTest.Draft

    private let source = ConversationID(.random)
    private let target = ConversationID(.random)
    private let sent = Draft(text: "Nine?")

    init() { ReactorThread.start() }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(source, by: "alice", with: ["bob"])
        _ = await store.create(target, by: "bob", with: ["carol"])
        _ = await store.send(sent, from: "alice", to: source)
        try await body(store)
    }

    @Test("what is forwarded has the text and who wrote it, once; what is edited since is another text")
    @Reactor func once() async throws {
        try await withStore { store in
            let id = MessageID(.random)
            let first = try #require(
                await store.forward(sent.id, of: source, as: id, from: "bob", to: target, origin: true))
            #expect(first.status == 201 && first.field("forwarded", "userId") as? String == "alice")
            _ = await store.write(.edit(sent.id, text: "Ten?"), by: "alice", in: source, key: .random)
            let again = await store.forward(sent.id, of: source, as: id, from: "bob", to: target, origin: true)
            #expect(again?.status == 200 && again?.field("text") as? String == "Nine?")
            let other = await store.forward(sent.id, of: source, from: "bob", to: target, origin: false)
            #expect(other?.field("text") as? String == "Ten?" && other?.field("forwarded") == nil)
        }
    }

    @Test("an erased user is named by nothing new: the send fails for the moment, and is repeated without the name")
    @Reactor func erased() async throws {
        try await withStore { store in
            try store.database.execute(
                "INSERT INTO store.erasures (user_slot, user_id, number, requested_at, erased_at) "
                    + "VALUES (\(UserID("alice")!.slot.number), 'alice', 1, now(), now())")
            let named = await store.forward(sent.id, of: source, from: "bob", to: target, origin: true)
            #expect(named?.status == 503)
            let nameless = await store.forward(sent.id, of: source, from: "bob", to: target, origin: false)
            #expect(nameless?.status == 201)
        }
    }
}
