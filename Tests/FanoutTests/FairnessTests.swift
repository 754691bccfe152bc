import Edge
import Models
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Fanout

/// A session's socket that discards what is sent.
@Reactor
private final class DeafSocket: SessionSocket {
    var userInfo: AnyObject?
    var isOpen = true
    var queuedBytes: Int { 0 }
    var isCongested: Bool { false }
    var maximumMessageBytes = 0
    var heldInputBytes: Int { 0 }
    var announcedInputBytes: Int { 0 }

    func send(_: WebSocketFrame) {}
    func close(_: WebSocketCloseCode) { isOpen = false }
    func pauseReading() {}
    func resumeReading() {}
}

/// Tests that users with much load do not delay others.
@Suite(.serialized) struct FairnessTests {
    init() { ReactorThread.start() }

    static let conversations = (0..<200).map { number in
        ConversationID(UUIDBytes(high: 0x0189_0000_0000_7000, low: 1 << 63 | UInt64(number)))
    }

    // MARK: Fetches

    @Test("fetches that complete at once run one after the other and do not nest")
    @Reactor func doneAtOnce() {
        let queue = FetchQueue()
        var held: [@Reactor () -> Void] = []
        for conversation in Self.conversations.prefix(64) {
            queue.run(in: .conversation(conversation)) { held.append($0) }
        }
        var count = 0
        for _ in 0..<200_000 {
            queue.run(in: .user(UserID("anna")!)) { done in
                count += 1
                done()
            }
        }
        #expect(held.count == 64 && count == 0)
        held.removeFirst()()
        #expect(count == 200_000)
    }

    @Test("users take turns, and none has more fetches in flight than their share")
    @Reactor func lanes() {
        let queue = FetchQueue(share: 2)
        var order: [String] = []
        var held: [@Reactor () -> Void] = []
        for name in ["anna", "anna", "anna", "anna", "anna", "ben", "ben", "carl"] {
            queue.run(in: .user(UserID(name)!)) { done in
                order.append(name)
                held.append(done)
            }
        }
        #expect(order == ["anna", "anna", "ben", "ben", "carl"])
        while !held.isEmpty { held.removeFirst()() }
        #expect(order.count == 8)
        // The limit is reached: the others are served in turn.
        order = []
        for conversation in Self.conversations.prefix(64) {
            queue.run(in: .conversation(conversation)) { held.append($0) }
        }
        for name in ["anna", "anna", "anna", "ben", "ben", "carl"] {
            queue.run(in: .user(UserID(name)!)) { done in
                order.append(name)
                done()
            }
        }
        held.removeFirst()()
        #expect(order == ["anna", "ben", "carl", "anna", "ben", "anna"])
    }

    @Test("a waiting fetch is dropped when its session has ended")
    @Reactor func gone() {
        let queue = FetchQueue(share: 1)
        let identity = Identity(user: UserID("anna")!, expiresAt: .now)
        let sockets = [DeafSocket(), DeafSocket(), DeafSocket()]
        var asked: [Int] = []
        var held: [@Reactor () -> Void] = []
        for (number, socket) in sockets.enumerated() {
            queue.run(for: Session(socket, identity)) { done in
                asked.append(number)
                held.append(done)
            }
        }
        sockets[1].isOpen = false
        held.removeFirst()()
        #expect(asked == [0, 2])
    }

