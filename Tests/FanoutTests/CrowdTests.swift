import Edge
import Models
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Fanout

/// Tests of users with very many conversations, rooms with very many sessions, and clients that send very much.
@Suite(.serialized) struct CrowdTests {
    init() { ReactorThread.start() }

    static let first = ConversationID(UUIDBytes("01890000-0000-7000-8000-00000f000011")!)
    static let many = (0..<3_000).map { number in
        ConversationID(UUIDBytes(high: 0x0189_0000_0000_7000, low: 1 << 63 | UInt64(number)))
    }

    // MARK: Many conversations

    @Test("a session with thousands of conversations joins and leaves them a few per turn")
    @Reactor func manyConversations() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        for conversation in Self.many { system.store.create(conversation, members: ["anna"]) }
        let fanout = system.fanouts[0].fanout
        let client = await system.session("anna")
        await waitUntil { fanout.rooms.count == Self.many.count }
        system.store.send(to: Self.many[7])
        await waitUntil { client.numbers("seq", in: "change") == [2] }
        client.close()
        await waitUntil { fanout.rooms.count == 0 }
        // A step may count as several, hence a little more.
        #expect(fanout.turns.longest <= 2 * Turns.Size().steps)
    }

    @Test(
        "changes during the placement of a session are seen once and in order, before and after its turn",
        arguments: [false, true])
    @Reactor func changesBetweenSteps(announcementsAreLost: Bool) async throws {
        var settings = Fanout.Settings()
        settings.turns = Turns.Size(steps: 2, share: 1, pause: .milliseconds(1))
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let some = Array(Self.many.prefix(200))
        for conversation in some { system.store.create(conversation, members: ["anna"]) }
        system.store.publishDigests()
        let fanout = system.fanouts[0].fanout
        let client = system.client()
        client.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#)
        await waitUntil { fanout.rooms.count > 50 }
        #expect(fanout.rooms.count < 150, "the placement is in progress")
        system.store.losesAnnouncements = announcementsAreLost
        for conversation in some { system.store.send(2, to: conversation) }
        system.store.remove("anna", from: some[3])
        system.store.remove("anna", from: some[196])
        system.store.create(Self.many[999], members: ["anna"])
        system.store.losesAnnouncements = false
        system.store.publishDigests()
        for conversation in some { system.store.send(to: conversation) }
        system.store.send(to: Self.many[999])
        for conversation in some {
            let wanted: [Int64] = [2, 3, 4]
            await waitUntil { client.numbers("seq", in: "change", containing: "\(conversation)") == wanted }
        }
        await waitUntil { client.numbers("seq", in: "change", containing: "\(Self.many[999])") == [1, 2] }
        #expect(client.numbers("useq", in: "private") == [201])
    }

    @Test("a session that closes or is superseded during its placement leaves nothing behind")
    @Reactor func goneBetweenSteps() async throws {
        var settings = Fanout.Settings()
        settings.turns = Turns.Size(steps: 2, share: 1, pause: .milliseconds(1))
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let some = Array(Self.many.prefix(200))
        for conversation in some { system.store.create(conversation, members: ["anna", "ben"]) }
        let fanout = system.fanouts[0].fanout
        let hello = #"{"type":"hello","token":"\#(TestSystem.token("anna", device: "phone"))"}"#
        let gone = system.client()
        gone.say(hello)
        await waitUntil { fanout.rooms.count > 50 }
        let superseding = system.client()
        superseding.say(hello)
        await waitUntil { gone.closeCode == 4409 }
        gone.close()
        await waitUntil { fanout.rooms.count == some.count }
        system.store.send(to: some[0])
        await waitUntil { superseding.numbers("seq", in: "change") == [2] }
        superseding.close()
        await waitUntil { fanout.rooms.count == 0 && fanout.sessions.count == 0 }
        #expect(!fanout.rooms.changeRecorder.isRecording && !fanout.rooms.statusRecorder.isRecording)
    }

    @Test("a hello of hundreds of thousands of bytes and the frames behind it are read over many turns")
    @Reactor func largeHello() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna"])
        system.store.send(3, to: Self.first)
        let fanout = system.fanouts[0].fanout
        let client = system.client()
        let cursors = Self.many.map { #""\#($0)":1"# }.joined(separator: ",")
        let token = TestSystem.token("anna")
        client.sayAll([
            #"{"cursors":{\#(cursors),"\#(Self.first)":2},"token":"\#(token)","type":"hello"}"#,
            #"{"type":"read","conversationId":"\#(Self.first)","seq":4}"#, #"{"type":"ping","id":"behind"}"#,
        ])
        await waitUntil { !client.frames(of: "pong").isEmpty && client.numbers("seq", in: "change") == [3, 4] }
        await waitUntil { system.store.signals.map(\.read) == [4] }
        #expect(client.frames.contains { $0.contains("behind") } && fanout.turns.longest <= 2 * Turns.Size().steps)
        #expect(fanout.gateway.unauthenticatedBytes == 0)
    }

    // MARK: Former members

    @Test("a former member who still catches up with changes gets no receipts and no typing")
    @Reactor func formerMember() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        system.store.send(3, to: Self.first)
        let anna = await system.session("anna")
        system.store.remove("ben", from: Self.first)
        await waitUntil { anna.numbers("seq", in: "change") == [5] }
        // The changes have not arrived yet, so the session stays in the room.
        system.store.isSilentAbout = [.replay]
        let ben = await system.session("ben", hello: #","cursors":{"\#(Self.first)":1},"statusVersions":{}"#)
        let room = try #require(system.fanouts[0].fanout.rooms[Self.first])
        await waitUntil { room.feed.count == 2 }
        system.store.moveStatus(Self.first)
        anna.say(#"{"type":"typing","conversationId":"\#(Self.first)","active":true}"#)
        await waitUntil { anna.numbers("statusVersion", in: "status") == [1] }
        await system.quiet(ben)
        #expect(ben.frames(of: "status").isEmpty && ben.frames(of: "typing").isEmpty)
        #expect(room.feed.count == 2, "both are still in the room")
        system.store.isSilentAbout = []
        await waitUntil { ben.numbers("seq", in: "change") == [2, 3, 4, 5] }
    }

    // MARK: Clients that send much

    @Test("a session beyond the limit ends the user's oldest one, and no other user's")
    @Reactor func sessionsOfAUser() async throws {
        var settings = Fanout.Settings()
        settings.limits.sessions = 3
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let ben = await system.session("ben")
        var clients: [TestClient] = []
        for _ in 0..<5 { clients.append(await system.session("anna")) }
        await waitUntil { clients[0].closeCode == 4409 && clients[1].closeCode == 4409 }
        #expect(clients[0].frames(of: "bye").first?.contains("superseded") == true)
        for client in clients[2...] + [ben] {
            await system.quiet(client)
            #expect(client.closeCode == nil)
        }
    }

    @Test("frames beyond a user's rate are read later, all of them and in order, and a new session has to wait")
    @Reactor func frames() async throws {
        var settings = Fanout.Settings()
        // Slow enough that it is still waiting when a busy machine has come to the next lines.
        (settings.limits.framesPerSecond, settings.limits.frameBurst) = (4, 40)
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let anna = await system.session("anna")
        let ben = await system.session("ben")
        let late = system.client()
        anna.sayAll((0..<60).map { #"{"type":"ping","id":"\#($0)"}"# })
        await waitUntil { anna.frames(of: "pong").count >= 25 }
        late.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#)
        await waitUntil { late.closeCode == 4430 }
        #expect(late.frames(of: "bye").first?.contains(#""retryAfter":"#) == true)
        await system.quiet(ben)
        #expect(anna.frames(of: "pong").count < 60, "the user waits, others do not")
        await waitUntil { anna.frames(of: "pong").count == 60 }
        let ids = anna.frames(of: "pong").map { $0.split(separator: "\"")[7] }
        #expect(ids == (0..<60).map { "\($0)" })
    }

    @Test("receipts beyond a user's share wait with their client, none is lost, and other users' are not delayed")
    @Reactor func receipts() async throws {
        var settings = Fanout.Settings()
        (settings.limits.framesPerSecond, settings.limits.frameBurst) = (10_000, 100_000)
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let count = ReceiptSignals.share + 1_500
        let conversations = (0..<count).map { number in
            ConversationID(UUIDBytes(high: 0x0189_0000_0000_7000, low: 1 << 63 | UInt64(number)))
        }
        for conversation in conversations { system.store.create(conversation, members: ["anna"]) }
        system.store.create(Self.first, members: ["ben"])
        let anna = await system.session("anna"), ben = await system.session("ben")
        let fanout = system.fanouts[0].fanout
        await waitUntil { fanout.rooms.count == count + 1 }
        system.store.isSilentAboutSignals = ["anna"]
        for start in stride(from: 0, to: count, by: 500) {
            let items = conversations[start..<min(start + 500, count)].map { #"{"conversationId":"\#($0)","seq":1}"# }
            anna.say(#"{"type":"read","items":[\#(items.joined(separator: ","))]}"#)
        }
        anna.say(#"{"type":"ping"}"#)
        await waitUntil { fanout.counters.receiptsDelayed > 0 }
        ben.say(#"{"type":"read","conversationId":"\#(Self.first)","seq":1}"#)
        await waitUntil { system.store.signals.contains { $0.user == UserID("ben")! } }
        #expect(anna.frames(of: "pong").isEmpty, "the user's client waits")
        system.store.isSilentAboutSignals = []
        await waitUntil { !anna.frames(of: "pong").isEmpty }
        let told = {
            Set(system.store.signals.filter { $0.user == UserID("anna")! && $0.read == 1 }.map(\.conversation))
        }
        await waitUntil { told().count == count }
    }

    @Test("a large hello is refused when the budget of unauthenticated connections is used up, and a small one gets in")
    @Reactor func unauthenticated() async throws {
        var settings = Fanout.Settings()
        settings.unauthenticatedBytes = 256 << 10
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let gateway = system.fanouts[0].fanout.gateway
        let clients = [system.client(), system.client(), system.client()]
        for client in clients[..<2] { client.begin(bytes: 900_000, with: 100_000) }
        await waitUntil { gateway.unauthenticatedBytes > 190_000 }
        clients[2].begin(bytes: 900_000, with: 100_000)
        await waitUntil { clients[2].closeCode == 4503 }
        #expect(clients[2].frames(of: "bye").first?.contains(#""retryAfter":"#) == true)
        #expect(gateway.unauthenticatedBytes <= 256 << 10)
        let anna = await system.session("anna")
        await system.quiet(anna)
        for client in clients { client.close() }
        await waitUntil { gateway.unauthenticatedBytes == 0 }
    }

    @Test("a client that sends many frames without a hello is closed")
    @Reactor func pingsBeforeHello() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let stranger = system.client()
        stranger.pingOften(3_000)
        await waitUntil { stranger.closeCode == 1008 }
    }
}
