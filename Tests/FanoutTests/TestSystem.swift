import Bus
import Bytes
import Edge
import Glibc
import Models
import Reactor
import ServiceKit
import TestSupport
import Wire

@testable import Fanout

/// Fanouts with real sockets on both sides, and a scripted store behind them.
@Reactor
final class TestSystem {
    private static let secret = "a secret of the tests, long enough for HS256"

    let store: ScriptedStore
    private(set) var fanouts: [(fanout: Fanout, server: Server, bus: Bus, port: Int)] = []
    private let routes = NoRoutes()
    private let directory: String
    private let storeBus: Bus

    /// The timing of presence, shorter than in operation.
    static let presence = PresenceTiming(
        gathering: .milliseconds(20), grace: .milliseconds(300), heartbeat: .milliseconds(100), silence: .seconds(2),
        refresh: .seconds(1), seen: .milliseconds(500))

    init(
        fanouts count: Int = 1, areStrangers: Bool = false, limits: ServerLimits = ServerLimits(),
        typingLifetime: Duration = TypingTable.lifetime, presence: PresenceTiming = TestSystem.presence,
        settings: Fanout.Settings = Fanout.Settings(),
        silentAbout silence: Set<StoreRequestKind> = []
    ) async throws {
        var settings = settings
        settings.presence = presence
        settings.typingLifetime = typingLifetime
        var template = Array("/tmp/parley-fanout-XXXXXX".utf8CString)
        directory = String(cString: mkdtemp(&template)!)
        storeBus = try Bus(bind: "ipc://\(directory)/store-0.sock")
        store = ScriptedStore(storeBus)
        store.isSilentAbout = silence
        for number in 0..<count { try open(number, limits, settings) }
        try storeBus.follow([.ipc(pattern: "\(directory)/fanout-*.sock")])
        try await settle(areStrangers, silence)
    }

    private func open(_ number: Int, _ limits: ServerLimits, _ settings: Fanout.Settings) throws {
        let bus = try Bus(bind: "ipc://\(directory)/fanout-\(number).sock")
        let tokens = TokenVerifier(key: try TokenKey(secret: Self.secret))
        let fanout = Fanout(
            bus: bus, tokens: tokens, log: Log(service: "fanout", level: .error), settings)
        let server = Server(routes, webSockets: fanout.gateway, limits: limits)
        let port = try server.listen(at: "127.0.0.1:0")
        fanout.start()
        fanouts.append((fanout, server, bus, port))
    }

    /// Waits until all processes have each other's subscriptions: the digests of the store have arrived, and it has
    /// responded to a fanout's request.
    private func settle(_ areStrangers: Bool, _ silence: Set<StoreRequestKind>) async throws {
        for (_, _, bus, _) in fanouts {
            let store = Endpoint.ipc(pattern: "\(directory)/store-*.sock")
            try bus.follow(areStrangers ? [store] : [store, .ipc(pattern: "\(directory)/fanout-*.sock")])
        }
        await waitUntil {
            store.publishDigests()
            return fanouts.allSatisfy { $0.fanout.counters.digestsReceived >= Slot.count }
        }
        await waitUntil {
            !silence.isEmpty
                || fanouts.allSatisfy { $0.fanout.erased.isComplete && $0.fanout.revoked.isComplete }
        }
        for (_, _, bus, _) in fanouts {
            _ = await bus.request(StoreRequestKind.positions, in: Slot(0), deadline: .seconds(60)) {
                $0.append(bigEndian: UInt32(0))
            }
        }
        // Subscriptions between fanouts arrive within the same time; no event shows when.
        if fanouts.count > 1 { await Reactor.sleep(for: .milliseconds(200)) }
    }

    /// Connects fanouts that did not follow each other.
    func introduce() throws {
        for (_, _, bus, _) in fanouts { try bus.follow([.ipc(pattern: "\(directory)/fanout-*.sock")], as: .fanout) }
    }

    /// Silences a fanout to its peers, as if it was killed; its clients notice nothing.
    func silence(fanout number: Int) { fanouts[number].bus.close() }

    func close() {
        for (_, server, bus, _) in fanouts {
            server.drain(deadline: .zero) {}
            bus.close()
        }
        storeBus.close()
        rmdir(directory)
    }

    static func token(
        _ user: String, device: String? = nil, lifetime: Int64 = 3600, issuedAt: Timestamp? = nil
    ) -> String {
        let expiry = Timestamp(milliseconds: Timestamp.now.milliseconds + lifetime * 1000)
        return TokenSigner(secret: secret).token(
            for: Identity(user: UserID(user)!, device: device, expiresAt: expiry, issuedAt: issuedAt))
    }

    func client(fanout: Int = 0) -> TestClient { TestClient(port: fanouts[fanout].port) }

    /// Returns a client that has its `welcome`.
    func session(
        _ user: String, device: String? = nil, lifetime: Int64 = 3600, hello: String = "", fanout: Int = 0
    ) async -> TestClient {
        let client = client(fanout: fanout)
        client.say(#"{"type":"hello","token":"\#(Self.token(user, device: device, lifetime: lifetime))"\#(hello)}"#)
        await waitUntil { !client.frames(of: "welcome").isEmpty }
        return client
    }

    /// Waits until the server has handled all earlier frames of the client.
    func quiet(_ client: TestClient) async {
        let count = client.frames(of: "pong").count
        client.say(#"{"type":"ping"}"#)
        await waitUntil { client.frames(of: "pong").count > count }
    }

    /// Sends to a conversation until a session is congested for good: the buffers of the kernel take a part of its queue
    /// a moment later.
    func congest(_ isCongested: @Reactor () -> Bool, in conversation: ConversationID) async {
        var checks = 0
        while checks < 50 {
            checks = isCongested() ? checks + 1 : 0
            if checks == 0 { store.send(100, to: conversation) }
            await Reactor.sleep(for: .milliseconds(1))
        }
    }

    private final class NoRoutes: HTTPHandler {
        func admit(_: Request) -> RequestAdmission { .admitted(bodyBytes: 0) }
        func handle(_: Request, _ responder: Responder) { responder.respond(404) }
    }
}
