import Foundation
import Models
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Store

private let alice = UserID("alice")!
private let bob = UserID("bob")!

/// Whom somebody brings into a conversation who does not know them is asked first. To the others they are a member who is away.
@Suite(.timeLimit(.minutes(2)))
struct RequestTests {
    /// Of alice and bob, as clients derive it: bob asks, alice decides.
    let direct = DirectConversation.id(alice, bob)
    let group = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withStore(
        asks: Bool = true, conversationsPerUser: Int? = nil, _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        var settings = asks ? ["PARLEY_MESSAGE_REQUESTS": "strangers"] : [:]
        settings["PARLEY_CONVERSATIONS_PER_USER"] = conversationsPerUser.map { "\($0)" }
        let store = try await StoreUnderTest(settings: settings)
        defer { store.close() }
        try await body(store)
    }

    @Reactor private func open(by creator: UserID = bob, with other: UserID = alice, _ store: StoreUnderTest) async
        -> UInt16?
    {
        let conversation = DirectConversation.id(creator, other)
        return await store.ask(
            .createConversation, in: conversation.slot,
            CreateConversation(conversation: conversation, kind: .direct, creator: creator, title: "", members: [other])
        )?
        .status
    }

    @Reactor private func waiting(for user: String = "alice", _ store: StoreUnderTest) async -> [NSDictionary] {
        let user = UserID(user)!
        return await store.ask(.requests, in: user.slot, SettingsQuery(user))?.field("requests") as? [NSDictionary]
            ?? []
    }

    @Reactor private func ids(_ requests: [NSDictionary]) -> [String?] {
        requests.map { ($0["conversation"] as? NSDictionary)?["id"] as? String }
    }

    @Reactor private func listed(_ user: String = "alice", _ store: StoreUnderTest) async -> [String] {
        let list = ListConversations(reader: UserID(user)!, limit: 50, before: .start)
        let reply = await store.ask(.listConversations, in: UserID(user)!.slot, list)
        return (reply?.field("conversations") as? [NSDictionary] ?? []).compactMap { $0["id"] as? String }
    }

    @Reactor private func texts(of user: String, in conversation: ConversationID, _ store: StoreUnderTest) async
        -> [String]
    {
        let reply = await store.history(conversation, for: user)
        return (reply?.field("messages") as? [NSDictionary] ?? []).compactMap { $0["text"] as? String }
    }

    @Reactor private func send(
        _ text: String, by user: String, in conversation: ConversationID, _ store: StoreUnderTest
    ) async
        -> UInt16?
    {
        await store.send(.init(text: text), from: user, to: conversation).first?.status
    }

    @Reactor private func block(_ isBlocked: Bool, _ store: StoreUnderTest) async -> UInt16? {
        await store.write(.block(bob, isBlocked), by: "alice", in: direct)?.status
    }

    @Reactor private func kinds(told user: String, _ store: StoreUnderTest) -> [String] {
        store.privateChanges.filter { $0.user.name == user }.map { change in
            let json = try? JSONSerialization.jsonObject(with: Data(change.json.utf8)) as? NSDictionary
            let waiting = (json?["waiting"] as? Bool).map { $0 ? " waits" : " ended" } ?? ""
            return (json?["kind"] as? String ?? "") + waiting
        }
    }

    /// All that others can read of a conversation without asking it about a user.
    @Reactor private func shown(_ conversation: ConversationID, _ store: StoreUnderTest) throws -> [String] {
        try store.database.query(
            """
            SELECT concat_ws(' ', c.xmin::text, c.last_seq, c.last_at, c.member_count) FROM store.conversations c
            WHERE c.id = $1::text::uuid
            UNION ALL
            SELECT concat_ws(' ', a.user_id, a.joined_seq, a.left_seq, a.role) FROM store.published_appearances a
            WHERE a.conversation_id = $1::text::uuid ORDER BY 1
            """
        ) { $0.add("\(conversation)") }.map { $0[0] as String }
    }

