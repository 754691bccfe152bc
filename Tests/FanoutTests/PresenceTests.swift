import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Fanout

/// Tests of presence over real sockets and a real bus, with shorter times than in operation.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PresenceTests {
    init() { ReactorThread.start() }

    static let group = ConversationID(UUIDBytes("01890000-0000-7000-8000-000000000011")!)
    static let other = ConversationID(UUIDBytes("01890000-0000-7000-8000-0000000000e2")!)
    static let direct = ConversationID(UUIDBytes("01890000-0000-8000-8000-000000000033")!)

    /// The latest presence frame about a user that a client got; nil: none.
    @Reactor private func lastFrame(_ client: TestClient, of user: String) -> String? {
        client.frames(of: "presence").last { $0.contains(#""userId":"\#(user)""#) }
    }

    @Reactor private func isOnline(_ user: String, to client: TestClient) -> Bool? {
        lastFrame(client, of: user).map { $0.contains(#""online":true"#) }
    }

    @Reactor private func system(fanouts: Int = 1, members: [String] = ["anna", "ben"]) async throws -> TestSystem {
        let system = try await TestSystem(fanouts: fanouts)
        system.store.create(Self.group, members: members)
        return system
    }

    @Test("members of a conversation see each other come and go, on one fanout and on two", arguments: [1, 2])
    @Reactor func comeAndGo(fanouts: Int) async throws {
        let system = try await system(fanouts: fanouts)
        defer { system.close() }
        let anna = await system.session("anna")
        let ben = await system.session("ben", fanout: fanouts - 1)
        await waitUntil { isOnline("ben", to: anna) == true && isOnline("anna", to: ben) == true }
        ben.close()
        await waitUntil { isOnline("ben", to: anna) == false }
        #expect(lastFrame(anna, of: "ben")!.contains(#""lastSeen":"2"#))
        #expect(lastFrame(anna, of: "ben")!.contains(#":00.000Z""#))
        #expect(lastFrame(anna, of: "anna") == nil, "nobody sees their own presence")
        let counters = system.fanouts[0].fanout.counters
        await waitUntil { fanouts == 1 || counters.presenceFrames == anna.frames(of: "presence").count }
        await waitUntil { system.store.seen.contains(UserID("ben")!) }
    }

    @Test("users without a shared conversation get no presence")
    @Reactor func noSharedConversation() async throws {
        let system = try await system(fanouts: 2)
        defer { system.close() }
        system.store.create(Self.other, members: ["carl", "dora"])
        let anna = await system.session("anna")
        let carl = await system.session("carl")
        let dora = await system.session("dora", fanout: 1)
        let ben = await system.session("ben", fanout: 1)
        await waitUntil { isOnline("ben", to: anna) == true && isOnline("dora", to: carl) == true }
        #expect(lastFrame(anna, of: "carl") == nil && lastFrame(anna, of: "dora") == nil)
        #expect(lastFrame(dora, of: "anna") == nil && lastFrame(ben, of: "carl") == nil)
    }

    @Test("a user who returns at once never appears gone to the others")
    @Reactor func flicker() async throws {
        // Longer than it takes to come back on a busy machine.
        var presence = TestSystem.presence
        presence.grace = .seconds(5)
        let system = try await TestSystem(fanouts: 2, presence: presence)
        defer { system.close() }
        system.store.create(Self.group, members: ["anna", "ben"])
        let anna = await system.session("anna")
        for fanout in [0, 1, 0] {
            let ben = await system.session("ben", fanout: fanout)
            await waitUntil { isOnline("ben", to: anna) == true }
            ben.close()
        }
        let ben = await system.session("ben")
        await Reactor.sleep(for: presence.grace + .milliseconds(300))
        #expect(isOnline("ben", to: anna) == true)
        #expect(!anna.frames(of: "presence").contains { $0.contains(#""online":false"#) })
        ben.close()
        await waitUntil { isOnline("ben", to: anna) == false }
    }

    @Test("a user who turns presence off is gone at once, without a time, and sees nobody, until they turn it on")
    @Reactor func hidden() async throws {
        let system = try await system(fanouts: 2, members: ["anna", "ben", "carl"])
        defer { system.close() }
        let anna = await system.session("anna")
        let ben = await system.session("ben", fanout: 1)
        await waitUntil { isOnline("ben", to: anna) == true && isOnline("anna", to: ben) == true }
        system.store.decide("ben", showsPresence: false)
        await waitUntil { isOnline("ben", to: anna) == false }
        #expect(!lastFrame(anna, of: "ben")!.contains("lastSeen"))
        let carl = await system.session("carl")
        await waitUntil { isOnline("carl", to: anna) == true }
        #expect(lastFrame(ben, of: "carl") == nil && lastFrame(carl, of: "ben") == nil)
        system.store.decide("ben", showsPresence: true)
        await waitUntil { isOnline("ben", to: anna) == true && isOnline("ben", to: carl) == true }
        await waitUntil { isOnline("carl", to: ben) == true }
    }

    @Test("a session of a user without presence is never shown")
    @Reactor func hiddenFromTheStart() async throws {
        let system = try await system(members: ["anna", "ben", "carl"])
        defer { system.close() }
        system.store.decide("ben", showsPresence: false)
        let anna = await system.session("anna")
        let ben = await system.session("ben")
        _ = await system.session("carl")
        await waitUntil { isOnline("carl", to: anna) == true }
        #expect(lastFrame(anna, of: "ben") == nil && ben.frames(of: "presence").isEmpty)
        ben.close()
        await Reactor.sleep(for: .milliseconds(600))
        #expect(lastFrame(anna, of: "ben") == nil && !system.store.seen.contains(UserID("ben")!))
    }

    @Test("users of a silent fanout are gone after a while, unless they are elsewhere too")
    @Reactor func death() async throws {
        let system = try await system(fanouts: 3, members: ["anna", "ben", "carl"])
        defer { system.close() }
        let anna = await system.session("anna")
        _ = await system.session("ben", fanout: 1)
        _ = await system.session("carl", fanout: 1)
        _ = await system.session("carl", fanout: 2)
        await waitUntil { isOnline("ben", to: anna) == true && isOnline("carl", to: anna) == true }
        system.silence(fanout: 1)
        await waitUntil { isOnline("ben", to: anna) == false }
        #expect(lastFrame(anna, of: "ben")!.contains("lastSeen"))
        #expect(isOnline("carl", to: anna) == true)
        #expect(system.fanouts[0].fanout.counters.presenceExpired == 2, "ben, and the carl of that fanout")
        await waitUntil { system.store.seen.contains(UserID("ben")!) }
    }

    @Test("a large group shows nobody; a direct conversation shows its other member")
    @Reactor func large() async throws {
        let many = (0..<49).map { "user\($0)" }
        let system = try await system(members: ["anna", "ben", "carl"] + many)
        defer { system.close() }
        system.store.create(Self.direct, members: ["anna", "carl"])
        let anna = await system.session("anna")
        _ = await system.session("ben")
        let carl = await system.session("carl")
        await waitUntil { isOnline("carl", to: anna) == true && isOnline("anna", to: carl) == true }
        #expect(lastFrame(anna, of: "ben") == nil && lastFrame(carl, of: "ben") == nil)
        // With 50 members left they see each other.
        system.store.remove("user0", from: Self.group)
        system.store.remove("user1", from: Self.group)
        await waitUntil { isOnline("ben", to: anna) == true && isOnline("ben", to: carl) == true }
        system.store.add("user0", to: Self.group)
        await waitUntil { isOnline("ben", to: anna) == false }
        #expect(isOnline("carl", to: anna) == true && !lastFrame(anna, of: "ben")!.contains("lastSeen"))
    }

    @Test("a new member is shown, and a removed one is not shown and sees nobody any more")
    @Reactor func membership() async throws {
        let system = try await system(fanouts: 2)
        defer { system.close() }
        let anna = await system.session("anna")
        let carl = await system.session("carl", fanout: 1)
        system.store.add("carl", to: Self.group)
        await waitUntil { isOnline("carl", to: anna) == true && isOnline("anna", to: carl) == true }
        system.store.remove("carl", from: Self.group)
        await waitUntil { isOnline("carl", to: anna) == false && isOnline("anna", to: carl) == false }
        let frames = carl.frames(of: "presence").count
        let ben = await system.session("ben")
        await waitUntil { isOnline("ben", to: anna) == true }
        ben.close()
        await waitUntil { isOnline("ben", to: anna) == false }
        #expect(carl.frames(of: "presence").count == frames)
    }

    @Test(
        "a new member does not see a member removed before, who is still shown a little longer",
        arguments: [1, 2])
    @Reactor func joiningAfterARemoval(fanouts: Int) async throws {
        let system = try await system(fanouts: fanouts)
        defer { system.close() }
        let anna = await system.session("anna")
        let carl = await system.session("carl")
        let ben = await system.session("ben", fanout: fanouts - 1)
        await waitUntil { isOnline("ben", to: anna) == true }
        ben.close()
        system.store.remove("ben", from: Self.group)
        system.store.add("carl", to: Self.group)
        await waitUntil { isOnline("anna", to: carl) == true && isOnline("ben", to: anna) == false }
        await Reactor.sleep(for: .milliseconds(300))
        #expect(lastFrame(carl, of: "ben") == nil)
        system.store.add("ben", to: Self.group)
        let back = await system.session("ben", fanout: fanouts - 1)
        await waitUntil { isOnline("ben", to: carl) == true && isOnline("carl", to: back) == true }
    }

    @Test("a user who connects after their direct peer has left learns when the peer was last seen")
    @Reactor func lastSeen() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        system.store.create(Self.direct, members: ["anna", "ben"])
        system.store.lastSeen = [PresenceList.Departure(UserID("ben")!, lastSeen: Timestamp(milliseconds: 60_000))]
        let anna = await system.session("anna")
        await waitUntil { lastFrame(anna, of: "ben") != nil }
        #expect(
            lastFrame(anna, of: "ben")
                == #"{"type":"presence","userId":"ben","online":false,"lastSeen":"1970-01-01T00:01:00.000Z"}"#)
        let ben = await system.session("ben")
        await waitUntil { isOnline("ben", to: anna) == true }
        // A response about a user who is online meanwhile is ignored.
        let again = await system.session("anna")
        await waitUntil { isOnline("ben", to: again) == true }
        await Reactor.sleep(for: .milliseconds(300))
        #expect(isOnline("ben", to: again) == true)
        ben.close()
    }

    @Test("a congested session gets no typing, and only the final presence of each user")
    @Reactor func congestion() async throws {
        let system = try await system(members: ["anna", "ben", "carl"])
        defer { system.close() }
        let slow = await system.session("anna"), ben = await system.session("ben")
        await waitUntil { isOnline("ben", to: slow) == true }
        slow.isReading = false
        let fanout = system.fanouts[0].fanout
        let session = try #require(fanout.sessions.all.first { $0.user.name == "anna" })
        await system.congest({ session.isCongested }, in: Self.group)
        let carl = await system.session("carl")
        await waitUntil { isOnline("carl", to: ben) == true }
        carl.say(#"{"type":"typing","conversationId":"\#(Self.group)","active":true}"#)
        await waitUntil { !ben.frames(of: "typing").isEmpty }
        #expect(fanout.counters.typingDropped == 1 && fanout.counters.presenceDropped == 0)
        carl.close()
        await waitUntil { isOnline("carl", to: ben) == false }
        #expect(fanout.counters.presenceDropped == 1)
        slow.isReading = true
        await waitUntil { isOnline("carl", to: slow) == false }
        #expect(slow.frames(of: "presence").filter { $0.contains("carl") }.count == 1)
        #expect(slow.frames(of: "typing").isEmpty)
    }

    @Test("a former member who still catches up neither types nor sees others type")
    @Reactor func typingOfFormerMembers() async throws {
        let system = try await system()
        defer { system.close() }
        system.store.send(5, to: Self.group)
        system.store.remove("ben", from: Self.group)
        let anna = await system.session("anna")
        // The replay gets no response, so ben keeps catching up.
        system.store.behindSnapshot = { system.store.isSilent = true }
        let ben = await system.session("ben", hello: #","cursors":{"\#(Self.group)":1}"#)
        anna.say(#"{"type":"typing","conversationId":"\#(Self.group)","active":true}"#)
        ben.say(#"{"type":"typing","conversationId":"\#(Self.group)","active":true}"#)
        for client in [anna, ben] { await system.quiet(client) }
        #expect(anna.frames(of: "typing").isEmpty && ben.frames(of: "typing").isEmpty)
        #expect(ben.frames(of: "presence").isEmpty)
    }
}
