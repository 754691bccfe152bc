import Foundation
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Edits, deletions, tapbacks and members, with a real PostgreSQL and a real bus.
@Suite(.timeLimit(.minutes(2)))
struct WriteTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    /// Opens a conversation of alice, its owner, bob and carol, with one message by alice.
    @Reactor private func withMessage(_ body: (StoreUnderTest, MessageID) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob", "carol"])
        let draft = Draft(mentions: "bob")
        #expect(await store.send(draft, from: "alice", to: conversation).first?.status == 201)
        try await body(store, draft.id)
    }

    // MARK: Edits

    @Test("an edit shows to everybody, keeps the former text as a revision, and is announced with its own state")
    @Reactor func edit() async throws {
        try await withMessage { store, message in
            let edited = try #require(
                await store.write(.edit(message, text: "better"), by: "alice", in: conversation))
            #expect(edited.status == 200)
            #expect(edited.field("text") as? String == "better")
            #expect(edited.field("changeSeq") as? Int == 3)
            #expect(edited.field("editedAt") != nil)
            let query = MessageQuery(ConversationQuery(conversation, reader: UserID("bob")!), message: message)
            let revisions = try #require(await store.ask(.revisions, in: conversation.slot, query))
            #expect(revisions.field("revisions", "0", "text") as? String == "hello")
            #expect(revisions.field("revisions", "1", "text") as? String == "better")
            #expect(await store.eventually { store.changes.last?.json.contains(#""text":"better""#) == true })
            #expect(store.changes.last?.json.contains(#""kind":"message.edited""#) == true)
        }
    }

    @Test("only the sender edits, and only for 15 minutes by the server's clock")
    @Reactor func editRefused() async throws {
        try await withMessage { store, message in
            #expect(await store.write(.edit(message, text: "x"), by: "bob", in: conversation)?.status == 403)
            #expect(await store.write(.edit(message, text: "x"), by: "mallory", in: conversation)?.status == 404)
            #expect(
                await store.write(.edit(MessageID(.random), text: "x"), by: "alice", in: conversation)?.status == 404)
            try store.database.execute(
                "UPDATE store.messages SET created_at = created_at - interval '15 minutes 1 second'")
            guard
                case .problem(let problem) = await store.write(.edit(message, text: "x"), by: "alice", in: conversation)
            else { return #expect(Bool(false), "an edit after the window is refused") }
            #expect(problem.code == .editWindowClosed)
        }
    }

    @Test("an edit repeated with its key is one edit, even after the window has closed")
    @Reactor func editRepeated() async throws {
        try await withMessage { store, message in
            let key = UUIDBytes.random
            let edit = Write.Action.edit(message, text: "once")
            #expect(await store.write(edit, by: "alice", in: conversation, key: key)?.status == 200)
            try store.database.execute("UPDATE store.messages SET created_at = created_at - interval '1 hour'")
            let again = try #require(await store.write(edit, by: "alice", in: conversation, key: key))
            #expect(again.status == 200)
            #expect(again.field("changeSeq") as? Int == 3)
            let other = await store.write(.hide(message), by: "alice", in: conversation, key: key)
            #expect(other?.status == 409)
            let members = UUIDBytes.random
            for (name, status) in [("dave", 200), ("dave", 200), ("erin", 409)] {
                let add = Write.Action.putMember(UserID(name)!, nil)
                #expect(await store.write(add, by: "alice", in: conversation, key: members)?.status == UInt16(status))
            }
        }
    }

    @Test("racing repetitions of one key are carried out once")
    @Reactor func racingKeys() async throws {
        try await withMessage { store, message in
            let key = UUIDBytes.random
            let conversation = conversation
            let edits = (0..<10).map { _ in
                Task { @Reactor in
                    await store.write(.edit(message, text: "once"), by: "alice", in: conversation, key: key)?.status
                }
            }
            for edit in edits { #expect(await edit.value == 200) }
            #expect(await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int == 3)
        }
    }

    // MARK: Deletions

    @Test("a deletion for everyone leaves a tombstone: text, mentions, revisions and tapbacks are gone")
    @Reactor func deletion() async throws {
        try await withMessage { store, message in
            _ = await store.write(.edit(message, text: "secret"), by: "alice", in: conversation)
            _ = await store.write(.setTapback(message, "love"), by: "bob", in: conversation)
            let reply = Draft(replyTo: message)
            _ = await store.send(reply, from: "bob", to: conversation)
            #expect(await store.write(.deleteForEveryone(message), by: "bob", in: conversation)?.status == 403)
            #expect(await store.write(.deleteForEveryone(message), by: "alice", in: conversation)?.status == 204)
            let tombstone = try #require(await store.message(message, for: "bob", in: conversation))
            #expect(tombstone.field("text") is NSNull)
            #expect(tombstone.field("deletedForEveryone") as? Bool == true)
            #expect((tombstone.field("mentions") as? [Any])?.isEmpty == true)
            #expect((tombstone.field("tapbacks") as? [Any])?.isEmpty == true)
            let response = await store.message(reply.id, for: "bob", in: conversation)
            #expect(response?.field("replyTo", "unavailable") as? Bool == true)
            for table in ["revisions", "tapbacks"] {
                #expect(try store.database.query("SELECT FROM store.\(table)").isEmpty)
            }
            #expect(await store.write(.edit(message, text: "x"), by: "alice", in: conversation)?.status == 409)
            #expect(await store.write(.setTapback(message, "love"), by: "bob", in: conversation)?.status == 409)
            #expect(await store.write(.deleteForEveryone(message), by: "alice", in: conversation)?.status == 204)
        }
    }

    @Test("a message that was deleted before it came is stored as a tombstone")
    @Reactor func earlyDeletion() async throws {
        try await withMessage { store, _ in
            let draft = Draft(text: "never seen")
            #expect(await store.write(.deleteForEveryone(draft.id), by: "bob", in: conversation)?.status == 204)
            let sent = await store.send(draft, from: "bob", to: conversation)[0]
            #expect(sent.status == 201)
            #expect(sent.field("deletedForEveryone") as? Bool == true)
            #expect(sent.field("text") is NSNull)
            #expect(await store.eventually { store.changes.count == 3 })
            #expect(store.changes.allSatisfy { !$0.json.contains("never seen") })
            // Another user's deletion of an id that is not theirs has no effect on the sender.
            let other = Draft()
            _ = await store.write(.deleteForEveryone(other.id), by: "carol", in: conversation)
            #expect(await store.send(other, from: "bob", to: conversation)[0].field("text") as? String == "hello")
        }
    }

    @Test("a message hidden by one user is gone for them alone, and their other devices hear of it")
    @Reactor func hiding() async throws {
        try await withMessage { store, message in
            #expect(await store.write(.hide(message), by: "bob", in: conversation)?.status == 204)
            #expect(await store.write(.hide(message), by: "bob", in: conversation)?.status == 204)
            #expect(await store.message(message, for: "bob", in: conversation)?.status == 404)
            #expect(await store.message(message, for: "carol", in: conversation)?.status == 200)
            let bobs = try #require(await store.conversation(conversation, for: "bob"))
            #expect(bobs.field("unreadCount") as? Int == 0 && bobs.field("lastMessage") == nil)
            let told = await store.eventually {
                store.privateChanges.contains {
                    $0.user.name == "bob" && $0.useq == 2 && $0.json.contains(#""kind":"message.hidden""#)
                        && $0.json.contains(message.description)
                }
            }
            #expect(told)
        }
    }

    @Test("clearing takes away what is there, not what comes later, and never goes back")
    @Reactor func clearing() async throws {
        try await withMessage { store, message in
            #expect(await store.write(.clearHistory(through: 0), by: "bob", in: conversation)?.status == 204)
            #expect(await store.write(.clearHistory(through: 1), by: "bob", in: conversation)?.status == 204)
            _ = await store.send(Draft(text: "later"), from: "alice", to: conversation)
            let page = try #require(await store.history(conversation, for: "bob"))
            #expect((page.field("messages") as? [Any])?.count == 1)
            #expect(page.field("messages", "0", "text") as? String == "later")
            #expect(await store.conversation(conversation, for: "bob")?.field("clearedSeq") as? Int == 2)
            #expect(await store.conversation(conversation, for: "carol")?.field("clearedSeq") as? Int == 0)
        }
    }

    @Test("who hid or cleared a message of theirs still gets the answer to a repetition of sending or editing it")
    @Reactor func repeatedAfterClearing() async throws {
        try await withMessage { store, _ in
            let (hidden, cleared, key) = (Draft(), Draft(), UUIDBytes.random)
            for draft in [hidden, cleared] { _ = await store.send(draft, from: "alice", to: conversation) }
            let edit = Write.Action.edit(cleared.id, text: "better")
            #expect(await store.write(edit, by: "alice", in: conversation, key: key)?.status == 200)
            _ = await store.write(.hide(hidden.id), by: "alice", in: conversation)
            _ = await store.write(.clearHistory(through: 0), by: "alice", in: conversation)
            #expect(await store.send(hidden, from: "alice", to: conversation).first?.status == 200)
            let again = try #require(await store.send(cleared, from: "alice", to: conversation).first)
            #expect(again.status == 200 && again.field("text") as? String == "better")
            #expect(await store.write(edit, by: "alice", in: conversation, key: key)?.field("changeSeq") as? Int == 5)
            #expect(await store.message(cleared.id, for: "alice", in: conversation)?.status == 404)
            #expect(await store.send(cleared, from: "bob", to: conversation).first?.status == 409)
        }
    }

    @Test("a repetition gets the outcome of its key, whatever its caller hid, cleared, deleted or left since")
    @Reactor func repeatedAfterwards() async throws {
        try await withMessage { store, message in
            let own = Draft(), key = UUIDBytes.random, others = UUIDBytes.random, additions = UUIDBytes.random
            _ = await store.send(own, from: "bob", to: conversation)
            let edit = Write.Action.edit(own.id, text: "better"), tapback = Write.Action.setTapback(message, "love")
            let addition = Write.Action.putMember(UserID("dave")!, nil)
            let first = await store.write(edit, by: "bob", in: conversation, key: key)
            let second = await store.write(tapback, by: "bob", in: conversation, key: others)
            let third = await store.write(addition, by: "bob", in: conversation, key: additions)
            #expect([first, second, third].allSatisfy { $0?.status == 200 })
            let steps: [(String, Write.Action)] = [
                ("bob", .hide(message)), ("bob", .hide(own.id)), ("bob", .clearHistory(through: 0)),
                ("bob", .removeMember(UserID("bob")!)), ("alice", .deleteForEveryone(message)),
                ("alice", .removeMember(UserID("dave")!)),
            ]
            for (actor, step) in steps {
                #expect(await store.write(step, by: actor, in: conversation)?.status == 204, "\(step)")
                let edited = await store.write(edit, by: "bob", in: conversation, key: key)
                let reacted = await store.write(tapback, by: "bob", in: conversation, key: others)
                let added = await store.write(addition, by: "bob", in: conversation, key: additions)
                #expect(edited?.field("text") as? String == "better", "\(step)")
                #expect(reacted?.field("id") as? String == message.description, "\(step)")
                #expect(added?.field("joinedSeq") as? Int == 6, "\(step)")
            }
            let before = await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int
            #expect(before == 9)
        }
    }

    @Test("a hidden message is not there for new edits and tapbacks of who hid it, and nothing happens")
    @Reactor func writingToHidden() async throws {
        try await withMessage { store, message in
            _ = await store.write(.hide(message), by: "alice", in: conversation)
            for action in [
                Write.Action.edit(message, text: "x"), .setTapback(message, "love"), .removeTapback(message),
            ] {
                #expect(await store.write(action, by: "alice", in: conversation)?.status == 404)
            }
            #expect(await store.conversation(conversation, for: "alice")?.field("lastSeq") as? Int == 2)
            #expect(await store.write(.deleteForEveryone(message), by: "alice", in: conversation)?.status == 204)
        }
    }

    // MARK: Tapbacks

    @Test("one tapback per user stands, the last one; the same again changes nothing")
    @Reactor func tapbacks() async throws {
        try await withMessage { store, message in
            for kind in ["like", "love", "love"] {
                #expect(await store.write(.setTapback(message, kind), by: "bob", in: conversation)?.status == 200)
            }
            let set = try #require(await store.write(.setTapback(message, "🎉"), by: "carol", in: conversation))
            #expect(set.field("tapbackCounts", "love") as? Int == 1)
            #expect(set.field("tapbackCounts", "🎉") as? Int == 1)
            #expect(set.field("changeSeq") as? Int == 5)
            let query = AfterUserQuery(
                MessageQuery(ConversationQuery(conversation, reader: UserID("alice")!), message: message), after: "",
                limit: 1)
            let page = try #require(await store.ask(.tapbacks, in: conversation.slot, query))
            #expect(page.field("tapbacks", "0", "userId") as? String == "bob")
            #expect(page.field("nextCursor") as? String == "bob")
            #expect(await store.write(.removeTapback(message), by: "bob", in: conversation)?.status == 204)
            #expect(await store.write(.removeTapback(message), by: "bob", in: conversation)?.status == 204)
            let now = try #require(await store.message(message, for: "alice", in: conversation))
            #expect(now.field("tapbackCounts", "love") == nil && now.field("changeSeq") as? Int == 6)
        }
    }

    // MARK: Members

    @Test("somebody who joins sees from then on; who leaves, up to then; who comes back, both stays")
    @Reactor func stays() async throws {
        try await withMessage { store, _ in
            let joined = try #require(await store.write(.putMember(UserID("dave")!, nil), by: "bob", in: conversation))
            #expect(joined.status == 200 && joined.field("joinedSeq") as? Int == 3)
            _ = await store.send(Draft(text: "four"), from: "alice", to: conversation)
            #expect(await store.write(.removeMember(UserID("dave")!), by: "dave", in: conversation)?.status == 204)
            _ = await store.send(Draft(text: "six"), from: "alice", to: conversation)
            #expect(await store.send(Draft(), from: "dave", to: conversation).first?.status == 403)
            let left = try #require(await store.history(conversation, for: "dave"))
            #expect((left.field("messages") as? [[String: Any]])?.map { $0["seq"] as? Int } == [3, 4, 5])
            #expect(left.field("lastSeq") as? Int == 5)
            #expect(left.field("messages", "0", "event", "kind") as? String == "member.added")
            #expect(left.field("messages", "0", "event", "userId") as? String == "dave")
            #expect(await store.conversation(conversation, for: "dave")?.field("lastSeq") as? Int == 5)
            _ = await store.write(.putMember(UserID("dave")!, nil), by: "alice", in: conversation)
            let back = try #require(await store.history(conversation, for: "dave"))
            #expect((back.field("messages") as? [[String: Any]])?.map { $0["seq"] as? Int } == [3, 4, 5, 7])
            let conversation = try #require(await store.conversation(conversation, for: "dave"))
            #expect((conversation.field("windows") as? [Any])?.count == 2)
            #expect(conversation.field("memberCount") as? Int == 4)
        }
    }

    @Test("owners remove and promote; members do neither; the last owner's leaving hands ownership on")
    @Reactor func roles() async throws {
        try await withMessage { store, _ in
            let carol = UserID("carol")!
            #expect(await store.write(.removeMember(carol), by: "bob", in: conversation)?.status == 403)
            #expect(await store.write(.putMember(carol, .owner), by: "bob", in: conversation)?.status == 403)
            #expect(await store.write(.removeMember(UserID("eve")!), by: "alice", in: conversation)?.status == 404)
            #expect(await store.write(.removeMember(UserID("alice")!), by: "alice", in: conversation)?.status == 204)
            #expect(await store.conversation(conversation, for: "bob")?.field("role") as? String == "owner")
            #expect(
                await store.write(.putMember(carol, .owner), by: "bob", in: conversation)?.field("role") as? String
                    == "owner")
            #expect(await store.eventually { store.changes.count == 5 })
            #expect(store.changes.map(\.seq) == [1, 2, 3, 4, 5])
            #expect(store.changes[2].json.contains(#""kind":"member.removed""#))
            #expect(store.changes[3].json.contains(#""kind":"member.changed""#))
        }
    }

    @Test("a title changes for all and shows in the history; a direct conversation has neither title nor new members")
    @Reactor func titles() async throws {
        try await withMessage { store, _ in
            let renamed = try #require(await store.write(.rename("Plans"), by: "bob", in: conversation))
            #expect(renamed.field("title") as? String == "Plans")
            #expect(renamed.field("lastMessage", "event", "title") as? String == "Plans")
            #expect(await store.eventually { store.changes.last?.json.contains(#""title":"Plans""#) == true })
            try store.database.execute("UPDATE store.conversations SET kind = 2")
            #expect(await store.write(.rename("No"), by: "bob", in: conversation)?.status == 409)
            #expect(await store.write(.putMember(UserID("eve")!, nil), by: "bob", in: conversation)?.status == 409)
            #expect(await store.write(.removeMember(UserID("bob")!), by: "bob", in: conversation)?.status == 409)
        }
    }

    // MARK: Sync

    @Test("sync tells every conversation once, then only those that changed, and the private changes in between")
    @Reactor func sync() async throws {
        try await withMessage { store, message in
            let bob = UserID("bob")!
            var others: [ConversationID] = []
            for _ in 0..<3 {
                others.append(ConversationID(.random))
                _ = await store.create(others.last!, by: "alice", with: ["bob"])
            }
            func sync(_ since: Any?) async throws -> (ids: Set<String>, privately: [String], cursor: String) {
                let cursor = (since as? String).flatMap(SyncCursor.init(text:))
                let reply = try #require(await store.ask(.sync, in: bob.slot, SyncQuery(bob, since: cursor)))
                #expect(reply.field("more") as? Bool == false)
                let ids = (reply.field("conversations") as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
                let kinds = (reply.field("private") as? [[String: Any]] ?? []).compactMap { $0["kind"] as? String }
                return (Set(ids), kinds, try #require(reply.field("cursor") as? String))
            }
            let first = try await sync(nil)
            #expect(first.ids == Set((others + [conversation]).map(\.description)))
            let quiet = try await sync(first.cursor)
            #expect(quiet.privately.isEmpty)
            _ = await store.send(Draft(), from: "alice", to: others[1])
            _ = await store.write(.hide(message), by: "bob", in: conversation)
            let second = try await sync(quiet.cursor)
            #expect(second.ids.contains(others[1].description) && second.privately == ["message.hidden"])
            #expect(!second.ids.contains(others[0].description))
            var foreign = try #require(SyncCursor(text: second.cursor))
            foreign.logID = .random
            #expect(await store.ask(.sync, in: bob.slot, SyncQuery(bob, since: foreign))?.status == 409)
        }
    }
}
