import Foundation
import Models
import ParleyKitTesting
import ParleyStorage
import ParleySync
import Synchronization
import Testing

@testable import ParleyKit

/// What goes wrong between the engine, its database, its tokens and the server.
@Suite struct EngineTests {
    @Test(
        "a database that cannot be written tells the caller and everybody else, loses nothing, and goes on afterwards")
    func survivesFullDisks() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        let kept = try await talk.send("before")
        _ = await first(talk.timeline()) { $0.texts == ["before"] && $0.areAllStored }
        try await parley.engine.allowNoMorePages(true)
        let long = String(repeating: "long ", count: 3_000)
        await #expect {
            for _ in 0..<10 { try await talk.send(long) }
        } throws: { error in
            if case ParleyError.storage(let error) = error { error.reason == .full } else { false }
        }
        let told = await first(parley.problems) {
            if case .storage(let error) = $0 { error.reason == .full } else { false }
        }
        #expect(told != nil)
        // What arrives cannot be stored either.
        for number in 1...10 { world.write("\(number) \(long)", UInt64(number)) }
        #expect(await first(parley.connection) { $0 == .waiting } != nil)
        try await parley.engine.allowNoMorePages(false)
        let whole = await first(talk.timeline(.newest(100))) { update in
            update.areAllStored && !update.isLoading && update.texts.contains { $0?.hasPrefix("10 ") ?? false }
        }
        #expect(whole?.rows.first?.id == kept)
        #expect(whole?.texts == world.texts)
        #expect(await first(parley.connection) { $0 == .online } != nil)
        await parley.close()
    }

    @Test("one token is asked for at a time, and a fresh one when the server refuses it")
    func refreshesTokens() async throws {
        let world = try FaceWorld()
        let asked = Mutex(0)
        let atOnce = Mutex(0)
        let most = Mutex(0)
        let parley = try await world.open {
            let present = atOnce.withLock {
                $0 += 1; return $0
            }
            most.withLock { $0 = max($0, present) }
            try await Task.sleep(for: .milliseconds(20))
            atOnce.withLock { $0 -= 1 }
            return asked.withLock {
                $0 += 1; return "token-\($0)"
            }
        }
        world.network.accept(["token-1"])
        await parley.connect()
        await world.online(parley)
        world.network.accept(["token-2"])
        let talk = parley.conversation(world.group)
        for number in 1...5 { try await talk.send("\(number)") }
        _ = await first(talk.members) { $0.isComplete }
        #expect(await first(talk.timeline()) { $0.rows.count == 5 && $0.areAllStored } != nil)
        #expect(most.withLock { $0 } == 1)
        #expect(asked.withLock { $0 } == 2)
        await parley.close()
    }

    @Test("a server that refuses every token, and an application that has none, are asked again later and later")
    func pausesBetweenTokens() async throws {
        let world = try FaceWorld()
        world.network.accept([])
        let parley = try await world.open()
        try await parley.conversation(world.group).send("waits")
        await parley.connect()
        try await Task.sleep(for: .milliseconds(600))
        // Half a minute of the client's time: without pauses there would be thousands.
        #expect((2...30).contains(world.tokens.withLock { $0 }))
        await #expect(throws: ParleyError.self) { _ = try await parley.direct(with: ben) }
        world.network.accept(nil)
        #expect(await soon { world.texts == ["waits"] })
        await parley.close()

        struct NoToken: Error {}
        let asked = Mutex(0)
        let other = try await world.open(file: "other.db") {
            guard
                asked.withLock({
                    $0 += 1; return $0
                }) > 3
            else { throw NoToken() }
            return "token"
        }
        await other.connect()
        #expect(await first(other.problems) { if case .noToken = $0 { true } else { false } } != nil)
        await world.online(other)
        await other.close()
    }

    @Test(
        "what a user has written is never sent with the token of another one, and waits for one of theirs",
        arguments: [signedToken(of: ben), "a token of another form"])
    func keepsToItsUser(token: String) async throws {
        let world = try FaceWorld()
        try await Self.writeOffline("anna's", in: world)
        let other = try await world.open(ben, file: "anna.db") { token }
        await other.connect()
        #expect(await first(other.connection) { $0 == .otherUser } != nil)
        await other.catchUp()
        await #expect(throws: ParleyError.unreachable) { _ = try await other.direct(with: UserID("cleo")!) }
        try await other.conversation(world.group).send("more of anna's")
        try await Task.sleep(for: .milliseconds(100))
        #expect(!world.network.takeCalls().contains("send"))
        #expect(world.texts.isEmpty)
        #expect(await first(other.pendingWrites) { $0 == 2 } != nil)
        await other.close()
        let again = try await world.connected()
        #expect(await soon { world.texts == ["anna's", "more of anna's"] })
        await again.close()
    }

    /// Leaves a copy of anna's with a message that waits.
    private static func writeOffline(_ text: String, in world: FaceWorld) async throws {
        let parley = try await world.connected()
        _ = await first(parley.conversation(world.group).info) { $0 != nil }
        await parley.disconnect()
        try await parley.conversation(world.group).send(text)
        await parley.close()
    }

    @Test("another user's token in the middle of a session ends it, and sends nothing")
    func keepsToItsUserLater() async throws {
        let world = try FaceWorld()
        let asked = Mutex(0)
        let parley = try await world.open {
            let number = asked.withLock {
                $0 += 1; return $0
            }
            return signedToken(of: number == 2 ? ben : anna)
        }
        await parley.connect()
        await world.online(parley)
        world.network.push(.tokenExpiring(at: time(1)), to: anna)
        #expect(await first(parley.connection) { $0 == .otherUser } != nil)
        try await parley.conversation(world.group).send("anna's")
        try await Task.sleep(for: .milliseconds(100))
        #expect(world.texts.isEmpty)
        #expect(asked.withLock { $0 } == 2)
        await parley.connect()
        #expect(await soon { world.texts == ["anna's"] })
        await parley.close()
    }

    @Test("without a session what waits goes with a token that says whose it is, and with no other")
    func asksWhoseTokensAre() async throws {
        let world = try FaceWorld()
        try await Self.writeOffline("anna's", in: world)
        let silent = try await world.open()
        await silent.catchUp()
        #expect(world.texts.isEmpty)
        await silent.close()
        let own = try await world.open { signedToken(of: anna) }
        await own.catchUp()
        #expect(await soon { world.texts == ["anna's"] })
        await own.close()
    }

    @Test("a token of another form than the contract's does not say whose it is")
    func formsOfTokens() {
        #expect(TokenUser.name(in: signedToken(of: anna)) == "anna")
        for token in ["", "token-1", "a.b.c", "e30.e30.AA", "e30.e30"] { #expect(TokenUser.name(in: token) == nil) }
    }

    @Test("nothing is sent and no timer runs before it is connected, and none once everything is done")
    func sleeps() async throws {
        let world = try FaceWorld()
        let parley = try await world.open()
        try await parley.conversation(world.group).send("later")
        #expect(await first(parley.pendingWrites) { $0 == 1 } != nil)
        try await Task.sleep(for: .milliseconds(50))
        #expect(world.network.takeCalls().isEmpty)
        #expect(await parley.engine.nextWake == nil)
        await parley.connect()
        #expect(await soon { world.texts == ["later"] })
        #expect(await soon { await parley.engine.nextWake == nil })
        await parley.close()
    }

    @Test("a session that breaks again and again is made again, and misses nothing")
    func reconnects() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let timeline = parley.conversation(world.group).timeline(.newest(200))
        for number in 1...40 {
            world.write("\(number)", UInt64(number))
            if number.isMultiple(of: 8) {
                world.network.isReachable = false
                try await Task.sleep(for: .milliseconds(5))
                world.network.isReachable = true
            }
        }
        #expect(await first(timeline) { $0.texts == (1...40).map { "\($0)" } && !$0.isLoading } != nil)
        await parley.close()
    }

    @Test("a client that is let go without being closed ends")
    func endsWithItsOwner() async throws {
        let world = try FaceWorld()
        weak var engine: Engine?
        do {
            let parley = try await world.connected()
            engine = parley.engine
        }
        for _ in 0..<3_000 where engine != nil { try await Task.sleep(for: .milliseconds(10)) }
        let isGone = engine == nil
        #expect(isGone)
    }

    @Test("differences turn the old state into the new one", arguments: UInt64(0)..<200)
    func differences(seed: UInt64) {
        struct Row: Identifiable, Equatable {
            let id: Int
            var content: Int
        }
        var random = SeededGenerator(seed: seed)
        func rows() -> [Row] {
            (0..<12).shuffled(using: &random).prefix(Int.random(in: 0...12, using: &random))
                .map { Row(id: $0, content: Int.random(in: 0...1, using: &random)) }
        }
        let (old, new) = (rows(), rows())
        let difference = ListDifference(from: old, to: new)
        // Those that stay are in the same order in both.
        let changed = Set(difference.inserted + difference.removed + difference.moved)
        #expect(old.map(\.id).filter { !changed.contains($0) } == new.map(\.id).filter { !changed.contains($0) })
        #expect(Set(difference.inserted) == Set(new.map(\.id)).subtracting(old.map(\.id)))
        #expect(Set(difference.removed) == Set(old.map(\.id)).subtracting(new.map(\.id)))
        let contents = Dictionary(uniqueKeysWithValues: old.map { ($0.id, $0.content) })
        #expect(Set(difference.updated) == Set(new.filter { contents[$0.id] ?? $0.content != $0.content }.map(\.id)))
        #expect(ListDifference(from: new, to: new).isEmpty)
    }
}

extension Engine {
    var nextWake: Duration? { wakeAt }

    /// As if the disk were full.
    func allowNoMorePages(_ isFull: Bool) throws {
        let pages = isFull ? 1 : 1_000_000
        try store?.connection.execute("PRAGMA max_page_count = \(pages)")
    }
}
