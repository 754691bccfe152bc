import Foundation
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

@Suite(.timeLimit(.minutes(2)))
struct SettingsTests {
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    private func values(_ reply: StoreUnderTest.Reply?) -> [String: Bool] {
        var values: [String: Bool] = [:]
        for name in ["readReceipts", "presence"] { values[name] = reply?.field(name) as? Bool }
        return values
    }

    /// Returns a user's announced `settings.changed`.
    @Reactor private func told(_ user: String, by store: StoreUnderTest) -> [NSDictionary] {
        store.privateChanges.filter { $0.user.name == user }
            .compactMap { try? JSONSerialization.jsonObject(with: Data($0.json.utf8)) as? NSDictionary }
            .filter { $0["kind"] as? String == "settings.changed" }
    }

    @Test("who decided nothing has the defaults; what is not named stays, and a decision can be given up")
    @Reactor func user() async throws {
        try await withStore { store in
            let alice = UserID("alice")!
            #expect(
                values(await store.ask(.settings, in: alice.slot, SettingsQuery(alice))) == [
                    "readReceipts": true, "presence": true,
                ])
            #expect(values(await store.put(presence: .no, by: "alice")) == ["readReceipts": true, "presence": false])
            #expect(
                values(await store.put(readReceipts: .no, by: "alice")) == ["readReceipts": false, "presence": false])
            #expect(values(await store.put(by: "alice")) == ["readReceipts": false, "presence": false])
            #expect(
                values(await store.put(presence: .inherit, by: "alice")) == ["readReceipts": false, "presence": true])
            #expect(await store.eventually { told("alice", by: store).count == 3 })
            #expect(told("alice", by: store).map { $0["presence"] as? Bool } == [false, false, true])
            #expect(told("alice", by: store).map { $0["readReceipts"] as? Bool } == [true, false, false])
        }
    }

    @Test("one conversation follows the user's own settings until it is decided for, and again when that is given up")
    @Reactor func inConversation() async throws {
        try await withStore { store in
            func expect(_ readReceipts: Bool, _ inherited: [String]) async {
                let settings = await store.settings(of: "bob", in: conversation)
                #expect(settings?.field("readReceipts") as? Bool == readReceipts)
                #expect(settings?.field("inherited") as? [String] == inherited)
            }
            await expect(true, ["readReceipts"])
            _ = await store.put(readReceipts: .no, by: "bob")
            await expect(false, ["readReceipts"])
            let response = await store.write(.putSettings(readReceipts: .yes), by: "bob", in: conversation)
            #expect(response?.status == 200 && response?.field("readReceipts") as? Bool == true)
            await expect(true, [])
            _ = await store.write(.putSettings(readReceipts: .leave), by: "bob", in: conversation)
            await expect(true, [])
            _ = await store.write(.putSettings(readReceipts: .inherit), by: "bob", in: conversation)
            await expect(false, ["readReceipts"])
            #expect(await store.settings(of: "alice", in: conversation)?.field("readReceipts") as? Bool == true)
            #expect(await store.eventually { told("bob", by: store).count == 3 })
            #expect(
                told("bob", by: store).map { $0["conversationId"] as? String == conversation.description } == [
                    false, true, true,
                ])
            #expect(told("bob", by: store).map { $0["readReceipts"] as? Bool } == [false, true, false])
            #expect(told("bob", by: store).last?["inherited"] as? [String] == ["readReceipts"])
        }
    }

    @Test("deciding what is decided already tells nothing")
    @Reactor func nothingNew() async throws {
        try await withStore { store in
            _ = await store.put(readReceipts: .yes, presence: .inherit, by: "alice")
            _ = await store.write(.putSettings(readReceipts: .inherit), by: "alice", in: conversation)
            for _ in 0..<2 { _ = await store.write(.putSettings(readReceipts: .no), by: "alice", in: conversation) }
            for _ in 0..<2 { _ = await store.put(presence: .no, by: "alice") }
            #expect(await store.eventually { told("alice", by: store).count == 2 })
            #expect(told("alice", by: store).map { $0["useq"] as? Int } == [2, 3])
        }
    }

    @Test("strangers find no settings, former members may read but not decide")
    @Reactor func others() async throws {
        try await withStore { store in
            #expect(await store.settings(of: "mallory", in: conversation)?.status == 404)
            #expect(await store.write(.putSettings(readReceipts: .no), by: "mallory", in: conversation)?.status == 404)
            _ = await store.write(.removeMember(UserID("bob")!), by: "bob", in: conversation)
            #expect(await store.settings(of: "bob", in: conversation)?.status == 200)
            #expect(await store.write(.putSettings(readReceipts: .no), by: "bob", in: conversation)?.status == 403)
        }
    }

    @Test(
        "a late repetition under its key does not undo what was decided since; another request under it is a conflict")
    @Reactor func repeated() async throws {
        try await withStore { store in
            let (own, here) = (UUIDBytes.random, UUIDBytes.random)
            _ = await store.put(presence: .no, by: "alice", key: own)
            _ = await store.put(presence: .yes, by: "alice")
            #expect(values(await store.put(presence: .no, by: "alice", key: own))["presence"] == true)
            _ = await store.write(.putSettings(readReceipts: .no), by: "alice", in: conversation, key: here)
            _ = await store.write(.putSettings(readReceipts: .yes), by: "alice", in: conversation)
            let late = await store.write(.putSettings(readReceipts: .no), by: "alice", in: conversation, key: here)
            #expect(late?.field("readReceipts") as? Bool == true)
            #expect(await store.put(presence: .no, by: "alice", key: here)?.status == 409)
            #expect(await store.write(.rename("Plans"), by: "alice", in: conversation, key: own)?.status == 409)
        }
    }

    /// Both are stored with the same number.
    @Test("a key that took a conversation from the list is in use, for settings, too; and the other way round")
    @Reactor func keyOfUnlisting() async throws {
        try await withStore { store in
            let (first, second) = (UUIDBytes.random, UUIDBytes.random)
            _ = await store.write(.removeMember(UserID("bob")!), by: "bob", in: conversation)
            #expect(await store.write(.unlist, by: "bob", in: conversation, key: first)?.status == 204)
            #expect(await store.put(presence: .no, by: "bob", key: first)?.status == 409)
            #expect(values(await store.put(by: "bob"))["presence"] == true)
            #expect(await store.put(presence: .no, by: "bob", key: second)?.status == 200)
            #expect(await store.write(.unlist, by: "bob", in: conversation, key: second)?.status == 409)
        }
    }

    @Test("two devices that decide about different settings at once are both heard")
    @Reactor func twoDevices() async throws {
        try await withStore { store in
            async let first = store.put(readReceipts: .no, by: "alice")
            async let second = store.put(presence: .no, by: "alice")
            #expect(await first?.status == 200)
            #expect(await second?.status == 200)
            #expect(values(await store.put(by: "alice")) == ["readReceipts": false, "presence": false])
        }
    }

    @Test("what was away is told the settings in force, and conversations' with what they follow")
    @Reactor func replayed() async throws {
        try await withStore { store in
            let bob = UserID("bob")!
            _ = await store.put(readReceipts: .no, by: "bob")
            _ = await store.write(.putSettings(readReceipts: .yes), by: "bob", in: conversation)
            _ = await store.put(readReceipts: .yes, presence: .no, by: "bob")
            let start = SyncCursor(
                logID: await store.logID(), useq: 1, transaction: 1, nextTransaction: 1, after: ConversationID(.zero))
            let reply = await store.ask(.sync, in: bob.slot, SyncQuery(bob, since: start))
            let changes = reply?.field("private") as? [[String: Any]] ?? []
            #expect(changes.map { $0["readReceipts"] as? Bool } == [true, true, true])
            #expect(changes.map { $0["presence"] as? Bool } == [false, nil, false])
            #expect(changes.map { $0["inherited"] as? [String] } == [nil, [], nil])
        }
    }
}