    @Test("one bootstrap of a user is queried at a time, and none for ended sessions")
    @Reactor func bootstraps() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.isSilentAbout = [.bootstrap]
        let hello = #"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#
        var clients: [TestClient] = []
        let sessions = system.fanouts[0].fanout.sessions
        for number in 1...5 {
            clients.append(system.client())
            clients.last!.say(hello)
            await waitUntil { sessions.count == number }
        }
        for client in clients[1...3] { client.close() }
        await waitUntil { sessions.count == 2 }
        system.store.isSilentAbout = []
        for client in [clients[0], clients[4]] { await waitUntil { !client.frames(of: "welcome").isEmpty } }
        #expect(system.store.asked[.bootstrap] == 2)
    }

    // MARK: Rooms

    @Test("a user's oldest sessions give way when all together are in too many conversations, and the newest stays")
    @Reactor func places() async throws {
        var settings = Fanout.Settings()
        settings.limits.conversations = 10
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        for conversation in Self.conversations.prefix(4) {
            system.store.create(conversation, members: ["anna", "ben"])
        }
        let ben = await system.session("ben")
        var clients = [await system.session("anna"), await system.session("anna")]
        await waitUntil { clients.allSatisfy { $0.closeCode == nil } }
        clients.append(await system.session("anna"))
        await waitUntil { clients[0].closeCode == 4409 }
        #expect(clients[0].frames(of: "bye").first?.contains("superseded") == true)
        // The same when sessions join more rooms.
        for conversation in Self.conversations[4..<6] { system.store.create(conversation, members: ["anna", "ben"]) }
        await waitUntil { clients[1].closeCode == 4409 }
        for conversation in Self.conversations[6..<20] { system.store.create(conversation, members: ["anna", "ben"]) }
        for client in [clients[2], ben] {
            await waitUntil { client.numbers("seq", in: "change").count >= 14 }
            #expect(client.closeCode == nil)
        }
    }

    // MARK: Typing

    @Test("another process that announces every keystroke is relayed at most once in the interval")
    @Reactor func typingFromElsewhere() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let conversation = Self.conversations[0]
        system.store.create(conversation, members: ["anna", "ben"])
        let anna = await system.session("anna")
        for number in 0..<100 {
            system.store.bus.append(to: .ephemeral(conversation.slot.group)) { buffer in
                EphemeralEntry.typing(conversation, UserID("ben")!, isActive: number % 2 == 0).write(to: &buffer)
            }
        }
        system.store.send(to: conversation)
        await waitUntil { !anna.frames(of: "change").isEmpty && anna.frames(of: "typing").count >= 2 }
        await system.quiet(anna)
        #expect(anna.frames(of: "typing").count == 2)
    }

    // MARK: Presence

    @Test("repeated changes of the presence setting cost one query at a time, and the last one holds")
    @Reactor func decisions() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let direct = ConversationID(UUIDBytes("01890000-0000-8000-8000-000000000033")!)
        system.store.create(direct, members: ["anna", "ben"])
        let anna = await system.session("anna"), ben = await system.session("ben")
        func isShown() -> Bool? {
            ben.frames(of: "presence").last { $0.contains(#""anna""#) }.map { $0.contains(#""online":true"#) }
        }
        await waitUntil { isShown() == true }
        // Both sessions sent a query when they started.
        await waitUntil { system.store.lastSeenQueries == 2 }
        let before = system.store.lastSeenQueries
        for number in 0..<101 { system.store.decide("anna", showsPresence: number % 2 == 1) }
        await waitUntil { anna.frames(of: "private").count >= 101 }
        await waitUntil { isShown() == false }
        await Reactor.sleep(for: .milliseconds(300))
        #expect(system.store.lastSeenQueries - before <= 1 && isShown() == false)
        for number in 0..<100 { system.store.decide("anna", showsPresence: number % 2 == 1) }
        await waitUntil { isShown() == true }
        await Reactor.sleep(for: .milliseconds(300))
        #expect(system.store.lastSeenQueries - before <= 3 && isShown() == true)
    }

    @Test("one query of when peers were last seen serves all sessions of a user")
    @Reactor func lastSeen() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let direct = ConversationID(UUIDBytes("01890000-0000-8000-8000-000000000033")!)
        system.store.create(direct, members: ["anna", "ben"])
        system.store.lastSeen = [.init(UserID("ben")!, lastSeen: Timestamp(milliseconds: 1_700_000_040_000))]
        system.store.isSilentAboutLastSeen = true
        let clients = [await system.session("anna"), await system.session("anna"), await system.session("anna")]
        await Reactor.sleep(for: .milliseconds(400))
        system.store.isSilentAboutLastSeen = false
        for client in clients { await waitUntil { !client.frames(of: "presence").isEmpty } }
        #expect(system.store.lastSeenQueries == 1)
    }

    // MARK: Repair

    @Test("frames in the backlog are not fetched, and typing is dropped meanwhile")
    @Reactor func backlog() async throws {
        var settings = Fanout.Settings()
        // Typing comes while the backlog lasts, a second, however fast the machine is.
        settings.turns = Turns.Size(steps: 128, pause: .milliseconds(5))
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let conversation = Self.conversations[0]
        let members = (0..<50).map { "member\($0)" }
        system.store.create(conversation, members: members)
        var clients: [TestClient] = []
        for member in members { clients.append(await system.session(member)) }
        let fanout = system.fanouts[0].fanout, counters = fanout.counters
        await waitUntil { fanout.rooms[conversation]?.feed.count == members.count }
        // One frame with the work of several turns.
        system.store.send(600, to: conversation)
        system.store.bus.append(to: .ephemeral(conversation.slot.group)) { buffer in
            EphemeralEntry.typing(conversation, UserID("member0")!, isActive: true).write(to: &buffer)
        }
        await waitUntil { counters.deliveries > 0 }
        // As from a bootstrap that was read just now.
        fanout.rooms[conversation]?.learn(system.store.lastSeq(conversation))
        await waitUntil { counters.deliveries == 600 * members.count }
        // Presence of the others may come behind it.
        for client in clients { await waitUntil { client.numbers("seq", in: "change").last == 601 } }
        #expect(counters.gaps == 0 && counters.typingFrames == 0 && counters.typingDropped == 1)
        #expect(clients[7].numbers("seq", in: "change") == Array(2...601))
    }

    @Test("entries fetched for a whole room go out over several turns, once and in order")
    @Reactor func repairOverTurns() async throws {
        var settings = Fanout.Settings()
        settings.turns = Turns.Size(steps: 2, share: 1, pause: .milliseconds(1))
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let conversation = Self.conversations[0]
        system.store.create(conversation, members: ["anna", "ben"])
        let clients = [await system.session("anna"), await system.session("ben")]
        await waitUntil { system.fanouts[0].fanout.rooms[conversation]?.feed.count == 2 }
        let counters = system.fanouts[0].fanout.counters
        system.store.losesAnnouncements = true
        system.store.send(300, to: conversation)
        system.store.losesAnnouncements = false
        system.store.send(to: conversation)
        await waitUntil { counters.deliveries >= 20 }
        #expect(counters.deliveries < 300, "the delivery is in progress")
        system.store.send(20, to: conversation)
        for client in clients {
            await waitUntil { client.numbers("seq", in: "change").last == 322 }
            #expect(client.numbers("seq", in: "change") == Array(2...322))
        }
    }
}
