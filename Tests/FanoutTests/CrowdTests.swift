import Edge
import Models
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Fanout

/// Users with very many conversations, rooms with very many sessions, and clients that say very much.
@Suite(.serialized) struct CrowdTests {
    init() { ReactorThread.start() }

    static let first = ConversationID(UUIDBytes("01890000-0000-7000-8000-00000f000011")!)
    static let many = (0..<3_000).map { number in
        ConversationID(UUIDBytes(high: 0x0189_0000_0000_7000, low: 1 << 63 | UInt64(number)))
    }

    // MARK: Many conversations

    @Test("who has thousands of conversations is put into them, and taken out, a few in each turn")
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
        // A step may weigh several, hence a little more.
        #expect(fanout.turns.longest <= 2 * Turns.Size().steps)
    }

    @Test(
        "what happens while a session is put into its conversations is seen once and in order, before and after its turn",
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
        #expect(fanout.rooms.count < 150, "it is in the middle of it")
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

    @Test("who goes, or is superseded, in the middle of being put into their conversations leaves nothing behind")
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

    @Test("a hello of hundreds of thousands of bytes is read over many turns, with what the client says behind it")
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

    @Test("who has left and still catches up with changes is told nothing of receipts and of who is typing")
    @Reactor func formerMember() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.first, members: ["anna", "ben"])
        system.store.send(3, to: Self.first)
        let anna = await system.session("anna")
        system.store.remove("ben", from: Self.first)
        await waitUntil { anna.numbers("seq", in: "change") == [5] }
        // Their changes are not there yet: they stay in the room.
        system.store.isSilentAbout = [.replay]
        let ben = await system.session("ben", hello: #","cursors":{"\#(Self.first)":1},"statusVersions":{}"#)
        let room = try #require(system.fanouts[0].fanout.rooms[Self.first])
        await waitUntil { room.feed.count == 2 }
        system.store.moveStatus(Self.first)
        anna.say(#"{"type":"typing","conversationId":"\#(Self.first)","active":true}"#)
        await waitUntil { anna.numbers("statusVersion", in: "status") == [1] }
        await system.quiet(ben)
        #expect(ben.frames(of: "status").isEmpty && ben.frames(of: "typing").isEmpty)
        #expect(room.feed.count == 2, "they are still there")
        system.store.isSilentAbout = []
        await waitUntil { ben.numbers("seq", in: "change") == [2, 3, 4, 5] }
    }

    // MARK: Clients that say much

    @Test("a user's oldest session gives way to one too many, and another user's does not")
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

    @Test("who says too much is read later, all of it and in order, and a new session of theirs is asked to wait")
    @Reactor func frames() async throws {
        var settings = Fanout.Settings()
        (settings.limits.framesPerSecond, settings.limits.frameBurst) = (20, 40)
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let anna = await system.session("anna")
        let ben = await system.session("ben")
        anna.sayAll((0..<60).map { #"{"type":"ping","id":"\#($0)"}"# })
        await waitUntil { anna.frames(of: "pong").count >= 25 }
        await system.quiet(ben)
        #expect(anna.frames(of: "pong").count < 60, "they wait, others do not")
        let late = system.client()
        late.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#)
        await waitUntil { late.closeCode == 4430 }
        #expect(late.frames(of: "bye").first?.contains(#""retryAfter":"#) == true)
        await waitUntil { anna.frames(of: "pong").count == 60 }
        let ids = anna.frames(of: "pong").map { $0.split(separator: "\"")[7] }
        #expect(ids == (0..<60).map { "\($0)" })
    }

    @Test("receipts beyond a user's share wait with their client, none is lost, and other users' pass by")
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
        #expect(anna.frames(of: "pong").isEmpty, "their client waits")
        system.store.isSilentAboutSignals = []
        await waitUntil { !anna.frames(of: "pong").isEmpty }
        let told = {
            Set(system.store.signals.filter { $0.user == UserID("anna")! && $0.read == 1 }.map(\.conversation))
        }
        await waitUntil { told().count == count }
    }

    @Test("a large hello of a stranger is refused when strangers hold all they may, and a small one gets in")
    @Reactor func strangers() async throws {
        var settings = Fanout.Settings()
        settings.unauthenticatedBytes = 256 << 10
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let gateway = system.fanouts[0].fanout.gateway
        let strangers = [system.client(), system.client(), system.client()]
        for stranger in strangers[..<2] { stranger.begin(bytes: 900_000, with: 100_000) }
        await waitUntil { gateway.unauthenticatedBytes > 190_000 }
        strangers[2].begin(bytes: 900_000, with: 100_000)
        await waitUntil { strangers[2].closeCode == 4503 }
        #expect(strangers[2].frames(of: "bye").first?.contains(#""retryAfter":"#) == true)
        #expect(gateway.unauthenticatedBytes <= 256 << 10)
        let anna = await system.session("anna")
        await system.quiet(anna)
        for stranger in strangers { stranger.close() }
        await waitUntil { gateway.unauthenticatedBytes == 0 }
    }

    @Test("who sends frame after frame without saying who they are is sent away")
    @Reactor func pingsBeforeHello() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let stranger = system.client()
        stranger.pingOften(3_000)
        await waitUntil { stranger.closeCode == 1008 }
    }
}
