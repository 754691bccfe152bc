import Edge
import Models
import Reactor
import ServiceKit
import TestSupport
import Testing

@testable import Fanout

/// Tests of sessions over real sockets, with a store that loses frames on demand.
@Suite(.serialized) struct SessionTests {
    init() { ReactorThread.start() }

    static let first = ConversationID(UUIDBytes("01890000-0000-7000-8000-000000000011")!)
    static let second = ConversationID(UUIDBytes("01890000-0000-7000-8000-0000000000e2")!)

    // MARK: Changes

    @Test("a session gets the changes after its cursor, then new ones, once and in order")
    @Reactor func replayThenLive() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.send(500, to: Self.first)
        let client = await system.session("anna", hello: #","cursors":{"\#(Self.first)":7}"#)
        system.store.send(20, to: Self.first)
        await waitUntil { client.numbers("seq", in: "change").last == 521 }
        #expect(client.numbers("seq", in: "change") == Array(8...521))
        #expect(client.frames.first!.contains(#""userId":"anna""#))
    }

    @Test("without a cursor a conversation starts live")
    @Reactor func withoutCursor() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.send(5, to: Self.first)
        let client = await system.session("anna")
        system.store.send(to: Self.first)
        await waitUntil { !client.frames(of: "change").isEmpty }
        #expect(client.numbers("seq", in: "change") == [7])
    }

    @Test("a lost change is fetched when the next one reveals the gap, once for all sessions")
    @Reactor func hole() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let clients = [await system.session("anna"), await system.session("ben")]
        system.store.losesAnnouncements = true
        system.store.send(3, to: Self.first)
        system.store.losesAnnouncements = false
        system.store.send(to: Self.first)
        for client in clients {
            await waitUntil { client.numbers("seq", in: "change").last == 5 }
            #expect(client.numbers("seq", in: "change") == [2, 3, 4, 5])
        }
        #expect(system.store.asked[.replay] == 1)
    }

    @Test("a lost change that no later one reveals is found by the digest")
    @Reactor func digest() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        let client = await system.session("anna")
        system.store.losesAnnouncements = true
        system.store.send(2, to: Self.first)
        system.store.publishDigests()
        await waitUntil { client.numbers("seq", in: "change") == [2, 3] }
    }

    @Test("a lost digest is revealed by the next one, or by that of the next owner", arguments: [false, true])
    @Reactor func lostDigest(ownerChanges: Bool) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.publishDigests()
        let client = await system.session("anna")
        system.store.losesAnnouncements = true
        system.store.losesDigests = true
        system.store.send(2, to: Self.first)
        system.store.create(Self.second, members: ["anna"])
        system.store.publishDigests()
        system.store.losesDigests = false
        if ownerChanges { system.store.changeOwner() }
        system.store.publishDigests()
        await waitUntil { client.numbers("seq", in: "change", containing: "\(Self.first)") == [2, 3] }
        await waitUntil { client.numbers("seq", in: "change", containing: "\(Self.second)") == [1] }
        #expect(client.numbers("useq", in: "private") == [2])
    }

    @Test("a change committed and announced after the snapshot of a bootstrap is not lost", arguments: [false, true])
    @Reactor func behindSnapshot(digestIsLost: Bool) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.behindSnapshot = {
            // A repeated query must not do it again.
            system.store.behindSnapshot = {}
            system.store.losesAnnouncements = digestIsLost
            system.store.send(to: Self.first)
            system.store.losesDigests = digestIsLost
            system.store.publishDigests()
            system.store.losesDigests = false
            system.store.publishDigests()
        }
        let client = await system.session("anna")
        await waitUntil { client.numbers("seq", in: "change") == [2] }
    }

    @Test("a gap over a thousand changes causes a reload, after which the session continues")
    @Reactor func reload() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.send(1_001, to: Self.first)
        let client = await system.session("anna", hello: #","cursors":{"\#(Self.first)":1}"#)
        system.store.send(to: Self.first)
        await waitUntil { !client.frames(of: "change").isEmpty }
        #expect(
            client.frames(of: "reload") == [
                #"{"type":"reload","conversationId":"\#(Self.first)","lastSeq":1002}"#
            ])
        #expect(client.numbers("seq", in: "change") == [1_003])
    }

    @Test(
        "where changes are missing that are kept no longer a session is told to reload, and continues",
        arguments: [(1, [2]), (2, []), (5, []), (6, [7, 8, 9, 10, 11])] as [(Int64, [Int64])])
    @Reactor func keptNoLonger(cursor: Int64, caughtUp: [Int64]) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.send(10, to: Self.first)
        system.store.removed[Self.first] = 3...6
        let client = await system.session("anna", hello: #","cursors":{"\#(Self.first)":\#(cursor)}"#)
        let reload = #"{"type":"reload","conversationId":"\#(Self.first)","lastSeq":11}"#
        await waitUntil { client.frames(of: "reload") == (cursor < 6 ? [reload] : []) }
        system.store.send(to: Self.first)
        await waitUntil { client.numbers("seq", in: "change").last == 12 }
        #expect(client.numbers("seq", in: "change") == caughtUp + [12])
        #expect(client.frames(of: "reload").count == (cursor < 6 ? 1 : 0))
    }

    @Test("who has left, and of whose time nothing is kept, reloads up to their end and hears nothing more")
    @Reactor func nothingKept() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "bob"])
        system.store.send(3, to: Self.first)
        system.store.remove("anna", from: Self.first)
        system.store.send(3, to: Self.first)
        system.store.removed[Self.first] = 1...8
        let client = await system.session("anna", hello: #","cursors":{"\#(Self.first)":2}"#)
        let reload = #"{"type":"reload","conversationId":"\#(Self.first)","lastSeq":5}"#
        await waitUntil { client.frames(of: "reload") == [reload] }
        system.store.send(to: Self.first)
        let other = await system.session("bob", hello: #","cursors":{"\#(Self.first)":8}"#)
        await waitUntil { other.numbers("seq", in: "change") == [9] }
        #expect(client.numbers("seq", in: "change") == [])
    }

    @Test(
        "private changes that are no longer kept cause a reload, after which the session continues"
    )
    @Reactor func privateReload() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.privateTail = 4
        for _ in 1...10 { system.store.decide("anna", showsPresence: true) }
        let client = await system.session("anna", hello: #","useq":5"#)
        await waitUntil { client.frames(of: "reload") == [#"{"type":"reload","useq":10}"#] }
        let within = await system.session("anna", hello: #","useq":6"#)
        // With the next change one fewer of the earlier ones is kept.
        await waitUntil { within.numbers("useq", in: "private") == [7, 8, 9, 10] }
        system.store.decide("anna", showsPresence: true)
        await waitUntil { client.numbers("useq", in: "private") == [11] }
        await waitUntil { within.numbers("useq", in: "private") == [7, 8, 9, 10, 11] }
        #expect(client.frames(of: "reload").count == 1)
        #expect(within.frames(of: "reload").isEmpty)
    }

    @Test("a session that misses more private changes than are kept ends, and the next one starts from a new bootstrap")
    @Reactor func privateHole() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.privateTail = 4
        let client = await system.session("anna")
        await system.quiet(client)
        system.store.losesAnnouncements = true
        // The missing changes may include a joined conversation.
        system.store.create(Self.first, members: ["anna"])
        for _ in 1...10 { system.store.decide("anna", showsPresence: true) }
        system.store.publishDigests()
        await waitUntil { !client.frames(of: "bye").isEmpty }
        #expect(client.frames(of: "bye")[0].contains(#""code":"draining""#))
        #expect(client.frames(of: "private").isEmpty)
        system.store.losesAnnouncements = false
        let next = await system.session("anna", hello: #","useq":0"#)
        system.store.send(to: Self.first)
        system.store.decide("anna", showsPresence: true)
        await waitUntil { next.numbers("seq", in: "change") == [2] && next.numbers("useq", in: "private") == [12] }
        #expect(next.frames(of: "reload") == [#"{"type":"reload","useq":11}"#])
    }

    @Test("a cursor beyond the end resets its conversation; another log or a useq beyond the end resets everything")
    @Reactor func reset() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        let beyond = await system.session("anna", hello: #","cursors":{"\#(Self.first)":2}"#)
        await system.quiet(beyond)
        #expect(beyond.frames(of: "reset") == [#"{"type":"reset","conversationId":"\#(Self.first)"}"#])
        for hello in [#","logId":"11111111-1111-4111-8111-111111111111""#, #","useq":2"#] {
            let other = await system.session("anna", hello: hello)
            await system.quiet(other)
            #expect(other.frames(of: "reset") == [#"{"type":"reset"}"#])
        }
        let same = await system.session("anna", hello: #","logId":"\#(system.store.logID)""#)
        await system.quiet(same)
        #expect(same.frames(of: "reset").isEmpty)
    }

    // MARK: Membership

    @Test("members who are online get a new conversation from its first change on")
    @Reactor func joined() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let client = await system.session("anna")
        system.store.create(Self.first, members: ["anna"])
        system.store.send(2, to: Self.first)
        await waitUntil { client.numbers("seq", in: "change").last == 3 }
        #expect(client.numbers("seq", in: "change") == [1, 2, 3])
        #expect(client.numbers("useq", in: "private") == [1])
    }

    @Test("a removed member gets their removal and nothing after it, until they are added again")
    @Reactor func removedAndAdded() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let anna = await system.session("anna"), ben = await system.session("ben")
        system.store.remove("anna", from: Self.first)
        system.store.send(3, to: Self.first)
        system.store.add("anna", to: Self.first)
        system.store.send(to: Self.first)
        await waitUntil { anna.numbers("seq", in: "change").last == 7 && ben.numbers("seq", in: "change").last == 7 }
        #expect(anna.numbers("seq", in: "change") == [2, 6, 7])
        #expect(ben.numbers("seq", in: "change") == Array(2...7))
        // A new session has the same stays.
        let again = await system.session("anna", hello: #","cursors":{"\#(Self.first)":1}"#)
        await waitUntil { again.numbers("seq", in: "change").last == 7 }
        #expect(again.numbers("seq", in: "change") == [2, 6, 7])
    }

    @Test(
        "a change of a message from before a member's stay omits the message: live, repaired and replayed",
        arguments: [false, true])
    @Reactor func withheldMessage(isLost: Bool) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.send(to: Self.first)
        system.store.add("ben", to: Self.first)
        system.store.send(to: Self.first)
        let anna = await system.session("anna"), ben = await system.session("ben")
        system.store.losesAnnouncements = isLost
        for seq: Int64 in [2, 4, 2] { system.store.edit(seq, in: Self.first) }
        system.store.losesAnnouncements = false
        system.store.send(to: Self.first)
        // One user joins on an open session, one reconnects to read what they missed.
        let carol = await system.session("carol")
        system.store.add("carol", to: Self.first)
        system.store.edit(2, in: Self.first)
        system.store.edit(8, in: Self.first)
        let again = await system.session("ben", hello: #","cursors":{"\#(Self.first)":4}"#)
        for client in [anna, ben, carol, again] {
            await waitUntil { client.numbers("seq", in: "change").last == 11 }
        }
        #expect(Self.edited(anna) == [5: 2, 6: 4, 7: 2, 10: 2, 11: 8])
        #expect(Self.edited(ben) == [6: 4, 11: 8])
        #expect(Self.edited(carol) == [:])
        #expect(Self.edited(again) == [6: 4, 11: 8])
        #expect(ben.numbers("seq", in: "change") == Array(5...11))
        #expect(
            ben.frames(of: "change").first
                == #"{"type":"change","change":{"conversationId":"\#(Self.first)","seq":5,"kind":"message.edited"}}"#)
        #expect(carol.numbers("seq", in: "change") == [9, 10, 11])
    }

    @Test("a member who rejoins gets changes of messages of both stays, on open and on new sessions")
    @Reactor func withheldBetweenStays() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        system.store.send(to: Self.first)
        let anna = await system.session("anna")
        system.store.remove("anna", from: Self.first)
        system.store.send(to: Self.first)
        let absent = await system.session("anna")
        system.store.add("anna", to: Self.first)
        system.store.send(to: Self.first)
        for seq: Int64 in [2, 4, 6] { system.store.edit(seq, in: Self.first) }
        let late = await system.session("anna", hello: #","cursors":{"\#(Self.first)":1}"#)
        for client in [anna, absent, late] {
            await waitUntil { client.numbers("seq", in: "change").last == 9 }
            #expect(Self.edited(client) == [7: 2, 9: 6])
        }
    }

    /// The position of the edited message by that of the edit, where the message was included.
    @Reactor private static func edited(_ client: TestClient) -> [Int64: Int64] {
        var edited: [Int64: Int64] = [:]
        let edits = client.frames(of: "change").filter { $0.contains("message.edited") && $0.contains(#""message":"#) }
        for edit in edits {
            let numbers = edit.split(separator: #""seq":"#).dropFirst().compactMap { part in
                Int64(part.prefix { $0.isNumber })
            }
            edited[numbers[0]] = numbers[1]
        }
        return edited
    }

    @Test("the private stream resumes from its position and continues live")
    @Reactor func privateStream() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        for number in 0..<300 {
            let uuid = UUIDBytes(high: 0x0189_0000_0000_7000, low: 1 << 63 | UInt64(number) << 8)
            system.store.create(ConversationID(uuid), members: ["anna"])
        }
        let client = await system.session("anna", hello: #","useq":2"#)
        system.store.create(Self.first, members: ["anna"])
        await waitUntil { client.numbers("useq", in: "private").last == 301 }
        #expect(client.numbers("useq", in: "private") == Array(3...301))
        // Conversations in the bootstrap are not joined again.
        await waitUntil { client.numbers("seq", in: "change") == [1] }
    }

    // MARK: Receipts

    @Test("receipts sent right after the hello reach receipt")
    @Reactor func earlySignals() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        let client = system.client()
        client.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#)
        client.say(#"{"type":"delivered","conversationId":"\#(Self.first)","seq":1}"#)
        client.say(#"{"type":"read","conversationId":"\#(Self.first)","seq":1}"#)
        client.say(#"{"type":"read","conversationId":"\#(Self.second)","seq":1}"#)
        await waitUntil { system.store.signals.contains { $0.read == 1 } }
        #expect(system.store.signals.allSatisfy { $0.conversation == Self.first })
    }

    @Test("signals of a turn are merged, and repeated until receipt responds")
    @Reactor func signals() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.send(9, to: Self.first)
        let client = await system.session("anna")
        system.store.isSilent = true
        for seq in 1...8 { client.say(#"{"type":"delivered","conversationId":"\#(Self.first)","seq":\#(seq)}"#) }
        client.say(#"{"type":"read","items":[{"conversationId":"\#(Self.first)","seq":5}]}"#)
        client.say(#"{"type":"read","conversationId":"\#(Self.second)","seq":5}"#)
        await system.quiet(client)
        system.store.isSilent = false
        await waitUntil { system.store.signals.map(\.read).max() == 5 && system.store.signals.last?.delivered == 8 }
        #expect(system.store.signals.count <= 3)
        #expect(system.store.signals.allSatisfy { $0.user.name == "anna" && $0.conversation == Self.first })
    }

    @Test("statuses arrive live, and lost ones as one merged frame")
    @Reactor func statuses() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        let client = await system.session("anna")
        system.store.moveStatus(Self.first)
        await waitUntil { client.numbers("statusVersion", in: "status") == [1] }
        system.store.losesAnnouncements = true
        for _ in 0..<3 { system.store.moveStatus(Self.first) }
        system.store.publishDigests()
        await waitUntil { client.numbers("statusVersion", in: "status") == [1, 4] }
    }

    @Test("a returning session gets one merged status for each conversation whose version is behind")
    @Reactor func statusVersions() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        for _ in 0..<5 { system.store.moveStatus(Self.first) }
        let behind = await system.session("anna", hello: #","statusVersions":{"\#(Self.first)":2}"#)
        let current = await system.session("anna", hello: #","statusVersions":{"\#(Self.first)":5}"#)
        await waitUntil { behind.numbers("statusVersion", in: "status") == [5] }
        let new = await system.session("anna", hello: #","cursors":{"\#(Self.first)":1},"statusVersions":{}"#)
        await waitUntil { new.numbers("statusVersion", in: "status") == [5] }
        let unconcerned = await system.session("anna", hello: #","cursors":{"\#(Self.first)":1}"#)
        system.store.moveStatus(Self.first)
        await waitUntil { unconcerned.numbers("statusVersion", in: "status") == [6] }
        await waitUntil { behind.numbers("statusVersion", in: "status") == [5, 6] }
        await waitUntil { current.numbers("statusVersion", in: "status") == [6] }
        #expect(system.store.statusQueries == 2)
    }

    @Test("a status announced during an empty catch-up of a returning session is delivered, too")
    @Reactor func announcedMeanwhile() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        for _ in 0..<2 { system.store.moveStatus(Self.first) }
        let ben = await system.session("ben")
        system.store.heldStatuses = []
        let anna = await system.session("anna", hello: #","statusVersions":{"\#(Self.first)":1}"#)
        await waitUntil { system.store.heldStatuses?.count == 1 }
        system.store.moveStatus(Self.first)
        await waitUntil { ben.numbers("statusVersion", in: "status") == [3] }
        let responses = system.store.heldStatuses!
        system.store.heldStatuses = nil
        for respond in responses { respond() }
        await waitUntil { anna.numbers("statusVersion", in: "status") == [3] }
    }

    @Test("a status between a bootstrap and its response is delivered to a client that follows receipts")
    @Reactor func statusBehindBootstrap() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let ben = await system.session("ben")
        system.store.behindSnapshot = { [store = system.store] in store.moveStatus(Self.first) }
        let anna = await system.session("anna", hello: #","cursors":{"\#(Self.first)":1},"statusVersions":{}"#)
        await waitUntil { ben.numbers("statusVersion", in: "status") == [1] }
        await waitUntil { anna.numbers("statusVersion", in: "status") == [1] }
    }

    @Test("in a large conversation senders get counts of their own messages, when they change and when they return")
    @Reactor func countedStatuses() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let json = #"[{"seq":2,"deliveredCount":70,"readCount":3}]"#
        system.store.counts[Self.first] = (UserID("anna")!, json)
        let anna = await system.session("anna"), ben = await system.session("ben")
        system.store.moveStatus(Self.first)
        await waitUntil { anna.frames(of: "status").first?.contains(#""counts":\#(json)"#) == true }
        // Unchanged counts are not sent again.
        system.store.moveStatus(Self.first)
        await waitUntil { system.store.asked[.senderCounts] == 2 }
        let returned = await system.session("anna", hello: #","statusVersions":{"\#(Self.first)":1}"#)
        await waitUntil { returned.numbers("statusVersion", in: "status") == [2] }
        #expect(anna.numbers("statusVersion", in: "status") == [1, 2], "their other device gets it, too")
        #expect(ben.frames(of: "status").isEmpty)
    }

    @Test("members are counted once each, whatever was lost or happened after a snapshot")
    @Reactor func memberCounts() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let store = system.store
        func count() -> Int? { system.fanouts[0].fanout.rooms[Self.first]?.memberCount }
        store.create(Self.first, members: ["anna", "ben"])
        let anna = await system.session("anna")
        #expect(count() == 2)
        store.losesAnnouncements = true
        store.add("carla", to: Self.first)
        store.add("dora", to: Self.first)
        store.remove("carla", from: Self.first)
        store.losesAnnouncements = false
        store.publishDigests()
        await waitUntil { count() == 3 }
        store.behindSnapshot = {
            store.behindSnapshot = {}
            store.add("eve", to: Self.first)
        }
        _ = await system.session("ben")
        await system.quiet(anna)
        #expect(count() == 4)
        store.add("finn", to: Self.first)
        store.remove("eve", from: Self.first)
        await waitUntil { anna.frames(of: "change").count == 6 }
        #expect(count() == 4)
    }

    // MARK: Between fanouts

    @Test("typing reaches the other members on every fanout, neither its author nor other users, and expires")
    @Reactor func typing() async throws {
        let system = try await TestSystem(fanouts: 2)
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben", "carla"])
        let anna = await system.session("anna"), ben = await system.session("ben")
        let carla = await system.session("carla", fanout: 1), stranger = await system.session("dora", fanout: 1)
        for _ in 0..<5 { anna.say(#"{"type":"typing","conversationId":"\#(Self.first)","active":true}"#) }
        stranger.say(#"{"type":"typing","conversationId":"\#(Self.first)","active":true}"#)
        let started = #"{"type":"typing","conversationId":"\#(Self.first)","userId":"anna","active":true}"#
        await waitUntil { ben.frames(of: "typing") == [started] && carla.frames(of: "typing") == [started] }
        anna.close()
        await waitUntil { ben.frames(of: "typing").count == 2 && carla.frames(of: "typing").count == 2 }
        #expect(ben.frames(of: "typing").last!.contains(#""active":false"#))
        #expect(anna.frames(of: "typing").isEmpty && stranger.frames(of: "typing").isEmpty)
        #expect(system.fanouts.map(\.fanout.counters.typingFrames) == [2, 2])
    }

    @Test("typing expires on a fanout whose peer was killed meanwhile")
    @Reactor func typingOfTheDead() async throws {
        let system = try await TestSystem(fanouts: 2, typingLifetime: .seconds(1))
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let anna = await system.session("anna"), ben = await system.session("ben", fanout: 1)
        anna.say(#"{"type":"typing","conversationId":"\#(Self.first)","active":true}"#)
        await waitUntil { ben.frames(of: "typing").count == 1 }
        system.silence(fanout: 0)
        await waitUntil { ben.frames(of: "typing").count == 2 }
        #expect(ben.frames(of: "typing").last!.contains(#""active":false"#))
        #expect(system.fanouts[1].fanout.counters.typingExpired == 1)
    }

    @Test("a second session of a device ends the first, on the same fanout and on another", arguments: [0, 1])
    @Reactor func superseded(fanout: Int) async throws {
        let system = try await TestSystem(fanouts: 2)
        defer { system.close() }
        let tablet = await system.session("anna", device: "tablet"), unnamed = await system.session("anna")
        let first = await system.session("anna", device: "phone")
        let second = await system.session("anna", device: "phone", fanout: fanout)
        await waitUntil { first.closeCode == 4409 }
        #expect(first.frames(of: "bye").first!.contains(#""code":"superseded""#))
        for other in [tablet, unnamed, second] {
            await system.quiet(other)
            #expect(other.frames(of: "bye").isEmpty)
        }
    }

    @Test("a device's first session on a fanout not known yet ends when that is known")
    @Reactor func supersededLater() async throws {
        let system = try await TestSystem(fanouts: 2, areStrangers: true)
        defer { system.close() }
        let first = await system.session("anna", device: "phone")
        await Reactor.sleep(for: .milliseconds(150))  // Of sessions opened together neither is the older one.
        let second = await system.session("anna", device: "phone", fanout: 1)
        await system.quiet(first)
        #expect(first.frames(of: "bye").isEmpty)
        try system.introduce()
        await waitUntil { first.closeCode == 4409 }
        await system.quiet(second)
        #expect(second.frames(of: "bye").isEmpty)
    }

    // MARK: Endings

    @Test("a session is warned before its token expires, and then ends")
    @Reactor func expiry() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let renewed = await system.session("anna", lifetime: 2), expired = await system.session("ben", lifetime: 2)
        await waitUntil { renewed.frames(of: "tokenExpiring").count == 1 }
        renewed.say(#"{"type":"auth","token":"\#(TestSystem.token("anna"))"}"#)
        await waitUntil { expired.closeCode == 4401 }
        #expect(expired.frames(of: "tokenExpiring").count == 1)
        #expect(expired.frames(of: "bye").first!.contains(#""code":"unauthenticated""#))
        await system.quiet(renewed)
        #expect(renewed.frames(of: "bye").isEmpty)
    }

    @Test("an invalid token, or one of another user, ends the session")
    @Reactor func wrongTokens() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let stranger = system.client()
        stranger.say(#"{"type":"hello","token":"nonsense"}"#)
        let session = await system.session("anna")
        session.say(#"{"type":"auth","token":"\#(TestSystem.token("ben"))"}"#)
        for client in [stranger, session] {
            await waitUntil { client.closeCode == 4401 }
            #expect(client.frames(of: "bye").first!.contains(#""code":"unauthenticated""#))
        }
    }

    @Test(
        "a malformed frame ends the session, and the reason names the field",
        arguments: [
            (#"{"type":"hello"}"#, "token"), ("nonsense", "object"), (#"{"type":"ping"}"#, "hello"),
            (#"{"type":"hello","token":"a","cursors":{"x":1}}"#, "cursors"),
            (#"{"type":"hello","token":"a","useq":-1}"#, "useq"),
        ])
    @Reactor func protocolErrors(frame: String, named: String) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let client = system.client()
        client.say(frame)
        await waitUntil { client.closeCode == 1008 }
        let bye = try #require(client.frames(of: "bye").first)
        #expect(bye.contains(#""code":"protocolError""#) && bye.contains(named), "\(bye)")
    }

    @Test("a client that does not read is closed with a reason, and costs the others nothing")
    @Reactor func slowConsumer() async throws {
        var limits = ServerLimits()
        limits.webSocketQueueBytes = 64 * 1024
        let system = try await TestSystem(limits: limits)
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let slow = await system.session("anna"), quick = await system.session("ben")
        slow.isReading = false
        while system.fanouts[0].server.statistics.slowWebSockets == 0 {
            system.store.send(200, to: Self.first)
            await Reactor.sleep(for: .milliseconds(1))
        }
        let last = system.store.lastSeq(Self.first)
        await waitUntil { quick.numbers("seq", in: "change").last == last }
        slow.isReading = true
        await waitUntil { slow.closeCode == 4429 }
        #expect(slow.frames(of: "bye").first!.contains(#""code":"slowConsumer""#))
        let seen = slow.numbers("seq", in: "change")
        #expect(seen == Array(2...Int64(seen.count + 1)), "never skipped")
        #expect(quick.numbers("seq", in: "change") == Array(2...last))
    }

    @Test("a slow client gets messages first, and then its receipts as one frame")
    @Reactor func heldReceipts() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let slow = await system.session("anna"), quick = await system.session("ben")
        system.store.moveStatus(Self.first)
        await waitUntil { slow.numbers("statusVersion", in: "status") == [1] }
        slow.isReading = false
        let socket = try #require(system.fanouts[0].fanout.sessions.all.first { $0.user.name == "anna" }?.socket)
        await system.congest({ socket.isCongested }, in: Self.first)
        let sent = system.store.lastSeq(Self.first)
        await waitUntil { quick.numbers("seq", in: "change").last == sent }
        let waiting = socket.queuedBytes
        for _ in 0..<200 { system.store.moveStatus(Self.first) }
        await waitUntil { quick.numbers("statusVersion", in: "status").last == 201 }
        #expect(socket.queuedBytes == waiting, "held receipts take no memory")
        system.store.send(1, to: Self.first)
        let last = system.store.lastSeq(Self.first)
        await waitUntil { quick.numbers("seq", in: "change").last == last }
        slow.isReading = true
        await waitUntil { slow.numbers("statusVersion", in: "status") == [1, 201] }
        #expect(slow.numbers("seq", in: "change") == Array(2...last))
        #expect(slow.frames.last?.contains("status") == true, "the status comes after the last message")
        system.store.moveStatus(Self.first)
        await waitUntil { slow.numbers("statusVersion", in: "status") == [1, 201, 202] }
        #expect(system.store.statusQueries == 1)
    }

    @Test("a slow client that is far behind everywhere gets everything at its own pace")
    @Reactor func pace() async throws {
        var limits = ServerLimits()
        limits.webSocketQueueBytes = 1 << 20
        let system = try await TestSystem(limits: limits)
        defer { system.close() }
        let conversations = (0..<60).map { number in
            ConversationID(UUIDBytes(high: 0x0189_0000_0000_7000, low: 1 << 63 | UInt64(number) << 8))
        }
        for conversation in conversations {
            system.store.create(conversation, members: ["anna"])
            system.store.send(999, to: conversation)
        }
        let client = system.client()
        let cursors = conversations.map { #""\#($0)":0"# }.joined(separator: ",")
        client.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))","cursors":{\#(cursors)}}"#)
        client.isReading = false
        await Reactor.sleep(for: .milliseconds(500))
        client.isReading = true
        await waitUntil { client.frames.count >= 60_001 || client.closeCode != nil }
        #expect(client.closeCode == nil)
        #expect(client.frames(of: "change").count == 60_000)
        #expect(client.numbers("seq", in: "change", containing: "\(conversations[7])") == Array(1...1_000))
    }

    @Test("a drain asks every client to reconnect later, and ends when they are gone")
    @Reactor func drain() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let clients = [await system.session("anna"), await system.session("ben"), system.client()]
        await waitUntil { system.fanouts[0].server.openConnections == 3 }
        let (fanout, server, _, _) = system.fanouts[0]
        async let drained: Void = fanout.drain(server)
        for client in clients {
            await waitUntil { client.closeCode == 1001 }
            let bye = try #require(client.frames(of: "bye").first)
            #expect(bye.contains(#""code":"draining""#) && bye.contains(#""retryAfter":"#))
            client.close()
        }
        await drained
        #expect(server.openConnections == 0)
    }

    @Test("the sessions of an erased user end, whether the announcement was lost or not", arguments: [false, true])
    @Reactor func erased(isLost: Bool) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let anna = UserID("anna")!
        let clients = [await system.session("anna", device: "tv"), await system.session("anna", device: "phone")]
        let other = await system.session("ben")
        system.store.losesAnnouncements = isLost
        system.store.erase(anna)
        if isLost { system.store.tellErased(in: anna.slot) }
        for client in clients {
            await waitUntil { client.closeCode == 4401 }
            #expect(client.frames(of: "bye").first?.contains(#""code":"unauthenticated""#) == true)
        }
        let late = system.client()
        late.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#)
        await waitUntil { late.closeCode == 4401 }
        await system.quiet(other)
        #expect(other.closeCode == nil)
    }

    @Test(
        "sessions of a suspended user end, the announcement lost or not, and begin when it is over",
        arguments: [false, true])
    @Reactor func suspended(isLost: Bool) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let anna = UserID("anna")!, end = Timestamp(milliseconds: 4_102_444_800_000)
        let first = await system.session("anna"), ben = await system.session("ben")
        func suspend(_ mode: SuspensionMode?, until: Timestamp? = nil) {
            system.store.losesAnnouncements = isLost
            system.store.suspend(anna, mode, until: until)
            if isLost { system.store.tellRevoked(in: anna.slot) }
        }
        suspend(.out, until: end)
        await waitUntil { first.closeCode == 4403 }
        let bye = try #require(first.frames(of: "bye").first)
        for part in [#""code":"suspended""#, #""retryAfter":3600"#, #""until":"2100-01-01T00:00:00.000Z""#] {
            #expect(bye.contains(part))
        }
        func hello() -> TestClient {
            let client = system.client()
            client.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#)
            return client
        }
        /// What the fanout knows.
        var mode: SuspensionMode? {
            system.fanouts[0].fanout.revoked.suspension(of: Identity(user: anna, expiresAt: end))?.mode
        }
        let late = hello()
        await waitUntil { late.closeCode == 4403 }
        // Who may read has a session, and is not seen to write.
        suspend(.readOnly)
        await waitUntil { mode == .readOnly }
        let reader = hello()
        await waitUntil { reader.frames(of: "welcome").count == 1 }
        let typing = #"{"type":"typing","conversationId":"\#(Self.first)","active":true}"#
        reader.say(typing)
        await system.quiet(reader)
        #expect(ben.frames(of: "typing").isEmpty && reader.closeCode == nil)
        suspend(nil)
        await waitUntil { mode == nil }
        reader.say(typing)
        await waitUntil { ben.frames(of: "typing").count == 1 }
        suspend(.out, until: Timestamp(milliseconds: Timestamp.now.milliseconds - 1_000))
        await system.quiet(reader)
        #expect(reader.closeCode == nil)
        suspend(.out)
        await waitUntil { reader.closeCode == 4403 && ben.closeCode == nil }
        #expect(reader.frames(of: "bye").first?.contains("until") == false)
    }

    @Test(
        "sessions with revoked tokens end, the announcement lost or not, and newer ones stay", arguments: [false, true])
    @Reactor func revoked(isLost: Bool) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let anna = UserID("anna")!, issued = Timestamp(milliseconds: 1_700_000_000_000)
        let newer = Timestamp(milliseconds: issued.milliseconds + 1_000)
        func session(issuedAt: Timestamp?) async -> TestClient {
            let client = system.client()
            client.say(#"{"type":"hello","token":"\#(TestSystem.token("anna", issuedAt: issuedAt))"}"#)
            await waitUntil { client.frames(of: "welcome").count == 1 || client.closeCode != nil }
            return client
        }
        let old = [await session(issuedAt: issued), await session(issuedAt: nil)]
        let renewed = await session(issuedAt: issued)
        renewed.say(#"{"type":"auth","token":"\#(TestSystem.token("anna", issuedAt: newer))"}"#)
        await system.quiet(renewed)
        let other = await system.session("ben")
        system.store.losesAnnouncements = isLost
        system.store.revoke(anna, before: issued)
        if isLost { system.store.tellRevoked(in: anna.slot) }
        for client in old {
            await waitUntil { client.closeCode == 4401 }
            #expect(client.frames(of: "bye").first?.contains(#""code":"unauthenticated""#) == true)
        }
        for late in [issued, nil] { #expect(await session(issuedAt: late).closeCode == 4401) }
        let new = await session(issuedAt: newer)
        for client in [renewed, new, other] {
            await system.quiet(client)
            #expect(client.closeCode == nil)
        }
        new.say(#"{"type":"auth","token":"\#(TestSystem.token("anna", issuedAt: issued))"}"#)
        await waitUntil { new.closeCode == 4401 }
    }

    @Test("rooms and streams are removed with their last session")
    @Reactor func noTraces() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        let clients = [await system.session("anna"), await system.session("ben")]
        #expect(system.fanouts[0].fanout.rooms.count == 1)
        for client in clients { client.close() }
        await waitUntil { system.fanouts[0].fanout.rooms.count == 0 }
        #expect(system.fanouts[0].fanout.sessions.count == 0)
    }
}
