import JSON
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Fanout
@testable import ServiceKit

/// Tests of clients without a verified token, or whose token was revoked.
@Suite(.serialized) struct UnauthenticatedTests {
    init() { ReactorThread.start() }

    static func hello(_ token: String, cursors: Int, rest: String = "") -> String {
        let positions = (0..<cursors).map { #""01890000-0000-7000-8000-\#(String(100_000_000_000 + $0))":1"# }
        return #"{"type":"hello","token":"\#(token)","cursors":{\#(positions.joined(separator: ","))}\#(rest)}"#
    }

    @Test("a token that is revoked while the rest of a large hello is read is refused")
    @Reactor func revokedMeanwhile() async throws {
        var settings = Fanout.Settings()
        settings.turns = Turns.Size(steps: 2, share: 1, pause: .milliseconds(1))
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let gateway = system.fanouts[0].fanout.gateway
        let client = system.client()
        client.say(Self.hello(TestSystem.token("anna"), cursors: 8_000))
        await waitUntil { gateway.unauthenticatedBytes > 0 }
        await waitUntil { gateway.unauthenticatedBytes == 0 }
        system.store.revoke(UserID("anna")!, before: .now)
        await waitUntil { client.closeCode != nil }
        #expect(client.closeCode == 4401 && client.frames(of: "welcome").isEmpty)
    }

    @Test("nobody is admitted before all revocations are known, and clients are asked to come back")
    @Reactor func notKnownYet() async throws {
        let system = try await TestSystem(silentAbout: [.revocations])
        defer { system.close() }
        let fanout = system.fanouts[0].fanout
        let health = Health()
        fanout.addConditions(to: health)
        await waitUntil { fanout.erased.isComplete }
        #expect(health.reasons.map(\.name.description) == ["revoked tokens"])
        let early = system.client()
        early.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#)
        await waitUntil { early.closeCode == 4503 }
        let bye = try #require(early.frames(of: "bye").first)
        #expect(bye.contains(#""code":"overloaded""#) && bye.contains(#""retryAfter":1"#))
        system.store.isSilentAbout = []
        await waitUntil { health.reasons.isEmpty }
        _ = await system.session("anna")
    }

    @Test(
        "a protocol error before authentication counts as a failed one, however large the frame",
        arguments: [#"{"type":"ping"}"#, "{", #"{"type":"hello"}"#, #"{"type":"ping","#, #"{"later":[1,],"#])
    @Reactor func failures(beginning: String) async throws {
        // An incomplete beginning is extended to a large frame.
        let isLarge = beginning.hasSuffix(",")
        let text = isLarge ? beginning + #""more":"\#(String(repeating: "x", count: 70_000))"}"# : beginning
        let system = try await TestSystem()
        defer { system.close() }
        let client = system.client()
        client.say(text)
        await waitUntil { client.closeCode == 1008 }
        #expect(system.fanouts[0].server.statistics.failedAuthentications == 1)
        await waitUntil { system.fanouts[0].fanout.gateway.unauthenticatedBytes == 0 }
    }

    @Test("a large frame is charged to the unauthenticated budget until its token was read")
    @Reactor func held() async throws {
        var settings = Fanout.Settings()
        settings.turns = Turns.Size(steps: 1, share: 1, pause: .milliseconds(1))
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let gateway = system.fanouts[0].fanout.gateway
        let client = system.client()
        let later = String(repeating: #"["\#(String(repeating: "x", count: 100))"],"#, count: 700)
        let text = #"{"later":[\#(later)0],"type":"hello","token":"none"}"#
        client.say(text)
        await waitUntil { gateway.unauthenticatedBytes == text.utf8.count }
        #expect(client.closeCode == nil)
        client.close()
        await waitUntil { gateway.unauthenticatedBytes == 0 }
    }

    @Test("a malformed hello with a valid token is charged")
    @Reactor func charged() async throws {
        var settings = Fanout.Settings()
        (settings.limits.framesPerSecond, settings.limits.frameBurst) = (1, 100)
        let system = try await TestSystem(settings: settings)
        defer { system.close() }
        let account = system.fanouts[0].fanout.sessions.account(of: UserID("anna")!)
        for _ in 0..<5 {
            let client = system.client()
            client.say(Self.hello(TestSystem.token("anna"), cursors: 2_000, rest: #","statusVersions":{"none":1}"#))
            await waitUntil { client.closeCode == 1008 }
        }
        let late = system.client()
        late.say(#"{"type":"hello","token":"\#(TestSystem.token("anna"))"}"#)
        await waitUntil { late.closeCode == 4430 }
        #expect(account.secondsInDebt != nil)
    }

    @Test("a hello is charged by its bytes, and at most a quarter of the burst")
    func price() {
        let limits = SessionLimits()
        #expect(FrameCost.hello(bytes: 200, limits) == 3)
        #expect(FrameCost.hello(bytes: 100 << 10, limits) == 102)
        #expect(FrameCost.hello(bytes: 1 << 20, limits) == Double(limits.frameBurst) / 4)
    }

    @Test("unknown members of a hello are skipped in small steps, and must be valid JSON")
    func unknownMembers() throws {
        func steps(_ text: String) throws -> Int {
            try Array(text.utf8).withUnsafeBytes { bytes in
                var reader = HelloReader(bytes)
                var steps = 0
                while try reader.readNext() { steps += 1 }
                return steps
            }
        }
        let later = #"[\#(String(repeating: #"{"a":[1,{}]},"#, count: 5_000))null]"#
        #expect(try steps(#"{"type":"hello","later":\#(later),"token":"t"}"#) > 20_000)
        for broken in ["[1,]", #"{"a":}"#, "[}", "[[1]", "01", #"{"a":1,}"#] {
            #expect(throws: JSONError.self) { try steps(#"{"token":"t","later":\#(broken)}"#) }
        }
        #expect(throws: JSONError.self) { try steps(#"{"token":"t"} 1"#) }
    }

    // MARK: Revocations

    @Test("a revocation is forgotten after the longest lifetime of a token, whatever the wall clock says")
    @Reactor func forgetting() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let revoked = RevokedTokens(bus: system.fanouts[0].bus, longestLifetime: .seconds(3600))
        let anna = UserID("anna")!
        // To a clock that is a month ahead for a moment, the revocation is that old.
        let before = Timestamp(milliseconds: Timestamp.now.milliseconds - 30 * 86_400_000)
        revoked.insert(Revocation(number: 1, anna, before: before))
        #expect(revoked.refuses(tokensOf: anna, issuedAt: before))
        revoked.forget(at: .now + .seconds(3600))
        #expect(revoked.refuses(tokensOf: anna, issuedAt: before))
        revoked.forget(at: .now + .seconds(3600 + 121))
        #expect(!revoked.refuses(tokensOf: anna, issuedAt: before) && revoked.count == 0)
    }

    @Test("whatever devices end each other, what was ended is refused, and few rows are kept", arguments: 0..<20)
    @Reactor func devices(seed: UInt64) async throws {
        let system = try await TestSystem()
        defer { system.close() }
        var random = SeededRandom(seed: seed)
        let revoked = RevokedTokens(bus: system.fanouts[0].bus, longestLifetime: nil)
        let anna = UserID("anna")!, devices = ["phone", "tablet", "television"]
        func moment(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1000) }
        var all: [(scope: DeviceScope, before: Timestamp)] = []
        for number in 1...20 {
            let device = DeviceID(devices.randomElement(using: &random)!)!
            let scope = DeviceScope(device, isAllBut: .random(using: &random))
            // Clocks differ: times do not only grow.
            let before = moment(.random(in: 0...3, using: &random) + Int64(number))
            all.append((scope, before))
            revoked.insert(Revocation(number: Int64(number), anna, before: before, scope))
            for device in devices + [nil] {
                for issued in 0...30 {
                    let isEnded = all.contains { $0.scope.contains(device) && moment(Int64(issued)) <= $0.before }
                    #expect(revoked.refuses(tokensOf: anna, on: device, issuedAt: moment(Int64(issued))) == isEnded)
                }
            }
        }
        #expect(revoked.count <= 2 * devices.count)
    }

    @Test("a token is refused by the first rule that it breaks, and by none while it is valid")
    @Reactor func refusals() async throws {
        let system = try await TestSystem()
        defer { system.close() }
        let bus = system.fanouts[0].bus
        let erased = ErasedUsers(bus: bus), revoked = RevokedTokens(bus: bus, longestLifetime: nil)
        let key = try TokenKey(secret: "one secret of the tests, long enough for HS256")
        var tokens = TokenVerifier(key: key)
        let (now, later) = (Timestamp(milliseconds: 1_000_000), Timestamp(milliseconds: 2_000_000))
        let anna = Identity(user: UserID("anna")!, expiresAt: later, issuedAt: now)
        func refusal(at time: Timestamp = now) -> TokenRefusal? {
            TokenRefusal.of(anna, tokens, erased, revoked, at: time)
        }
        #expect(refusal() == nil && refusal(at: later) == .expired)
        _ = tokens.replaceKeys(by: TokenKeySet(try TokenKey(secret: "another secret of the tests, as long as that")))
        #expect(refusal() == .keyGone)
        revoked.insert(Revocation(number: 1, anna.user, before: now))
        #expect(refusal() == .revoked)
        erased.insert(anna.user)
        #expect(refusal(at: later) == .userErased)
    }
}