    @Test("nobody is asked unless the option is on")
    @Reactor func off() async throws {
        try await withStore(asks: false) { store in
            #expect(await open(store) == 201)
            #expect(await waiting(store).isEmpty)
            #expect(await listed("alice", store) == ["\(direct)"])
            #expect(await store.conversation(direct, for: "alice")?.field("request") == nil)
        }
    }

    @Test("a request is read, and listed apart; whoever has it is no member; its opener sees one")
    @Reactor func waits() async throws {
        try await withStore { store in
            #expect(await open(store) == 201)
            #expect(await send("Hello", by: "bob", in: direct, store) == 201)
            let requests = await waiting(store)
            #expect(ids(requests) == ["\(direct)"] && requests[0]["userId"] as? String == "bob")
            let last = (requests[0]["conversation"] as? NSDictionary)?["lastMessage"] as? NSDictionary
            #expect(last?["text"] as? String == "Hello")
            #expect(await listed("alice", store).isEmpty)
            #expect(await texts(of: "alice", in: direct, store) == ["Hello"])
            let view = await store.conversation(direct, for: "alice")
            #expect(view?.field("request") as? Bool == true && view?.field("windows") as? NSArray == [["from": 1]])
            #expect(await store.conversation(direct, for: "bob")?.field("request") == nil)
            #expect(await store.conversation(direct, for: "bob")?.field("memberCount") as? Int == 2)
            #expect(await waiting(for: "bob", store).isEmpty)
            #expect(await listed("bob", store) == ["\(direct)"])
            let refused: [(Write.Action, UInt16)] = [
                (.clearHistory(through: 0), 403), (.rename("no"), 403), (.putSettings(readReceipts: .no), 403),
                (.mark(.pinned(order: 1)), 409), (.unlist, 204), (.removeMember(alice), 403),
            ]
            for (action, status) in refused {
                #expect(await store.write(action, by: "alice", in: direct)?.status == status)
            }
            #expect(await ids(waiting(store)) == ["\(direct)"])
            #expect(await store.eventually { kinds(told: "alice", store) == ["request waits"] })
            let inbox = try store.database.query("SELECT FROM store.inbox WHERE user_id = 'alice'")
            #expect(inbox.isEmpty)
        }
    }

    @Test("what the application says of each holds, with the option and without it", arguments: [false, true])
    @Reactor func consents(asks: Bool) async throws {
        try await withStore(asks: asks) { store in
            let people = ["given", "asked", "declined"].map { UserID($0)! }
            func code(_ reply: StoreUnderTest.Reply?) -> Problem.Code? {
                if case .problem(let problem) = reply { problem.code } else { nil }
            }
            func create(_ id: ConversationID, _ consents: [Consent]) async -> StoreUnderTest.Reply? {
                await store.ask(
                    .createConversation, in: id.slot,
                    CreateConversation(
                        conversation: id, kind: .group, creator: bob, title: "", members: people, Introduction(consents)
                    ))
            }
            let groups = [group, ConversationID(.random)]
            let nothing: [(Consent, Problem.Code)] = [(.refused, .refusedByApplication), (.unanswered, .unavailable)]
            for (consent, refusal) in nothing {
                #expect(await code(create(group, [.given, .asked, consent])) == refusal)
            }
            #expect(await listed("bob", store).isEmpty)
            #expect(await create(groups[0], [.given, .asked, .declined])?.status == 201)
            #expect(await create(groups[0], [.refused, .refused, .refused])?.status == 200, "it is there")
            _ = await store.ask(
                .createConversation, in: groups[1].slot,
                CreateConversation(conversation: groups[1], kind: .group, creator: bob, title: "", members: []))
            for (person, consent) in zip(people, [Consent.given, .asked, .declined]) {
                for (consent, refusal) in nothing {
                    let add = Write.Action.putMember(person, nil, Introduction([consent]))
                    #expect(await code(store.write(add, by: "bob", in: groups[1])) == refusal)
                }
                let add = Write.Action.putMember(person, nil, Introduction([consent]))
                #expect(await store.write(add, by: "bob", in: groups[1])?.status == 200)
                let promote = Write.Action.putMember(person, .admin, Introduction([.refused]))
                #expect(await store.write(promote, by: "bob", in: groups[1])?.status == 200, "who is in")
            }
            for id in groups {
                #expect(await store.conversation(id, for: "bob")?.field("memberCount") as? Int == 4)
            }
            let ids = Set(groups.map { "\($0)" })
            #expect(await Set(listed("given", store)) == ids)
            #expect(await waiting(for: "given", store).isEmpty)
            #expect(await listed("asked", store).isEmpty)
            #expect(await Set(self.ids(waiting(for: "asked", store)).compactMap(\.self)) == ids)
            #expect(await listed("declined", store).isEmpty)
            #expect(await waiting(for: "declined", store).isEmpty)
            #expect(kinds(told: "declined", store).isEmpty)
        }
    }

