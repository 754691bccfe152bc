import Foundation
import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

extension NewScheduled {
    /// In an hour, unless said otherwise.
    static func later(
        _ id: MessageID = MessageID(.random), seconds: Double = 3_600, replyTo: MessageID? = nil, mentions: String = "",
        extra: String = "", text: String = "later"
    ) -> NewScheduled {
        let at = Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 + seconds) * 1000))
        return NewScheduled(id, at: at, replyTo: replyTo, mentions: mentions, extra: extra, text: text)
    }

    static func now(_ id: MessageID = MessageID(.random), text: String = "now") -> NewScheduled {
        NewScheduled(id, at: Timestamp(milliseconds: 0), text: text)
    }
}

/// Messages that are sent at a time: once, and by the rules of then.
@Suite(.timeLimit(.minutes(3))) struct ScheduledTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)
    let bob = UserID("bob")!

    init() { ReactorThread.start() }

    @Reactor private func withGroup(
        layout: Layout = .plain, settings: [String: String] = [:], _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(layout: layout, settings: settings)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    @Reactor private func put(
        _ message: NewScheduled, by user: String = "bob", in other: ConversationID? = nil, key: UUIDBytes? = nil,
        _ store: StoreUnderTest
    ) async -> UInt16? {
        await store.write(.schedule(message), by: user, in: other ?? conversation, key: key)?.status
    }

    @Reactor private func cancel(
        _ id: MessageID, by user: String = "bob", key: UUIDBytes? = nil, _ store: StoreUnderTest
    ) async -> UInt16? {
        await store.write(.cancelScheduled(id), by: user, in: conversation, key: key)?.status
    }

    /// Has the time come of what is scheduled.
    private func come(where condition: String = "true", _ store: StoreUnderTest) throws {
        try store.database.execute("UPDATE store.scheduled SET at = at - interval '2 hours' WHERE \(condition)")
    }

    private func number(_ sql: String, _ store: StoreUnderTest) throws -> Int64 {
        try #require(try store.database.query(sql).first)[0]
    }

    private func texts(_ store: StoreUnderTest) throws -> [String] {
        try store.database.query(
            "SELECT body FROM store.messages WHERE kind <> \(MessageKind.system.rawValue) ORDER BY seq"
        ).map {
            $0[0]
        }
    }

    private func waiting(_ store: StoreUnderTest) throws -> Int64 {
        try number("SELECT count(*) FROM store.scheduled WHERE problem IS NULL", store)
    }

    @Reactor private func list(of user: String = "bob", _ store: StoreUnderTest) async -> [[String: Any]] {
        let user = UserID(user)!
        let reply = await store.ask(.scheduled, in: user.slot, ScheduledQuery(user, in: nil, after: 0, limit: 100))
        return reply?.field("scheduled") as? [[String: Any]] ?? []
    }

    @Reactor private func failure(of id: MessageID, _ store: StoreUnderTest) async -> String? {
        let found = await list(store).first { $0["id"] as? String == id.description }
        return (found?["failure"] as? [String: Any])?["code"] as? String
    }

    private func expectDense(_ store: StoreUnderTest) throws {
        let rows = try store.database.query(
            """
            SELECT c.last_seq, count(*), count(DISTINCT p.seq) FROM store.conversations c
            JOIN (SELECT conversation_id, seq FROM store.messages UNION ALL SELECT conversation_id, seq FROM store.changes) p
                ON p.conversation_id = c.id
            GROUP BY c.id, c.last_seq
            """)
        #expect(rows.allSatisfy { ($0[0] as Int64) == ($0[1] as Int64) && ($0[1] as Int64) == ($0[2] as Int64) })
    }

    // MARK: Once

    @Test(
        "a message is sent when its time has come, as any other, and is scheduled no more",
        arguments: [Layout.plain, .partitions(4)])
    @Reactor func atItsTime(layout: Layout) async throws {
        try await withGroup(layout: layout) { store in
            let parent = Draft(text: "parent")
            _ = await store.send(parent, from: "alice", to: conversation)
            let message = NewScheduled.later(
                replyTo: parent.id, mentions: "alice,carol", extra: #"{"a":1}"#, text: "later")
            #expect(await put(message, store) == 204)
            let listed = await list(store)
            #expect(listed.count == 1 && listed[0]["text"] as? String == "later" && listed[0]["failure"] == nil)
            #expect(listed[0]["mentions"] as? [String] == ["alice", "carol"] && listed[0]["extra"] != nil)
            await Reactor.sleep(for: .milliseconds(1_500))
            #expect(try waiting(store) == 1, "not before")
            let before = try number("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", store)
            try come(store)
            #expect(await store.eventually { (try? texts(store)) == ["parent", "later"] })
            #expect(try waiting(store) == 0)
            #expect(await list(store).isEmpty)
            let sent = try #require(await store.message(message.id, for: "alice", in: conversation))
            #expect(sent.field("replyTo", "messageId") as? String == parent.id.description)
            #expect(sent.field("mentions") as? [String] == ["alice", "carol"])
            #expect(sent.field("extra", "a") as? Int == 1 && sent.field("senderId") as? String == "bob")
            #expect(
                try number("SELECT (extract(epoch FROM max(created_at)) * 1000)::bigint FROM store.messages", store)
                    >= before)
            #expect(await store.conversation(conversation, for: "alice")?.field("unreadCount") as? Int == 1)
            #expect(await store.eventually { store.changes.contains { $0.json.contains(#""text":"later""#) } })
            let told = store.privateChanges.filter { $0.user == bob && $0.json.contains(#""kind":"scheduled""#) }
            #expect(told.map { $0.json.contains(#""text":"later""#) } == [true, false])
            #expect(store.privateChanges.allSatisfy { $0.user == bob || !$0.json.contains(#""kind":"scheduled""#) })
            try expectDense(store)
        }
    }

    @Test("what is scheduled for now is sent at once, and what comes to be sent by another way is sent once")
    @Reactor func now() async throws {
        try await withGroup { store in
            #expect(await put(.now(text: "one"), store) == 204)
            #expect(await store.eventually { (try? texts(store)) == ["one"] })
            let message = NewScheduled.later(text: "two")
            #expect(await put(message, store) == 204)
            #expect(
                await store.send(Draft(id: message.id, text: "two"), from: "bob", to: conversation)[0].status == 201)
            #expect(await put(message, store) == 409)
            #expect(await cancel(message.id, store) == 204, "the row goes")
            #expect(await cancel(message.id, store) == 409)
            let other = NewScheduled.later(text: "three")
            #expect(await put(other, store) == 204)
            #expect(await store.send(Draft(id: other.id, text: "3"), from: "bob", to: conversation)[0].status == 201)
            try come(store)
            #expect(await store.eventually { (try? waiting(store)) == 0 })
            #expect(try texts(store) == ["one", "two", "3"])
            #expect(await list(store).isEmpty)
        }
    }

    @Test("steps that come many times at once, from anybody, send each message once and in the order of their times")
    @Reactor func manySteps() async throws {
        try await withGroup { store in
            for number in (0..<20).shuffled() {
                #expect(await put(.later(seconds: 3_600 + Double(number), text: "\(number)"), store) == 204)
            }
            try come(store)
            let steps = (0..<60).map { _ in
                Task { @Reactor in
                    await store.ask(.sendScheduled, in: conversation.slot, SendScheduled(of: bob, in: conversation))?
                        .status
                }
            }
            for step in steps { _ = await step.value }
            #expect(await store.eventually { (try? waiting(store)) == 0 })
            #expect(try texts(store) == (0..<20).map(String.init))
            try expectDense(store)
        }
    }

    @Test(
        "a cancellation that succeeds keeps the message from ever being there, and one that does not says that it is there"
    )
    @Reactor func race() async throws {
        try await withGroup { store in
            var fates: [UInt16?: Int] = [:]
            // A look comes once a second: rounds go on until one has come in the middle of cancellations.
            for round in 0..<60 where round < 4 || fates[204] == nil || fates[409] == nil {
                let messages = (0..<50).map { NewScheduled.later(text: "\($0)") }
                for message in messages { #expect(await put(message, store) == 204) }
                try come(store)
                let cancellations = messages.enumerated().map { number, message in
                    Task { @Reactor in
                        await Reactor.sleep(for: .milliseconds(number * 8))
                        return (message.id, await cancel(message.id, store))
                    }
                }
                var results: [(MessageID, UInt16?)] = []
                for cancellation in cancellations { results.append(await cancellation.value) }
                #expect(await store.eventually { (try? waiting(store)) == 0 })
                for (id, status) in results {
                    let isThere = try number("SELECT count(*) FROM store.messages WHERE id = '\(id)'", store)
                    #expect(isThere == (status == 409 ? 1 : 0) && [204, 409].contains(status))
                    fates[status, default: 0] += 1
                }
            }
            #expect(fates[204, default: 0] > 0 && fates[409, default: 0] > 0, "both happen: \(fates)")
            try expectDense(store)
        }
    }

    @Test(
        "what one store has begun the next one ends: each message is sent once, whoever dies and whoever writes meanwhile"
    )
    @Reactor func takeover() async throws {
        try await withGroup { store in
            for number in 0..<100 { #expect(await put(.later(text: "\(number)"), store) == 204) }
            try come(store)
            #expect(await store.eventually { (try? waiting(store)) ?? 100 < 100 })
            for _ in 0..<3 {
                try await store.crash()
                for _ in 0..<5 { _ = await store.send(Draft(text: "live"), from: "alice", to: conversation) }
            }
            #expect(await store.eventually { (try? waiting(store)) == 0 })
            #expect(
                try number("SELECT count(*) FROM store.messages WHERE sender_id = 'bob' AND body <> ''", store) == 100)
            #expect(try number("SELECT count(DISTINCT body) FROM store.messages WHERE sender_id = 'bob'", store) == 100)
            try expectDense(store)
        }
    }

    @Test("a repetition under its key changes nothing, whatever has become of the message")
    @Reactor func keys() async throws {
        try await withGroup { store in
            let message = NewScheduled.later(), key = UUIDBytes.random, other = UUIDBytes.random
            #expect(await put(message, key: key, store) == 204)
            #expect(await cancel(message.id, key: other, store) == 204)
            #expect(await put(message, key: key, store) == 204)
            let present = try waiting(store)
            #expect(present == 0, "it was scheduled before")
            #expect(await put(message, key: other, store) == 409, "the key is that of the cancellation")
            #expect(await put(message, store) == 204)
            #expect(await cancel(message.id, key: other, store) == 204)
            let one = try waiting(store)
            #expect(one == 1)
        }
    }

    // MARK: The rules of then

    @Test(
        "what may not be sent at its time is kept with the problem, for its author, and is sent when it is scheduled anew"
    )
    @Reactor func refusals() async throws {
        try await withGroup { store in
            let parent = Draft(text: "parent"), taken = MessageID(.random)
            _ = await store.send(parent, from: "alice", to: conversation)
            let reply = NewScheduled.later(replyTo: parent.id, text: "reply")
            let all = NewScheduled.later(mentions: "*", text: "all"), clash = NewScheduled.later(taken, text: "clash")
            for message in [reply, all, clash] { #expect(await put(message, store) == 204) }
            _ = await store.write(.deleteForEveryone(parent.id), by: "alice", in: conversation)
            _ = await store.send(Draft(id: taken, text: "alice's"), from: "alice", to: conversation)
            _ = await store.write(
                .setPermissions(GroupPermissions(mentionAll: .admins)), by: "alice", in: conversation)
            try come(store)
            #expect(await store.eventually { (try? waiting(store)) == 0 })
            #expect(await failure(of: reply.id, store) == "notReplyable")
            #expect(await failure(of: all.id, store) == "forbidden")
            #expect(await failure(of: clash.id, store) == "conflict")
            #expect(try texts(store).filter { ["reply", "all", "clash"].contains($0) }.isEmpty)
            #expect(await list(of: "alice", store).isEmpty)
            // Failed ones are told of, with why.
            let told = store.privateChanges.filter { $0.json.contains(#""failure""#) }
            #expect(told.count == 3 && told.allSatisfy { $0.user == bob })

            _ = await store.write(
                .setPermissions(GroupPermissions(mentionAll: .members)), by: "alice", in: conversation)
            #expect(
                await put(NewScheduled(all.id, at: Timestamp(milliseconds: 0), mentions: "*", text: "all"), store)
                    == 204)
            #expect(await store.eventually { (try? texts(store).last) == "all" })
            for id in [reply.id, clash.id] { #expect(await cancel(id, store) == 204) }
            #expect(await list(store).isEmpty)
            try expectDense(store)
        }
    }

    @Test("who was removed, may not write, or is suspended sends nothing that they have scheduled")
    @Reactor func standing() async throws {
        try await withGroup { store in
            let silenced = NewScheduled.later(text: "silenced")
            #expect(await put(silenced, store) == 204)
            _ = await store.write(.setPermissions(GroupPermissions(write: .admins)), by: "alice", in: conversation)
            try come(store)
            #expect(await store.eventually { (try? waiting(store)) == 0 })
            #expect(await failure(of: silenced.id, store) == "forbidden")
            _ = await store.write(.setPermissions(.byDefault), by: "alice", in: conversation)

            let suspended = NewScheduled.later(text: "suspended")
            #expect(await put(suspended, store) == 204)
            for mode in [SuspensionMode.out, .readOnly] {
                _ = await store.ask(.suspendUser, in: bob.slot, SuspendUser(bob, mode))
                try come(where: "problem IS NULL", store)
                #expect(await store.eventually { (try? waiting(store)) == 0 })
                #expect(await failure(of: suspended.id, store) == "suspended")
                _ = await store.ask(.suspendUser, in: bob.slot, SuspendUser(bob, nil))
                #expect(await put(.later(suspended.id, text: "suspended"), store) == 204)
            }
            _ = await store.write(.removeMember(bob), by: "alice", in: conversation)
            try come(where: "problem IS NULL", store)
            #expect(await store.eventually { (try? waiting(store)) == 0 })
            #expect(await failure(of: suspended.id, store) == "forbidden")
            #expect(try texts(store).isEmpty)
            // A former member schedules nothing, and cancels.
            #expect(await put(.later(), store) == 403)
            for id in [silenced.id, suspended.id] { #expect(await cancel(id, store) == 204) }
            #expect(await put(.later(), by: "mallory", store) == 404)
            #expect(await cancel(silenced.id, by: "mallory", store) == 404)
            #expect(await list(store).isEmpty)
        }
    }

    @Test("whoever has taken the conversation from their list still cancels what is left of it")
    @Reactor func unlisted() async throws {
        try await withGroup { store in
            let message = NewScheduled.later()
            #expect(await put(message, store) == 204)
            _ = await store.write(.removeMember(bob), by: "bob", in: conversation)
            _ = await store.write(.unlist, by: "bob", in: conversation)
            try come(store)
            #expect(await store.eventually { (try? waiting(store)) == 0 })
            #expect(await failure(of: message.id, store) != nil)
            #expect(await cancel(message.id, store) == 204)
            #expect(await list(store).isEmpty)
        }
    }

    @Test("a message that was deleted for everyone before its time leaves a tombstone")
    @Reactor func deletedEarly() async throws {
        try await withGroup { store in
            let message = NewScheduled.later(text: "never seen")
            #expect(await put(message, store) == 204)
            #expect(await store.write(.deleteForEveryone(message.id), by: "bob", in: conversation)?.status == 204)
            try come(store)
            #expect(await store.eventually { (try? waiting(store)) == 0 })
            #expect(
                try number("SELECT count(*) FROM store.messages WHERE deleted_at IS NOT NULL AND body IS NULL", store)
                    == 1)
            #expect(!store.changes.contains { $0.json.contains("never seen") })
        }
    }

    // MARK: Bounds

    @Test("a user has a hundred at most, with those that failed, and in time that is near enough")
    @Reactor func bounds() async throws {
        try await withGroup { store in
            let first = NewScheduled.later()
            for number in 0..<ContractLimits.scheduledPerUser {
                #expect(await put(number == 0 ? first : .later(), store) == 204)
            }
            #expect(await put(.later(), store) == 409)
            #expect(await put(.later(first.id, text: "other"), store) == 204, "in place of itself")
            #expect(await put(.later(), by: "alice", store) == 204)
            #expect(await cancel(first.id, store) == 204)
            #expect(await put(.later(), store) == 204)
            let ahead = Double(ContractLimits.scheduledAhead.components.seconds)
            let behind = Double(ContractLimits.scheduledBehind.components.seconds)
            #expect(await put(.later(seconds: ahead + 60), by: "alice", store) == 400)
            #expect(await put(.later(seconds: ahead - 60), by: "alice", store) == 204)
            #expect(await put(.later(seconds: -behind - 60), by: "alice", store) == 400)
            #expect(await put(.later(seconds: 60 - behind, text: "late"), by: "alice", store) == 204)
            #expect(await store.eventually { (try? texts(store)) == ["late"] })
        }
    }

    @Test(
        "pages come in the order in which devices were told, and a change that is told again has the message as it is")
    @Reactor func pages() async throws {
        try await withGroup { store in
            let messages = (0..<5).map { NewScheduled.later(text: "\($0)") }
            for message in messages { #expect(await put(message, store) == 204) }
            #expect(await put(.later(messages[1].id, text: "1 again"), store) == 204)
            var found: [String] = [], after: Int64 = 0, more = true
            while more {
                let page = await store.ask(
                    .scheduled, in: bob.slot, ScheduledQuery(bob, in: conversation, after: after, limit: 2))
                let items = page?.field("scheduled") as? [[String: Any]] ?? []
                found += items.compactMap { $0["text"] as? String }
                after = items.last?["useq"] as? Int64 ?? 0
                more = page?.field("more") as? Bool ?? false
            }
            #expect(found == ["0", "2", "3", "4", "1 again"])
            let none = await store.ask(
                .scheduled, in: bob.slot, ScheduledQuery(bob, in: ConversationID(.random), after: 0, limit: 2))
            #expect((none?.field("scheduled") as? [Any])?.isEmpty == true)
        }
    }

    @Test("a hundred that are due at once in a hundred conversations hold up no send")
    @Reactor func flood() async throws {
        try await withGroup { store in
            for _ in 0..<ContractLimits.scheduledPerUser {
                let other = ConversationID(.random)
                _ = await store.create(other, by: "bob", with: [])
                #expect(await put(.later(text: String(repeating: "x", count: 16_384)), in: other, store) == 204)
            }
            try come(store)
            var longest = Duration.zero
            while try waiting(store) > 0 {
                let begun = ContinuousClock.now
                #expect(await store.send(Draft(), from: "alice", to: conversation)[0].status == 201)
                longest = max(longest, .now - begun)
            }
            #expect(longest < .seconds(2), "\(longest)")
            #expect(try number("SELECT count(*) FROM store.messages WHERE length(body) = 16384", store) == 100)
        }
    }
}