    @Test("an outcome that waits for the application is not kept for a repetition, one that was decided is")
    @Reactor func undecided() async throws {
        try await withStore { store in
            _ = await store.ask(
                .createConversation, in: group.slot,
                CreateConversation(conversation: group, kind: .group, creator: bob, title: "", members: []))
            func add(_ consent: Consent, _ key: UUIDBytes) async -> UInt16? {
                await store.write(.putMember(alice, nil, Introduction([consent])), by: "bob", in: group, key: key)?
                    .status
            }
            let keys = [UUIDBytes.random, .random]
            #expect(await add(.refused, keys[0]) == 403)
            #expect(await add(.given, keys[0]) == 403)
            #expect(await add(.unanswered, keys[1]) == 503)
            #expect(await add(.given, keys[1]) == 200)
            #expect(await add(.unanswered, keys[1]) == 200)
        }
    }

    @Test("whom a new account brings in is counted over all its conversations, also of those at the same time")
    @Reactor func people() async throws {
        try await withStore(asks: false) { store in
            let groups = (0..<6).map { _ in ConversationID(.random) }
            for group in groups {
                _ = await store.ask(
                    .createConversation, in: group.slot,
                    CreateConversation(conversation: group, kind: .group, creator: bob, title: "", members: []))
            }
            let limited = Introduction(peoplePerDay: 4)
            var statuses: [UInt16] = []
            for (number, group) in groups.enumerated() {
                let write = Write(group, by: bob, key: nil, .putMember(UserID("one\(number)")!, nil, limited))
                Reactor.spawn {
                    let reply = await store.ask(.write, in: group.slot, write)
                    statuses.append(reply?.status ?? 0)
                }
            }
            #expect(await store.eventually { statuses.count == groups.count })
            #expect(statuses.sorted() == [200, 200, 200, 200, 429, 429])
            let introductions = { try store.database.query("SELECT people FROM store.introductions") }
            #expect(try introductions().map { $0[0] as Int32 } == [4])
            try await store.startReceipt()
            while await store.ask(.eraseUser, in: bob.slot, EraseUser(bob))?.status != 200 {
                await Reactor.sleep(for: .milliseconds(10))
            }
            #expect(try introductions().isEmpty)
        }
    }

    @Test("accepted, a request is a conversation from its first position on, and to the others nothing has happened")
    @Reactor func accepted() async throws {
        try await withStore { store in
            _ = await open(store)
            _ = await send("Hello", by: "bob", in: direct, store)
            let before = try shown(direct, store)
            for _ in 0..<2 { #expect(await store.write(.acceptRequest, by: "alice", in: direct)?.status == 204) }
            #expect(try shown(direct, store) == before)
            #expect(await waiting(store).isEmpty)
            #expect(await listed("alice", store) == ["\(direct)"])
            #expect(await store.conversation(direct, for: "alice")?.field("request") == nil)
            #expect(await store.eventually { kinds(told: "alice", store) == ["request waits", "conversation.joined"] })
            #expect(await send("Hi", by: "alice", in: direct, store) == 201)
            #expect(await texts(of: "alice", in: direct, store) == ["Hello", "Hi"])
            #expect(kinds(told: "bob", store) == ["conversation.joined"])
            #expect(await store.write(.declineRequest, by: "alice", in: direct)?.status == 409)
        }
    }

    @Test(
        "whoever writes, replies or reacts in it accepts, also in several messages at once, and once",
        arguments: ["send", "reply", "batch", "tapback", "keyed"])
    @Reactor func answered(how: String) async throws {
        try await withStore { store in
            _ = await open(store)
            let first = StoreUnderTest.Draft(text: "Hello")
            _ = await store.send(first, from: "bob", to: direct)
            let love = Write.Action.setTapback(first.id, "love"), key = UUIDBytes.random
            for _ in 0..<2 {
                switch how {
                case "tapback": #expect(await store.write(love, by: "alice", in: direct)?.status == 200)
                case "keyed": #expect(await store.write(love, by: "alice", in: direct, key: key)?.status == 200)
                case "reply":
                    let reply = StoreUnderTest.Draft(replyTo: first.id)
                    #expect(await store.send(reply, from: "alice", to: direct).map(\.status) == [201])
                default:
                    let drafts = (0..<(how == "batch" ? 3 : 1)).map { _ in StoreUnderTest.Draft() }
                    let sent = await store.sendAll(drafts, from: "alice", to: direct)
                    #expect(sent.map(\.status) == drafts.map { _ in 201 })
                }
            }
            #expect(await waiting(store).isEmpty)
            #expect(await listed("alice", store) == ["\(direct)"])
            #expect(await store.eventually { kinds(told: "alice", store) == ["request waits", "conversation.joined"] })
            let members = try store.database.query("SELECT count(*) FROM store.memberships WHERE user_id = 'alice'")
            #expect(members[0][0] as Int64 == 1)
        }
    }

    @Test(
        "declined, it ends for one alone, whatever the opener does; accepted after that it goes on with what came meanwhile"
    )
    @Reactor func declined() async throws {
        try await withStore { store in
            _ = await open(store)
            _ = await send("Hello", by: "bob", in: direct, store)
            let before = try shown(direct, store)
            for _ in 0..<2 { #expect(await store.write(.declineRequest, by: "alice", in: direct)?.status == 204) }
            #expect(try shown(direct, store) == before)
            #expect(await open(store) == 200)
            #expect(await send("Unseen", by: "bob", in: direct, store) == 201)
            #expect(await waiting(store).isEmpty)
            #expect(await listed("alice", store).isEmpty)
            #expect(await texts(of: "alice", in: direct, store) == ["Hello"])
            #expect(await send("no", by: "alice", in: direct, store) == 403)
            #expect(await store.eventually { kinds(told: "alice", store) == ["request waits", "request ended"] })
            #expect(await store.write(.acceptRequest, by: "alice", in: direct)?.status == 204)
            #expect(await send("Seen", by: "bob", in: direct, store) == 201)
            #expect(await send("Yes", by: "alice", in: direct, store) == 201)
            #expect(await texts(of: "alice", in: direct, store) == ["Hello", "Unseen", "Seen", "Yes"])
            let windows = await store.conversation(direct, for: "alice")?.field("windows") as? NSArray
            #expect(windows == [["from": 1]])
            #expect(await store.conversation(direct, for: "bob")?.field("windows") as? NSArray == [["from": 1]])
        }
    }

    @Test("who opens the same conversation accepts, also after declining", arguments: [false, true])
    @Reactor func opened(declines: Bool) async throws {
        try await withStore { store in
            _ = await open(store)
            if declines { _ = await store.write(.declineRequest, by: "alice", in: direct) }
            #expect(await open(by: alice, with: bob, store) == 200)
            #expect(await listed("alice", store) == ["\(direct)"])
            #expect(await waiting(store).isEmpty)
            #expect(await send("Hi", by: "alice", in: direct, store) == 201)
        }
    }

    @Test("known is with whom one has a direct conversation: opened, accepted or answered, not asked about or declined")
    @Reactor func known() async throws {
        try await withStore { store in
            _ = await store.create(ConversationID(.random), by: "bob", with: ["alice"])
            #expect(await waiting(store).count == 1)
            _ = await open(store)
            _ = await store.create(ConversationID(.random), by: "bob", with: ["alice"])
            #expect(await waiting(store).count == 3)
            #expect(await listed("alice", store).isEmpty)
            _ = await store.write(.declineRequest, by: "alice", in: direct)
            _ = await store.create(ConversationID(.random), by: "bob", with: ["alice"])
            #expect(await waiting(store).count == 3)
            #expect(await listed("alice", store).isEmpty)
            _ = await store.write(.acceptRequest, by: "alice", in: direct)
            _ = await store.create(group, by: "bob", with: ["alice"])
            #expect(Set(await listed("alice", store)) == ["\(direct)", "\(group)"])
            // carol opens it, so she knows erin, who does not know her.
            _ = await open(by: UserID("carol")!, with: UserID("erin")!, store)
            _ = await store.create(ConversationID(.random), by: "erin", with: ["carol"])
            #expect(await waiting(for: "carol", store).isEmpty)
            #expect(await listed("carol", store).count == 2)
        }
    }

    @Test(
        "added to a group by a stranger one is asked, and adding again changes nothing; who was in it before is not asked"
    )
    @Reactor func groups() async throws {
        try await withStore { store in
            _ = await store.create(group, by: "bob", with: [])
            let add = Write.Action.putMember(alice, nil)
            #expect(await store.write(add, by: "bob", in: group)?.status == 200)
            #expect(await store.conversation(group, for: "bob")?.field("memberCount") as? Int == 2)
            #expect(await ids(waiting(store)) == ["\(group)"])
            #expect(await listed("alice", store).isEmpty)
            #expect(await waiting(store)[0]["userId"] as? String == "bob")
            let last = await store.conversation(group, for: "bob")?.field("lastSeq") as? Int
            #expect(await store.write(add, by: "bob", in: group)?.status == 200)
            #expect(await store.write(.declineRequest, by: "alice", in: group)?.status == 204)
            #expect(await store.write(add, by: "bob", in: group)?.status == 200)
            #expect(await store.conversation(group, for: "bob")?.field("lastSeq") as? Int == last)
            #expect(await waiting(store).isEmpty)
            #expect(await send("no", by: "alice", in: group, store) == 403)
            #expect(await store.write(.acceptRequest, by: "alice", in: group)?.status == 204)
            #expect(await send("Hi", by: "alice", in: group, store) == 201)
            #expect(await store.write(.removeMember(alice), by: "alice", in: group)?.status == 204)
            #expect(await store.write(add, by: "bob", in: group)?.status == 200)
            #expect(await waiting(store).isEmpty)
            #expect(await send("Back", by: "alice", in: group, store) == 201)
        }
    }

    @Test(
        "an owner takes out whom they have asked, and asks again; a role given meanwhile counts from the acceptance on")
    @Reactor func removed() async throws {
        try await withStore { store in
            _ = await store.create(group, by: "bob", with: ["alice"])
            #expect(await store.write(.removeMember(alice), by: "bob", in: group)?.status == 204)
            #expect(await waiting(store).isEmpty)
            #expect(await texts(of: "alice", in: group, store).isEmpty)
            #expect(await store.eventually { kinds(told: "alice", store) == ["request waits", "conversation.left"] })
            #expect(await store.write(.acceptRequest, by: "alice", in: group)?.status == 403)
            for _ in 1..<ContractLimits.requestsPerStranger {
                let other = ConversationID(.random)
                _ = await store.create(other, by: "bob", with: ["alice"])
                #expect(await store.write(.removeMember(alice), by: "bob", in: other)?.status == 204)
            }
            #expect(await store.write(.putMember(alice, .owner), by: "bob", in: group)?.status == 200)
            #expect(await ids(waiting(store)) == ["\(group)"])
            // All of these count, so this is one too many.
            #expect(await store.create(ConversationID(.random), by: "bob", with: ["alice"])?.status == 201)
            #expect(await ids(waiting(store)) == ["\(group)"])
            #expect(await store.write(.putMember(alice, .member), by: "bob", in: group)?.status == 200)
            #expect(await store.write(.acceptRequest, by: "alice", in: group)?.status == 204)
            #expect(await store.conversation(group, for: "alice")?.field("role") as? String == "member")
        }
    }

    @Test(
        "a block takes a request away, and when it ends they have to ask again, as does who came while they were blocked"
    )
    @Reactor func blocks() async throws {
        try await withStore { store in
            _ = await open(store)
            _ = await send("Hello", by: "bob", in: direct, store)
            let before = try shown(direct, store)
            #expect(await block(true, store) == 204)
            #expect(await waiting(store).isEmpty)
            #expect(await send("no", by: "alice", in: direct, store) == 404)
            #expect(await store.write(.acceptRequest, by: "alice", in: direct)?.status == 404)
            #expect(await block(false, store) == 204)
            #expect(try shown(direct, store) == before)
            #expect(await ids(waiting(store)) == ["\(direct)"])
            #expect(await listed("alice", store).isEmpty)
            #expect(await texts(of: "alice", in: direct, store).isEmpty)
            #expect(await store.write(.acceptRequest, by: "alice", in: direct)?.status == 204)
            #expect(await listed("alice", store) == ["\(direct)"])

            let carol = UserID("carol")!, pair = DirectConversation.id(alice, carol)
            _ = await store.write(.block(carol, true), by: "alice", in: pair)
            #expect(await open(by: carol, with: alice, store) == 201)
            #expect(await store.write(.block(carol, false), by: "alice", in: pair)?.status == 204)
            _ = await send("Hello again", by: "carol", in: pair, store)
            #expect(await ids(waiting(store)) == ["\(pair)"])
            #expect(await texts(of: "alice", in: pair, store) == ["Hello again"])
            #expect(await store.write(.acceptRequest, by: "alice", in: pair)?.status == 204)
            #expect(await send("Hi", by: "alice", in: pair, store) == 201)
        }
    }

    @Test("whom a block kept out of a group, and somebody adds whom they do not know, is asked as anybody is")
    @Reactor func addedBehindABlock() async throws {
        try await withStore { store in
            let other = ConversationID(.random), add = Write.Action.putMember(alice, nil)
            #expect(await block(true, store) == 204)
            for conversation in [group, other] {
                #expect(await store.create(conversation, by: "bob", with: ["alice", "carol"])?.status == 201)
                #expect(await store.write(.acceptRequest, by: "carol", in: conversation)?.status == 204)
            }
            #expect(await waiting(store).isEmpty)
            #expect(await store.write(add, by: "carol", in: group)?.status == 200)
            #expect(await block(false, store) == 204)
            #expect(await store.write(add, by: "bob", in: other)?.status == 200)
            #expect(await Set(ids(waiting(store))) == ["\(group)", "\(other)"])
            #expect(await listed("alice", store).isEmpty)
            #expect(await send("Hello", by: "carol", in: group, store) == 201)
            #expect(await texts(of: "alice", in: group, store) == ["Hello"])
            let told = ["request waits", "request waits"]
            #expect(await store.eventually { kinds(told: "alice", store).filter { $0.hasPrefix("request") } == told })
            #expect(await store.write(.declineRequest, by: "alice", in: other)?.status == 204)
            #expect(await store.write(add, by: "carol", in: other)?.status == 200)
            #expect(await store.write(.acceptRequest, by: "alice", in: group)?.status == 204)
            #expect(await waiting(store).isEmpty)
            #expect(await listed("alice", store) == ["\(group)"])
            #expect(await store.conversation(group, for: "carol")?.field("memberCount") as? Int == 3)
        }
    }

    @Test(
        "the latest of each kind are shown, told of while fewer wait; what is older comes back when these are decided")
    @Reactor func shown() async throws {
        try await withStore { store in
            _ = await store.create(group, by: "bob", with: ["alice"])
            // Of other strangers. Of conversations that do not exist nothing is shown.
            try store.database.execute(
                """
                INSERT INTO store.requests (
                    user_slot, user_id, conversation_id, slot, is_direct, direct_id, is_waiting, is_declined, at)
                SELECT r.user_slot, 'alice', gen_random_uuid(), 0, false, gen_random_uuid(), true, false,
                    now() + interval '1 hour'
                FROM store.requests r, generate_series(2, \(ContractLimits.waitingRequests)) n
                """)
            #expect(await ids(waiting(store)) == ["\(group)"])
            let later = ConversationID(.random)
            #expect(await store.create(later, by: "carol", with: ["alice"])?.status == 201)
            #expect(await store.conversation(later, for: "carol")?.field("memberCount") as? Int == 2)
            #expect(await ids(waiting(store)) == ["\(later)"])
            #expect(await store.conversation(group, for: "alice")?.field("request") as? Bool == true)
            #expect(await open(store) == 201)
            #expect(await ids(waiting(store)) == ["\(direct)", "\(later)"])
            #expect(await store.eventually { kinds(told: "alice", store) == ["request waits", "request waits"] })
            #expect(await store.write(.declineRequest, by: "alice", in: later)?.status == 204)
            #expect(await ids(waiting(store)) == ["\(direct)", "\(group)"])
        }
    }

    @Test(
        "one stranger asks about so many groups, those that were declined too; one more reaches nobody, who asks sees a member"
    )
    @Reactor func persistence() async throws {
        try await withStore { store in
            let groups = (0..<ContractLimits.requestsPerStranger).map { _ in ConversationID(.random) }
            for id in groups { #expect(await store.create(id, by: "bob", with: ["alice"])?.status == 201) }
            #expect(await waiting(store).count == groups.count)
            #expect(await store.write(.declineRequest, by: "alice", in: groups[0])?.status == 204)
            let created = ConversationID(.random), added = ConversationID(.random)
            #expect(await store.create(created, by: "bob", with: ["alice"])?.status == 201)
            _ = await store.create(added, by: "bob", with: [])
            #expect(await store.write(.putMember(alice, nil), by: "bob", in: added)?.status == 200)
            for id in [created, added] {
                #expect(await store.conversation(id, for: "bob")?.field("memberCount") as? Int == 2)
                #expect(await store.conversation(id, for: "alice")?.status == 404)
            }
            #expect(await waiting(store).count == groups.count - 1)
            let told = groups.map { _ in "request waits" } + ["request ended"]
            #expect(await store.eventually { kinds(told: "alice", store) == told })
            // Others go on asking, and so does bob in another way.
            #expect(await store.create(group, by: "carol", with: ["alice"])?.status == 201)
            #expect(await open(store) == 201)
            #expect(await ids(waiting(store)).prefix(2) == ["\(direct)", "\(group)"])
            // What is accepted counts no more.
            for id in groups[1...2] { #expect(await store.write(.acceptRequest, by: "alice", in: id)?.status == 204) }
            let last = ConversationID(.random)
            #expect(await store.create(last, by: "bob", with: ["alice"])?.status == 201)
            #expect(await store.conversation(last, for: "alice")?.status == 404)
            for id in [created, added] {
                #expect(await store.write(.acceptRequest, by: "alice", in: id)?.status == 204)
            }
            let another = ConversationID(.random)
            #expect(await store.create(another, by: "bob", with: ["alice"])?.status == 201)
            #expect(await ids(waiting(store)).first == "\(another)")
        }
    }

    @Test("taken out and added again, whoever has declined is not asked again; somebody they know adds them as ever")
    @Reactor func declinedForGood() async throws {
        try await withStore { store in
            let add = Write.Action.putMember(alice, nil)
            _ = await store.create(group, by: "bob", with: ["alice", "carol"])
            _ = await store.write(.acceptRequest, by: "carol", in: group)
            // Who was taken out is brought back by owners and admins.
            _ = await store.write(.putMember(UserID("carol")!, .admin), by: "bob", in: group)
            _ = await open(by: alice, with: UserID("carol")!, store)
            for times in 1...2 {
                _ = await store.write(.declineRequest, by: "alice", in: group)
                #expect(await store.write(.removeMember(alice), by: "bob", in: group)?.status == 204)
                #expect(await store.write(.acceptRequest, by: "alice", in: group)?.status == 403)
                #expect(await store.write(.declineRequest, by: "alice", in: group)?.status == 403)
                #expect(await store.write(add, by: times == 1 ? "bob" : "carol", in: group)?.status == 200)
                #expect(await waiting(store).isEmpty)
                #expect(await store.conversation(group, for: "bob")?.field("memberCount") as? Int == 3)
                #expect(await send("Hi", by: "alice", in: group, store) == (times == 1 ? 403 : 201))
            }
            let requests = try store.database.query("SELECT FROM store.requests WHERE user_id = 'alice'")
            #expect(requests.isEmpty)
        }
    }

    @Test("whose list is full accepts nothing, and loses nothing: it waits until there is room")
    @Reactor func full() async throws {
        try await withStore(conversationsPerUser: 10) { store in
            _ = await open(store)
            _ = await store.create(group, by: "bob", with: ["alice"])
            var own: [ConversationID] = []
            for _ in 0..<10 {
                own.append(ConversationID(.random))
                #expect(await store.create(own.last!, by: "alice", with: [])?.status == 201)
            }
            let refused = await store.write(.acceptRequest, by: "alice", in: direct)
            #expect(refused?.status == 409)
            guard case .problem(let problem)? = refused else { Issue.record("no problem"); return }
            #expect(problem.detail.contains("as many conversations as a user may be") == true)
            #expect(await send("no", by: "alice", in: direct, store) == 403)
            #expect(await waiting(store).count == 2)
            #expect(await store.write(.removeMember(alice), by: "alice", in: own[0])?.status == 204)
            #expect(await store.write(.unlist, by: "alice", in: own[0])?.status == 204)
            #expect(await store.write(.acceptRequest, by: "alice", in: direct)?.status == 204)
            #expect(await store.write(.acceptRequest, by: "alice", in: group)?.status == 409)
            #expect(await ids(waiting(store)) == ["\(group)"])
            let count = try store.database.query(
                "SELECT conversation_count::bigint FROM store.user_streams WHERE user_id = 'alice'")
            #expect(count[0][0] as Int64 == 10)
        }
    }

    @Test("a draft needs a member: there is none in a request, nor after declining it")
    @Reactor func drafts() async throws {
        try await withStore { store in
            _ = await open(store)
            let draft = Write.Action.draft("Who are you?", replyTo: nil)
            #expect(await store.write(draft, by: "alice", in: direct)?.status == 403)
            #expect(await ids(waiting(store)) == ["\(direct)"])
            _ = await store.write(.declineRequest, by: "alice", in: direct)
            #expect(await store.write(draft, by: "alice", in: direct)?.status == 403)
            _ = await store.write(.acceptRequest, by: "alice", in: direct)
            #expect(await store.write(draft, by: "alice", in: direct)?.status == 204)
            let shown = await store.conversation(direct, for: "alice")?.field("draft") as? NSDictionary
            #expect(shown?["text"] as? String == "Who are you?")
        }
    }

    @Test("an erased user leaves no request behind, and none of theirs is left")
    @Reactor func erased() async throws {
        try await withStore { store in
            _ = await open(store)
            _ = await store.create(group, by: "bob", with: ["alice", "carol"])
            _ = await store.write(.declineRequest, by: "alice", in: group)
            try await store.startReceipt()
            var status: UInt16?
            for _ in 0..<2000 where status != 200 {
                status = await store.ask(.eraseUser, in: alice.slot, EraseUser(alice))?.status
                await Reactor.sleep(for: .milliseconds(10))
            }
            #expect(status == 200)
            for table in ["requests", "memberships", "shadows", "shadow_listings", "user_changes"] {
                let left = try store.database.query("SELECT FROM store.\(table) WHERE user_id = 'alice'")
                #expect(left.isEmpty, "\(table)")
            }
            #expect(await store.conversation(group, for: "bob")?.field("memberCount") as? Int == 2)
        }
    }
}
